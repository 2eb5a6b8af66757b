"""Clusters around pages that are stored and compared, or removed: edges, assignments, and what changes with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_dedup.batch.chunk_rows import keys_of
from es_dedup.batch.cluster_cache import ClusterCache
from es_dedup.batch.overrides import load_constraints
from es_dedup.batch.recluster import CLUSTERS_PENDING, READ_IN_SESSIONS, repair_around
from es_dedup.clustering import same_neighbours
from es_dedup.index.port import Assignment
from es_dedup.index.records import FeatureRecord
from es_dedup.model import Relation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from es_dedup.decision.candidate_search import CandidateSearch
    from es_dedup.index.port import Index
    from es_dedup.index.records import RecordBatch
    from es_dedup.model import Edge


@dataclass(frozen=True, slots=True)
class ReplacedEdges:
    """Edges of pages that are replaced by other versions.

    Attributes:
        edges: all of them, as they were; they are dropped.
        neighbours: pages that had an exact or duplicate edge to one of the replaced pages.
    """

    edges: Sequence[Edge]
    neighbours: Collection[str]


def drop_replaced(clusters: ClusterCache, replaced: Collection[str]) -> ReplacedEdges:
    """Drop the edges of pages whose features are new versions; the pages keep their assignments."""
    edges = clusters.edges_of(replaced) if replaced else []
    if edges:
        clusters.drop_edges(replaced)
    return ReplacedEdges(edges, same_neighbours(edges, replaced))


def place(
    clusters: ClusterCache,
    records: RecordBatch,
    neighbours: Iterable[str],
    edges: Sequence[Edge],
    lookup: CandidateSearch,
) -> list[Assignment]:
    """Store the edges of new pages and cluster them: pages without relatives stand alone, around all others clusters are repaired.

    Args:
        clusters: those around the pages.
        records: new pages, and new versions of pages, whose edges were dropped.
        neighbours: of replaced pages, see ``ReplacedEdges``.
        edges: of the new pages.
        lookup: compares pages that lose the one page they were all compared with.

    Returns:
        Assignments of the pages that stand alone.
    """
    touched = {*records.ids, *neighbours}
    ends = {name for edge in edges for name in (edge.left, edge.right)}
    clusters.learn(records_of(records), {})
    clusters.read_pages(clusters.unknown(ends | touched) - set(records.ids))
    clusters.read_around(clusters.with_clusters(ends | touched))
    related = same_neighbours(edges, touched)
    known = clusters.assignments({*touched, *related})
    # A page that another process has stored, and that it has not yet decided on, is decided on with ours.
    touched |= {name for name in related if name not in known}
    linked = {name for edge in edges if edge.relation.same for name in (edge.left, edge.right)} & touched
    linked |= {name for name in touched if name in known} | clusters.members(touched).keys() & touched
    constraints = load_constraints(clusters)
    linked |= {name for name in touched if constraints.touch([name])}
    alone = [Assignment(name, name, name, Relation.EXACT, 1.0) for name in sorted(touched - linked)]
    clusters.put_edges(edges)
    clusters.assign_many(alone)
    if linked:
        repair_around(clusters, linked, lookup, lookup.settings, {*records.ids})
    return alone


@dataclass(frozen=True, slots=True)
class Removal:
    """What removing pages did.

    Attributes:
        stored: how many of the pages were stored.
        changed: pages that stay and may have another ``dedup`` field: they were related to removed pages, or their clusters have changed.
        clusters: how many clusters were repaired.
    """

    stored: int
    changed: frozenset[str]
    clusters: int


def remove_pages(index: Index, page_ids: Iterable[str], lookup: CandidateSearch) -> Removal:
    """Remove pages, and repair the clusters they were in; the caller holds a write session.

    A note says that clusters are pending from before the first change until the repaired clusters are kept.

    Args:
        index: holds the pages; unknown ids are no error.
        page_ids: the pages.
        lookup: compares pages that lose the one page they were all compared with.
    """
    gone = set(page_ids)
    clusters = {each.cluster_id for each in index.assignments(gone).values()}
    edges, groups = index.edges_and_members(gone, clusters)
    members = {each.page_id for group in groups.values() for each in group} - gone
    touched = members | (same_neighbours(edges, gone) - gone)
    related = {name for edge in edges for name in (edge.left, edge.right)} - gone
    if not touched:
        return Removal(index.delete_many(gone), frozenset(related), 0)
    unfinished = index.notes(READ_IN_SESSIONS)[CLUSTERS_PENDING] is not None
    if not unfinished:
        index.set_note(CLUSTERS_PENDING, "1")
    stored = index.delete_many(gone)
    with index.batched_cluster_updates() as updates:
        cache = ClusterCache(updates)
        cache.read_around(touched)
        # Removed pages are named too: an override may concern them.
        changed, repaired = repair_around(cache, touched | gone, lookup, lookup.settings)
        if not unfinished:
            updates.set_note(CLUSTERS_PENDING, None)
    return Removal(stored, frozenset(touched | related | changed) - gone, repaired)


def records_of(records: RecordBatch) -> dict[str, FeatureRecord]:
    """Records by page id with what the canonical order and comparing look at, and nothing else."""
    return {
        key.page_id: FeatureRecord(
            page_id=key.page_id,
            length=key.length,
            content_hash=0,
            terms=(),
            payload=payload,
            published=key.published,
            site=key.site,
            url=key.url,
        )
        for key, payload in zip(keys_of(records), records.payloads, strict=True)
    }
