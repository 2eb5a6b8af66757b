"""Kernel of ``Tags.places_with``: which tags have one of some words in their attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel
from es_dedup.extraction.reading.columns import END, NAME_END
from es_dedup.extraction.reading.compiled.bytewise import flagged, whole_words

if TYPE_CHECKING:
    from numpy.typing import NDArray


_SHORTEST = 3  # bytes of a word


@kernel
def _candidates(
    data: NDArray[np.uint8], letters: NDArray[np.uint8], bounds: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Places of the first three bytes of any of the words."""
    flags = np.zeros(whole_words(len(data)), dtype=np.uint8)
    for word in range(len(bounds) - 1):
        one, two, three = letters[bounds[word] : bounds[word] + _SHORTEST]
        for place in range(len(data) - _SHORTEST + 1):  # one instruction does many of these
            flags[place] |= np.uint8(
                (data[place] == one) & (data[place + 1] == two) & (data[place + 2] == three)
            )
    return flagged(flags)


@kernel
def _stands(
    data: NDArray[np.uint8], place: int, end: int, letters: NDArray[np.uint8], bounds: NDArray[np.int64]
) -> bool:
    """One of the words stands at a place, and ends before another."""
    for word in range(len(bounds) - 1):
        first, size = bounds[word], bounds[word + 1] - bounds[word]
        same = 0
        while same < size and place + same < end and data[place + same] == letters[first + same]:
            same += 1
        if same == size:
            return True
    return False


@kernel
def places_of(
    data: NDArray[np.uint8],
    spans: NDArray[np.int64],
    first: int,
    letters: NDArray[np.uint8],
    bounds: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Places of tags.

    Args:
        data: markup up to the end of the last of these tags.
        spans: of each tag, see ``cutting.tag_spans``.
        first: tag to look at.
        letters: bytes of all words, each of at least three.
        bounds: of each.
    """
    candidates = _candidates(data, letters, bounds)
    found = np.empty(min(len(spans), len(candidates)), dtype=np.int64)
    count, place = 0, first
    for at in candidates:
        while place < len(spans) and spans[place, END] <= at:
            place += 1
        if place == len(spans):
            break
        if at >= spans[place, NAME_END] and _stands(data, at, spans[place, END], letters, bounds):
            found[count] = place
            count += 1
            place += 1
    return found[:count]
