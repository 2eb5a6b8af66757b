"""Kernels of ``text.normalise``: mapping characters, dropping them, reducing white space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Bools, Ints, UInts32

PLANE = 0x10000
SPACE, NEWLINE = np.uint32(0x20), np.uint32(0x0A)


@kernel
def flagged_pages(codes: UInts32, offsets: Ints, flags: Bools) -> Bools:
    """Pages that hold a flagged character, or one beyond the basic plane; shape (pages,)."""
    found = np.zeros(len(offsets) - 1, dtype=np.bool_)
    for page in range(len(found)):
        for place in range(offsets[page], offsets[page + 1]):
            if codes[place] >= PLANE or flags[codes[place]]:
                found[page] = True
                break
    return found


@kernel
def mapped_codes(codes: UInts32, mapped: UInts32) -> UInts32:
    """Each character mapped by the table; those beyond the basic plane are unchanged."""
    result = np.empty(len(codes), dtype=np.uint32)
    for place in range(len(codes)):
        code = codes[place]
        result[place] = mapped[code] if code < PLANE else code
    return result


@kernel
def collapsed(codes: UInts32, offsets: Ints) -> tuple[UInts32, Ints]:
    """Without removed characters (0); each run of white space one newline or one space, none at a page's ends."""
    result = np.empty(len(codes), dtype=np.uint32)
    bounds = np.zeros(len(offsets), dtype=np.int64)
    end = 0
    for page in range(len(offsets) - 1):
        waiting = np.uint32(0)
        begun = False
        for place in range(offsets[page], offsets[page + 1]):
            code = codes[place]
            if code == 0:
                continue
            if code in (SPACE, NEWLINE):
                if waiting != NEWLINE:
                    waiting = code
                continue
            if waiting:
                if begun:
                    result[end] = waiting
                    end += 1
                waiting = np.uint32(0)
            begun = True
            result[end] = code
            end += 1
        bounds[page + 1] = end
    return result[:end].copy(), bounds
