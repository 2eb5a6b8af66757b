"""``clusters``, ``show``, ``search`` and ``changes``: looking at what is stored."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.checking import UNCLUSTERED, show_pair
from es_dedup.cli.inputs import PageIds, given_ids
from es_dedup.cli.output import clean
from es_dedup.cli.session import Session, session_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.model import Cluster, SearchResult

SHOWN_CLUSTERS: Final = 50
POLL_SECONDS: Final = 1.0


def clusters(
    context: typer.Context,
    min_size: Annotated[int, typer.Option(min=1, help="Minimum number of pages in a cluster.")] = 2,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0, help="Maximum number of clusters, the largest first; 0: all, by id (50; all with --json)."
        ),
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Show the members of each cluster with their evidence.")
    ] = False,
) -> None:
    """List the clusters."""
    from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery
    from es_dedup.report.clusters import cluster_as_dict

    session = session_of(context)
    limit = (0 if session.output.as_json else SHOWN_CLUSTERS) if limit is None else limit
    with session.read() as dedup:
        if dedup.clusters_pending:
            session.output.warn(UNCLUSTERED)
        found: Iterable[Cluster] = dedup.clusters(min_size=min_size)
        if limit:
            largest = ClusterQuery(min_size, order=ClusterOrder.LARGEST)
            found = dedup.clusters_of(dedup.list_clusters(largest, limit=limit))
        if session.output.as_json:
            for cluster in found:
                session.output.emit(cluster_as_dict(dedup, cluster, evidence=evidence))
        elif evidence:
            for cluster in found:
                _show(session, dedup, cluster, evidence=True)
        else:
            heads = (
                "pages",
                "cluster",
                "title of the canonical document",
                "site",
                "shared of it",
                "of the others",
            )
            session.output.table(heads, (_row(dedup, cluster) for cluster in found))
    if limit:
        session.output.note(f"at most {limit:,} clusters are shown; --limit 0 shows all")


def show(
    context: typer.Context,
    ids: Annotated[
        list[str],
        typer.Argument(
            help="Ids of clusters, or ids or URLs of any pages in them; -: one a line on standard input.",
            metavar="CLUSTER…",
            show_default=False,
        ),
    ],
    evidence: Annotated[bool, typer.Option(help="Show the evidence for each member.")] = True,
) -> None:
    """Show clusters: the canonical document, and every member with the evidence."""
    from es_dedup.report.clusters import cluster_as_dict

    session = session_of(context)
    with session.read() as dedup:
        shown: set[str] = set()
        for name in given_ids(dedup, ids):
            found = dedup.cluster(name)
            if found.id not in shown:
                shown.add(found.id)
                session.output.emit(cluster_as_dict(dedup, found, evidence=evidence))
                _show(session, dedup, found, evidence=evidence)


def text(context: typer.Context, ids: PageIds) -> None:
    """Print the stored main text of pages, each between a line with its id and title and an empty line if there are several."""
    session = session_of(context)
    with session.read() as dedup:
        names = given_ids(dedup, ids)
        if not names:
            raise typer.BadParameter("no page is named", param_hint="ID…")
        for name in names:
            record, stored = dedup.record(name), dedup.text(name)
            session.output.emit({"page_id": name, "title": record.title, "url": record.url, "text": stored})
            if len(names) > 1:
                session.output.line(f"# {clean(name)}  {clean(record.title)}")
            for line in stored.splitlines():
                session.output.line(clean(line))
            if not stored:
                session.output.warn(
                    f"{name}: no text is stored ({record.skipped or 'setting index.keep_text'})"
                )
            if len(names) > 1:
                session.output.line()


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="Words to search for.", metavar="QUERY", show_default=False)],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of hits.")] = 10,
    offset: Annotated[int, typer.Option(min=0, help="Hits to skip.")] = 0,
    collapse: Annotated[bool, typer.Option(help="One hit per cluster.")] = True,
) -> None:
    """Search the stored texts, one hit per cluster."""
    session = session_of(context)
    with session.read() as dedup:
        result = dedup.search(query, limit=limit, offset=offset, collapse=collapse)
        if result.not_indexed:
            if result.hits and sys.stdout.isatty():
                _show_hits(session, result, collapse=collapse)
            pages = dedup.count()
            session.output.note(f"{pages - result.not_indexed:,} of {pages:,} pages are searchable so far")
            session.prepare_search(dedup)
            result = dedup.search(query, limit=limit, offset=offset, collapse=collapse)
    session.output.emit(result)
    _show_hits(session, result, collapse=collapse)


def _show_hits(session: Session, result: SearchResult, *, collapse: bool) -> None:
    rows = ((f"{hit.score:.2f}", hit.page_id, hit.title or hit.url, hit.similar_count) for hit in result.hits)
    session.output.table(("score", "page", "title", "similar pages"), rows)
    unit = "groups (clusters and unique pages)" if collapse else "pages"
    total = result.total_groups if collapse else result.total_documents
    counted = "many" if total is None else f"{total:,}"
    session.output.note(f"{len(result.hits)} of {counted} {unit}, {result.total_documents:,} pages in all")


def _row(dedup: Deduplicator, cluster: Cluster) -> tuple[object, ...]:
    from es_dedup.report.evidence import share_spans

    record = dedup.record(cluster.canonical)
    return (
        cluster.size,
        cluster.id,
        record.title or record.url or record.page_id,
        record.site,
        *share_spans(cluster),
    )


def _show(session: Session, dedup: Deduplicator, cluster: Cluster, *, evidence: bool) -> None:
    from es_dedup.report.evidence import shares_in_words

    output = session.output
    if output.as_json:
        return
    record = dedup.record(cluster.canonical)
    output.line(f"cluster {clean(cluster.id)}: {cluster.size} pages")
    output.line(f"  canonical document {clean(record.page_id)}  {clean(record.title)}  {clean(record.url)}")
    overrides = dedup.overrides_of((cluster.canonical, *(member.page_id for member in cluster.members)))
    for each in overrides.get(cluster.canonical, ()):
        output.line(f"    {clean(each.of(cluster.canonical))}")
    if cluster.contained_in:
        output.line(f"  contained in {', '.join(map(clean, cluster.contained_in))}")
    for member in cluster.members:
        page = dedup.record(member.page_id)
        shared = shares_in_words(member.shares, "the canonical document", "this page", member.score)
        head = f"  {member.relation}, {shared}  {clean(page.page_id)}  {clean(page.title)}  {clean(page.url)}"
        output.line(head)
        for each in overrides.get(member.page_id, ()):
            output.line(f"    {clean(each.of(member.page_id))}")
        if evidence:
            show_pair(output, dedup.explain(cluster.canonical, member.page_id))
    output.line()


def changes(
    context: typer.Context,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="CURSOR", help="Cursor of the last change that was applied (else all clusters)."
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on and wait for further changes, until interrupted.")
    ] = False,
    poll_seconds: Annotated[
        float, typer.Option(min=0.05, help="With --follow: seconds between two looks.")
    ] = POLL_SECONDS,
    cursor: Annotated[
        bool,
        typer.Option("--cursor", help="Print the cursor of now, and no changes: take it before an export."),
    ] = False,
) -> None:
    """Print the pages whose cluster has changed, as JSON lines, for keeping a copy of the clusters elsewhere.

    Each line is the present cluster of a page, and the cursor that goes on after it. A line may come again; to apply it again changes nothing.
    """
    session = session_of(context)
    if cursor and (since is not None or follow):
        raise typer.BadParameter("it stands alone, without --since and --follow", param_hint="--cursor")
    with session.read() as dedup:
        if cursor:
            sys.stdout.write(json.dumps({"cursor": dedup.changes_cursor()}) + "\n")
            return
        try:
            found = dedup.changes(since, poll_seconds=poll_seconds if follow else None)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--since") from error
        for change in found:
            sys.stdout.write(json.dumps(change.as_dict(), ensure_ascii=False) + "\n")
            if follow:
                sys.stdout.flush()
