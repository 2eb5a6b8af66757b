"""Kernel of ``judgement.statistics``: what each hash counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUCKET_BITS = 16
_SHIFT = np.uint32(32 - BUCKET_BITS)


def bucket_starts(known: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Where the values with each highest 16 bits begin in ascending ones; shape (65537,)."""
    return np.searchsorted(known >> _SHIFT, np.arange((1 << BUCKET_BITS) + 1))


@kernel
def looked_up(
    values: NDArray[np.uint32],
    known: NDArray[np.uint32],
    weights: NDArray[np.float32],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Weight of each value, 1 for those that are not known.

    Args:
        values: hashes, in any order.
        known, weights: ascending hashes and what they count.
        starts: ``bucket_starts(known)``.
    """
    found = np.ones(len(values), dtype=np.float64)
    for place in range(len(values)):
        value = values[place]
        bucket = value >> _SHIFT
        for at in range(starts[bucket], starts[bucket + np.uint32(1)]):
            if known[at] >= value:
                if known[at] == value:
                    found[place] = weights[at]
                break
    return found
