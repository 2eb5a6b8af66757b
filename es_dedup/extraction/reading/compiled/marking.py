"""Kernel of ``Tags.places_with``: which tags have one of some words in their attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


_BYTE_VALUES = 256


@kernel
def _chains(
    letters: NDArray[np.uint8], bounds: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """By byte the first of the words that begin with it, and behind each word the next one of these; -1 for none."""
    heads, following = np.full(_BYTE_VALUES, -1), np.full(len(bounds), -1)
    for word in range(len(bounds) - 2, -1, -1):
        first = letters[bounds[word]]
        following[word] = heads[first]
        heads[first] = word
    return heads, following


@kernel
def _has(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    letters: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    chains: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> bool:
    heads, following = chains
    written = data[start:end]
    for at in range(len(written)):
        word = heads[written[at]]
        while word >= 0:
            first, size = bounds[word], bounds[word + 1] - bounds[word]
            same = 1
            while same < size and at + same < len(written) and written[at + same] == letters[first + same]:
                same += 1
            if same == size:
                return True
            word = following[word]
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
        data: markup.
        spans: of each tag, see ``cutting.tag_spans``.
        first: tag to look at.
        letters: bytes of all words, none of which is empty.
        bounds: of each.
    """
    found = np.empty(len(spans), dtype=np.int64)
    chains = _chains(letters, bounds)
    count = 0
    for place in range(first, len(spans)):
        if _has(data, spans[place, 2], spans[place, 3], letters, bounds, chains):
            found[count] = place
            count += 1
    return found[:count]
