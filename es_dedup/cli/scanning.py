"""``scan`` and ``add``: pages into the index."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import Intake, Paths, with_input_options
from es_dedup.cli.output import clean
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import Session, session_of
from es_dedup.cli.targets import HTML, Target, output_target
from es_dedup.errors import DedupError
from es_dedup.model import READ_WITHOUT_FEATURES, AddReport, WritePolicy
from es_dedup.readers import ReadOptions  # noqa: TC001 - typer reads annotations at run time
from es_dedup.readers.estimate import estimated_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.model import Page

DryRun = Annotated[bool, typer.Option("--dry-run", help="Report what would be done; write nothing.")]

NAMES_IN_TITLE: Final = 3


@with_input_options
def scan(
    context: typer.Context,
    paths: Paths,
    options: ReadOptions,
    report: Annotated[
        str | None, typer.Option(help="Write a self-contained HTML page with the clusters.")
    ] = None,
    report_clusters: Annotated[
        int, typer.Option(min=0, help="Number of clusters shown with texts, the largest first.")
    ] = 50,
    dry_run: DryRun = False,
) -> None:
    """Find duplicates in many pages: store them all, then cluster the whole index.

    Pages that are stored already and have not changed are skipped, so a scan that was stopped goes on where it was.
    """
    session = session_of(context)
    if report and dry_run:
        raise typer.BadParameter("a dry run stores nothing that could be shown", param_hint="--report")
    target = output_target(report, session, "--report", HTML, paths) if report else None
    leave = Path(report) if report else None
    intake = Intake(paths, replace(options, roots=session.roots()), session, leave=leave)
    given = _Input.of(intake, session)
    with (
        session.scratch() if given.empty else session.write(dry_run=dry_run, whole=True) as dedup,
        ProgressDisplay(quiet=session.output.quiet) as progress,
    ):
        given.record_roots(dedup, dry_run=dry_run)
        progress.expect("features", estimated_pages(paths))
        with _told_when_interrupted(session, dedup):
            done = dedup.scan(given.pages, progress=progress, dry_run=dry_run)
        if target is not None and not given.empty:
            _write_report(dedup, target, _title(paths), report_clusters, _run_facts(done, intake), progress)
        counts = {} if dry_run else _counts(dedup)
    written = {"report": report} if report and not given.empty else {}
    _finish(given, done, counts | written, dry_run=dry_run)


@with_input_options
def add(
    context: typer.Context,
    paths: Paths,
    options: ReadOptions,
    policy: Annotated[
        WritePolicy,
        typer.Option(help="What to do with a page that is a duplicate of, or contained in, a stored page."),
    ] = WritePolicy.MARK,
    dry_run: DryRun = False,
) -> None:
    """Add pages to the index and say of each whether it is known."""
    session = session_of(context)
    given = _Input.of(Intake(paths, replace(options, roots=session.roots()), session), session)
    with (
        session.scratch() if given.empty else session.write(dry_run=dry_run) as dedup,
        ProgressDisplay(quiet=session.output.quiet) as progress,
    ):
        given.record_roots(dedup, dry_run=dry_run)
        progress.expect("features", estimated_pages(paths))
        with _told_when_interrupted(session, dedup):
            done = dedup.add_many(given.pages, policy=policy, progress=progress, dry_run=dry_run)
    for page_id, decision in done.decisions.items():
        about = decision.duplicate_of or ", ".join(decision.contained_in or decision.contains)
        session.output.line(
            f"{page_id}: {decision.outcome}{' of ' if decision.duplicate_of else ': '}{about}"
        )
    decisions = {page_id: decision.as_dict() for page_id, decision in done.decisions.items()}
    _finish(given, done, {"decisions": decisions}, dry_run=dry_run)


@contextmanager
def _told_when_interrupted(session: Session, dedup: Deduplicator) -> Iterator[None]:
    """Note how many pages are stored when the block is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(DedupError):
            session.kept = f"{dedup.count():,} pages are stored in {session.place}"
        raise


@dataclass(frozen=True, slots=True)
class _Input:
    """The pages of a command, and whether there is neither a page nor an index: then no index is made."""

    session: Session
    intake: Intake
    pages: Iterator[Page]
    empty: bool

    @classmethod
    def of(cls, intake: Intake, session: Session) -> _Input:
        """The first page is read at once."""
        pages = intake.pages()
        first = next(pages, None)
        if first is None:
            return cls(session, intake, pages, not session.exists)
        return cls(session, intake, chain((first,), pages), empty=False)

    def record_roots(self, dedup: Deduplicator, *, dry_run: bool) -> None:
        """Let the index keep the roots before pages below them are stored."""
        if not dry_run and not self.empty:
            dedup.record_roots(self.intake.roots)


def _write_report(
    dedup: Deduplicator,
    target: Target,
    title: str,
    clusters: int,
    run: dict[str, object],
    progress: ProgressDisplay,
) -> None:
    from es_dedup.report import ReportLimits, report_page

    def show(done: int, total: int) -> None:
        progress.count("report", done, total)

    limits = ReportLimits(clusters=clusters)
    target.write(report_page(dedup, title=title, limits=limits, run=run, progress=show))


def _title(paths: list[str]) -> str:
    names = [Path(path).name or path for path in paths]
    return ", ".join(names[:NAMES_IN_TITLE]) + (
        f" and {len(names) - NAMES_IN_TITLE} more" if len(names) > NAMES_IN_TITLE else ""
    )


def _run_facts(done: AddReport, intake: Intake) -> dict[str, object]:
    return {"left out": intake.failed + len(done.failed), "pairs compared": done.pairs}


def _counts(dedup: Deduplicator) -> dict[str, Any]:
    stats = dedup.stats()
    return {
        name: stats[name] for name in ("pages", "clusters", "unique_pages", "duplicates") if name in stats
    }


def _finish(given: _Input, done: AddReport, more: dict[str, Any], *, dry_run: bool) -> None:
    """Show the summary; end with code 3 when some input was left out or could not be read."""
    session, intake, output = given.session, given.intake, given.session.output
    summary: dict[str, Any] = {
        "command": output.command, "db": session.place, "dry_run": dry_run, "read": done.read, "stored": done.stored,
        "replaced": done.replaced, "superseded": done.superseded, "repeated": done.repeated, "unchanged": done.unchanged, "left_out_by_policy": done.left_out, "failed": done.failed,
        "skipped": done.skipped, "outcomes": done.outcomes, "pairs": done.pairs, "capped_terms": done.capped_terms,
        "truncated": done.truncated, "seconds": done.seconds, "input": intake.as_dict(),
        "skipped_pages": done.skipped_pages, "notes": done.notes, "preset": done.preset,
    }  # fmt: skip
    output.emit(summary | more)
    for place, reason in list(done.failed.items())[:20]:
        output.warn(f"left out: {clean(place)}: {reason}")
    for page_id, reason in list(done.skipped_pages.items())[:20]:
        output.warn(f"without text: {clean(page_id)}: {reason}")
    for note in done.notes:
        output.warn(note)
    output.facts(_facts(done, intake, more, dry_run=dry_run))
    if given.empty:
        output.warn("error: the input gave no page; no index was made")
    elif output.command == "scan" and not dry_run:
        output.note(f"`es-dedup --db {session.place} clusters` lists the clusters")
    unread = any(reason not in READ_WITHOUT_FEATURES for reason in done.skipped)
    if intake.failed or done.failed or unread:
        raise typer.Exit(ExitCode.LEFT_OUT)
    if given.empty:
        raise typer.Exit(ExitCode.ERROR)


def _facts(done: AddReport, intake: Intake, more: dict[str, Any], *, dry_run: bool) -> dict[str, object]:
    facts: dict[str, object] = {
        "read": done.read,
        "would be stored" if dry_run else "stored": done.stored,
        "replaced": done.replaced,
        "unchanged": done.unchanged,
        "repeats of a page of the same id": done.repeated,
        "replaced by a later page of the same id": done.superseded,
        "left out": intake.failed + len(done.failed),
        "not stored by policy": done.left_out,
    }
    facts |= {f"without features ({reason})": count for reason, count in done.skipped.items()}
    facts |= {f"outcome {name}": count for name, count in done.outcomes.items()}
    facts |= {
        f"in the index: {name.replace('_', ' ')}": count
        for name, count in more.items()
        if isinstance(count, int)
    }
    facts |= {"pairs compared": done.pairs, "seconds": round(float(sum(done.seconds.values())), 2)}
    facts["preset"] = done.preset
    if "report" in more:
        facts["report"] = more["report"]
    always = ("read", "stored", "would be stored", "left out")
    return {name: value for name, value in facts.items() if value or name in always}
