"""Which stored pages does a new page repeat? The edit-distance tree of the source, and posting lists with equal results.

Source: the patent application on deduplicating pages by character frequency (tree and bound); Burkhard and Keller, "Some
approaches to best-match file searching", CACM 1973 (the tree).
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from es_dedup.detectors.char_frequency import needed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.detectors.char_frequency import CharFrequency
    from es_dedup.detectors.char_frequency_features import FrequentUnits


def edit_distance(left: frozenset[int], right: frozenset[int]) -> int:
    """Distance of two main strings: the larger of what each has and the other has not.

    It is a metric: insertions, deletions and replacements that make one set of characters the other.
    """
    return max(len(left), len(right)) - len(left & right)


@dataclass(slots=True)
class _Node:
    number: int
    units: frozenset[int]
    children: dict[int, _Node] = field(default_factory=dict)


class EditTree:
    """Pages in a tree by the edit distance of their main strings, as the source has it.

    All pages below the child at distance e of a node are at distance e of that node. If X shares L characters with the
    node, it shares at most L + e with any of them, so a branch with L + e below the number needed is passed over.

    Args:
        method: decides on a pair, and says which characters are compared.
        min_main: share of a page's characters that a match needs; that of the method.
    """

    def __init__(self, method: CharFrequency, min_main: float) -> None:
        self._method, self._min_main = method, min_main
        self._pages: list[FrequentUnits] = []
        self._root: _Node | None = None
        self.visited = 0
        """Nodes that all searches so far have compared."""

    def __len__(self) -> int:
        return len(self._pages)

    def add(self, page: FrequentUnits) -> int:
        """Store a page; its number, from 0."""
        node = _Node(len(self._pages), _units(self._method, page))
        self._pages.append(page)
        if self._root is None:
            self._root = node
            return node.number
        parent = self._root
        while True:
            distance = edit_distance(parent.units, node.units)
            child = parent.children.get(distance)
            if child is None:
                parent.children[distance] = node
                return node.number
            parent = child

    def find(self, page: FrequentUnits) -> list[int]:
        """Numbers of the stored pages that cover this one, ascending."""
        units = _units(self._method, page)
        if self._root is None or not units:
            return []
        least = needed(len(units), self._min_main)
        found, waiting = [], [self._root]
        while waiting:
            node = waiting.pop()
            self.visited += 1
            shared = len(units & node.units)
            if shared >= least and self._method.covers(page, self._pages[node.number]):
                found.append(node.number)
            waiting += [child for distance, child in node.children.items() if shared + distance >= least]
        return sorted(found)


class PostingScan:
    """The same by posting lists: characters shared with every stored page are counted, then only matches compared."""

    def __init__(self, method: CharFrequency, min_main: float) -> None:
        self._method, self._min_main = method, min_main
        self._pages: list[FrequentUnits] = []
        self._postings: dict[int, array[int]] = {}

    def __len__(self) -> int:
        return len(self._pages)

    def add(self, page: FrequentUnits) -> int:
        """Store a page; its number, from 0."""
        number = len(self._pages)
        self._pages.append(page)
        for unit in _units(self._method, page):
            self._postings.setdefault(unit, array("q")).append(number)
        return number

    def find(self, page: FrequentUnits) -> list[int]:
        """Numbers of the stored pages that cover this one, ascending."""
        units = _units(self._method, page)
        if not units or not self._pages:
            return []
        enough = np.flatnonzero(self.shared(units) >= needed(len(units), self._min_main))
        return [number for number in enough.tolist() if self._method.covers(page, self._pages[number])]

    def shared(self, units: frozenset[int]) -> NDArray[np.int64]:
        """How many of the characters each stored page has; shape (pages,)."""
        lists = [
            np.frombuffer(self._postings[unit], dtype=np.int64) for unit in units if unit in self._postings
        ]
        if not lists:
            return np.zeros(len(self._pages), dtype=np.int64)
        return np.bincount(np.concatenate(lists), minlength=len(self._pages))


def _units(method: CharFrequency, page: FrequentUnits) -> frozenset[int]:
    return frozenset(method.compared(page).tolist())
