"""Jobs: how far they are, buttons to begin and steer them, and pages that could not be processed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup.index.jobs import JobState
from es_dedup.maintenance.status import moment
from es_dedup.model.translations import translate
from es_dedup.views.forms import button, check, hidden, labelled, select
from es_dedup.views.frame import anchor, framed, path, time_of
from es_dedup.views.markup import element, escape, table
from es_dedup.views.templates import short

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from es_dedup.index.jobs import DeadLetter
    from es_dedup.maintenance.status import JobStatus

ACTIONS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    JobState.RUNNING: (("pause", "Pause"), ("cancel", "Cancel")),
    JobState.ABANDONED: (("resume", "Resume"), ("cancel", "Cancel")),
    JobState.PAUSED: (("resume", "Resume"), ("cancel", "Cancel")),
}
"""What can be done with a job, by its state: name of the action and text of its button."""
_HEADS: Final = ("Job", "State", "Stage", "Progress", "Done so far", "Note", "")


@dataclass(frozen=True, slots=True)
class JobsState:
    """Jobs of an index and what they left undone.

    Attributes:
        jobs: the newest first.
        steered: ids of those that can be paused and cancelled; the others end by themselves.
        attached: targets of attached source indices.
        dead: pages that could not be processed, the first of ``dead_count``.
    """

    jobs: Sequence[JobStatus]
    steered: Collection[str] = ()
    attached: Sequence[str] = ()
    dead: Sequence[DeadLetter] = ()
    dead_count: int = 0


def listed(language: str, state: JobsState, writes: bool) -> bytes:  # noqa: FBT001 - called in a thread by position
    """All jobs and dead letters; with ``writes`` jobs can be begun and steered, and dead letters processed again."""
    begin = _begin(language, state.attached) if writes else ""
    shown = progress(language, state.jobs, state.steered if writes else ())
    if not state.jobs:
        shown = element("p", escape(translate(language, "There were no jobs yet.")), class_="empty")
    body = begin + shown + _dead(language, state, writes=writes)
    return framed(translate(language, "Jobs"), body, language)


def one(language: str, job: JobStatus, steered: bool) -> bytes:  # noqa: FBT001
    """One job; ``steered``: with buttons to pause and cancel it."""
    back = element("p", anchor(translate(language, "Jobs"), path("jobs")))
    shown = progress(language, (job,), (job.id,) if steered else ())
    return framed(f"{translate(language, job.what)} {job.id}", shown + back, language)


def running(language: str, jobs: Sequence[JobStatus]) -> str:
    """The jobs that are not over, with a heading; nothing without any."""
    chosen = [job for job in jobs if job.state in ACTIONS]
    return element("h2", escape(translate(language, "Jobs"))) + progress(language, chosen) if chosen else ""


def progress(language: str, jobs: Sequence[JobStatus], steered: Collection[str] = ()) -> str:
    """A table of jobs, brought up to date by the script while one runs; those whose ids are ``steered`` have buttons."""
    rows = [_row(job, language, steered=job.id in steered) for job in jobs]
    shown = table([translate(language, head) for head in _HEADS], rows, class_="rows")
    runs = any(job.state == JobState.RUNNING for job in jobs)
    return element("div", shown if jobs else "", id="jobs", data_live="" if runs else None)


def _row(job: JobStatus, language: str, *, steered: bool) -> tuple[str, ...]:
    bar = ""
    if job.total:
        label = escape(f"{translate(language, 'Progress')}: {job.id}")
        bar = f'<progress value="{min(job.done, job.total)}" max="{job.total}" aria-label="{label}"></progress> '
        bar += escape(f"{job.done:,} / {job.total:,}")
    if job.rate:
        bar += escape(f" · {job.rate:,.0f}/s")
    if job.seconds_left is not None:
        bar += escape(f" · {job.seconds_left:,.0f} s {translate(language, 'left')}")
    counts = ", ".join(f"{translate(language, name)} {count:,}" for name, count in job.counts.items())
    return (
        anchor(f"{translate(language, job.what)} {job.id}", path("jobs", job.id)),
        escape(translate(language, job.state)),
        escape(job.stage),
        bar,
        escape(counts),
        escape(short(job.note)),
        _buttons(job, language) if steered else "",
    )


def _buttons(job: JobStatus, language: str) -> str:
    made = (
        _form(path("jobs", job.id, action), button(language, text))
        for action, text in ACTIONS.get(job.state, ())
    )
    return element("div", *made, class_="bar")


def _begin(language: str, attached: Sequence[str]) -> str:
    """Forms that begin jobs; a backfill only where indices are attached."""
    if not attached:
        dry_run = check(language, "dry_run", "Only say what would change")
        return _job(language, "recluster", "Recluster", dry_run)
    force = check(language, "force", "Even if very many documents change")
    options = [("", translate(language, "all")), *((each, each) for each in attached)]
    target = labelled(language, "Index", select("target", options))
    return _job(language, "recluster", "Recluster", force) + _job(language, "backfill", "Backfill", target)


def _job(language: str, what: str, text: str, *inputs: str) -> str:
    return _form(path("jobs"), hidden({"what": what}), *inputs, button(language, text))


def _form(address: str, *content: str) -> str:
    return element("form", *content, action=address, method="post", class_="bar")


def _dead(language: str, state: JobsState, *, writes: bool) -> str:
    if not state.dead:
        return ""
    head = element("h2", escape(translate(language, "Pages that could not be processed")))
    text = translate(language, "dead letters")
    head += element("p", escape(f"{state.dead_count:,} {text}"), class_="note")
    head += _form(path("dead-letters"), button(language, "Try all again")) if writes else ""
    again = button(language, "Try again")
    rows = [
        (
            element("code", escape(short(each.page_id))),
            escape(each.task),
            f"{each.attempts:,}",
            escape(short(each.error)),
            time_of(moment(each.at)),
            _form(path("dead-letters"), hidden({"page": each.page_id}), again) if writes else "",
        )
        for each in state.dead
    ]
    heads = ("Page", "Task", "Attempts", "Error", "Time", "")
    return head + table([translate(language, each) for each in heads], rows, class_="rows")
