"""The join of the SpotSigs paper: all pairs of multisets of at least one similarity, with bounds that never lose a pair.

Source: Theobald, Siddharth, Paepcke, SIGIR 2008; docs/algorithms/spotsigs.md says where the released bounds are not
sound and what stands in their place.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from experiments.comparators.spotsigs import multiset_jaccard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from experiments.comparators.hashsets import HashBag

_SLACK: Final = 1e-9


class SpotIndex:
    """Pages in partitions by size, each with its inverted index; finds all pages of at least one similarity.

    Two pages of similarity s have sizes of at least that ratio, so a partition is as wide as that allows and a match
    lies in the same one or in a neighbour. Within a list the largest pages come first.

    Args:
        pages: the multisets; a match is named by its place here.
        min_similarity: in (0, 1].
    """

    def __init__(self, pages: Sequence[HashBag], min_similarity: float) -> None:
        self._pages, self._limit = pages, min_similarity
        self._sizes = [page.size for page in pages]
        self._df: dict[int, int] = {}
        self._edges = _partition_edges(sorted({size for size in self._sizes if size}), min_similarity)
        self._lists: list[dict[int, list[int]]] = [{} for _ in self._edges]
        for at in sorted(range(len(pages)), key=lambda at: (-self._sizes[at], at)):
            for value in pages[at].values.tolist():
                self._lists[self._partition(self._sizes[at])].setdefault(value, []).append(at)
                self._df[value] = self._df.get(value, 0) + 1

    def matches(self, page: HashBag) -> dict[int, float]:
        """Place and similarity of every page that is similar enough; complete for pages of any size.

        A page not met under any signature so far can share at most what is left of ``page``: below the limit it is
        passed over, and the search ends when that holds for all.
        """
        size = page.size
        if not size:
            return {}
        seen: dict[int, float] = {}
        rarest = sorted(
            zip(page.values.tolist(), page.counts.tolist(), strict=True),
            key=lambda each: (self._df.get(each[0], 0), each[0]),
        )
        passed = 0
        for value, count in rarest:
            if size - passed < self._limit * size - _SLACK:
                break
            for other in self._listed(value, size):
                if other not in seen and self._possible(size, self._sizes[other], passed):
                    seen[other] = multiset_jaccard(page, self._pages[other])
            passed += count
        return {other: score for other, score in seen.items() if score >= self._limit - _SLACK}

    def pairs(self) -> Iterator[tuple[int, int, float]]:
        """Every pair of pages that is similar enough, once, the smaller place first."""
        for at, page in enumerate(self._pages):
            for other, score in self.matches(page).items():
                if other > at:
                    yield at, other, score

    def _listed(self, value: int, size: int) -> Iterator[int]:
        """Pages with this signature in the neighbouring partitions; each list ends where pages become too small."""
        middle = self._partition(size)
        for lists in self._lists[max(0, middle - 1) : middle + 2]:
            for other in lists.get(value, ()):
                if self._sizes[other] < self._limit * size - _SLACK:
                    break
                yield other

    def _possible(self, size: int, other: int, passed: int) -> bool:
        """Whether a page of this size that shares none of the signatures passed can be similar enough."""
        return min(other, size - passed) >= self._limit * max(size, other + passed) - _SLACK

    def _partition(self, size: int) -> int:
        return min(bisect_left(self._edges, size), max(len(self._edges) - 1, 0))


def _partition_edges(sizes: Sequence[int], min_similarity: float) -> list[int]:
    """The largest size of each partition: cut as soon as its sizes are too far apart to be similar enough."""
    edges: list[int] = []
    smallest = 0
    for size in sizes:
        if not edges or smallest < min_similarity * size - _SLACK:
            edges.append(size)
            smallest = size
        edges[-1] = size
    return edges
