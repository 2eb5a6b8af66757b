"""Rows of different length in a file or in memory: appended once, then read some at a time, by row, or by value."""

from __future__ import annotations

import os
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.text.ragged import gather, owners_of, row_ranges, sorted_distinct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

    Rows = NDArray[np.int64]

PIECE: Final = 250_000  # elements read at a time
SAMPLE: Final = 50_000  # elements that say how values are spread
EVERY_VALUE: Final = (0, 1 << 64)
"""The range of all values."""


class Column:
    """``add`` rows in order, then read them.

    Args:
        folder: its owner removes it, and with it the file; None: elements are kept in memory.
        name: of the file.
        kind: of the elements, which are unsigned numbers.
    """

    def __init__(self, folder: Path | None, name: str, kind: DTypeLike) -> None:
        self._file = None if folder is None else (folder / name).open("wb+", buffering=1 << 20)
        self._kind = np.dtype(kind)
        self._parts: list[NDArray[Any]] = []  # in memory
        self._counts: list[Rows] = []

    def add(self, values: NDArray[Any], counts: Sequence[int] | Rows) -> None:
        """Append rows: their elements one after the other, and how many each has."""
        values = np.ascontiguousarray(values, dtype=self._kind)
        if self._file is None:
            self._parts.append(values)
        else:
            self._file.write(values.tobytes())
        self._counts.append(np.asarray(counts, dtype=np.int64))

    @cached_property
    def offsets(self) -> Rows:
        """Where each row begins, shape (rows + 1,); nothing is added afterwards."""
        offsets = np.concatenate(([0], *self._counts)).cumsum()
        self._counts.clear()
        if self._file is not None:
            self._file.flush()
        elif len(self._parts) != 1:
            self._parts = [np.concatenate([np.zeros(0, dtype=self._kind), *self._parts])]
        return offsets

    def pieces(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """All rows in order, some at a time: first row, row after the last, their elements."""
        for first, last in row_ranges(self.offsets, PIECE):
            yield first, last, self._read(int(self.offsets[first]), int(self.offsets[last]))

    def between(self, low: int, high: int) -> tuple[NDArray[Any], Rows]:
        """Elements with ``low`` <= value < ``high``, in order of rows, and where each row begins; of all values in memory nothing is copied."""
        if (low, high) == EVERY_VALUE:
            return self._read(0, int(self.offsets[-1])), self.offsets
        values: list[NDArray[Any]] = [np.zeros(0, dtype=self._kind)]
        offsets: list[Rows] = [np.zeros(1, dtype=np.int64)]
        for first, last, some in self.pieces():
            inside = (some >= low) & (some < high)
            counted = np.concatenate(([0], np.cumsum(inside)))
            values.append(some[inside])
            offsets.append(
                offsets[-1][-1] + counted[self.offsets[first + 1 : last + 1] - self.offsets[first]]
            )
        return np.concatenate(values), np.concatenate(offsets)

    def below(self, rows: Rows, bounds: NDArray[Any]) -> Rows:
        """How many elements of each of these rows, which ascend within a row, are at most the bound of the same place."""
        distinct, at = np.unique(rows, return_inverse=True)
        values, offsets = self.take(distinct)
        above = np.uint64(32)  # with the row above the value, elements ascend over all rows
        ordered = (owners_of(offsets).astype(np.uint64) << above) | values
        wanted = (at.astype(np.uint64) << above) | bounds
        counted: Rows = np.searchsorted(ordered, wanted, side="right") - offsets[at]
        return counted

    def take(self, rows: Rows) -> tuple[NDArray[Any], Rows]:
        """Elements of these rows, and where each row begins."""
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        offsets = np.concatenate(([0], np.cumsum(ends - starts)))
        if self._file is None:
            return self._parts[0][gather(self.offsets, rows)[0]], offsets
        parts = [self._read(*place) for place in zip(starts.tolist(), ends.tolist(), strict=True)]
        return (np.concatenate(parts) if parts else np.zeros(0, dtype=self._kind)), offsets

    def sample(self) -> NDArray[np.uint64]:
        """Some thousand of all values, from places drawn at random: in rows of one length, every so many a one is the same of each row."""
        total = int(self.offsets[-1])
        places = np.sort(np.random.default_rng(0).integers(max(total, 1), size=min(SAMPLE, total)))
        parts = [np.zeros(0, dtype=np.uint64)]
        for first, last, some in self.pieces():
            start, end = np.searchsorted(places, self.offsets[[first, last]])
            parts.append(some[places[start:end] - self.offsets[first]].astype(np.uint64))
        return np.concatenate(parts)

    def _read(self, start: int, end: int) -> NDArray[Any]:
        if self._file is None:
            return self._parts[0][start:end]
        size = self._kind.itemsize
        raw = os.pread(self._file.fileno(), (end - start) * size, start * size)
        return np.frombuffer(raw, dtype=self._kind)

    def close(self) -> None:
        """Close the file, or let go of the elements."""
        self._parts = []
        if self._file is not None:
            self._file.close()


def value_ranges(columns: Sequence[Column], most: int | None, unit: int = 1) -> Iterator[tuple[int, int]]:
    """Ranges of values, ascending and without gaps, with about ``most`` elements of all columns together in each.

    Args:
        columns: their values are below 2^64.
        most: None: one range, ``EVERY_VALUE``.
        unit: ranges begin at multiples of it.
    """
    total = sum(int(column.offsets[-1]) for column in columns)
    count = 1 if most is None else max(1, -(-total // most))
    if count == 1:
        yield EVERY_VALUE
        return
    samples = []  # of each column's as much as is its share of all elements
    for column in columns:
        sample, wanted = column.sample(), max(1, round(SAMPLE * int(column.offsets[-1]) / total))
        samples.append(sample[:: max(1, len(sample) // wanted)])
    spread = np.sort(np.concatenate(samples))
    cuts = sorted_distinct(spread[np.arange(1, count) * len(spread) // count] // np.uint64(unit))
    yield from pairwise([0, *(int(cut) * unit for cut in cuts if cut), EVERY_VALUE[1]])
