"""``quality override``: decisions of people that go before the rules."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.session import session_of
from es_dedup.cli.targets import output_target
from es_dedup.model.overrides import OverrideKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model.overrides import Override, OverrideReport

EXPORTED: Final = rb'\{"id": "[^\n]*"kind": "[^\n]*"pages": \['
"""How the files of ``quality override export`` begin."""
Reason = Annotated[str, typer.Option(help="Why; kept with the decision.", show_default=False)]
Author = Annotated[
    str, typer.Option(help="Who decides; kept with the decision.", envvar="USER", show_default=False)
]
PageId = Annotated[str, typer.Argument(help="Id or URL of a stored page.", show_default=False)]


def different(context: typer.Context, left: PageId, right: PageId, reason: Reason, author: Author) -> None:
    """Never put two pages into one cluster, not through a third page either."""
    _change(
        context,
        lambda dedup: dedup.override_different(*_named(dedup, left, right), reason=reason, author=author),
    )


def same(context: typer.Context, left: PageId, right: PageId, reason: Reason, author: Author) -> None:
    """Always put two pages into one cluster, whatever the rules say."""
    _change(
        context, lambda dedup: dedup.override_same(*_named(dedup, left, right), reason=reason, author=author)
    )


def canonical(context: typer.Context, page: PageId, reason: Reason, author: Author) -> None:
    """Make a page the canonical document of its cluster."""
    _change(
        context, lambda dedup: dedup.override_canonical(*_named(dedup, page), reason=reason, author=author)
    )


def _named(dedup: IndexReader, *names: str) -> list[str]:
    """The pages that ids or URLs name.

    Raises:
        typer.BadParameter: a URL of several pages.
    """
    found = dedup.ids_of(names)
    for name, ids in found.items():
        if len(ids) > 1:
            raise typer.BadParameter(
                f"{name} is the URL of {len(ids)} pages: name one by its id, such as {ids[0]}"
            )
    return [found[name][0] for name in names]


def ignore(
    context: typer.Context,
    site: Annotated[str, typer.Option(help="Site, as its pages name it.", show_default=False)],
    text: Annotated[str, typer.Option(help="The passage.", show_default=False)],
    reason: Reason,
    author: Author,
) -> None:
    """Never count a passage of a site.

    It is left out of the features of pages that are added from now on, and by `es-dedup elastic recluster` of those of stored pages.
    """
    _change(context, lambda dedup: dedup.override_ignore(site, text, reason=reason, author=author))


def undo(
    context: typer.Context,
    override: Annotated[str, typer.Argument(help="Id of the override.", show_default=False)],
    author: Author,
    reason: Annotated[str, typer.Option(help="Why; kept with the decision.")] = "",
) -> None:
    """End an override; it stays in the record."""
    _change(context, lambda dedup: dedup.undo_override(override, reason=reason, author=author))


def list_(
    context: typer.Context,
    undone: Annotated[bool, typer.Option("--all", help="Also those that were undone.")] = False,
) -> None:
    """List the overrides in force, by time."""
    session = session_of(context)
    with session.read(quiet=True) as dedup:
        overrides = dedup.overrides(undone=undone)
    for each in overrides:
        session.output.emit(each)
    session.output.table(
        ("id", "override", "pages", "author", "time", "reason", "undone"), map(_row, overrides)
    )


def export(
    context: typer.Context,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Output file (default: standard output).")
    ] = None,
) -> None:
    """Write all overrides, those that were undone too, as JSON lines."""
    session = session_of(context)
    target = output_target(output, session, "--output", EXPORTED) if output else None
    with session.read(quiet=True) as dedup:
        overrides = dedup.overrides(undone=True)
    text = "".join(json.dumps(each.as_dict(), ensure_ascii=False) + "\n" for each in overrides)
    if target is None:
        sys.stdout.write(text)
    else:
        target.write(text.encode())
    session.output.note(f"{len(overrides):,} overrides{f' in {target}' if target else ''}")


def import_(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="File of JSON lines, as `quality override export` writes them; `-` for standard input."
        ),
    ],
) -> None:
    """Take over overrides of a file; all of them, or none where one cannot hold. Their pages need not be stored."""
    from es_dedup.batch.overrides import read_jsonl

    with closing(sys.stdin if source == "-" else Path(source).open(encoding="utf-8")) as lines:
        overrides = list(read_jsonl(lines, source))
    _change(context, lambda dedup: dedup.import_overrides(overrides))


def _change(context: typer.Context, change: Callable[[Deduplicator], OverrideReport]) -> None:
    from es_dedup.maintenance.dedup_field_writes import overridden

    session = session_of(context)
    session.read(quiet=True).close()
    with session.write() as dedup:
        report = overridden(dedup, session.db, session.settings, change)
    session.output.emit(report)
    for each in report.overrides:
        session.output.line("  ".join(_row(each)))
    session.output.note(
        f"overrides: {len(report.overrides):,}, pages in changed clusters: {len(report.changed):,}"
    )
    if any(each.kind is OverrideKind.IGNORE for each in report.overrides):
        session.output.note("stored pages follow with `es-dedup elastic recluster`")


def _row(each: Override) -> tuple[str, ...]:
    return (
        each.id,
        str(each.kind),
        each.about,
        each.author,
        each.time,
        each.reason,
        " ".join(filter(None, (each.undone, each.undone_by, each.undone_reason))),
    )
