"""Length of the longest common subsequence, a machine word of columns at a time."""

from __future__ import annotations


def common_subsequence(left: str, right: str) -> int:
    """Characters of the longest sequence that stands in both texts in order, with gaps allowed.

    Source:
        Hyyrö, "Bit-parallel LCS-length computation revisited", AWOCA 2004.
    """
    if len(left) < len(right):
        left, right = right, left
    places: dict[str, int] = {}
    for place, character in enumerate(left):
        places[character] = places.get(character, 0) | (1 << place)
    every = (1 << len(left)) - 1
    row = every
    for character in right:
        matched = row & places.get(character, 0)
        row = ((row + matched) | (row - matched)) & every
    return len(left) - row.bit_count()
