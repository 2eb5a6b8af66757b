"""Kernel of ``blocks.read_blocks``: the texts of runs, ready where they hold nothing odd."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel
from es_dedup.extraction.reading.columns import FIRST, FIRST_PART, LAST, LINKED
from es_dedup.extraction.reading.compiled.bytewise import ZERO, byte_at
from es_dedup.extraction.reading.compiled.decoding import (
    ASCII,
    ENDS,
    FOUR,
    IDEOGRAPH,
    LINE,
    ODD,
    REST,
    STOPS,
    THREE,
    TOP,
    TWO,
    WHITE,
    character_at,
    encoded,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.extraction.reading.compiled.decoding import Tables

KIND, CHARS, LINK_CHARS, LED, NARROW, STOP_COUNT = range(6)
"""Columns of what is found; ``KIND`` is 0 for what is ready, else ``ODD``."""

_MAX_SPACE = 200  # see ``markup.is_wide_space``
_SPACE, _AND = ord(" "), ord("&")


@kernel
def _copied(data: NDArray[np.uint8], start: int, end: int, written: NDArray[np.uint8], length: int) -> int:
    """Put some bytes behind those that are written; how many are written then."""
    for at in range(start, end):
        written[length + at - start] = data[at]
    return length + end - start


@kernel
def _folded(
    data: NDArray[np.uint8],
    parts: NDArray[np.int64],
    tables: Tables,
    written: NDArray[np.uint8],
    length: int,
    row: NDArray[np.int64],
) -> int:
    """Write the text of one run with its white space folded; how many bytes are written then, -1 where something is odd."""
    classes, names, values = tables
    chars = wide = linked = stops = 0
    waiting = before = 0  # classes of the white space since the last character, and of that
    for part in range(len(parts)):
        own = chars
        at, end = parts[part, FIRST], parts[part, LAST]
        while at < end:
            start, code = at, byte_at(data, at)
            at += 1
            if code < ASCII and code != _AND:
                is_ = byte_at(classes, code)
                if not (is_ | before | waiting) and chars:  # a letter behind a letter
                    written[length] = code
                    length += 1
                    chars += 1
                    continue
            elif (
                (TWO <= code < THREE or THREE < code < FOUR)
                and at + (code > THREE) < end
                and data[at] & TOP == data[at + (code > THREE)] & TOP == ASCII
            ):  # two bytes, or three; a call takes six times as long
                low, is_three = byte_at(data, at) & REST, code > THREE
                code, at = (code & 0x0F if is_three else code & 0x1F) << 6 | low, at + 1
                if is_three:
                    code, at = code << 6 | (byte_at(data, at) & REST), at + 1
                is_ = byte_at(classes, code)
            else:
                code, at = character_at(data, start, end, names, values)
                is_ = byte_at(classes, code) if code >= 0 else ODD
            if is_ & ODD:
                return -1
            if is_ & WHITE:
                waiting |= is_
                continue
            if before & STOPS:
                stops += before & ENDS == 0 and (waiting > 0 or code >= ASCII)
            if waiting and chars and not (waiting & LINE and before & is_ & IDEOGRAPH):
                written[length] = _SPACE
                length += 1
            waiting, before = 0, is_
            if data[start] == _AND:
                length = encoded(code, written, length)
            else:
                for place in range(start, at):
                    written[length + place - start] = data[place]
                length += at - start
            chars += 1
            wide += code >= ASCII
            stops += is_ & ENDS > 0
        if chars and not own:
            row[LED] = parts[part, LINKED]
        if parts[part, LINKED]:
            linked += chars - own
        if not chars and parts[part, LAST] - parts[part, FIRST] > _MAX_SPACE:
            return -1
    if before & STOPS and not before & ENDS:
        stops += 1
    row[CHARS], row[LINK_CHARS], row[NARROW], row[STOP_COUNT] = chars, linked, chars - wide, stops
    return length if chars else -1


@kernel
def texts_of(
    data: NDArray[np.uint8],
    parts: NDArray[np.int64],
    runs: NDArray[np.int64],
    tables: Tables,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts of all runs.

    Args:
        data: markup.
        parts: begin and end of each part, and whether it is linked; shape (parts, 3).
        runs: see ``runs_of``.
        tables: see ``decoding.tables``.

    Returns:
        The texts, two null bytes behind each; those that are ready have their white space folded and their references to characters resolved, between
        parts of odd ones stands one null byte. Kind of each run, and of those that are ready length, length of link text, whether it begins with a link,
        how many characters are ASCII, all without white space, and how many stops there are (see ``measures.STOPS``); shape (runs, 6).
    """
    count = len(runs) - 1
    size = 2 * count
    for part in range(len(parts)):
        size += parts[part, LAST] - parts[part, FIRST] + 1
    written = np.empty(size, dtype=np.uint8)
    found = np.zeros((count, 6), dtype=np.int64)
    length = ZERO
    for run in range(count):
        first, last = runs[run, FIRST_PART], runs[run + 1, FIRST_PART]
        behind = _folded(data, parts[first:last], tables, written, length, found[run])
        if behind < 0:
            found[run, KIND] = ODD
            for part in range(first, last):
                if part > first:
                    written[length] = 0
                    length += 1
                length = _copied(data, parts[part, FIRST], parts[part, LAST], written, length)
        else:
            length = behind
        written[length] = written[length + 1] = 0
        length += 2
    return written[:length], found
