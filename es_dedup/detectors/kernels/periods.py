"""Kernels of ``detectors.ccdet``: period signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Ints, UInts32

_SPACE, _NEWLINE = 0x20, 0x0A


@kernel
def without_white_space(codes: UInts32, offsets: Ints) -> tuple[UInts32, Ints]:
    """Normalised text without spaces and newlines, and the pages' new offsets."""
    kept = np.empty(len(codes), dtype=np.uint32)
    bounds = np.zeros(len(offsets), dtype=np.int64)
    end = 0
    for page in range(len(offsets) - 1):
        for place in range(offsets[page], offsets[page + 1]):
            code = codes[place]
            if code not in (_SPACE, _NEWLINE):
                kept[end] = code
                end += 1
        bounds[page + 1] = end
    return kept[:end].copy(), bounds
