"""Kernel of ``Tags.elements``: which elements stand around texts, and where their names stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel
from es_dedup.extraction.reading.columns import END, NAME_END, NUMBER
from es_dedup.extraction.reading.compiled.bytewise import ZERO, is_space
from es_dedup.extraction.reading.compiled.cutting import hashed
from es_dedup.extraction.reading.markup import MAX_ATTRIBUTES_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EQUALS, _DOUBLE, _AND = ord("="), ord('"'), ord("&")
_LOWER_A, _LOWER_Z, _ZERO, _LOW_LINE = ord("a"), ord("z"), ord("0"), ord("_")
_COLON, _STOP, _HYPHEN = ord(":"), ord("."), ord("-")
_PLACE, _NUMBER, _FROM, _TO, _NAMES, _IS_PLAIN = 0, 1, 2, 3, 4, 8  # columns of looks; names take four
_ROOTS = 2  # tags before all others; theirs may be the attributes of later ones
_MOST_PROBES = 32  # equal attributes need not be found
_CLASS = np.frombuffer(b"class", dtype=np.uint8)
_ID = np.frombuffer(b"id", dtype=np.uint8)
_ROLE = np.frombuffer(b"role", dtype=np.uint8)
_STYLE = np.frombuffer(b"style", dtype=np.uint8)
_HIDDEN = np.frombuffer(b"hidden", dtype=np.uint8)


@kernel
def _is(data: NDArray[np.uint8], start: int, end: int, name: NDArray[np.uint8]) -> bool:
    if end - start != len(name):
        return False
    for place in range(len(name)):  # noqa: SIM110 - compiled
        if data[start + place] != name[place]:
            return False
    return True


@kernel
def _read_names(data: NDArray[np.uint8], start: int, end: int, row: NDArray[np.int64]) -> bool:
    """Where class and id begin and end; False for attributes that are not written plainly, or say more than that."""
    if end - start > MAX_ATTRIBUTES_BYTES:
        return False
    row[:] = 0
    at = start
    while at < end:
        if not is_space(data[at]):
            return False
        while at < end and is_space(data[at]):
            at += 1
        if at == end:
            break
        name = at
        if not (_LOWER_A <= data[at] <= _LOWER_Z or data[at] == _LOW_LINE):
            return False
        while at < end and (
            _LOWER_A <= data[at] <= _LOWER_Z
            or _ZERO <= data[at] <= _COLON  # digits and the colon
            or data[at] == _LOW_LINE
            or data[at] == _HYPHEN
            or data[at] == _STOP
        ):
            at += 1
        column = -1
        if _is(data, name, at, _CLASS):
            column = 0
        elif _is(data, name, at, _ID):
            column = 2
        elif _is(data, name, at, _ROLE) or _is(data, name, at, _STYLE) or _is(data, name, at, _HIDDEN):
            return False
        if at + 1 >= end or data[at] != _EQUALS or data[at + 1] != _DOUBLE:
            return False
        at += 2
        value = at
        while at < end and data[at] != _DOUBLE:
            if column >= 0 and data[at] == _AND:
                return False
            at += 1
        if at == end:
            return False
        if column >= 0:
            if row[column]:
                return False
            row[column], row[column + 1] = value, at
        at += 1
    return True


@kernel
def _are_equal(data: NDArray[np.uint8], start: int, end: int, other: int, other_end: int) -> bool:
    if end - start != other_end - other:
        return False
    for place in range(end - start):  # noqa: SIM110 - compiled
        if data[start + place] != data[other + place]:
            return False
    return True


@kernel
def elements_of(
    data: NDArray[np.uint8],
    spans: NDArray[np.int64],
    elements: NDArray[np.int64],
    around: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Some elements with those around them.

    Args:
        data: markup.
        spans: of each tag, see ``tag_spans``.
        elements: places of tags and the element around each; shape (elements, 2).
        around: some elements, in page order.

    Returns:
        Of each of ``around`` its row. Rows of the one around it, its look, and the row behind the last inside; shape (rows, 3). Of each look the place and number of a tag, begin
        and end of its attributes, of its class and of its id, and whether that is all they say; shape (looks, 9).
    """
    most = len(elements)
    known = np.full(most, -1, dtype=np.int64)
    rows = np.empty((most, 3), dtype=np.int64)
    looks = np.empty((most, 9), dtype=np.int64)
    holders = np.empty(len(around), dtype=np.int64)
    chain = np.empty(most, dtype=np.int64)
    size = 64
    while size < 4 * most:
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)
    count = look_count = 0
    for at in range(len(around)):
        element = around[at]
        length = 0
        while element >= 0 and known[element] < 0:
            chain[length] = element
            length += 1
            element = elements[element, 1]
        while length:
            length -= 1
            element = chain[length]
            place, parent = elements[element, 0], elements[element, 1]
            number, start, end = spans[place, NUMBER], spans[place, NAME_END], spans[place, END]
            slot = (hashed(data, start, end, ZERO) + number) & (size - 1)
            found = -1
            for _ in range(_MOST_PROBES):
                found = slots[slot]
                if found < 0 or (
                    looks[found, _NUMBER] == number
                    and _are_equal(data, start, end, looks[found, _FROM], looks[found, _TO])
                ):
                    break
                found = -1
                slot = (slot + 1) & (size - 1)
            if found < 0 or place < _ROOTS:
                found = look_count
                if slots[slot] < 0 and place >= _ROOTS:
                    slots[slot] = look_count
                look = looks[look_count]
                look[_PLACE], look[_NUMBER], look[_FROM], look[_TO] = place, number, start, end
                look[_IS_PLAIN] = _read_names(data, start, end, look[_NAMES:_IS_PLAIN])
                look_count += 1
            rows[count, 0], rows[count, 1] = known[parent] if parent >= 0 else -1, found
            rows[count, 2] = count + 1
            known[element] = count
            count += 1
        holders[at] = known[around[at]] if around[at] >= 0 else -1
    for row in range(count - 1, 0, -1):
        around_it = rows[row, 0]
        if around_it >= 0:
            rows[around_it, 2] = max(rows[around_it, 2], rows[row, 2])
    return holders, rows[:count], looks[:look_count]
