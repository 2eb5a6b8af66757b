"""Statistics learned again from an index that has grown, and the pairs that they decide otherwise, while others go on writing.

Reading, learning and deciding need no lock. Other writers are kept out only while the differences are stored, some pages at a time; pages
that were written or removed meanwhile keep the edges that their writers have found.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from es_dedup.batch.clusters import LOOKUP_PAGES, ClusterCache, repair_around
from es_dedup.batch.corpus import SCANNED, Corpus, key_of
from es_dedup.batch.learning import EffectiveSettings, store_statistics
from es_dedup.batch.whole_corpus import IN_MEMORY_PAGES, decide_corpus, silent
from es_dedup.clustering import same_neighbours
from es_dedup.clustering.star import weakness
from es_dedup.detectors.features import unpack
from es_dedup.model.batches import chunked
from es_dedup.settings.recorded import STATISTICS, pages_learned

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from es_dedup.clustering import PageKey
    from es_dedup.detectors.features import FeatureTable
    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Edge
    from es_dedup.settings import Settings

    Pair = tuple[str, str]
    Version = tuple[int, str]

REFRESHING: Final = "refreshing"
"""Note: statistics were learned again, and not all that they change is stored; names pages whose documents may be left to write."""

CHANGED_SHARE: Final = 20
"""Learning again reads all pages: it is worth it where one in so many came or went."""
_under_way: Final = set[str | None]()
"""Notes of the statistics that threads of this process replace: a second thread that found the same growth would learn the same."""
_guard: Final = threading.Lock()


class _Decided(NamedTuple):
    """What the pages were decided by and on.

    Attributes:
        settings: those in force.
        versions: of each page, as it was read.
        edges: of each page that has some, by pair.
    """

    settings: Settings
    versions: Mapping[str, Version]
    edges: Mapping[str, Mapping[Pair, Edge]]


def refresh_is_due(index: Index, *, changed: bool = False) -> bool:
    """Whether a refresh was stopped, one page in twenty came or went since statistics were learned, or some were ``changed``.

    Not of an index that is too large.
    """
    stored, notes = index.count(), index.notes([STATISTICS, REFRESHING])
    grown = stored <= CHANGED_SHARE * abs(stored - pages_learned(notes[STATISTICS]))
    return 0 < stored <= IN_MEMORY_PAGES and (changed or grown or notes[REFRESHING] is not None)


def refresh(
    index: Index, given: Settings, writing: Callable[[], AbstractContextManager[object]]
) -> Iterator[set[str]]:
    """Learn statistics from all stored pages, and store the edges and clusters that differ by them.

    A refresh that was stopped is completed by the next one; of two processes at the same time the one that has learned first goes on.

    Args:
        index: of so many pages that their features fit in memory.
        given: all settings; the decision settings that the index records are in force.
        writing: keeps other writers out.

    Yields:
        Pages whose documents have to be written now; nothing where another thread of this process is at it.
    """
    known = replaced = index.note(STATISTICS)
    with _guard:
        if replaced in _under_way:
            return
        _under_way.add(replaced)
    try:
        note = index.note(REFRESHING)
        left = set[str](json.loads(note or "[]"))
        settings = EffectiveSettings.read(index, given, known).settings
        versions: dict[str, Version] = {}
        index.refresh()
        found = decide_corpus(Corpus(_read(index, versions)), settings, silent)
        edges: dict[str, dict[Pair, Edge]] = defaultdict(dict)
        for edge in found.edges:
            for name in (edge.left, edge.right):
                edges[name][edge.left, edge.right] = edge
        decided = _Decided(settings, versions, edges)
        stale = sorted(_decided_otherwise(index, decided).union(left))
        packed = found.statistics.to_bytes()
        with writing():
            if index.note(STATISTICS) != known:
                return  # another process has learned meanwhile
            index.set_note(REFRESHING, json.dumps(sorted(left)))
            store_statistics(index, found.statistics, packed, settings)
            known = index.note(STATISTICS)
        for some in chunked(stale, LOOKUP_PAGES):
            with writing():
                if index.note(STATISTICS) != known:
                    return
                left.difference_update(some)
                changed = _store(index, some, decided, left)
            yield changed
        with writing():
            if index.note(STATISTICS) == known:
                index.set_note(REFRESHING, None)
    finally:
        _under_way.discard(replaced)


def _read(
    index: Index, versions: dict[str, Version]
) -> Iterator[tuple[list[PageKey], FeatureTable, list[bytes]]]:
    """All pages for a corpus in memory, and the version of each."""
    for records in index.scan(batch=SCANNED):
        versions.update((record.page_id, _version(record)) for record in records)
        yield [key_of(record) for record in records], unpack([record.payload for record in records]), []


def _version(record: FeatureRecord) -> Version:
    return record.payload_version, record.published


def _decided_otherwise(index: Index, decided: _Decided) -> set[str]:
    """One page of each pair that is stored otherwise than it was decided."""
    index.refresh_clusters()
    pages = set[str]()
    for some in chunked(sorted(decided.versions), SCANNED):
        edges = {pair: edge for name in some for pair, edge in decided.edges.get(name, {}).items()}
        stored = index.edges_of(some)
        pairs = _differing(stored, edges.values())
        pages.update(left for left, right in pairs if {left, right} <= decided.versions.keys())
    return pages


def _differing(some: Iterable[Edge], others: Iterable[Edge]) -> set[Pair]:
    """Pairs of which one side has no edge, or one that clustering tells from that of the other side."""
    ours, theirs = (
        {
            (edge.left, edge.right, edge.relation, edge.relation.same and weakness(edge.relation, edge.score))
            for edge in each
        }
        for each in (some, others)
    )
    return {(left, right) for left, right, _, _ in ours ^ theirs}


def _store(index: Index, some: Collection[str], decided: _Decided, left: Collection[str]) -> set[str]:
    """Store the edges of some pages as they were decided, and their clusters; gives the pages whose documents change.

    Of pages that were changed, removed, outdated or not yet clustered when they were read, edges stay as they are. Pages that are ``left`` by a refresh
    that was stopped are named until it is their turn.
    """
    before = {(edge.left, edge.right): edge for edge in index.edges_of(some)}
    wanted = {pair: edge for name in some for pair, edge in decided.edges.get(name, {}).items()}
    ends = {*some, *(name for pair in (*before, *wanted) for name in pair)}
    clusters = ClusterCache(index)
    clusters.read_pages(ends)
    records, assigned = clusters.get_many(ends), clusters.assignments(ends)
    settled = {
        name
        for name in records.keys() & assigned.keys()
        if decided.versions.get(name) == _version(records[name]) and not assigned[name].outdated
    }
    now = {pair: edge for pair, edge in wanted.items() if settled.issuperset(pair)}
    now |= {pair: edge for pair, edge in before.items() if not settled.issuperset(pair)}
    changed = _differing(before.values(), now.values())
    pages = {name for pair in changed for name in pair}
    if changed:
        clusters.drop_edges(some)
        clusters.put_edges(now.values())
    touched = {*some, *same_neighbours([*before.values(), *now.values()], set(some))} & records.keys()
    clusters.read_around(clusters.with_clusters(touched))
    pages |= repair_around(clusters, touched, None, decided.settings)[0]
    pages.update(some)
    # Before the clusters: who stops here has named the documents that are to be written.
    index.set_note(REFRESHING, json.dumps(sorted(pages.union(left)), ensure_ascii=False))
    clusters.store()
    return pages
