"""Kernel of ``detectors.coverage_codec``: many stored rows into columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Bytes, Ints, UInts32

HEAD = 33  # bytes of the header: five numbers of 4, five of 2, three of 1
_NUMBERS, _COUNTS, _SMALL = 20, 10, 3
_SPARSE = 6


@kernel
def _wide(raw: Bytes, at: int) -> np.uint32:
    return (
        np.uint32(raw[at])
        | (np.uint32(raw[at + 1]) << np.uint32(8))
        | (np.uint32(raw[at + 2]) << np.uint32(16))
        | (np.uint32(raw[at + 3]) << np.uint32(24))
    )


@kernel
def _half(raw: Bytes, at: int) -> np.int64:
    return np.int64(raw[at]) | (np.int64(raw[at + 1]) << 8)


@kernel
def counts_of(raw: Bytes, offsets: Ints) -> Ints:
    """Elements of each row; shape (rows, 8).

    In order: grams, clauses, gram masks, clause masks, masked clauses, titles, numbers, and 1 where the bytes fit.
    """
    counts = np.zeros((len(offsets) - 1, 8), dtype=np.int64)
    for row in range(len(counts)):
        size = offsets[row + 1] - offsets[row]
        if size < HEAD:
            continue
        at = offsets[row] + _NUMBERS
        for place in range(5):
            counts[row, place] = _half(raw, at + 2 * place)
        counts[row, 5], counts[row, 6] = raw[at + _COUNTS], raw[at + _COUNTS + 1]
        wide = counts[row, 0] + counts[row, 1] + counts[row, 5] + counts[row, 6]
        sparse = counts[row, 2] + counts[row, 3] + counts[row, 4]
        counts[row, 7] = size == HEAD + 4 * wide + counts[row, 1] + _SPARSE * sparse
    return counts


@kernel
def _scatter(raw: Bytes, at: int, count: int, column: UInts32) -> bool:
    """Fill a mostly empty column from places and values; False where a place lies outside."""
    for element in range(count):
        place = _half(raw, at + 2 * element)
        if place >= len(column):
            return False
        column[place] = _wide(raw, at + 2 * count + 4 * element)
    return True


@kernel
def filled(
    raw: Bytes,
    offsets: Ints,
    counts: Ints,
    wide: tuple[tuple[Ints, UInts32], ...],
    lengths: Bytes,
    sparse: tuple[tuple[Ints, UInts32], ...],
    scalars: UInts32,
) -> int:
    """Write rows into columns; the first row whose bytes are damaged, -1 when all are sound.

    Args:
        raw, offsets: the rows' bytes.
        counts: from ``counts_of``.
        wide: offsets and column of grams, clauses, titles and numbers.
        lengths: column of clause lengths.
        sparse: offsets and column of gram masks, clause masks and masked clauses.
        scalars: shape (rows, 6): the five numbers of the header, and whether the page has a title.
    """
    for row in range(len(counts)):
        at = offsets[row]
        for place in range(5):
            scalars[row, place] = _wide(raw, at + 4 * place)
        scalars[row, 5] = raw[at + HEAD - 1]
        at += HEAD
        for place in range(4):
            bounds, column = wide[place]
            for element in range(bounds[row], bounds[row + 1]):
                column[element] = _wide(raw, at)
                at += 4
        clauses = wide[1][0]
        for element in range(clauses[row], clauses[row + 1]):
            lengths[element] = raw[at]
            at += 1
        for place in range(3):
            bounds, column = sparse[place]
            count = counts[row, 2 + place]
            if not _scatter(raw, at, count, column[bounds[row] : bounds[row + 1]]):
                return row
            at += _SPARSE * count
    return -1
