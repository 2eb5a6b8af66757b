"""Rows of different length in a file or in memory: appended once, then read piece by piece, by row, or by value."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.kernels.dispatch import worthwhile
from es_dedup.text.ragged import owners_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

    Rows = NDArray[np.int64]

PIECE: Final = 250_000  # elements read at a time
SAMPLE: Final = 50_000  # elements that say how values are spread
FEATURE: Final = np.dtype([("value", "<u4"), ("mask", "<u4")])


class Column:
    """``add`` rows in order, then read. The file lies in a folder that its owner removes."""

    def __init__(self, folder: Path, name: str, kind: DTypeLike) -> None:
        """An empty column of elements of this kind."""
        self._file = (folder / name).open("wb+", buffering=1 << 20)
        self._kind = np.dtype(kind)
        self._counts: list[NDArray[np.int64]] = []
        self._offsets: Rows | None = None

    def add(self, values: NDArray[Any], counts: Sequence[int] | Rows) -> None:
        """Append rows: their elements one after the other, and how many each has."""
        self._file.write(np.ascontiguousarray(values, dtype=self._kind).tobytes())
        self._counts.append(np.asarray(counts, dtype=np.int64))

    @property
    def offsets(self) -> Rows:
        """Where each row begins, shape (rows + 1,); nothing is added afterwards."""
        if self._offsets is None:
            self._file.flush()
            self._offsets = np.concatenate(([0], *self._counts)).cumsum()
            self._counts.clear()
        return self._offsets

    def pieces(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """All rows in order, some at a time: first row, row after the last, their elements."""
        offsets, first = self.offsets, 0
        rows = len(offsets) - 1
        while first < rows:
            last = int(np.searchsorted(offsets, offsets[first] + PIECE, side="right")) - 1
            last = min(max(last, first + 1), rows)
            yield first, last, self._read(int(offsets[first]), int(offsets[last]))
            first = last

    def between(self, low: int, high: int) -> tuple[NDArray[Any], Rows]:
        """Elements with ``low`` <= value < ``high``, in order of rows, and the row of each."""
        values: list[NDArray[Any]] = [np.zeros(0, dtype=self._kind)]
        owners: list[Rows] = [np.zeros(0, dtype=np.int64)]
        for first, last, some in self.pieces():
            wanted = self._values(some)
            inside = np.flatnonzero((wanted >= low) & (wanted < high))
            if len(inside):
                values.append(some[inside])
                edges = self.offsets[first : last + 1] - self.offsets[first]
                owners.append(first + np.searchsorted(edges, inside, side="right") - 1)
        return np.concatenate(values), np.concatenate(owners)

    def below(self, rows: Rows, bounds: NDArray[Any]) -> Rows:
        """How many elements of each of these rows, which ascend within a row, are at most the bound beside it."""
        distinct, at = np.unique(rows, return_inverse=True)
        values, offsets = self.take(distinct)
        if worthwhile(len(rows)):
            return _at_most_by_kernel(values, offsets, at, bounds)
        return _at_most(_row_major(values, offsets), offsets, at, bounds)

    def take(self, rows: Rows) -> tuple[NDArray[Any], Rows]:
        """Elements of these rows, and where each row begins."""
        starts, ends = self.offsets[rows].tolist(), self.offsets[rows + 1].tolist()
        parts = [self._read(start, end) for start, end in zip(starts, ends, strict=True)]
        offsets = np.concatenate(([0], np.cumsum(np.diff(self.offsets)[rows])))
        return (np.concatenate(parts) if parts else np.zeros(0, dtype=self._kind)), offsets

    def sample(self) -> NDArray[np.uint64]:
        """Some thousand of all values, every so many a one."""
        step = max(1, int(self.offsets[-1]) // SAMPLE)
        parts = [np.zeros(0, dtype=np.uint64)]
        for first, _, some in self.pieces():
            start = -int(self.offsets[first]) % step
            parts.append(self._values(some)[start::step].astype(np.uint64))
        return np.concatenate(parts)

    def _values(self, some: NDArray[Any]) -> NDArray[Any]:
        return some["value"] if self._kind.names else some

    def _read(self, start: int, end: int) -> NDArray[Any]:
        size = self._kind.itemsize
        raw = os.pread(self._file.fileno(), (end - start) * size, start * size)
        return np.frombuffer(raw, dtype=self._kind)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class MemoryColumn(Column):
    """The same in memory."""

    def __init__(self, kind: DTypeLike) -> None:
        """An empty column of elements of this kind."""
        self._kind = np.dtype(kind)
        self._counts: list[NDArray[np.int64]] = []
        self._offsets: Rows | None = None
        self._parts: list[NDArray[Any]] = []
        self._ordered: NDArray[np.uint64] | None = None

    def add(self, values: NDArray[Any], counts: Sequence[int] | Rows) -> None:
        """See ``Column.add``."""
        self._parts.append(np.asarray(values, dtype=self._kind))
        self._counts.append(np.asarray(counts, dtype=np.int64))

    @property
    def offsets(self) -> Rows:
        """See ``Column.offsets``."""
        if self._offsets is None:
            self._offsets = np.concatenate(([0], *self._counts)).cumsum()
            if len(self._parts) != 1:
                self._parts = [np.concatenate([np.zeros(0, dtype=self._kind), *self._parts])]
        return self._offsets

    def between(self, low: int, high: int) -> tuple[NDArray[Any], Rows]:
        """See ``Column.between``; of all values nothing is copied."""
        offsets, some = self.offsets, self._parts[0]
        values = self._values(some)
        if low > 0 or (len(values) and int(values.max()) >= high):
            return super().between(low, high)
        return some, owners_of(offsets)

    def below(self, rows: Rows, bounds: NDArray[Any]) -> Rows:
        """See ``Column.below``."""
        offsets = self.offsets
        if worthwhile(len(rows)):
            return _at_most_by_kernel(self._parts[0], offsets, rows, bounds)
        if self._ordered is None:
            self._ordered = _row_major(self._parts[0], offsets)
        return _at_most(self._ordered, offsets, rows, bounds)

    def _read(self, start: int, end: int) -> NDArray[Any]:
        return self._parts[0][start:end]

    def close(self) -> None:
        """Let go of the elements."""
        self._parts = []
        self._ordered = None


def column(folder: Path | None, name: str, kind: DTypeLike) -> Column:
    """An empty column in a file of the folder, or in memory."""
    return MemoryColumn(kind) if folder is None else Column(folder, name, kind)


def _row_major(values: NDArray[Any], offsets: Rows) -> NDArray[np.uint64]:
    """The row above the value, of each element: ascends over all rows where values ascend within each."""
    keys: NDArray[np.uint64] = (owners_of(offsets).astype(np.uint64) << np.uint64(32)) | values
    return keys


def _at_most(ordered: NDArray[np.uint64], offsets: Rows, rows: Rows, bounds: NDArray[Any]) -> Rows:
    wanted: NDArray[np.uint64] = (rows.astype(np.uint64) << np.uint64(32)) | bounds
    at: Rows = np.searchsorted(ordered, wanted, side="right") - offsets[rows]
    return at


def _at_most_by_kernel(values: NDArray[Any], offsets: Rows, rows: Rows, bounds: NDArray[Any]) -> Rows:
    from es_dedup.text.kernels.ragged import at_most  # noqa: PLC0415 - see es_dedup.kernels.dispatch

    return at_most(values, offsets, rows, bounds)


def value_ranges(columns: Sequence[Column], most: int | None, bits: int) -> Iterator[tuple[int, int]]:
    """Ranges of values, ascending and without gaps, with about ``most`` elements of all columns together in each; None: one range."""
    total = sum(int(column.offsets[-1]) for column in columns)
    count = 1 if most is None else max(1, -(-total // most))
    if count == 1:
        yield 0, 1 << bits
        return
    spread = np.concatenate([_weighted(column, total) for column in columns])
    spread.sort()
    cuts = np.unique(spread[np.arange(1, count) * len(spread) // count]) if len(spread) else spread
    edges = [0, *(int(cut) for cut in cuts if cut), 1 << bits]
    yield from pairwise(edges)


def _weighted(column: Column, total: int) -> NDArray[np.uint64]:
    """Of a column's sample as much as is its share of all elements."""
    found = column.sample()
    share = int(column.offsets[-1]) / max(total, 1)
    wanted = max(1, round(SAMPLE * share))
    return found[:: max(1, len(found) // wanted)]


def offsets_from(owners: Rows, rows: int) -> Rows:
    """Where each row begins among elements that are in order of rows; shape (rows + 1,)."""
    return np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=rows)))).astype(np.int64)
