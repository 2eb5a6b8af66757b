"""Kernel of ``Tags.places_with``: which tags have one of some words in their attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def _has(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    words: tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]],
) -> bool:
    letters, bounds, begins = words
    for at in range(start, end - 1):
        if not (begins[0, data[at]] and begins[1, data[at + 1]]):
            continue
        for word in range(len(bounds) - 1):
            first, size = bounds[word], bounds[word + 1] - bounds[word]
            same = 0
            while same < size and at + same < end and data[at + same] == letters[first + same]:
                same += 1
            if same == size:
                return True
    return False


@kernel
def places_of(
    data: NDArray[np.uint8],
    spans: NDArray[np.int64],
    first: int,
    words: tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]],
) -> NDArray[np.int64]:
    """Places of tags.

    Args:
        data: markup.
        spans: of each tag, see ``cutting.tag_spans``.
        first: tag to look at.
        words: their bytes, the bounds of each, and by byte whether it is the first or the second of one of them, shape (2, 256); none is shorter.
    """
    found = np.empty(len(spans), dtype=np.int64)
    count = 0
    for place in range(first, len(spans)):
        if _has(data, spans[place, 2], spans[place, 3], words):
            found[count] = place
            count += 1
    return found[:count]
