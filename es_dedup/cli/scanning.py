"""``scan``, ``add`` and ``check``: pages into the index, or against it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from es_dedup import native
from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import Intake, Paths
from es_dedup.cli.output import clean, show_pair
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import UNCLUSTERED, Session
from es_dedup.cli.targets import output_target, write_target
from es_dedup.errors import DedupError
from es_dedup.model import READ_WITHOUT_FEATURES, AddReport, Decision, Outcome, Page, WritePolicy
from es_dedup.model.batches import chunked
from es_dedup.readers import ReadOptions

if TYPE_CHECKING:
    from es_dedup.deduplicator.deduplicator import Deduplicator

DryRun = Annotated[bool, typer.Option(help="Report what would be done; write nothing.")]

NAMES_IN_TITLE: Final = 3
SHOWN_PAGES: Final = 20
SHOWN_WITHOUT_TEXT: Final = 3  # most sites have such pages
_BATCH: Final = 256
_KNOWN: Final = (Outcome.DUPLICATE, Outcome.CONTAINED)


def scan(
    session: Session,
    paths: Paths,
    *,
    options: ReadOptions,
    report: str | None = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Find duplicates in many pages: store them all, then cluster the whole index.

    Pages that are stored already and have not changed are skipped, so a scan that was stopped goes on where it was.

    Args:
        report: Write a self-contained HTML page with the clusters.
    """
    from es_dedup.views import report_page

    if report and dry_run:
        raise typer.BadParameter("a dry run stores nothing that could be shown", param_hint="--report")
    target = output_target(report, session, "--report", paths) if report else None
    leave = Path(report) if report else None
    intake = Intake(paths, replace(options, root=options.root or session.root()), session, leave=leave)
    facts: dict[str, Any] = {}
    if native.core is None:
        session.output.note(
            f"this works in Python, which takes several times as long: {native.HOW_TO_GET_IT}"
        )
    with _storing(session, intake, dry_run=dry_run, whole=True) as work:
        done = work.dedup.scan(work.pages, progress=work.progress, dry_run=dry_run)
        if target is not None and not work.empty:
            page = report_page(
                work.dedup,
                title=_title(paths),
                run={"left out": intake.failed + len(done.failed), "pairs compared": done.pairs},
                progress=work.progress.counter("report"),
            )
            write_target(target, page)
            facts["report"] = report
        if not dry_run:
            stats = work.dedup.stats()
            names = ("pages", "clusters", "unique_pages", "duplicates")
            facts |= {name: stats[name] for name in names if name in stats}
    return _finish(session, intake, done, facts, dry_run=dry_run, empty=work.empty)


def add(
    session: Session,
    paths: Paths,
    *,
    options: ReadOptions,
    policy: WritePolicy = WritePolicy.MARK,
    dry_run: DryRun = False,
) -> ExitCode:
    """Add pages to the index and say of each whether it is known.

    Args:
        policy: What to do with a page that is a duplicate of, or contained in, a stored page.
    """
    intake = Intake(paths, replace(options, root=options.root or session.root()), session)
    with _storing(session, intake, dry_run=dry_run) as work:
        done = work.dedup.add_many(work.pages, policy=policy, progress=work.progress, dry_run=dry_run)
    for page_id, decision in done.decisions.items():
        other = decision.duplicate_of or ", ".join(decision.contained_in or decision.contains)
        said = (
            f"{clean(page_id)}: {decision.outcome}{' of ' if decision.duplicate_of else ': '}{clean(other)}"
        )
        session.output.line(said, str(decision.outcome))
    facts = {"decisions": done.decisions}
    return _finish(session, intake, done, facts, dry_run=dry_run, empty=work.empty)


def check(session: Session, paths: Paths, *, options: ReadOptions, evidence: bool = False) -> ExitCode:
    """Decide for each page whether it is in the index already; nothing is written.

    Ends with code 4 when at least one page is a duplicate of, or contained in, a stored page.

    Args:
        evidence: Show the evidence for every related page.
    """
    output = session.output
    known = checked = 0
    with session.read() as dedup:
        intake = Intake(paths, replace(options, root=options.root or dedup.root()), session)
        dedup.record_root(intake.root, dry_run=True)
        if dedup.clusters_pending:
            output.warn(UNCLUSTERED)
        for batch in chunked(intake.pages(), _BATCH):
            for decision in dedup.check_many(batch):
                checked += 1
                known += decision.outcome in _KNOWN
                output.emit(decision)
                for line in _in_words(decision):
                    output.line(clean(line), str(decision.outcome))
                for pair in decision.verdicts if evidence else ():
                    show_pair(output, pair)
    output.note(f"{checked:,} checked, {known:,} duplicate or contained, {intake.failed:,} left out")
    if intake.failed:
        return ExitCode.LEFT_OUT
    return ExitCode.KNOWN if known else ExitCode.OK


def _in_words(decision: Decision) -> Iterator[str]:
    """The decision on one line, then each relation to another page on a line of its own."""
    from es_dedup.views.evidence import shares_in_words

    shares = {
        pair.right: shares_in_words(pair.shares, "this page", "the other", pair.score)
        for pair in decision.verdicts
    }
    cluster = "" if decision.cluster_id == decision.page_id else f" (cluster {decision.cluster_id})"
    yield f"{decision.page_id}: {decision.outcome}{cluster}"
    same = (decision.duplicate_of,) if decision.duplicate_of else ()
    named = {"duplicate of": same, "contained in": decision.contained_in, "contains": decision.contains}
    for word, ids in named.items():
        for other in ids:
            yield f"  {word} {other}{': ' if other in shares else ''}{shares.get(other, '')}"
    yield from (f"  {note}" for note in decision.notes)


@dataclass(frozen=True, slots=True)
class _Work:
    """Pages on their way into an index; ``empty``: there is neither a page nor an index, and none is made."""

    pages: Iterator[Page]
    dedup: Deduplicator
    progress: ProgressDisplay
    empty: bool


@contextmanager
def _storing(session: Session, intake: Intake, *, dry_run: bool, whole: bool = False) -> Iterator[_Work]:
    """The index opened for the pages of the input, the first of which is read at once.

    If the block is interrupted, the number of stored pages is recorded in the session, which reports it.
    """
    pages = intake.pages()
    first = next(pages, None)
    empty = first is None and not session.exists
    with (
        session.scratch() if empty else session.write(dry_run=dry_run, whole=whole) as dedup,
        session.progress() as progress,
    ):
        if not empty:
            dedup.record_root(intake.root, dry_run=dry_run)
        try:
            yield _Work(chain(() if first is None else (first,), pages), dedup, progress, empty)
        except KeyboardInterrupt:
            with suppress(DedupError):
                session.kept = f"{dedup.count():,} pages are stored in {session.place}"
            raise


def _title(paths: list[str]) -> str:
    names = [Path(path).name or path for path in paths]
    rest = len(names) - NAMES_IN_TITLE
    return ", ".join(names[:NAMES_IN_TITLE]) + (f" and {rest} more" if rest > 0 else "")


def _finish(
    session: Session, intake: Intake, done: AddReport, more: dict[str, Any], *, dry_run: bool, empty: bool
) -> ExitCode:
    """Show the summary; code 3 where some input was left out or could not be read."""
    output = session.output
    apart = ("left_out", "decisions")
    summary = {each.name: getattr(done, each.name) for each in fields(done) if each.name not in apart}
    summary |= {"db": session.place, "dry_run": dry_run, "left_out_by_policy": done.left_out}
    output.warn_each("left out", done.failed, SHOWN_PAGES)
    output.warn_each("without text", done.skipped_pages, SHOWN_WITHOUT_TEXT)
    for note in done.notes:
        output.warn(note)
    output.result(_facts(done, intake, more, dry_run=dry_run), {**summary, "input": intake.as_dict(), **more})
    if empty:
        output.warn("error: the input gave no page; no index was made")
    elif output.command == "scan" and not dry_run:
        output.note(f"`es-dedup --db {session.place} clusters` lists the clusters")
    if intake.failed or done.failed or any(reason not in READ_WITHOUT_FEATURES for reason in done.skipped):
        return ExitCode.LEFT_OUT
    return ExitCode.ERROR if empty else ExitCode.OK


def _facts(done: AddReport, intake: Intake, more: dict[str, Any], *, dry_run: bool) -> dict[str, object]:
    """What people are shown of it: counts that are not 0."""
    always = {
        "read": done.read,
        "would be stored" if dry_run else "stored": done.stored,
        "left out": intake.failed + len(done.failed),
    }
    sometimes = {
        "replaced": done.replaced,
        "unchanged": done.unchanged,
        "repeats of a page of the same id": done.repeated,
        "replaced by a later page of the same id": done.superseded,
        "not stored by policy": done.left_out,
        "without features": done.skipped,
        "outcomes": done.outcomes,
        "in the index": {name: count for name, count in more.items() if isinstance(count, int)},
        "pairs compared": done.pairs,
        "seconds": round(float(sum(done.seconds.values())), 2),
        "preset": done.preset,
        "report": more.get("report"),
    }
    return always | {name: value for name, value in sometimes.items() if value}
