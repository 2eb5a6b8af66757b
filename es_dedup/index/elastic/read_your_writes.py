"""Pages that this object has made and searches may not see yet: kept here, so that no refresh is waited for.

A server refreshes about once a second by itself. To ask for more makes a small segment each time, which each later search pays
for. A shard numbers its writes, so the number of the newest write that a search sees tells which pages are still to be added
from here; and a gap in the numbers of our own writes tells that somebody else has written, whose pages only a refresh shows.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index.candidate_terms import TermPostings
from es_dedup.index.elastic.documents import assignment_writes, edge_writes, grouped, key_of, pair_key, turned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.index.elastic.collection import Collection, Result, Write
    from es_dedup.index.port import Assignment, Index
    from es_dedup.index.records import FeatureRecord, RecordBatch
    from es_dedup.model import Edge

    Pair = tuple[str, str]

CREATED: Final = 201
MOST_PAGES: Final = 2_000
NEWEST: Final = (
    '{"size":1,"sort":[{"_seq_no":"desc"}],"_source":false,"stored_fields":"_none_","track_total_hits":false}'
)
"""The search whose answer ``newest_of`` reads."""
MOST: Final = 20_000  # changes that are kept


@dataclass(frozen=True, slots=True, eq=False)
class WrittenBatch:
    """Pages of one write: their terms, ascending, with the page of each; ``last`` is the number of the last write.

    ``compared``: payload and time of publication by page id.
    """

    last: int
    ids: list[str]
    compared: Mapping[str, tuple[bytes, str]]
    terms: NDArray[np.uint64]
    owners: NDArray[np.int64]
    hashes: NDArray[np.uint64]


class PageWriteCache:
    """Pages made since the last refresh; threads may share it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._parts: deque[WrittenBatch] = deque()
        self._last: tuple[int, int] | None = None

    def __len__(self) -> int:
        """How many pages are kept."""
        return sum(len(part.ids) for part in tuple(self._parts))

    def add(self, batch: RecordBatch, places: Sequence[int], results: Sequence[Result]) -> bool:
        """Keep pages that were written just now.

        Args:
            batch: holds them.
            places: which pages of it.
            results: of their writes, in order.

        Returns:
            Whether what is kept is enough for searches to be whole: nobody else has written since our last write, each page
            was new, and not too many are kept.
        """
        with self._guard:
            if not self._follow(results) or any(result.status != CREATED for result in results):
                return False
            if places and self._last is not None:
                self._parts.append(_part(batch, places, self._last[0]))
            whole = len(self) <= MOST_PAGES
            while len(self) > MOST_PAGES:
                self._parts.popleft()
            return whole

    def _follow(self, results: Sequence[Result]) -> bool:
        """Whether the numbers of these writes follow each other and the last one."""
        conditions = [result.condition for result in results if result.condition is not None]
        before = self._last
        if not conditions:
            return before is not None
        self._last = conditions[-1]
        first, term = conditions[0]
        wanted = [(first + at, term) for at in range(len(conditions))]
        return conditions == wanted and before == (first - 1, term)

    def newest(self) -> int:
        """The number of the last write that is kept; -1 where none is."""
        with self._guard:
            return self._parts[-1].last if self._parts else -1

    def seen(self, newest: int) -> None:
        """Forget pages that searches see."""
        with self._guard:
            while self._parts and self._parts[0].last <= newest:
                self._parts.popleft()

    def parts(self) -> tuple[WrittenBatch, ...]:
        """What is kept now, for ``postings_of``; another thread may forget some of it meanwhile."""
        with self._guard:
            return tuple(self._parts)

    def payloads(self, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
        """See ``Index.payloads``, of the pages that are kept."""
        parts, wanted = self.parts(), list(page_ids)
        return {
            page_id: part.compared[page_id]
            for part in parts
            for page_id in wanted
            if page_id in part.compared
        }

    def copies(self, hashes: Iterable[int]) -> dict[int, list[str]]:
        """The pages with each of these content hashes; 0 finds none."""
        wanted = {value for value in hashes if value}
        found: dict[int, list[str]] = {}
        for part in self.parts():
            for value, page_id in zip(part.hashes.tolist(), part.ids, strict=True):
                if value in wanted:
                    found.setdefault(value, []).append(page_id)
        return found


def postings_of(parts: Sequence[WrittenBatch], terms: NDArray[np.uint64]) -> TermPostings:
    """Which pages carry these terms, which are ascending; pages are numbered part by part."""
    found, pages, before = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for part in parts if len(terms) else ():
        places = np.minimum(np.searchsorted(terms, part.terms), len(terms) - 1)
        (hits,) = np.nonzero(terms[places] == part.terms)
        found.append(places[hits])
        pages.append(part.owners[hits] + before)
        before += len(part.ids)
    return TermPostings.of(len(terms), np.concatenate(found), np.concatenate(pages))


def _part(batch: RecordBatch, places: Sequence[int], last: int) -> WrittenBatch:
    rows = np.array(places, dtype=np.int64)
    starts, stops = batch.term_offsets[rows], batch.term_offsets[rows + 1]
    terms = np.concatenate([batch.terms[start:stop] for start, stop in zip(starts, stops, strict=True)])
    owners = np.repeat(np.arange(len(rows)), stops - starts)
    order = np.lexsort((owners, terms))
    terms, owners = terms[order], owners[order]
    again = (terms[1:] == terms[:-1]) & (owners[1:] == owners[:-1])
    once = np.flatnonzero(~np.concatenate((np.zeros(min(1, len(terms)), dtype=bool), again)))
    hashes = np.array([batch.content_hashes[place] for place in places], dtype=np.uint64)
    ids = [batch.ids[place] for place in places]
    published = batch.published or [""] * len(batch.ids)
    compared = {batch.ids[place]: (batch.payloads[place], published[place]) for place in places}
    return WrittenBatch(last, ids, compared, terms[once], owners[once], hashes)


def newest_of(answer: Mapping[str, Any]) -> int:
    """The number of the newest write that the search ``NEWEST`` saw; -1 in an empty index."""
    hits = answer["hits"]["hits"]
    return int(hits[0]["sort"][0]) if hits else -1


class ClusterChanges:
    """The last state of what was changed, None for what was taken away; for one thread at a time."""

    def __init__(self) -> None:
        self._edges: dict[Pair, Edge | None] = {}
        self._of_page: dict[str, set[Pair]] = {}
        self._assigned: dict[str, Assignment | None] = {}

    def __len__(self) -> int:
        """How many changes there are."""
        return len(self._edges) + len(self._assigned)

    def clear(self) -> None:
        """Forget everything."""
        for kept in (self._edges, self._of_page, self._assigned):
            kept.clear()

    def add(self, later: ClusterChanges) -> None:
        """Keep what was changed later, too."""
        for pair, edge in later._edges.items():
            self._keep(pair, edge)
        self._assigned |= later._assigned

    def put(self, edges: Iterable[Edge]) -> None:
        """New or replaced edges."""
        for edge in map(turned, edges):
            self._keep((edge.left, edge.right), edge)

    def drop(self, edges: Iterable[Edge]) -> None:
        """Edges that are no more."""
        for edge in edges:
            self._keep((edge.left, edge.right), None)

    def assign(self, assignments: Iterable[Assignment]) -> None:
        """New or replaced assignments."""
        self._assigned.update((each.page_id, each) for each in assignments)

    def unassign(self, page_ids: Iterable[str]) -> None:
        """Assignments that are no more."""
        self._assigned.update(dict.fromkeys(page_ids))

    def writes(self, documents: Collection) -> list[Write]:
        """What is to be sent; a page without assignment keeps a document without cluster, so that who follows changes sees it."""
        edges, pages = sorted(self._edges.items()), sorted(self._assigned.items())
        return [
            *edge_writes([edge for _, edge in edges if edge], documents),
            *(documents.delete(pair_key(*pair)) for pair, edge in edges if not edge),
            *assignment_writes([each for _, each in pages if each], documents),
            *(documents.put(key_of(page_id), {"page_id": page_id}) for page_id, each in pages if not each),
        ]

    # Answers, completed

    def edges_of(self, page_ids: Iterable[str], found: Iterable[Edge]) -> list[Edge]:
        """All edges that touch the pages, by (left, right)."""
        edges: dict[Pair, Edge | None] = {(edge.left, edge.right): edge for edge in found}
        for page_id in page_ids:
            edges.update((pair, self._edges[pair]) for pair in self._of_page.get(page_id, ()))
        return [edge for _, edge in sorted(edges.items()) if edge is not None]

    def known(self, page_ids: Iterable[str]) -> dict[str, Assignment | None]:
        """Of the pages those whose assignment was changed."""
        return {page_id: self._assigned[page_id] for page_id in page_ids if page_id in self._assigned}

    def members(self, cluster_ids: Iterable[str], found: Iterable[Assignment]) -> Iterator[Assignment]:
        """All assignments of the clusters."""
        wanted = set(cluster_ids)
        yield from (each for each in found if each.page_id not in self._assigned)
        yield from (each for each in self._assigned.values() if each and each.cluster_id in wanted)

    def _keep(self, pair: Pair, edge: Edge | None) -> None:
        self._edges[pair] = edge
        for page_id in pair:
            self._of_page.setdefault(page_id, set()).add(pair)


class ClusterBatch:
    """Cluster changes that are sent together, see ``Index.batched_cluster_updates``; reads through it see them, and nobody else does.

    Attributes:
        changes: what was changed through it.
        changed_notes: notes that were set through it.
    """

    def __init__(self, index: Index) -> None:
        self._index, self.changes = index, ClusterChanges()
        self.changed_notes: dict[str, str | None] = {}
        self.get_many, self.note, self.notes = index.get_many, index.note, index.notes

    def pages_and_assignments(
        self, page_ids: Iterable[str], notes: Sequence[str] = ()
    ) -> tuple[dict[str, FeatureRecord], dict[str, Assignment], dict[str, str | None]]:
        """See ``Index.pages_and_assignments``."""
        names = list(dict.fromkeys(page_ids))
        stored, found, said = self._index.pages_and_assignments(names, notes)
        now = found | self.changes.known(names)
        return stored, {name: each for name in names if (each := now.get(name)) is not None}, said

    def set_note(self, name: str, value: str | None) -> None:
        """See ``ClusterBatch.set_note`` of the port."""
        self.changed_notes[name] = value

    def put_edges(self, edges: Iterable[Edge]) -> None:
        """See ``Index.put_edges``."""
        self.changes.put(edges)

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """See ``Index.edges_of``."""
        return self.edges_and_members(page_ids, ())[0]

    def edges_and_members(
        self, page_ids: Iterable[str], cluster_ids: Iterable[str]
    ) -> tuple[list[Edge], dict[str, list[Assignment]]]:
        """See ``Index.edges_and_members``."""
        pages, wanted = list(page_ids), list(cluster_ids)
        edges, groups = self._index.edges_and_members(pages, wanted)
        members = self.changes.members(wanted, chain.from_iterable(groups.values()))
        return self.changes.edges_of(pages, edges), grouped(members)

    def drop_edges(self, page_ids: Iterable[str]) -> None:
        """See ``Index.drop_edges``."""
        self.changes.drop(self.edges_of(page_ids))

    def assign_many(self, assignments: Iterable[Assignment]) -> None:
        """See ``Index.assign_many``."""
        self.changes.assign(assignments)

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """See ``Index.assignments``."""
        names = list(dict.fromkeys(page_ids))
        changed = self.changes.known(names)
        found = self._index.assignments(name for name in names if name not in changed) | changed
        return {name: each for name in names if (each := found.get(name)) is not None}

    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        """See ``Index.members``."""
        return self.edges_and_members((), cluster_ids)[1]
