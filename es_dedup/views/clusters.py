"""Clusters: lists by filter and order; one of them with its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.model import Relation
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery, ClusterSummary
from es_dedup.views import overrides
from es_dedup.views.frame import Visitor, path
from es_dedup.views.graph import cluster_graph
from es_dedup.views.templates import console_page, when

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.index.records import FeatureRecord

LISTED: Final = 50
"""Clusters of a list."""
MEMBERS: Final = 200
"""Members of a cluster that are listed at a time."""
ORDERS: Final = {
    ClusterOrder.CONFIDENCE: "lowest agreement first",
    ClusterOrder.LARGEST: "largest first",
    ClusterOrder.NEWEST: "newest first",
    ClusterOrder.ID: "by id",
}
RELATIONS: Final = {"": "any", Relation.EXACT: "exact", Relation.DUPLICATE: "duplicate"}


def listed(reader: IndexReader, visitor: Visitor, query: ClusterQuery, after: str | None) -> bytes:
    """Clusters in an order, ``LISTED`` at a time, below a form with the filters."""
    found = reader.list_clusters(query, after=after, limit=LISTED + 1)
    shown = found[:LISTED]
    more = len(found) > LISTED
    return console_page(
        "clusters",
        visitor,
        query=query,
        orders=ORDERS,
        relations=RELATIONS,
        rows=cluster_rows(reader, shown),
        following=path("clusters", **fields(query), after=query.cursor(shown[-1])) if more else "",
        filtered=query != ClusterQuery(order=query.order),
    )


def cluster_rows(
    reader: IndexReader, shown: Sequence[ClusterSummary]
) -> list[tuple[ClusterSummary, FeatureRecord | None]]:
    """Clusters with their canonical documents; None where another process has just removed it."""
    records = reader.records_of(each.canonical for each in shown)
    return [(each, records.get(each.canonical)) for each in shown]


def fields(query: ClusterQuery) -> dict[str, object]:
    """Fields of the form that lead to a query."""
    scope = query.scope
    return {
        "order": query.order,
        "site": scope.site,
        "published_from": scope.published_from,
        "published_to": scope.published_to,
        "relation": query.relation,
        "min_size": query.min_size,
    }


def one(reader: IndexReader, visitor: Visitor, name: str, offset: int, done: str) -> bytes:
    """The canonical document and the other pages by date, ``MEMBERS`` at a time; ``done``: what was just decided.

    Raises:
        UnknownPage: neither a page nor a cluster of that id is stored.
    """
    pages = reader.pages_of_cluster(name)
    records = reader.records_of(pages)
    others = [each for each in records.items() if each[0] not in pages[:1]]
    others.sort(key=lambda each: (not each[1].published, each[1].published, each[0]))
    dated = dict(others[offset : offset + MEMBERS])
    found = reader.cluster(name, evidence_of=dated)
    members = {each.page_id: each for each in found.members}
    # of days with a time of publication: a page without one stands behind these for that reason, and says so
    timed = {each.published[:10] for each in dated.values() if _has_time(each)}
    rows = [
        (members[each], record, not _has_time(record) and record.published[:10] in timed)
        for each, record in dated.items()
        if each in members
    ]
    more = offset + MEMBERS < len(found.members)
    return console_page(
        "cluster",
        visitor,
        cluster=found,
        canonical=reader.record(found.canonical),
        rows=rows,
        graph=cluster_graph(found, [(member, record) for member, record, _ in rows]),
        order=reader.settings_with({}).cluster,
        decided=overrides.of_pages(reader, (found.canonical, *members)),
        following=path("clusters", name, offset=offset + MEMBERS) if more else "",
        notice=overrides.just_decided(reader, done),
        back=path("clusters", found.canonical, offset=offset or None),
    )


def _has_time(record: FeatureRecord) -> bool:
    return " " in when(record.published)
