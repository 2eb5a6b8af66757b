"""Kernels of ``detectors.ccdet``: period signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel
from es_dedup.text.kernels.mixing import mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPACE, _NEWLINE = 0x20, 0x0A


@kernel
def without_white_space(
    codes: NDArray[np.uint32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
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


@kernel
def signatures_of(
    codes: NDArray[np.uint32], offsets: NDArray[np.int64], stop: int, window: int, most: int, base: np.uint64
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
    """Offsets, signatures and how many each text has, of texts without white space; see ``period_table``."""
    pages = len(offsets) - 1
    totals = np.zeros(pages, dtype=np.int64)
    bounds = np.zeros(pages + 1, dtype=np.int64)
    stops = 0
    for place in range(len(codes)):
        stops += codes[place] == stop
    values = np.empty(stops, dtype=np.uint64)
    end = 0
    for page in range(pages):
        begin, last = end, offsets[page]
        for place in range(offsets[page], offsets[page + 1]):
            if codes[place] != stop:
                continue
            first = max(last, place - window)
            last = place + 1
            if first == place:
                continue
            value, power = np.uint64(0), np.uint64(1)
            for each in range(first, place):
                value += mix(np.uint64(codes[each])) * power
                power *= base
            values[end] = mix(value) >> np.uint64(24)
            end += 1
        found = np.sort(values[begin:end])
        end = begin
        for place in range(len(found)):
            if place and found[place] == found[place - 1]:
                continue
            totals[page] += 1
            if end - begin < most:
                values[end] = found[place]
                end += 1
        bounds[page + 1] = end
    return bounds, values[:end].copy(), totals
