"""Kernel of ``detectors.simhash``: fingerprints of pairs of neighbouring tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel
from es_dedup.text.kernels.mixing import mix

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Ints, UInts64

_BITS = 64
_ONE = np.uint64(1)


@kernel
def pair_fingerprints(hashes: UInts64, offsets: Ints, base: np.uint64) -> UInts64:
    """SimHash of each page from its tokens' hashes; 0 for a page without tokens.

    Sixty-four counters are added at once: ``planes[k]`` holds bit k of each, and a one ripples up as a carry does.
    """
    pages = len(offsets) - 1
    result = np.zeros(pages, dtype=np.uint64)
    planes = np.zeros(_BITS, dtype=np.uint64)
    for page in range(pages):
        first, last = offsets[page], offsets[page + 1]
        total = max(last - first - 1, min(last - first, 1))
        used = 0
        for token in range(total):
            carry = hashes[first + token]
            if last - first > 1:
                carry = carry * base + hashes[first + token + 1]
            carry = mix(carry)
            plane = 0
            while carry:
                before = planes[plane]
                planes[plane] = before ^ carry
                carry &= before
                plane += 1
            used = max(used, plane)
        value = np.uint64(0)
        for bit in range(_BITS):
            ones = np.int64(0)
            for plane in range(used):
                ones |= np.int64((planes[plane] >> np.uint64(bit)) & _ONE) << plane
            if 2 * ones > total:
                value |= _ONE << np.uint64(bit)
        planes[:used] = 0
        result[page] = value
    return result
