"""Kernel of ``walk.walk``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel
from es_dedup.extraction.reading.compiled.bytewise import is_space
from es_dedup.extraction.reading.markup import BLOCK, BREAK, LEFT_OUT, LINK, NOTED

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLASH, _EQUALS, _DOUBLE, _SINGLE = ord("/"), ord("="), ord('"'), ord("'")
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
def runs_of(
    data: NDArray[np.uint8],
    spans: NDArray[np.int64],
    roles: NDArray[np.int64],
    closes: NDArray[np.bool_],
    reach: NDArray[np.int64],
    numbers: tuple[int, int, int],
    max_depth: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], bool]:
    """Texts that stand together.

    Args:
        data: markup.
        spans: of each tag, see ``tag_spans``.
        roles: by number of a known tag.
        closes: by numbers of a start tag and of an open element, whether it closes that.
        reach: by number of a known tag.
        numbers: of links and paragraphs, and the reach of elements that are not known.
        max_depth: of elements that are open between two chunks of tags.

    Returns:
        Begin and end of each part, and whether it is linked, shape (parts, 3); first part, element around it, links and depth of each run,
        with the number of parts behind the last, shape (runs + 1, 4); place and parent of each block element, shape (elements, 2); False where it is too deep.
    """
    tags, (link, paragraph, plain_reach) = len(spans), numbers
    parts = np.empty((tags, 3), dtype=np.int64)
    runs = np.empty((tags + 1, 4), dtype=np.int64)
    elements = np.empty((tags, 2), dtype=np.int64)
    opened, blocks = np.empty(tags, dtype=np.int64), np.full(tags + 1, -1, dtype=np.int64)
    part_count = run_count = element_count = depth = left_out = in_link = links = 0
    level = 1  # of blocks
    within = False
    for place in range(tags):
        number, start, end = spans[place, 4], spans[place, 2], spans[place, 3]
        closing = _closing(number, opened, depth, closes, reach, plain_reach)
        breaks = number == ~paragraph and not closing
        if number == ~link and not closing:
            in_link = 0
        number = max(number, 0)
        for _ in range(closing):
            depth -= 1
            if left_out:
                left_out *= left_out <= depth
            else:
                if within:
                    within = False
                    runs[run_count - 1, 2], runs[run_count - 1, 3] = links, depth
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
            runs[run_count - 1, 2], runs[run_count - 1, 3] = links, depth
        if role in (BLOCK, LEFT_OUT) and not _is_closed(data, start, end):
            opened[depth] = number
            depth += 1
            if breaks:
                elements[element_count, 0], elements[element_count, 1] = place, blocks[level - 1]
                blocks[level] = element_count
                level += 1
                element_count += 1
            elif not left_out:
                left_out = depth
        first, last = end + 1, spans[place + 1, 0] if place + 1 < tags else len(data)
        if not left_out and first < last:
            if not within and _begins(data, first, last):
                within = True
                runs[run_count, 0], runs[run_count, 1] = part_count, blocks[level - 1]
                run_count += 1
            if within:
                parts[part_count, 0], parts[part_count, 1] = first, last
                parts[part_count, 2] = in_link > 0
                part_count += 1
        if (place + 1) % _CHUNK == 0 and depth > max_depth:
            return parts[:0], runs[:0], elements[:0], False
    if within:
        runs[run_count - 1, 2], runs[run_count - 1, 3] = links, depth
    runs[run_count, 0] = part_count
    return parts[:part_count], runs[: run_count + 1], elements[:element_count], depth <= max_depth
