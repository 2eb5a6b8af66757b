"""Kernel of ``walk.walk``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel
from es_dedup.extraction.reading.columns import (
    AROUND,
    DEPTH,
    END,
    FIRST,
    FIRST_PART,
    LAST,
    LINKED,
    LINKS,
    NAME_END,
    NUMBER,
    START,
)
from es_dedup.extraction.reading.compiled.bytewise import NOT, ZERO, byte_at, is_space
from es_dedup.extraction.reading.compiled.decoding import ODD, WHITE, character_at
from es_dedup.extraction.reading.markup import BLOCK, BREAK, LEFT_OUT, LINK, NOTED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.extraction.reading.compiled.decoding import Tables

_SLASH, _EQUALS, _DOUBLE, _SINGLE = ord("/"), ord("="), ord('"'), ord("'")
_AND, _SHARP, _UPPER_N, _LINE_END = ord("&"), ord("#"), ord("N"), ord("\n")
_CHUNK = 4_096


@kernel
def _is_closed(data: NDArray[np.uint8], start: int, end: int) -> bool:
    """See ``markup.is_closed``."""
    if start == end or data[end - 1] != _SLASH:
        return False
    at = end - 1
    is_value = False
    while at >= start and not is_space(data[at]):
        is_value = is_value or data[at] == _EQUALS
        at -= 1
    return not is_value or (end - 2 > at and (data[end - 2] == _DOUBLE or data[end - 2] == _SINGLE))


@kernel
def _reached(
    opened: NDArray[np.int64], count: int, number: int, reach: NDArray[np.int64], plain_reach: int
) -> int:
    """How many elements an end tag closes."""
    own = reach[number] if number < len(reach) else plain_reach
    for level in range(count - 1, -1, -1):
        inner = opened[level]
        if inner == number:
            return count - level
        if (reach[inner] if inner < len(reach) else plain_reach) > own:
            return 0
    return 0


@kernel
def _closing(
    number: int,
    opened: NDArray[np.int64],
    depth: int,
    closes: NDArray[np.bool_],
    reach: NDArray[np.int64],
    plain_reach: int,
) -> int:
    """How many elements a tag closes."""
    if number < 0:
        if depth and opened[depth - 1] == ~number:
            return 1
        return _reached(opened, depth, ~number, reach, plain_reach)
    count, known = 0, len(closes)
    if 0 < number < known:
        while count < depth:
            inner = opened[depth - 1 - count]
            if inner >= known or not closes[number, inner]:
                break
            count += 1
    return count


@kernel
def _begins(data: NDArray[np.uint8], first: int, last: int) -> bool:
    """There is anything but plain white space."""
    for place in range(first, last):  # noqa: SIM110 - compiled
        if not is_space(data[place]):
            return True
    return False


@kernel
def _is_odd(data: NDArray[np.uint8], first: int, last: int, tables: Tables) -> bool:
    """A preformatted text may end a line by a reference, or begin one with white space that is none in ASCII: ``walk`` reads those."""
    classes, names, values = tables
    begins = True
    for place in range(first, last):
        byte = byte_at(data, place)
        if byte == _LINE_END:
            begins = True
        elif byte == _AND or (begins and not is_space(byte)):
            code, _ = character_at(data, place, last, names, values)
            if begins and (code < 0 or classes[code] & (WHITE | ODD)):
                return True
            begins = False
            if byte == _AND and place + 1 < last:
                behind = data[place + 1]
                if (behind == _SHARP and code < 0) or behind == _UPPER_N:
                    return True
    return False


@kernel
def _lines(data: NDArray[np.uint8], spans: NDArray[np.int64], preformatted: int) -> int:
    """How many lines may end in preformatted texts."""
    if not (spans[:, NUMBER] == preformatted).any():
        return 0
    return int((data == _LINE_END).sum())


@kernel
def _line_end(data: NDArray[np.uint8], first: int, last: int) -> int:
    """Behind the next end of a line, or the end of the text."""
    for place in range(first, last):
        if data[place] == _LINE_END:
            return place + 1
    return last


@kernel
def _add_text(
    data: NDArray[np.uint8],
    span: tuple[int, int, bool],
    here: tuple[int, int, int, bool],
    counts: tuple[int, int, bool],
    parts: NDArray[np.int64],
    runs: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Note a text.

    Args:
        data: markup.
        span: begin and end of the text, and whether it is preformatted: each line is a run of its own then.
        here: element around it, links so far, open elements, and whether the text is linked.
        counts: of parts and of runs, and whether a run has begun that nothing has broken.
        parts: to add to.
        runs: to add to.

    Returns:
        The new counts.
    """
    (first, last, pre), (around, links, depth, linked), (part_count, run_count, within) = span, here, counts
    while first < last:
        end = _line_end(data, first, last) if pre else last
        if not within and _begins(data, first, end):
            within = True
            runs[run_count, FIRST_PART], runs[run_count, AROUND] = part_count, around
            run_count += 1
        if within:
            parts[part_count, FIRST], parts[part_count, LAST], parts[part_count, LINKED] = first, end, linked
            part_count += 1
            if pre and data[end - 1] == _LINE_END:
                within = False
                runs[run_count - 1, LINKS], runs[run_count - 1, DEPTH] = links, depth
        first = end
    return part_count, run_count, within


@kernel
def runs_of(
    data: NDArray[np.uint8],
    spans: NDArray[np.int64],
    known: tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]],
    numbers: tuple[int, int, int, int],
    tables: Tables,
    max_depth: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], bool]:
    """Texts that stand together.

    Args:
        data: markup.
        spans: of each tag, see ``tag_spans``.
        known: of each known tag, by its number, its role, whether it closes an open element, by the number of that, and its reach.
        numbers: of links, paragraphs and preformatted elements, and the reach of elements that are not known.
        tables: see ``decoding.tables``.
        max_depth: of elements that are open between two chunks of tags.

    Returns:
        Begin and end of each part, and whether it is linked, shape (parts, 3); first part, element around it, links and depth of each run,
        with the number of parts behind the last, shape (runs + 1, 4); place and parent of each block element, shape (elements, 2);
        False where it is too deep, or preformatted in odd ways.
    """
    tags, (link, paragraph, preformatted, plain_reach) = len(spans), numbers
    roles, closes, reach = known
    lines = _lines(data, spans, preformatted)
    parts = np.empty((tags + lines, 3), dtype=np.int64)
    runs = np.empty((tags + lines + 1, 4), dtype=np.int64)
    elements = np.empty((tags, 2), dtype=np.int64)
    opened, blocks = np.empty(tags, dtype=np.int64), np.full(tags + 1, -1, dtype=np.int64)
    part_count = run_count = element_count = depth = left_out = in_link = links = pre = ZERO
    level, within = 1, NOT  # of blocks; a run has begun, and nothing has broken it
    for place in range(tags):
        number, start, end = spans[place, NUMBER], spans[place, NAME_END], spans[place, END]
        closing = _closing(number, opened, depth, closes, reach, plain_reach)
        breaks = number == ~paragraph and not closing
        if number == ~link and not closing:
            in_link = 0
        number = max(number, 0)
        for _ in range(closing):
            depth -= 1
            pre -= opened[depth] == preformatted
            if left_out:
                left_out *= left_out <= depth
            else:
                if within:
                    within = False
                    runs[run_count - 1, LINKS], runs[run_count - 1, DEPTH] = links, depth
                level -= 1
                if in_link > depth:
                    in_link = 0
        role = NOTED if not number else roles[number] if number < len(roles) else BLOCK
        if role == LINK and not left_out:
            links += 1
            in_link = 0 if _is_closed(data, start, end) else depth
        breaks = (breaks or role in (BLOCK, BREAK)) and not left_out
        if breaks and within:
            within = False
            runs[run_count - 1, LINKS], runs[run_count - 1, DEPTH] = links, depth
        if role in (BLOCK, LEFT_OUT) and not _is_closed(data, start, end):
            opened[depth] = number
            pre += number == preformatted
            depth += 1
            if breaks:
                elements[element_count, 0], elements[element_count, 1] = place, blocks[level - 1]
                blocks[level] = element_count
                level += 1
                element_count += 1
            elif not left_out:
                left_out = depth
        first, last = end + 1, spans[place + 1, START] if place + 1 < tags else len(data)
        if not left_out and first < last:
            if pre and _is_odd(data, first, last, tables):
                return parts[:0], runs[:0], elements[:0], False
            here, counts = (blocks[level - 1], links, depth, in_link > 0), (part_count, run_count, within)
            counts = _add_text(data, (first, last, pre > 0), here, counts, parts, runs)
            part_count, run_count, within = counts
        if (place + 1) % _CHUNK == 0 and depth > max_depth:
            return parts[:0], runs[:0], elements[:0], False
    if within:
        runs[run_count - 1, LINKS], runs[run_count - 1, DEPTH] = links, depth
    runs[run_count, FIRST_PART] = part_count
    return parts[:part_count], runs[: run_count + 1], elements[:element_count], depth <= max_depth
