"""``check``: pages against the index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import Intake, Paths, with_input_options
from es_dedup.cli.output import Output, clean
from es_dedup.cli.session import session_of
from es_dedup.model import Outcome
from es_dedup.model.batches import chunked
from es_dedup.readers import ReadOptions  # noqa: TC001 - typer reads annotations at run time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.model import Decision, PairDecision

_BATCH: Final = 256
UNCLUSTERED: Final = (
    "pages are stored that are not clustered yet: run the same scan again, or `es-dedup elastic recluster`"
)
_KNOWN: Final = (Outcome.DUPLICATE, Outcome.CONTAINED)


@with_input_options
def check(
    context: typer.Context,
    paths: Paths,
    options: ReadOptions,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Show the evidence for every related page.")
    ] = False,
) -> None:
    """Decide for each page whether it is in the index already; nothing is written.

    Ends with code 4 when at least one page is a duplicate of, or contained in, a stored page.
    """
    session = session_of(context)
    known = checked = 0
    with session.read() as dedup:
        intake = Intake(paths, replace(options, roots=dedup.roots()), session)
        if dedup.clusters_pending:
            session.output.warn(UNCLUSTERED)
        for decision in _decisions(dedup, intake):
            checked += 1
            known += decision.outcome in _KNOWN
            session.output.emit(decision)
            session.output.line(_in_words(decision))
            for pair in decision.verdicts if evidence else ():
                show_pair(session.output, pair)
    session.output.note(f"{checked:,} checked, {known:,} duplicate or contained, {intake.failed:,} left out")
    if intake.failed:
        raise typer.Exit(ExitCode.LEFT_OUT)
    if known:
        raise typer.Exit(ExitCode.KNOWN)


def show_pair(output: Output, pair: PairDecision, *, methods: Sequence[str] | None = None) -> None:
    """A decided pair for people: three lines, then one line for each method, or for each of ``methods``."""
    from es_dedup.report.evidence import measures

    first, *rest = pair.explanation
    output.line(clean(first))
    for line in rest:
        output.line(f"  {clean(line)}")
    for verdict in pair.all_verdicts:
        if methods is None or verdict.detector in methods:
            shown = ", ".join(clean(measure) for measure in measures(verdict.evidence))
            output.line(f"  {verdict.detector:<10} {verdict.relation!s:<10} {verdict.score:.3f}  {shown}")
    for name, reason in pair.skipped.items():
        if methods is None or name in methods:
            output.line(f"  {name:<10} not applicable: {clean(reason)}")


def _decisions(dedup: Deduplicator, intake: Intake) -> Iterator[Decision]:
    for batch in chunked(intake.pages(), _BATCH):
        yield from dedup.check_many(batch)


def _in_words(decision: Decision) -> str:
    from es_dedup.report.evidence import shares_in_words

    parts = [f"{clean(decision.page_id)}: {decision.outcome}"]
    if decision.duplicate_of:
        cluster = (
            f" (cluster {clean(decision.cluster_id)})" if decision.cluster_id != decision.page_id else ""
        )
        parts.append(f"of {clean(decision.duplicate_of)}{cluster}")
    for word, ids in (("contained in", decision.contained_in), ("contains", decision.contains)):
        if ids:
            parts.append(f"{word} {', '.join(map(clean, ids))}")
    if decision.verdicts:
        first = decision.verdicts[0]
        parts.append(shares_in_words(first.shares, clean(first.left), clean(first.right), first.score))
    parts += [clean(note) for note in decision.notes]
    return ", ".join(parts).replace(", of ", " of ", 1)
