"""Reference of SpotSigs: signatures, multiset Jaccard, all pairs, and the bounds of the released code.

Source: algorithms note, section 2.1.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

Signature = tuple[str, ...]


def signatures(
    words: Sequence[str], antecedents: Collection[str], stop_words: Collection[str], distance: int, chain: int
) -> Counter[Signature]:
    """The multiset of signatures of one text.

    From each antecedent go ``distance`` words on, then on to the next word that is no stop word; that is the first
    link. Go on in the same way until there are ``chain`` links. The antecedent is part of the signature.

    Settled:
        A chain that runs over the end of the text is no signature.
    """
    found: Counter[Signature] = Counter()
    for start, word in enumerate(words):
        if word not in antecedents:
            continue
        links, place = [word], start
        while len(links) <= chain:
            place += distance
            while place < len(words) and words[place] in stop_words:
                place += 1
            if place >= len(words):
                break
            links.append(words[place])
        if len(links) == chain + 1:
            found[tuple(links)] += 1
    return found


def similarity(left: Mapping[Any, int], right: Mapping[Any, int]) -> Fraction:
    """Sum of the smaller counts over the sum of the larger ones; 0 of two empty multisets."""
    every = left.keys() | right.keys()
    most = sum(max(left.get(key, 0), right.get(key, 0)) for key in every)
    least = sum(min(left.get(key, 0), right.get(key, 0)) for key in every)
    return Fraction(least, most) if most else Fraction(0)


def all_pairs(pages: Sequence[Mapping[Any, int]], limit: Fraction) -> dict[tuple[int, int], Fraction]:
    """Every pair (smaller place first) of at least this similarity."""
    return {
        (i, j): score
        for j, right in enumerate(pages)
        for i, left in enumerate(pages[:j])
        if (score := similarity(left, right)) >= limit
    }
