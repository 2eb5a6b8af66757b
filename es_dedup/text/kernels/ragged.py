"""Kernel of ``text.ragged``: which values are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from es_dedup.kernels.dispatch import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.kernels.arrays import Ints, Ints32, UInts64

FILTER_BITS = 22
_FILTER = np.uint64((1 << FILTER_BITS) - 1)
_ONE, _SIX, _LOW = np.uint64(1), np.uint64(6), np.uint64(63)


@kernel
def bitmap_of(known: NDArray[Any]) -> UInts64:
    """A bit for each lowest ``FILTER_BITS`` bits that occur, 64 to a word; it fits into a near cache."""
    seen = np.zeros(1 << (FILTER_BITS - 6), dtype=np.uint64)
    for value in known:
        bit = np.uint64(value) & _FILTER
        seen[bit >> _SIX] |= _ONE << (bit & _LOW)
    return seen


@kernel
def found_in(
    known: NDArray[Any], values: NDArray[Any], starts: Ints32, shift: int, seen: UInts64
) -> tuple[Ints, Ints]:
    """See ``find``.

    Args:
        known, values: of one unsigned type.
        starts: where the known values of each bucket begin; a value's bucket is ``value >> shift``.
        shift: bits below those that name the bucket.
        seen: ``bitmap_of`` the known values; empty: none.
    """
    filtered = len(seen) > 0
    at, place = np.empty(len(values), dtype=np.int64), np.empty(len(values), dtype=np.int64)
    count = 0
    for element in range(len(values)):
        value = values[element]
        if filtered:
            bit = np.uint64(value) & _FILTER
            if not (seen[bit >> _SIX] >> (bit & _LOW)) & _ONE:
                continue
        bucket = np.int64(np.uint64(value) >> np.uint64(shift))
        low, high = starts[bucket], starts[bucket + 1]
        while low < high:  # a step or two, unless the values share their highest bits
            middle = (low + high) // 2
            if known[middle] < value:
                low = middle + 1
            else:
                high = middle
        if low < starts[bucket + 1] and known[low] == value:
            at[count], place[count] = element, low
            count += 1
    return at[:count].copy(), place[:count].copy()


@kernel
def at_most(values: NDArray[Any], offsets: Ints, rows: Ints, bounds: NDArray[np.uint64]) -> Ints:
    """How many values of each row, which ascend within the row, are at most the row's bound."""
    result = np.empty(len(rows), dtype=np.int64)
    for at in range(len(rows)):
        low, high = offsets[rows[at]], offsets[rows[at] + 1]
        first, bound = low, bounds[at]
        while low < high:
            middle = (low + high) // 2
            if np.uint64(values[middle]) <= bound:
                low = middle + 1
            else:
                high = middle
        result[at] = low - first
    return result
