"""Which stored pages does a new page repeat? The edit-distance tree of the source, and posting lists with equal results.

Source: the patent application on deduplicating pages by character frequency; the tree itself is in ``es_dedup.text.bk_tree``.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from es_dedup.detectors.char_frequency import needed
from es_dedup.text.bk_tree import SetTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.detectors.char_frequency import CharFrequency
    from es_dedup.detectors.char_frequency_features import FrequentUnits


class EditTree:
    """Pages in a tree by the edit distance of their main strings, as the source has it (``es_dedup.text.bk_tree``).

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
        self._tree.add(len(self._pages) - 1, _units(self._method, page))
        return len(self._pages) - 1

    def find(self, page: FrequentUnits) -> list[int]:
        """Numbers of the stored pages that cover this one, ascending."""
        units = _units(self._method, page)
        if not units:
            return []
        found = self._tree.find(units, needed(len(units), self._min_main))
        return [number for number, _ in found if self._method.covers(page, self._pages[number])]


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
