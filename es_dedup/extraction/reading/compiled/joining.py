"""Kernel of ``blocks.read_blocks``: the texts of runs, ready where they are plain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLAIN, WIDE, ODD = range(3)
"""Kinds of runs: ready; one part, not in ASCII; several parts not in ASCII, or with references to characters, or with control characters."""

_WHITE, _CONTROL, _HIGH, _REFERENCE = 1, 2, 4, 8
_KINDS: Final = np.zeros(256, dtype=np.uint8)
_KINDS[list(range(32))] = _CONTROL
_KINDS[127] = _CONTROL
_KINDS[list(b" \t\n\r\x0b\x0c")] = _WHITE
_KINDS[128:] = _HIGH
_KINDS[ord("&")] = _REFERENCE
_SPACE = ord(" ")


@kernel
def _copied(data: NDArray[np.uint8], start: int, end: int, written: NDArray[np.uint8], length: int) -> int:
    """Put some bytes behind those that are written; how many are written then."""
    for at in range(start, end):
        written[length + at - start] = data[at]
    return length + end - start


@kernel
def texts_of(
    data: NDArray[np.uint8], parts: NDArray[np.int64], runs: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts of all runs.

    Args:
        data: markup.
        parts: begin and end of each part, and whether it is linked; shape (parts, 3).
        runs: see ``runs_of``.

    Returns:
        The texts, two null bytes behind each; white space of plain ones is folded, between parts of odd ones stands one null byte. Kind of each
        run, and of plain ones length and length of link text without white space; shape (runs, 3).
    """
    count = len(runs) - 1
    size = 2 * count
    for part in range(len(parts)):
        size += parts[part, 1] - parts[part, 0] + 1
    written = np.empty(size, dtype=np.uint8)
    found = np.zeros((count, 3), dtype=np.int64)
    length = 0
    for run in range(count):
        first, last = runs[run, 0], runs[run + 1, 0]
        kinds = 0
        for part in range(first, last):
            for at in range(parts[part, 0], parts[part, 1]):
                kinds |= _KINDS[data[at]]
        if kinds & (_REFERENCE | _CONTROL) or (kinds & _HIGH and last - first > 1):
            found[run, 0] = ODD
            for part in range(first, last):
                if part > first:
                    written[length] = 0
                    length += 1
                length = _copied(data, parts[part, 0], parts[part, 1], written, length)
        elif kinds & _HIGH:
            found[run, 0] = WIDE
            length = _copied(data, parts[first, 0], parts[first, 1], written, length)
        else:
            chars = linked = 0
            waiting = False
            for part in range(first, last):
                before = chars
                for at in range(parts[part, 0], parts[part, 1]):
                    if _KINDS[data[at]] & _WHITE:
                        waiting = chars > 0
                        continue
                    if waiting:
                        written[length] = _SPACE
                        length += 1
                        waiting = False
                    written[length] = data[at]
                    length += 1
                    chars += 1
                if parts[part, 2]:
                    linked += chars - before
            found[run, 1], found[run, 2] = chars, linked
        written[length] = written[length + 1] = 0
        length += 2
    return written[:length], found
