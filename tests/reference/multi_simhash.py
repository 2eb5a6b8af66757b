"""Reference of multi-SimHash: weights, keywords, windows, both fingerprints, the rule.

Source: algorithms note, section 3 and readings 6 to 9 of section 9.

A page is the list of its content words in order. Hashes, idf, parts of speech and synonym codes are given as functions, so
nothing here depends on a dictionary.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.reference.simhash import fingerprint


class Weights(NamedTuple):
    """Shares of the four parts of a word's weight."""

    tfidf: float = 0.8
    speech: float = 0.5
    length: float = 0.05
    place: float = 0.1


def word_weights(
    words: Sequence[str],
    idf: Callable[[str], float],
    speech: Callable[[str], float],
    weights: Weights = Weights(),  # noqa: B008 - immutable
) -> dict[str, float]:
    """Weight of each distinct word, in order of first occurrence; longest length counted is 4 characters."""
    counts = Counter(words)
    tfidf = {word: count * idf(word) for word, count in counts.items()}
    largest = max(tfidf.values(), default=1.0)
    found = {}
    for word in counts:
        found[word] = (
            weights.tfidf * (tfidf[word] / largest)
            + weights.speech * speech(word)
            + weights.length * min(len(word), 4)
            + weights.place * (1 - words.index(word) / len(words))
        )
    return found


def keywords(weights: dict[str, float], count: int) -> set[str]:
    """The ``count`` heaviest words; of equal ones the earlier."""
    ranked = sorted(weights, key=lambda word: -weights[word])
    return set(ranked[:count])


def windows(words: Sequence[str], chosen: set[str], context: int, *, each: bool = False) -> list[int]:
    """Positions within ``context`` of an occurrence of a keyword, ascending; once, or once in each window."""
    near = []
    for at, word in enumerate(words):
        if word in chosen:
            near += [other for other in range(at - context, at + context + 1) if 0 <= other < len(words)]
    return sorted(near if each else set(near))


def fingerprints(
    words: Sequence[str],
    near: Sequence[int],
    value: Callable[[str], int],
    code: Callable[[str], int],
    votes: Callable[[str], int] = lambda word: 1,
) -> tuple[int | None, int | None]:
    """simhash_1 of all words, and simhash_2 of the windows with synonyms coded."""
    text = fingerprint((value(word), votes(word)) for word in words)
    return text, fingerprint((code(words[at]), 1) for at in near)


def duplicate(text_bits: int, keyword_bits: int, near: int = 2, wide: int = 6) -> bool:
    """D1 <= k1, or k1 < D1 <= k2 and D2 <= k1."""
    return text_bits <= near or (near < text_bits <= wide and keyword_bits <= near)
