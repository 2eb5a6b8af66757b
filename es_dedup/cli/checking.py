"""``check``, ``explain`` and ``features``: pages against the index, pages against each other, and what is compared of a page."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import Intake, Paths, with_input_options
from es_dedup.cli.output import Output, clean
from es_dedup.cli.session import session_of
from es_dedup.model import Outcome, Page
from es_dedup.model.batches import chunked
from es_dedup.readers import InputFailure, ReadOptions, read_pages
from es_dedup.readers.streams import STDIN, is_pipe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.cli.session import Session
    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.detectors.page_features import PageFeatures
    from es_dedup.model import Decision, PairDecision
    from es_dedup.readers import Roots

_BATCH: Final = 256
_HEAD_BYTES: Final = 4096
_TAG: Final = re.compile(rb"<(!doctype|html|head|body|div|p|meta)\b", re.IGNORECASE)
UNCLUSTERED: Final = (
    "pages are stored that are not clustered yet: run the same scan again, or `es-dedup elastic recluster`"
)
Methods = Annotated[
    list[str] | None,
    typer.Option(help="Compare with this method too; may be repeated.", metavar="NAME", show_default=False),
]
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


def explain(
    context: typer.Context,
    left: Annotated[
        str,
        typer.Argument(help="Id or URL of a stored page, or a page file.", metavar="A", show_default=False),
    ],
    right: Annotated[
        str,
        typer.Argument(help="Id or URL of a stored page, or a page file.", metavar="B", show_default=False),
    ],
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Show the result of every rule and method, with thresholds.")
    ] = False,
    method: Methods = None,
    with_features: Annotated[
        bool, typer.Option("--features", help="Show the named features of both pages side by side.")
    ] = False,
) -> None:
    """Show in three lines the relation of two pages and its reason; --evidence shows every rule and method.

    A page id that is stored comes before a file of the same name.
    """
    session = session_of(context)
    files = Path(left).is_file() and Path(right).is_file()
    with session.scratch() if files and not session.exists else session.read() as dedup:
        named = [path for path in (left, right) if Path(path).is_file()]
        roots = dedup.roots().covering(named)
        sides = [page_or_id(dedup, name, roots) for name in (left, right)]
        pair = dedup.explain(*sides, also=tuple(method or ()))
        features = [dedup.features(side, also=tuple(method or ())) for side in sides] if with_features else []
    session.output.emit({**pair.as_dict(), **({"features": features} if with_features else {})})
    show_pair(session.output, pair, methods=None if evidence else method or ())
    if evidence:
        _show_rules(session.output, pair)
    if with_features:
        _show_fields(session.output, *features)


def features(
    context: typer.Context,
    page: Annotated[
        str,
        typer.Argument(
            help="Id or URL of a stored page, a page file, or - for HTML or text on standard input.",
            metavar="PAGE",
            show_default=False,
        ),
    ],
    method: Methods = None,
) -> None:
    """Show all features of a page by their names: what Elasticsearch stores and candidates are found by.

    A page id that is stored comes before a file of the same name. A file needs no index.
    """
    from es_dedup.report.features import feature_rows

    session = session_of(context)
    given = page == STDIN or Path(page).is_file()
    with session.scratch() if given and not session.exists else session.read(quiet=True) as dedup:
        roots = dedup.roots().covering([page] if Path(page).is_file() else [])
        asked = _page_on_stdin(session) if page == STDIN else page_or_id(dedup, page, roots)
        found = dedup.features(asked, also=tuple(method or ()))
    session.output.emit(found)
    session.output.facts({"page": found.page_id, **dict(feature_rows(found))})


def _page_on_stdin(session: Session) -> Page:
    """A page of standard input: HTML where there is a tag in its beginning, else text in UTF-8."""
    data = sys.stdin.buffer.read(session.settings.extraction.max_bytes + 1)
    if _TAG.search(data[:_HEAD_BYTES]):
        return Page(id=STDIN, html=data)
    return Page(id=STDIN, text=data.decode("utf-8-sig", "replace"))


def _show_fields(output: Output, left: PageFeatures, right: PageFeatures) -> None:
    """Named features of two pages: what both have, and what one has alone."""
    from es_dedup.report.features import compared_fields, listed

    for each in compared_fields(left, right):
        sides = (("both", each.shared), ("only left", each.left), ("only right", each.right))
        for side, texts in sides:
            if texts:
                output.line(f"  {each.name:<24} {side:<10} {len(texts):>4}  {clean(listed(texts))}")


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


def _show_rules(output: Output, pair: PairDecision) -> None:
    """Each rule in order, with the conditions that its outcome follows from."""
    from es_dedup.report.evidence import rule_rows

    if pair.rules:
        output.table(("rule", "outcome", "because"), rule_rows(pair.rules))


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


def page_or_id(dedup: Deduplicator, name: str, roots: Roots) -> str | Page:
    """The id of a stored page, also by its URL, or the page of a file.

    Raises:
        UnknownPage, InputError: neither; the file has none or several.
    """
    from es_dedup.errors import InputError, UnknownPage

    try:
        return dedup.record(name).page_id
    except UnknownPage:
        if not Path(name).is_file() and not is_pipe(name):
            return dedup.record(dedup.ids_of([name])[name][0]).page_id
    items = list(islice(read_pages([name], ReadOptions(roots=roots)), 2))
    if not items:
        raise InputError(name, None, "holds no page")
    if isinstance(items[0], InputFailure):
        raise InputError(items[0].source, items[0].line, items[0].problem)
    if len(items) > 1:
        raise InputError(name, None, "holds several pages: scan it, then name two of them by their ids")
    return items[0]
