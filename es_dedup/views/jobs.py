"""Jobs: how far they are, buttons to begin and steer them, and pages that could not be processed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup.index.jobs import DeadLetter, JobState
from es_dedup.maintenance.status import JobStatus, moment
from es_dedup.views.templates import console_page

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from es_dedup.views.frame import Visitor

ACTIONS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    JobState.RUNNING: (("pause", "Pause"), ("cancel", "Cancel")),
    JobState.ABANDONED: (("resume", "Resume"), ("cancel", "Cancel")),
    JobState.PAUSED: (("resume", "Resume"), ("cancel", "Cancel")),
}
"""What can be done with a job, by its state: name of the action and text of its button."""


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


def listed(visitor: Visitor, state: JobsState) -> bytes:
    """All jobs and dead letters; who may write can begin and steer jobs and process dead letters again."""
    return console_page(
        "jobs",
        visitor,
        jobs=state.jobs,
        steered=state.steered if visitor.writes else (),
        actions=ACTIONS,
        attached=state.attached,
        dead=[(each, moment(each.at)) for each in state.dead],
        dead_count=state.dead_count,
    )


def one(visitor: Visitor, job: JobStatus, *, steered: bool) -> bytes:
    """One job; ``steered``: with buttons to pause and cancel it."""
    return console_page(
        "job", visitor, job=job, jobs=(job,), steered=(job.id,) if steered else (), actions=ACTIONS
    )


def unfinished(jobs: Sequence[JobStatus]) -> list[JobStatus]:
    """The jobs that are not over."""
    return [job for job in jobs if job.state in ACTIONS]
