"""``clusters``, ``show``, ``text`` and ``search``: looking at what is stored."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.inputs import PageIds, given_ids
from es_dedup.cli.output import clean, show_pair
from es_dedup.cli.session import UNCLUSTERED, Session
from es_dedup.model import Cluster, SearchResult
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery

if TYPE_CHECKING:
    from es_dedup.deduplicator.deduplicator import Deduplicator

SHOWN_CLUSTERS: Final = 50


def clusters(
    session: Session,
    *,
    min_size: Annotated[int, typer.Option(min=1)] = 2,
    limit: Annotated[int | None, typer.Option(min=0)] = None,
    evidence: bool = False,
) -> None:
    """List the clusters.

    Args:
        min_size: Minimum number of pages in a cluster.
        limit: Maximum number of clusters, the largest first; 0: all, by id (50; all with --json).
        evidence: Show the members of each cluster with their evidence.
    """
    from es_dedup.views.cluster_json import cluster_as_dict

    output = session.output
    limit = (0 if output.as_json else SHOWN_CLUSTERS) if limit is None else limit
    with session.read() as dedup:
        if dedup.clusters_pending:
            output.warn(UNCLUSTERED)
        largest = ClusterQuery(min_size, order=ClusterOrder.LARGEST)
        listed = dedup.list_clusters(largest, limit=limit + 1) if limit else []
        found: Iterable[Cluster] = (
            dedup.clusters_of(listed[:limit]) if limit else dedup.clusters(min_size=min_size)
        )
        if evidence and not output.as_json:
            for cluster in found:
                _show(session, dedup, cluster, evidence=True)
        else:
            heads = ("pages", "cluster", "title of the canonical document", "site", "shared of it", "of the others")  # fmt: skip
            objects = (cluster_as_dict(dedup, cluster, evidence=evidence) for cluster in found)
            output.table(heads, (_row(dedup, cluster) for cluster in found), objects)
    if len(listed) > limit:
        output.note(f"there are more than {limit:,} clusters; --limit 0 shows all")


def show(
    session: Session, ids: Annotated[list[str], typer.Argument(metavar="CLUSTER…")], *, evidence: bool = False
) -> None:
    """Show clusters: the canonical document, and every member with how much both share.

    Args:
        ids: Ids of clusters, or ids or URLs of any pages in them; -: one a line on standard input.
        evidence: Show all evidence for each member.
    """
    from es_dedup.views.cluster_json import cluster_as_dict

    with session.read() as dedup:
        shown: set[str] = set()
        for name in given_ids(dedup, ids):
            found = dedup.cluster(name)
            if found.id not in shown:
                shown.add(found.id)
                session.output.emit(cluster_as_dict(dedup, found, evidence=evidence))
                _show(session, dedup, found, evidence=evidence)


def text(session: Session, ids: PageIds) -> None:
    """Print the stored main text of pages, each between a line with its id and title and an empty line if there are several."""
    output = session.output
    with session.read() as dedup:
        names = given_ids(dedup, ids)
        if not names:
            raise typer.BadParameter("no page is named", param_hint="ID…")
        for name in names:
            record, stored = dedup.record(name), dedup.text(name)
            output.emit({"page_id": name, "title": record.title, "url": record.url, "text": stored})
            if len(names) > 1:
                output.line(f"# {clean(name)}  {clean(record.title)}")
            output.lines(stored.splitlines())
            if not stored:
                output.warn(f"{name}: no text is stored ({record.skipped or 'setting index.keep_text'})")
            if len(names) > 1:
                output.line()


def search(
    session: Session,
    query: str,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 10,
    collapse: bool = True,
) -> None:
    """Search the stored texts, one hit per cluster.

    Args:
        query: Words to search for.
        limit: Maximum number of hits.
        collapse: One hit per cluster.
    """
    with session.read() as dedup:
        result = dedup.search(query, limit=limit, collapse=collapse)
        if result.not_indexed:
            if result.hits and sys.stdout.isatty():
                _show_hits(session, result, collapse=collapse)
            pages = dedup.count()
            session.output.note(f"{pages - result.not_indexed:,} of {pages:,} pages are searchable so far")
            session.prepare_search(dedup)
            result = dedup.search(query, limit=limit, collapse=collapse)
        if not result.hits and not any(dedup.texts_of(islice(dedup.page_ids(), 100)).values()):
            session.output.warn(
                "no texts are stored here (documents of attached indices keep theirs, index.keep_text is off, or there are no "
                "pages): search your own index, with es_dedup.collapse for one hit per cluster"
            )
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
    from es_dedup.views.evidence import share_spans

    record = dedup.record(cluster.canonical)
    title = record.title or record.url or record.page_id
    return cluster.size, cluster.id, title, record.site, *share_spans(cluster)


def _show(session: Session, dedup: Deduplicator, cluster: Cluster, *, evidence: bool) -> None:
    from es_dedup.views.evidence import shares_in_words

    output = session.output
    if output.as_json:
        return
    overrides = dedup.overrides_of((cluster.canonical, *(member.page_id for member in cluster.members)))

    def show_page(head: str, page_id: str, relation: str = "") -> None:
        page = dedup.record(page_id)
        output.line(f"  {head}  {clean(page.page_id)}  {clean(page.title)}  {clean(page.url)}", relation)
        for each in overrides.get(page_id, ()):
            output.line(f"    {clean(each.of(page_id))}")

    output.line(f"cluster {clean(cluster.id)}: {cluster.size} pages")
    show_page("canonical document", cluster.canonical)
    if cluster.contained_in:
        output.line(f"  contained in {', '.join(map(clean, cluster.contained_in))}")
    for member in cluster.members:
        shared = shares_in_words(member.shares, "the canonical document", "this page", member.score)
        show_page(f"{member.relation}, {shared}", member.page_id, str(member.relation))
        if evidence:
            show_pair(output, dedup.explain(cluster.canonical, member.page_id))
    output.line()
