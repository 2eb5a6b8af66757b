"""Kernel of ``markup.cut``: where tags begin and end, and their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel
from es_dedup.extraction.reading.columns import END, NAME, NAME_END, NUMBER, START
from es_dedup.extraction.reading.compiled.bytewise import flagged, is_space, whole_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LESS, _GREATER, _SLASH, _EQUALS = ord("<"), ord(">"), ord("/"), ord("=")
_DOUBLE, _SINGLE = ord('"'), ord("'")
_UPPER_A, _UPPER_Z, _LOWER_A, _LOWER_Z, _TO_LOWER = ord("A"), ord("Z"), ord("a"), ord("z"), 0x20
_VERTICAL = 0x0B
_FNV, _MASK = 16_777_619, 0xFFFF_FFFF


@kernel
def _lower(byte: int) -> int:
    return byte + _TO_LOWER if _UPPER_A <= byte <= _UPPER_Z else byte


@kernel
def _is_space(byte: int) -> bool:
    """White space of HTML."""
    return is_space(byte) and byte != _VERTICAL


@kernel
def hashed(data: NDArray[np.uint8], start: int, end: int, seed: int) -> int:
    """FNV-1a of a name in lower case, 32 bits.

    Args:
        data: where it stands.
        start: its first byte.
        end: behind its last byte.
        seed: what the sum begins with, 0..2^32 - 1; nobody can make names that meet without knowing it.
    """
    value = seed
    for place in range(start, end):
        value = ((value ^ int(_lower(data[place]))) * _FNV) & _MASK
    return value


@kernel
def _are_equal(
    data: NDArray[np.uint8], start: int, end: int, other: NDArray[np.uint8], first: int, last: int
) -> bool:
    """Two names in lower case."""
    if end - start != last - first:
        return False
    for place in range(end - start):  # noqa: SIM110 - compiled
        if _lower(data[start + place]) != _lower(other[first + place]):
            return False
    return True


@kernel
def known_key(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    value: int,
    table: tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]],
) -> int:
    """Place of a name among the names of a table (their bytes, their bounds, slots by hash); -1 for none."""
    keys, bounds, slots = table
    slot = value & (len(slots) - 1)
    while slots[slot] >= 0:
        key = slots[slot]
        if _are_equal(data, start, end, keys, bounds[key], bounds[key + 1]):
            return int(key)
        slot = (slot + 1) & (len(slots) - 1)
    return -1


@kernel
def marks_of(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Places of all ``<``, ``>``, ``=`` and quotation marks."""
    is_mark = np.zeros(whole_words(len(data)), dtype=np.uint8)
    for place in range(len(data)):  # one instruction does many of these
        byte = data[place]
        is_mark[place] = (
            (byte == _LESS) | (byte == _GREATER) | (byte == _EQUALS) | (byte == _DOUBLE) | (byte == _SINGLE)
        )
    return flagged(is_mark)


@kernel
def _grown(
    data: NDArray[np.uint8], others: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Room for four times as many names, and their slots by hash."""
    more = np.empty((4 * len(others), 2), dtype=np.int64)
    more[: len(others)] = others
    slots = np.full(4 * len(more), -1, dtype=np.int64)
    for old in range(len(others)):
        slot = hashed(data, others[old, 0], others[old, 1], seed) & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = old
    return more, slots


@kernel
def _slot_of(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    value: int,
    others: NDArray[np.int64],
    slots: NDArray[np.int64],
) -> int:
    """Slot of a name that stands in the page, or the free one for it."""
    slot = value & (len(slots) - 1)
    while slots[slot] >= 0 and not _are_equal(
        data, start, end, data, others[slots[slot], 0], others[slots[slot], 1]
    ):
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel
def _tag_end(
    data: NDArray[np.uint8], marks: NDArray[np.int64], at: int, name_end: int, never_ends: NDArray[np.int64]
) -> tuple[int, int]:
    """Where the ``>`` of a tag stands, which is in no quotation, or the end of the page; and the next mark behind it.

    Args:
        data: markup.
        marks: see ``tag_spans``.
        at: first mark to look at.
        name_end: behind the tag's name.
        never_ends: from where on quotations by double and by single marks have no end; is lowered when one is met.
    """
    size, total = len(data), len(marks)
    while at < total:
        place = marks[at]
        byte = data[place]
        at += 1
        if place < name_end:
            continue
        if byte == _GREATER:
            return place, at
        if byte != _EQUALS:
            continue
        place += 1
        while place < size and _is_space(data[place]):
            place += 1
        if place >= size:
            break
        quote = data[place]
        kind = 0 if quote == _DOUBLE else 1
        if quote not in (_DOUBLE, _SINGLE) or place >= never_ends[kind]:
            continue
        behind = at
        while behind < total and (marks[behind] <= place or data[marks[behind]] != quote):
            behind += 1
        if behind < total:
            at = behind + 1
        else:
            never_ends[kind] = place
    return size, total


@kernel
def tag_spans(
    data: NDArray[np.uint8],
    marks: NDArray[np.int64],
    table: tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]],
    meanings: NDArray[np.int64],
    is_found: NDArray[np.bool_],
    roots: tuple[int, int],
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Places of all tags and their numbers.

    Args:
        data: markup that begins with the tags of the two roots.
        marks: places of all ``<``, ``>``, ``=`` and quotation marks.
        table: names that are known, see ``known_key``.
        meanings: by place in the table, number of the start tag and number of the end tag; shape (names, 2).
        is_found: by number, whether the places of the start tags are wanted.
        roots: numbers of tags that do nothing behind the first two.
        seed: of the table's hashes.

    Returns:
        Of each tag: where it begins, where its name begins and ends, where its ``>`` stands, and its number; shape (tags, 5). Place and number of
        those that are found; shape (found, 2). Begin and end of the names that are not in the table, by number; shape (names, 2).
    """
    most = len(marks) // 2 + 1  # a tag has two
    spans = np.empty((most, 5), dtype=np.int64)
    found = np.empty((most, 2), dtype=np.int64)
    others = np.empty((16, 2), dtype=np.int64)
    slots = np.full(64, -1, dtype=np.int64)
    count = found_count = other_count = mark = 0
    size, total = len(data), len(marks)
    never_ends = np.array([size, size])  # from here on, of quotations by double and by single marks
    while mark < total:
        start = marks[mark]
        mark += 1
        if data[start] != _LESS:
            continue
        is_end = start + 1 < size and data[start + 1] == _SLASH
        name = start + 1 + is_end
        if name >= size or not _LOWER_A <= _lower(data[name]) <= _LOWER_Z:
            continue
        name_end = name + 1
        while name_end < size:
            byte = data[name_end]
            if byte in (_GREATER, _SLASH) or _is_space(byte):
                break
            name_end += 1
        end, mark = _tag_end(data, marks, mark, name_end, never_ends)
        value = hashed(data, name, name_end, seed)
        key = known_key(data, name, name_end, value, table)
        if key >= 0:
            number = meanings[key, 1] if is_end else meanings[key, 0]
            if number > 0 and is_found[number]:
                found[found_count, 0], found[found_count, 1] = count, number
                found_count += 1
                if count > 1 and (number == roots[0] or number == roots[1]):
                    number = 0
        else:
            slot = _slot_of(data, name, name_end, value, others, slots)
            if slots[slot] < 0:
                if other_count == len(others):
                    others, slots = _grown(data, others, seed)
                    slot = _slot_of(data, name, name_end, value, others, slots)
                slots[slot] = other_count
                others[other_count, 0], others[other_count, 1] = name, name_end
                other_count += 1
            number = len(is_found) + slots[slot]
            number = ~number if is_end else number
        spans[count, START], spans[count, NAME], spans[count, NAME_END] = start, name, name_end
        spans[count, END], spans[count, NUMBER] = end, number
        count += 1
    return spans[:count], found[:found_count], others[:other_count]
