"""Kernel of ``detectors.ccdet``: hashes of the characters before each full stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel
from es_dedup.text.kernels.mixing import mix

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Ints, UInts32, UInts64


@kernel
def segment_hashes_of(
    codes: UInts32, offsets: Ints, stop: np.uint32, window: int, base: np.uint64
) -> tuple[UInts64, Ints]:
    """Of the characters before each stop, as many as the window holds and none before the last stop: their hash, and the page.

    Args:
        codes, offsets: of texts without white space.
        stop: the full stop.
        window: most characters.
        base: multiplier of the hash.
    """
    most = 0
    for place in range(len(codes)):
        most += codes[place] == stop
    hashes, owners = np.empty(most, dtype=np.uint64), np.empty(most, dtype=np.int64)
    count = 0
    for page in range(len(offsets) - 1):
        earliest = offsets[page]
        for place in range(offsets[page], offsets[page + 1]):
            if codes[place] != stop:
                continue
            start = max(earliest, place - window)
            earliest = place + 1
            if start == place:
                continue
            total, power = np.uint64(0), np.uint64(1)
            for inside in range(start, place):
                total += mix(np.uint64(codes[inside])) * power
                power *= base
            hashes[count], owners[count] = mix(total), page
            count += 1
    return hashes[:count], owners[:count]
