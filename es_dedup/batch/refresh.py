"""Statistics learned again from an index that has grown, and the pairs that they decide otherwise, while others go on writing.

Reading, learning and deciding need no lock. Other writers are kept out only while the differences are stored, some pages at a time; pages
that were written or removed meanwhile keep the edges that their writers have found.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import defaultdict
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from es_dedup.batch.clusters import LOOKUP_PAGES, ClusterCache
from es_dedup.batch.corpus import SCANNED, load_corpus
from es_dedup.batch.learning import EffectiveSettings, store_statistics
from es_dedup.batch.whole_corpus import IN_MEMORY_PAGES, decide_corpus, silent
from es_dedup.clustering.repair import same_neighbours
from es_dedup.clustering.star import weakness
from es_dedup.errors import IndexError_
from es_dedup.model.batches import chunked
from es_dedup.settings.recorded import STATISTICS, pages_learned

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Edge
    from es_dedup.settings import Settings

    Pair = tuple[str, str]
    Version = tuple[int, str]

REFRESHING: Final = "refreshing"
"""Note: the owner of the refresh under way, when its lease ends, and pages whose documents may not be written yet."""

CHANGED_SHARE: Final = 20
"""Learning again reads all pages: it is worth it where one in so many came or went."""
GROWTH: Final = 2
"""Statistics are learned again once there are so many times the pages that they were learned from: all that is learned stays linear in the pages."""
COUNTED_PAGES: Final = 500
"""That a hook decides on before all are counted again, or a tenth of the pages where these are more: each count makes the server refresh."""
REFRESHED_PAGES: Final = 50_000
"""Beyond which hooks and calls that add pages leave that to maintenance: reading the features of a server takes about ten seconds."""
LEASE_SECONDS: Final = 600.0
"""How long a lease holds from the last note on; then its owner is taken to have been killed. No step takes nearly so long."""


class _Refreshing(NamedTuple):
    """What the note ``REFRESHING`` says.

    Attributes:
        owner: of the refresh, random.
        until: when its lease ends, in seconds since 1970.
        pages: whose documents may be left to write.
    """

    owner: str
    until: float
    pages: Collection[str]

    @classmethod
    def read(cls, note: str | None) -> Self:
        """The content of a note; no owner and no pages where there is no note, or one in another form."""
        with suppress(ValueError):
            match json.loads(note or "[]"):
                case [str(owner), int() | float() as until, list(pages)]:
                    return cls(owner, until, [page for page in pages if isinstance(page, str)])
        return cls("", 0, ())

    @property
    def is_under_way(self) -> bool:
        """Whether the lease holds now. One that ends later than any lease can comes from a clock that is wrong, and does not count."""
        now = time.time()
        return now < self.until <= now + 2 * LEASE_SECONDS


class _Lease:
    """The right to refresh an index, which others leave to its owner until ``LEASE_SECONDS`` after its last note.

    Args:
        index: has the note.
        writing: keeps other writers out.

    Attributes:
        pages: of a refresh that was stopped, whose documents are left to write.
    """

    def __init__(self, index: Index, writing: Callable[[], AbstractContextManager[object]]) -> None:
        self._index, self._writing, self._owner = index, writing, secrets.token_hex(6)
        self.pages = set[str]()

    def take(self) -> bool:
        """Become the owner, unless another one is under way."""
        with self._writing():
            before = _Refreshing.read(self._index.note(REFRESHING))
            if before.is_under_way:
                return False
            self.pages.update(before.pages)
            self.note(self.pages)
        return True

    def note(self, pages: Collection[str], *, ends: bool = False) -> None:
        """Name pages whose documents may be left to write, and renew the lease or end it; the caller keeps other writers out."""
        until = time.time() + (0 if ends else LEASE_SECONDS)
        note = json.dumps(_Refreshing(self._owner, until, sorted(pages)), ensure_ascii=False)
        self._index.set_note(REFRESHING, note)

    def is_ours(self, statistics: str | None) -> bool:
        """Whether no other process has taken over, and the note of the statistics is still this one."""
        notes = self._index.notes([STATISTICS, REFRESHING])
        return notes[STATISTICS] == statistics and _Refreshing.read(notes[REFRESHING]).owner == self._owner

    def end(self, *, complete: bool) -> None:
        """Give up the lease. ``complete``: all is stored and the note goes; else the next refresh continues with the pages named."""
        with self._writing():
            noted = _Refreshing.read(self._index.note(REFRESHING))
            if noted.owner == self._owner and complete:
                self._index.set_note(REFRESHING, None)
            elif noted.owner == self._owner:
                self.note(noted.pages, ends=True)


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

    Not of an index that is too large, nor while another process refreshes it.
    """
    stored, notes = index.count(), index.notes([STATISTICS, REFRESHING])
    if not 0 < stored <= IN_MEMORY_PAGES or _Refreshing.read(notes[REFRESHING]).is_under_way:
        return False
    grown = stored <= CHANGED_SHARE * abs(stored - pages_learned(notes[STATISTICS]))
    return changed or grown or notes[REFRESHING] is not None


def is_outgrown(index: Index, stored: int, arrived: int, *, last: bool) -> bool:
    """Whether a hook that has decided on so many pages of all ``stored`` ones is to refresh the index.

    That is so where there are twice the pages that statistics were learned from, at the ``last`` look where one page in twenty is the hook's,
    and where a refresh was stopped.
    """
    notes = index.notes([STATISTICS, REFRESHING])
    refreshing, learned = _Refreshing.read(notes[REFRESHING]), pages_learned(notes[STATISTICS])
    if stored > REFRESHED_PAGES or refreshing.is_under_way:
        return False
    grown = stored >= max(GROWTH * learned, COUNTED_PAGES)
    ended = last and stored != learned and CHANGED_SHARE * arrived >= stored
    return grown or ended or notes[REFRESHING] is not None


def refresh(
    index: Index, given: Settings, writing: Callable[[], AbstractContextManager[object]]
) -> Iterator[set[str]]:
    """Learn statistics from all stored pages, and store the edges and clusters that differ by them.

    A refresh that was stopped is completed by the next one, when its lease has ended.

    Args:
        index: of so many pages that their features fit in memory.
        given: all settings; the decision settings that the index records are in force.
        writing: keeps other writers out.

    Yields:
        Pages whose documents have to be written now; nothing where another process or thread is at it.
    """
    lease = _Lease(index, writing)
    if not lease.take():
        return
    complete = not lease.pages  # as long as nothing is stored
    try:
        known = index.note(STATISTICS)
        settings = EffectiveSettings.read(index, given, known).settings
        versions: dict[str, Version] = {}

        def look(records: Sequence[FeatureRecord]) -> None:
            versions.update((record.page_id, _version(record)) for record in records)

        found = decide_corpus(load_corpus(index, look=look), settings, silent)
        edges: dict[str, dict[Pair, Edge]] = defaultdict(dict)
        for edge in found.edges:
            for name in (edge.left, edge.right):
                edges[name][edge.left, edge.right] = edge
        decided = _Decided(settings, versions, edges)
        stale = sorted(_decided_otherwise(index, decided).union(lease.pages))
        with writing():
            if not lease.is_ours(known):
                return  # another process has learned meanwhile
            complete = False
            lease.note(lease.pages)
            store_statistics(index, found.statistics, found.packed, settings)
            known = index.note(STATISTICS)
        for some in chunked(stale, LOOKUP_PAGES):
            with writing():
                if not lease.is_ours(known):
                    return
                lease.pages.difference_update(some)
                changed = _store(index, some, decided, lease)
            yield changed
        complete = True
    finally:
        with suppress(IndexError_):  # else the lease ends by itself
            lease.end(complete=complete)


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


def _store(index: Index, some: Collection[str], decided: _Decided, lease: _Lease) -> set[str]:
    """Store the edges of some pages as they were decided, and their clusters; gives the pages whose documents change.

    Of pages that were changed, removed, outdated or not yet clustered when they were read, edges stay as they are. Pages of a refresh
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
    clusters.read_around(touched)
    pages |= clusters.repair_around(touched, None, decided.settings)[0]
    pages.update(some)
    # Before the clusters: who stops here has named the documents that are to be written.
    lease.note(pages.union(lease.pages))
    clusters.store()
    return pages
