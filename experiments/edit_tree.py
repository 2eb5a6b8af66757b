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
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from es_dedup.detectors.char_frequency import CharFrequency
    from es_dedup.detectors.char_frequency_features import FrequentUnits


def edit_distance(left: int, right: int, shared: int) -> int:
    """Distance of two sets of these sizes that share so many members: the larger of what each has and the other has not.

    It is a metric: insertions, deletions and replacements that make one set the other.
    """
    return max(left, right) - shared


@dataclass(slots=True)
class _Node:
    number: int
    bits: int
    size: int
    children: dict[int, _Node] = field(default_factory=dict)


class SetTree:
    """Sets of whole numbers in a tree by their edit distance.

    All sets below the child at distance e of a node are at distance e of that node. If X shares L members with the node, it
    shares at most L + e with any of them, so a branch with L + e below the number needed is passed over. A set takes about
    a bit for each member seen before its last new one: few kinds of members are expected, as characters are.
    """

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._root: _Node | None = None
        self.visited = 0
        """Nodes that all searches so far have compared."""

    def add(self, number: int, members: Collection[int]) -> None:
        """Store a set under a number of its own."""
        node = _Node(number, self._bits(members, new=True), len(members))
        if self._root is None:
            self._root = node
            return
        parent = self._root
        while True:
            distance = edit_distance(parent.size, node.size, (parent.bits & node.bits).bit_count())
            child = parent.children.get(distance)
            if child is None:
                parent.children[distance] = node
                return
            parent = child

    def find(self, members: Iterable[int], least: int) -> list[int]:
        """Number of each stored set that shares at least ``least`` members, at least 1; ascending."""
        if self._root is None:
            return []
        bits = self._bits(members, new=False)
        found, waiting = [], [self._root]
        while waiting:
            node = waiting.pop()
            self.visited += 1
            shared = (bits & node.bits).bit_count()
            if shared >= least:
                found.append(node.number)
            waiting += [child for distance, child in node.children.items() if shared + distance >= least]
        return sorted(found)

    def _bits(self, members: Iterable[int], *, new: bool) -> int:
        """The members as the bits of one number; of members that no stored set has only where they are new."""
        places = self._places
        if new:
            return sum(1 << places.setdefault(member, len(places)) for member in members)
        return sum(1 << places[member] for member in members if member in places)


class EditTree:
    """Pages in a tree by the edit distance of their main strings, as the source has it.

    Args:
        method: decides on a pair, and says which characters are compared.
        min_main: share of a page's characters that a match must pass; that of the method.
    """

    def __init__(self, method: CharFrequency, min_main: float) -> None:
        self._method, self._min_main = method, min_main
        self._pages: list[FrequentUnits] = []
        self._tree = SetTree()

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def visited(self) -> int:
        """Nodes that all searches so far have compared."""
        return self._tree.visited

    def add(self, page: FrequentUnits) -> int:
        """Store a page; its number, from 0."""
        self._pages.append(page)
        self._tree.add(len(self._pages) - 1, _units(page))
        return len(self._pages) - 1

    def find(self, page: FrequentUnits) -> list[int]:
        """Numbers of the stored pages that cover this one, ascending."""
        units = _units(page)
        if not units:
            return []
        found = self._tree.find(units, needed(len(units), self._min_main))
        return [number for number in found if self._method.covers(page, self._pages[number])]


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
        for unit in _units(page):
            self._postings.setdefault(unit, array("q")).append(number)
        return number

    def find(self, page: FrequentUnits) -> list[int]:
        """Numbers of the stored pages that cover this one, ascending."""
        units = _units(page)
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


def _units(page: FrequentUnits) -> frozenset[int]:
    return frozenset(page.compared.tolist())
