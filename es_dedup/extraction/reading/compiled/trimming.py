"""Kernel of ``trim.trim``: where a page has what holds no text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel
from es_dedup.extraction.reading.compiled.bytewise import NONE, flagged, is_space, whole_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = (b"script", b"style", b"title", b"svg", b"noscript", b"select", b"textarea", b"iframe")
SCRIPT, STYLE, TITLE = range(3)
"""Places of names."""

_BYTES = np.frombuffer(b"".join(NAMES), dtype=np.uint8)
_BOUNDS = np.cumsum(np.array([0, *map(len, NAMES)]))
_LESS, _GREATER, _SLASH, _MARK, _QUESTION, _HYPHEN = (ord(char) for char in "<>/!?-")
_INSIDE = np.frombuffer(b"\"'=\\`", dtype=np.uint8)
_LOWER_A, _LOWER_Z, _TO_LOWER = ord("a"), ord("z"), 0x20
_COMMENT_BYTES = 4  # of ``<!--``


@kernel
def _lesses(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Places of all ``<``."""
    is_less = np.zeros(whole_words(len(data)), dtype=np.uint8)
    for place in range(len(data)):  # one instruction does many of these
        is_less[place] = data[place] == _LESS
    return flagged(is_less)


@kernel
def _name_at(data: NDArray[np.uint8], start: int, only: int) -> int:
    """Which name stands at a place, in letters of any case; -1 for none, or for another than ``only``, if that is not negative."""
    for name in range(len(_BOUNDS) - 1):
        end = start + _BOUNDS[name + 1] - _BOUNDS[name]
        if (only >= 0 and name != only) or end >= len(data):
            continue
        byte = data[end]
        if not (byte in (_GREATER, _SLASH) or is_space(byte)):
            continue
        place = start
        while place < end and data[place] | _TO_LOWER == _BYTES[_BOUNDS[name] + place - start]:
            place += 1
        if place == end:
            return name
    return -1


@kernel
def _behind(data: NDArray[np.uint8], place: int) -> int:
    """Behind the next ``>``, or the end of the page."""
    while place < len(data) and data[place] != _GREATER:
        place += 1
    return min(place + 1, len(data))


@kernel
def _is_in_tag(data: NDArray[np.uint8], place: int) -> bool:
    for before in range(place - 1, -1, -1):
        if data[before] == _LESS or data[before] == _GREATER:
            return bool(data[before] == _LESS)
    return False


@kernel
def _comment_end(data: NDArray[np.uint8], place: int) -> int:
    """Behind ``-->`` or ``--!>`` of a comment that begins before a place, or the end of the page; ``<!-->`` and ``<!--->`` are whole."""
    if place < len(data) and (
        data[place] == _GREATER
        or (place + 1 < len(data) and data[place] == _HYPHEN and data[place + 1] == _GREATER)
    ):
        place -= 2
    for at in range(place, len(data) - 2):
        if data[at] == _HYPHEN and data[at + 1] == _HYPHEN:
            if data[at + 2] == _GREATER:
                return at + 3
            if at + 3 < len(data) and data[at + 2] == _MARK and data[at + 3] == _GREATER:
                return at + 4
    return len(data)


@kernel
def _end_tag(data: NDArray[np.uint8], lesses: NDArray[np.int64], at: int, name: int) -> int:
    """Which ``<``, from one on, begins an end tag of a name; how many there are where none does."""
    while at < len(lesses):
        place = lesses[at]
        if place + 1 < len(data) and data[place + 1] == _SLASH and _name_at(data, place + 2, name) >= 0:
            break
        at += 1
    return at


@kernel
def cuts_of(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """What is to be cut out.

    Args:
        data: page without null bytes.

    Returns:
        Begin and end of each part, place of the element's name (-1 for what is no element), where its attributes begin, where its content begins,
        and where that ends (-1 for an element that is never closed); shape (parts, 6).
    """
    lesses = _lesses(data)
    total, size = len(lesses), len(data)
    cuts = np.empty((total, 6), dtype=np.int64)
    unclosed = np.zeros(len(_BOUNDS), dtype=np.bool_)
    count = at = position = 0
    while at < total:
        start = lesses[at]
        at += 1
        if start < position or start + 1 >= size:
            continue
        name, comment = -1, False
        byte = data[start + 1]
        if byte == _MARK:
            comment = start + 3 < size and data[start + 2] == _HYPHEN and data[start + 3] == _HYPHEN
            position = start + (_COMMENT_BYTES if comment else 2)
        elif byte == _QUESTION:
            position = start + 2
        elif byte == _SLASH:
            if start + 2 >= size or _LOWER_A <= data[start + 2] | _TO_LOWER <= _LOWER_Z:
                continue
            position = start + 2
        else:
            name = _name_at(data, start + 1, NONE)
            if name < 0:
                continue
            position = start + 1 + _BOUNDS[name + 1] - _BOUNDS[name]
        if start and (data[start - 1] == _INSIDE).any() and _is_in_tag(data, start):
            continue
        opened = inner = -1
        if name >= 0:
            opened = end = _behind(data, position)
            if not unclosed[name]:
                while at < total and lesses[at] < opened:
                    at += 1
                at = _end_tag(data, lesses, at, name)
                inner = lesses[at] if at < total else -1
            if inner >= 0:
                end = _behind(data, inner + 2 + _BOUNDS[name + 1] - _BOUNDS[name])
            else:
                unclosed[name] = True
                if name in (SCRIPT, STYLE):
                    end = size
                else:
                    at = int(np.searchsorted(lesses, opened))
        elif comment:
            end = _comment_end(data, position)
        else:
            end = _behind(data, position)
        cuts[count, 0], cuts[count, 1], cuts[count, 2] = start, end, name
        cuts[count, 3], cuts[count, 4], cuts[count, 5] = position, opened, inner
        count += 1
        position = end
    return cuts[:count]
