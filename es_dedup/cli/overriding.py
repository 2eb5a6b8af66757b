"""``quality override``: decisions of people that go before the rules."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from es_dedup.cli.session import Session
from es_dedup.cli.targets import OutputFile, output_target, write_target
from es_dedup.model import Scope
from es_dedup.model.cluster_lists import ClusterQuery
from es_dedup.model.overrides import Override, OverrideKind, OverrideReport

if TYPE_CHECKING:
    from es_dedup.deduplicator.deduplicator import Deduplicator

Reason = Annotated[str, typer.Option(help="Why; kept with the decision.")]
Author = Annotated[str, typer.Option(help="Who decides; kept with the decision.", envvar="USER")]
PageId = Annotated[str, typer.Argument(help="Id or URL of a stored page.")]


def different(session: Session, left: PageId, right: PageId, *, reason: Reason, author: Author) -> None:
    """Never put two pages into one cluster, not through a third page either."""
    _decide(session, OverrideKind.DIFFERENT, left, right, reason=reason, author=author)


def same(session: Session, left: PageId, right: PageId, *, reason: Reason, author: Author) -> None:
    """Always put two pages into one cluster, whatever the rules say."""
    _decide(session, OverrideKind.SAME, left, right, reason=reason, author=author)


def canonical(session: Session, page: PageId, *, reason: Reason, author: Author) -> None:
    """Make a page the canonical document of its cluster."""
    _decide(session, OverrideKind.CANONICAL, page, reason=reason, author=author)


def _decide(session: Session, kind: OverrideKind, *names: str, reason: str, author: str) -> None:
    """Decide on the pages that ids or URLs name.

    Raises:
        typer.BadParameter: a URL of several pages.
    """

    def decide(dedup: Deduplicator) -> OverrideReport:
        found = dedup.ids_of(names)
        for name, ids in found.items():
            if len(ids) > 1:
                advice = f"name one by its id, such as {ids[0]}"
                raise typer.BadParameter(f"{name} is the URL of {len(ids)} pages: {advice}")
        method: Callable[..., OverrideReport] = getattr(dedup, f"override_{kind}")
        return method(*(found[name][0] for name in names), reason=reason, author=author)

    _change(session, decide)


def ignore(session: Session, *, site: str, text: str, reason: Reason, author: Author) -> None:
    """Never count a passage of a site.

    It is left out of the features of pages that are added from now on, and by `es-dedup elastic recluster` of those of stored pages.

    Args:
        site: Site, as its pages name it.
        text: The passage.
    """
    _change(session, lambda dedup: dedup.override_ignore(site, text, reason=reason, author=author))


def undo(session: Session, override: str, *, author: Author, reason: Reason = "") -> None:
    """End an override; it stays in the record.

    Args:
        override: Id of the override.
    """
    _change(session, lambda dedup: dedup.undo_override(override, reason=reason, author=author))


def list_(session: Session, *, undone: Annotated[bool, typer.Option("--all")] = False) -> None:
    """List the overrides in force, by time.

    Args:
        undone: Also those that were undone.
    """
    with session.read(quiet=True) as dedup:
        overrides = dedup.overrides(undone=undone)
    head = ("id", "override", "pages", "author", "time", "reason", "undone")
    session.output.table(head, map(_row, overrides), overrides)


def export(session: Session, *, output: OutputFile = None) -> None:
    """Write all overrides, those that were undone too, as JSON lines."""
    target = output_target(output, session, "--output") if output else None
    with session.read(quiet=True) as dedup:
        overrides = dedup.overrides(undone=True)
    text = "".join(json.dumps(each.as_dict(), ensure_ascii=False) + "\n" for each in overrides)
    if target is None:
        sys.stdout.write(text)
    else:
        write_target(target, text.encode())
    session.output.note(f"{len(overrides):,} overrides{f' in {target}' if target else ''}")


def import_(session: Session, source: str) -> None:
    """Take over overrides of a file; all of them, or none where one cannot hold. Their pages need not be stored.

    Args:
        source: File of JSON lines, as `quality override export` writes them; `-` for standard input.
    """
    from es_dedup.batch.overrides import read_jsonl

    with closing(sys.stdin if source == "-" else Path(source).open(encoding="utf-8")) as lines:
        overrides = list(read_jsonl(lines, source))
    _change(session, lambda dedup: dedup.import_overrides(overrides))


def _change(session: Session, change: Callable[[Deduplicator], OverrideReport]) -> None:
    """Change overrides of an index that is there, with the documents of attached indices, and show what changed."""
    from es_dedup.maintenance.context import overridden

    output = session.output
    session.read(quiet=True).close()
    with session.write() as dedup:
        report = overridden(dedup, session.db, session.settings, change)
        ignored = {each.site for each in report.overrides if each.kind is OverrideKind.IGNORE}
        of_no_page = [
            name for name in ignored if not dedup.list_clusters(ClusterQuery(1, scope=Scope(name)), limit=1)
        ]
    output.emit(report)
    for each in report.overrides:
        output.line("  ".join(_row(each)))
    output.note(f"overrides: {len(report.overrides):,}, pages in changed clusters: {len(report.changed):,}")
    for name in of_no_page:
        output.warn(f"no stored page is of site {name}; `es-dedup clusters` shows how sites are named")
    if ignored:
        output.note("stored pages follow with `es-dedup elastic recluster`")


def _row(each: Override) -> tuple[str, ...]:
    undone = " ".join(filter(None, (each.undone, each.undone_by, each.undone_reason)))
    return each.id, str(each.kind), each.about, each.author, each.time, each.reason, undone
