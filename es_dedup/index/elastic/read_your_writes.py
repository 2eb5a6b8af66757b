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
from es_dedup.model.batches import by_key
from es_dedup.text.ragged import begins_run, gather

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.index.elastic.collection import Result
    from es_dedup.index.records import RecordBatch


CREATED: Final = 201
MOST_PAGES: Final = 2_000
NEWEST: Final = (
    '{"size":1,"sort":[{"_seq_no":"desc"}],"_source":false,"stored_fields":"_none_","track_total_hits":false}'
)
"""The search whose answer ``newest_of`` reads."""


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
        return {name: part.compared[name] for part in parts for name in wanted if name in part.compared}

    def copies(self, hashes: Iterable[int]) -> dict[int, list[str]]:
        """The pages with each of these content hashes; 0 finds none."""
        wanted = {value for value in hashes if value}
        pairs = chain.from_iterable(zip(part.hashes.tolist(), part.ids, strict=True) for part in self.parts())
        return by_key((value, page_id) for value, page_id in pairs if value in wanted)


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
    at, owners = gather(batch.term_offsets, rows)
    order = np.lexsort((owners, batch.terms[at]))
    terms, owners = batch.terms[at[order]], owners[order]
    once = begins_run(terms) | begins_run(owners)
    hashes = np.array([batch.content_hashes[place] for place in places], dtype=np.uint64)
    ids = [batch.ids[place] for place in places]
    compared = {batch.ids[place]: (batch.payloads[place], batch.published[place]) for place in places}
    return WrittenBatch(last, ids, compared, terms[once], owners[once], hashes)


def newest_of(answer: Mapping[str, Any]) -> int:
    """The number of the newest write that the search ``NEWEST`` saw; -1 in an empty index."""
    hits = answer["hits"]["hits"]
    return int(hits[0]["sort"][0]) if hits else -1
