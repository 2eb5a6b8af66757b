"""Kernel of ``text.ragged``: which values are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from es_dedup.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def found_in(
    known: NDArray[Any], values: NDArray[Any], starts: NDArray[np.int64], shift: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """See ``find``.

    Args:
        known, values: of one unsigned type.
        starts: where the known values of each bucket begin; a value's bucket is ``value >> shift``.
        shift: bits below those that name the bucket.
    """
    at, place = np.empty(len(values), dtype=np.int64), np.empty(len(values), dtype=np.int64)
    count = 0
    for element in range(len(values)):
        value = values[element]
        bucket = np.int64(np.uint64(value) >> np.uint64(shift))
        for candidate in range(starts[bucket], starts[bucket + 1]):
            if known[candidate] >= value:
                if known[candidate] == value:
                    at[count], place[count] = element, candidate
                    count += 1
                break
    return at[:count].copy(), place[:count].copy()
