"""Characters of a text as written, one after the other: UTF-8, references to characters, and what each of them is."""

from __future__ import annotations

from functools import cache
from html.entities import html5
from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel
from es_dedup.extraction.reading.compiled.bytewise import byte_at
from es_dedup.extraction.reading.measures import STOPPED, STOPS_ALONE, is_ideograph

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Tables: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.int64]]

WHITE, LINE, ODD, IDEOGRAPH, STOPS, ENDS = (1 << bit for bit in range(6))
"""Classes of characters: white space, ends of lines (which are white space too), what is not printed or needs a closer look, ideographs, stops, and
those stops behind which anything may stand."""

ASCII, TWO, THREE, FOUR = 0x80, 0xC2, 0xE0, 0xF0
"""In UTF-8 the first byte behind ASCII, and the first that begins a character of two, three and four bytes."""

TOP, REST = 0xC0, 0x3F
"""Bits of the other bytes: those that say what they are, which are equal to ``ASCII``, and those that say the character."""

_KNOWN = 0x20000  # code points; those behind are rare ideographs
_MOST_NAME = 8  # letters of a reference, as many as a number of 64 bits holds
_AND, _SHARP, _SEMICOLON = ord("&"), ord("#"), ord(";")
_ZERO, _NINE, _LOWER_A, _LOWER_F, _LOWER_X = (ord(char) for char in "09afx")
_TO_LOWER = 0x20
_LITERAL = np.array([byte in b"\t\n\x0c <&;" for byte in range(256)])  # behind an ``&`` that is one
_SPACE, _DELETE, _FIRST_PRINTED = 0x20, 0x7F, 0xA0  # others between are read as if they were of Windows-1252
_MOST_DIGITS = 7
_TWO_BYTES, _THREE_BYTES = 0x800, 0x10000  # least code points that take more
_SURROGATES, _BEHIND = 0xD800, 0xE000


@cache
def tables() -> Tables:
    """Class of each character; names of references with their semicolon, as numbers in ascending order; and the character of each."""
    classes = np.zeros(_KNOWN, dtype=np.uint8)
    for code in range(_KNOWN):
        char = chr(code)
        if not char.isprintable():
            is_white = char in " \t\n\r\x0b\x0c" or (code >= _DELETE and char.isspace())
            classes[code] = WHITE if is_white else ODD
        elif is_ideograph(char):
            classes[code] = IDEOGRAPH
    classes[_SPACE] = WHITE
    classes[[ord("\n"), ord("\r")]] |= LINE
    classes[[ord(char) for char in STOPPED]] |= STOPS
    classes[[ord(char) for char in STOPS_ALONE]] |= ENDS
    known = {
        int.from_bytes(name[:-1].encode(), "big"): ord(char)
        for name, char in html5.items()
        if name.endswith(";") and len(name) <= _MOST_NAME + 1 and len(char) == 1 and ord(char) < _KNOWN
    }
    names = sorted(known)
    return classes, np.array(names, dtype=np.uint64), np.array([known[name] for name in names])


@kernel
def _number_at(data: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Character of a reference by number, and the place behind it."""
    code, first = 0, at
    is_hex = at < end and data[at] | _TO_LOWER == _LOWER_X
    if is_hex:
        at = first = at + 1
    while at < min(end, first + _MOST_DIGITS):
        byte = byte_at(data, at)
        if _ZERO <= byte <= _NINE:
            code = code * (16 if is_hex else 10) + byte - _ZERO
        elif is_hex and _LOWER_A <= byte | _TO_LOWER <= _LOWER_F:
            code = code * 16 + (byte | _TO_LOWER) - _LOWER_A + 10
        else:
            break
        at += 1
    is_plain = _SPACE <= code < _DELETE or _FIRST_PRINTED <= code < _KNOWN
    if at in (first, end) or data[at] != _SEMICOLON or not is_plain:
        return -1, at
    return code, at + 1


@kernel
def _reference_at(
    data: NDArray[np.uint8], at: int, end: int, names: NDArray[np.uint64], values: NDArray[np.int64]
) -> tuple[int, int]:
    """What an ``&`` stands for, and the place behind that."""
    at += 1
    if at == end or _LITERAL[data[at]]:
        return _AND, at
    if data[at] == _SHARP:
        return _number_at(data, at + 1, end)
    name, first = np.uint64(0), at
    while at < min(end, first + _MOST_NAME) and data[at] != _SEMICOLON:
        name = (name << np.uint64(8)) | np.uint64(data[at])
        at += 1
    if at < end and data[at] == _SEMICOLON:
        place = np.searchsorted(names, name)
        if place < len(names) and names[place] == name:
            return int(values[place]), at + 1
    return -1, at


@kernel
def character_at(
    data: NDArray[np.uint8], at: int, end: int, names: NDArray[np.uint64], values: NDArray[np.int64]
) -> tuple[int, int]:
    """Code point of a character, and the place behind it; -1 for what is no sound UTF-8, no plain reference, or far behind in Unicode.

    Args:
        data: text in UTF-8.
        at: where the character begins.
        end: of the text.
        names: of references, see ``tables``.
        values: of these.
    """
    byte = byte_at(data, at)
    if byte == _AND:
        return _reference_at(data, at, end, names, values)
    if byte < ASCII:
        return byte, at + 1
    if TWO <= byte < THREE:
        more, code, least = 1, byte & 0x1F, ASCII
    elif THREE <= byte < FOUR:
        more, code, least = 2, byte & 0x0F, _TWO_BYTES
    elif byte == FOUR:
        more, code, least = 3, byte & 0x07, _THREE_BYTES
    else:
        return -1, at
    at += 1
    if at + more > end:
        return -1, at
    for _ in range(more):
        byte = byte_at(data, at)
        if byte & TOP != ASCII:
            return -1, at
        code = code << 6 | byte & REST
        at += 1
    is_sound = least <= code < _KNOWN and not _SURROGATES <= code < _BEHIND
    return (code, at) if is_sound else (-1, at)


@kernel
def encoded(code: int, written: NDArray[np.uint8], length: int) -> int:
    """Put a character behind the bytes that are written; how many are written then."""
    if code < ASCII:
        written[length] = code
        return length + 1
    if code < _TWO_BYTES:
        written[length] = 0xC0 | code >> 6
    else:
        if code < _THREE_BYTES:
            written[length] = THREE | code >> 12
        else:
            written[length] = FOUR | code >> 18
            written[length + 1] = ASCII | code >> 12 & REST
            length += 1
        written[length + 1] = ASCII | code >> 6 & REST
        length += 1
    written[length + 1] = ASCII | code & REST
    return length + 2
