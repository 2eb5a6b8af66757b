"""From stored features to edges and clusters of a few new or changed pages, and the notes that say what is not finished.

A run over the whole corpus (``whole_corpus``) uses the same candidate terms, decision rules and star clustering. It learns new statistics;
a partial run uses those at hand. ``Deduplicator`` chooses the full run when a fifth of the corpus is new and a call adds many pages,
so its cost per page stays constant as the corpus grows.
"""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from sys import maxsize
from typing import TYPE_CHECKING, Final

from es_dedup.batch.cluster_cache import ClusterCache
from es_dedup.batch.corpus import key_of
from es_dedup.batch.overrides import JOURNAL, OVERRIDES, load_constraints
from es_dedup.clustering import PageKey, update_clusters
from es_dedup.errors import reading_stored
from es_dedup.index.source_index import ATTACHMENTS
from es_dedup.model.batches import chunked
from es_dedup.settings.recorded import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from es_dedup.clustering import Change, Constraints
    from es_dedup.decision.candidate_search import CandidateSearch
    from es_dedup.index.port import Assignment, ClusterUpdates, Index
    from es_dedup.model import Progress
    from es_dedup.model.overrides import Override
    from es_dedup.settings import Settings

QUICK_PAGES: Final = 1_000
"""An index of so many pages is clustered anew within about a second, so this is done without being asked for."""
CLUSTERS_PENDING: Final = "clusters_pending"
"""Note: pages were stored or removed whose clusters are not made yet; who opens an index of ``QUICK_PAGES`` to write clusters it anew then."""
DOCUMENTS_PENDING: Final = "documents_pending"
"""Note: pages whose clusters overrides have changed, and whose documents are not written yet, by the change."""
READ_IN_SESSIONS: Final = (STATISTICS, OVERRIDES, CLUSTERS_PENDING, ATTACHMENTS)
"""Notes that are read together when a session begins."""
LOOKUP_PAGES: Final = 100  # pages queried and compared at a time in a partial run


@contextmanager
def write_session(index: Index) -> Iterator[bool]:
    """Change pages and clusters while no other session does; sees what the sessions before have changed.

    Yields:
        Whether nobody else, in this process or another, has held a session since the last one of this index object.

    Raises:
        IndexLocked: another session did not finish in time.
    """
    with index.writing() as alone:
        if not alone:
            index.refresh()
        index.notes(READ_IN_SESSIONS)
        yield alone


def repair_around(
    index: ClusterUpdates,
    touched: Collection[str],
    lookup: CandidateSearch | None,
    settings: Settings,
    decided: Collection[str] = frozenset(),
) -> tuple[set[str], int]:
    """Cluster stored pages around a change again.

    Pages that lost the one page they were all compared with (copies of a very common page are compared with its first
    copies only) are looked up once more, so that they find each other.

    Args:
        index: with the new edges in it and those of removed pages gone.
        touched: pages that are new or were removed, and stored pages that had an edge to a page that was replaced or removed.
        lookup: finds and compares stored pages; None: all their edges are there.
        settings: canonical order.
        decided: pages whose edges are those of their stored version; other outdated ones stay outdated.

    Returns:
        Pages whose place has changed, with those that were in clusters with them before; and how many clusters have changed.
    """
    before = index.assignments(touched)
    constraints = load_constraints(index)
    pages, clusters = set[str](), set[str]()

    def cluster_around(some: Collection[str]) -> Sequence[Assignment]:
        change = update_clusters(index, partial(page_keys, index), some, settings.cluster, constraints)
        pages.update(_pages_of(index, change))
        index.assign_many(_still_outdated(index, change, decided))
        clusters.update((each.cluster_id for each in change.assignments), change.retired)
        return change.assignments

    alone = [
        each.page_id
        for each in cluster_around(touched)
        if each.page_id == each.canonical
        and each.page_id in before
        and before[each.page_id].canonical != each.page_id
    ]
    if lookup is not None and len(alone) > 1:
        for some in chunked(alone, LOOKUP_PAGES):
            index.put_edges(lookup.of_stored(some).edges())
        cluster_around(alone)
    return pages, len(clusters)


def _pages_of(index: ClusterUpdates, change: Change) -> set[str]:
    """The pages of a change that is not written yet, and those of the clusters that they are in."""
    moved = {each.page_id for each in change.assignments}
    left = index.members({each.cluster_id for each in index.assignments(moved).values()})
    return moved.union(each.page_id for group in left.values() for each in group)


def _still_outdated(
    index: ClusterUpdates, change: Change, decided: Collection[str] = frozenset()
) -> list[Assignment]:
    """The assignments of a change; pages of which a version before is clustered stay outdated until they are decided on."""
    known = index.assignments(each.page_id for each in change.assignments)
    outdated = {name for name, each in known.items() if each.outdated}.difference(decided)
    return [replace(each, score=0.0) if each.page_id in outdated else each for each in change.assignments]


def change_overrides(
    index: Index, changes: Sequence[Override], constraints: Constraints, settings: Settings
) -> tuple[str, ...]:
    """Store overrides, and cluster the pages that they concern again.

    Where source indices are attached, the note ``DOCUMENTS_PENDING`` names the pages until their documents are written.

    Args:
        index: to write to; the caller keeps other writers out.
        changes: those that are new or were undone.
        constraints: what all overrides demand with these.
        settings: canonical order.

    Returns:
        Pages whose cluster has changed (other members, or another canonical document), ascending.
    """
    named = {page for each in changes for page in each.pages}
    touched = load_constraints(index).with_units(named) | constraints.with_units(named)
    with index.batched_cluster_updates() as updates:
        clusters = ClusterCache(updates)
        clusters.read_pages(touched)
        clusters.read_around(clusters.with_clusters(touched))
        change = update_clusters(
            clusters, partial(page_keys, clusters), touched, settings.cluster, constraints, limit=maxsize
        )
        moved = [each.page_id for each in change.assignments]
        left = clusters.members(each.cluster_id for each in clusters.assignments(moved).values())
        before = {each.page_id for group in left.values() for each in group}
        if attached(index) and (pending := before | set(moved)):
            known = documents_pending(index)
            note = json.dumps({**known, secrets.token_hex(6): sorted(pending)}, ensure_ascii=False)
            index.set_note(DOCUMENTS_PENDING, note)
        unfinished = index.note(CLUSTERS_PENDING) is not None
        JOURNAL.record(index, changes, {} if unfinished else {CLUSTERS_PENDING: "1"})
        clusters.assign_many(_still_outdated(clusters, change))
        joined = clusters.members(each.cluster_id for each in change.assignments)
        if not unfinished:
            updates.set_note(CLUSTERS_PENDING, None)
    index.refresh()  # who decides looks at the clusters at once, often by another process
    return tuple(sorted(before | {each.page_id for group in joined.values() for each in group}))


def follow_overrides(index: Index, settings: Settings) -> None:
    """Cluster the pages again that overrides in force concern, where clusters were made without them.

    Args:
        index: with all edges and clusters; the caller keeps other writers out.
        settings: canonical order.
    """
    constraints = load_constraints(index)
    touched = {*constraints.units, *constraints.apart, *constraints.canonical}
    if touched:
        index.refresh_clusters()
        keys_of = partial(page_keys, index)
        change = update_clusters(index, keys_of, touched, settings.cluster, constraints, limit=maxsize)
        index.assign_many(change.assignments)


def attached(index: Index) -> bool:
    """Whether source indices are attached, whose documents have to follow each change of clusters."""
    return index.note(ATTACHMENTS) not in (None, "[]")


def documents_pending(index: Index) -> dict[str, list[str]]:
    """Pages whose documents have not followed a change of overrides yet, by the change.

    Raises:
        DamagedData: the note cannot be read.
    """
    with reading_stored("pages of changed overrides"):
        found = json.loads(index.note(DOCUMENTS_PENDING) or "{}")
        return {str(change): [str(page) for page in pages] for change, pages in found.items()}


def page_keys(index: ClusterUpdates, page_ids: Iterable[str]) -> dict[str, PageKey]:
    """Sort keys of the canonical order, of the stored ones among these pages."""
    return {page_id: key_of(record) for page_id, record in index.get_many(page_ids).items()}


def silent(_: Progress) -> None:
    """Report no progress."""
