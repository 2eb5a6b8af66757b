"""Odds of tokens: how often blocks are main text whose containers have a word in their names, or that hold a word themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
_SPLIT: Final = re.compile(r"\s+")
PREFIX_CHARS: Final = 5
"""Of a longer word these stand for all words that begin so."""

_CACHED: Final = 20_000
_BEST: Final = 5


@lru_cache(_CACHED)
def name_tokens(signature: str) -> frozenset[str]:
    """Words of a container's class, id, role and itemprop, first letters of long ones, and each name as a whole; in small letters."""
    found: set[str] = set()
    for name in _SPLIT.split(signature):
        mark = name[:1] if name[:1] in "#=@" else ""
        plain = name[len(mark) :]
        if not plain:
            continue
        found.add(mark + plain.lower())
        for part in _WORD.findall(plain):
            word = part.lower()
            if len(word) > 1:
                found.add(word)
            if len(word) > PREFIX_CHARS:
                found.add(f"{word[:PREFIX_CHARS]}*")
    return frozenset(found)


@dataclass(slots=True)
class Odds:
    """Logarithms of odds against those of all blocks; tokens not listed have 0.

    Attributes:
        names: of tokens of names.
        words: hashes of words, ascending.
        values: of the words.
    """

    names: dict[str, float] = field(default_factory=dict)
    words: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    values: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    _cache: dict[str, tuple[float, float, float]] = field(default_factory=dict)

    def of_name(self, signature: str) -> tuple[float, float, float]:
        """Smallest (at most 0), largest (at least 0) and sum of odds of the tokens of a signature."""
        known = self._cache.get(signature)
        if known is None:
            odds = [self.names.get(token, 0.0) for token in name_tokens(signature)]
            known = (min(odds, default=0.0), max(odds, default=0.0), sum(odds))
            known = (min(known[0], 0.0), max(known[1], 0.0), known[2])
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            self._cache[signature] = known
        return known

    def of_page(self, signatures: Iterable[str], hashes: NDArray[np.uint64]) -> tuple[float, float, float]:
        """Odds of a whole page by its distinct tokens: of names and of words over the root of their number, and the mean of the five highest."""
        tokens: set[str] = set()
        for signature in signatures:
            tokens |= name_tokens(signature)
        names = [value for token in tokens if (value := self.names.get(token))]
        values = self.of_words(np.unique(hashes))
        words = values[values != 0].astype(np.float64)
        best = sorted([*names, *words.tolist()])[-_BEST:]
        return (
            sum(names) / max(len(names), 1) ** 0.5,
            float(words.sum()) / max(words.size, 1) ** 0.5,
            sum(best) / _BEST,
        )

    def of_words(self, hashes: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Odds of each word."""
        if not self.words.size:
            return np.zeros(hashes.size, np.float32)
        places = np.minimum(np.searchsorted(self.words, hashes), self.words.size - 1)
        return np.where(self.words[places] == hashes, self.values[places], np.float32(0))
