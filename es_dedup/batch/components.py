"""Connected components of rows: sets that only ever grow together, in one array of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Rows = NDArray[np.int64]


class Components:
    """Rows, each alone at first."""

    def __init__(self, rows: int) -> None:
        """So many rows, numbered from 0."""
        self._above = np.arange(rows, dtype=np.int64)

    def join(self, left: int, right: int) -> None:
        """These two belong together."""
        one, other = self._top(left), self._top(right)
        self._above[max(one, other)] = min(one, other)

    def labels(self) -> Rows:
        """Of each row the least row of its component."""
        above = self._above
        while not ((higher := above[above]) == above).all():
            above = higher
        return above

    def _top(self, row: int) -> int:
        above = self._above
        while above[row] != row:
            above[row] = above[above[row]]
            row = int(above[row])
        return row


def batches(labels: Rows, most: int) -> Iterator[Rows]:
    """Rows in whole components, about ``most`` at a time; a larger component comes alone with those before it."""
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order], append=-1)) + 1
    start = 0
    while start < len(order):
        fitting = int(np.searchsorted(ends, start + most, side="right")) - 1
        end = int(ends[max(fitting, int(np.searchsorted(ends, start, side="right")))])
        yield order[start:end]
        start = end
