"""Odds of tokens: how often blocks are main text whose containers have a word in their names, or that hold a word themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.ragged import sorted_distinct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
PREFIX_CHARS: Final = 5
"""Of a longer word these stand for all words that begin so."""

CACHED: Final = 20_000
"""Names that are remembered."""
_BEST: Final = 5


@lru_cache(CACHED)
def part_tokens(name: str) -> frozenset[str]:
    """Words of one class, id (``#``), itemprop (``=``) or role (``@``), first letters of long ones, and the name as a whole; in small letters."""
    mark = name[:1] if name[:1] in "#=@" else ""
    plain = name[len(mark) :]
    if not plain:
        return frozenset()
    found = {mark + plain.lower()}
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
    _parts: dict[str, dict[str, float]] = field(default_factory=dict)

    def of_name(self, signature: str) -> tuple[float, float, float]:
        """Smallest (at most 0), largest (at least 0) and sum of odds of the tokens of a signature."""
        known = self._cache.get(signature)
        if known is None:
            odds: dict[str, float] = {}
            for part in signature.split():
                odds |= self._of_part(part)
            values = odds.values()
            known = (min(0.0, *values), max(0.0, *values), sum(values)) if odds else (0.0, 0.0, 0.0)
            if len(self._cache) >= CACHED:
                self._cache.clear()
            self._cache[signature] = known
        return known

    def _of_part(self, name: str) -> dict[str, float]:
        """Odds of those tokens of a name that are listed."""
        known = self._parts.get(name)
        if known is None:
            known = {token: self.names[token] for token in part_tokens(name) if token in self.names}
            if len(self._parts) >= CACHED:
                self._parts.clear()
            self._parts[name] = known
        return known

    def of_page(self, parts: Iterable[str], hashes: NDArray[np.uint64]) -> tuple[float, float, float]:
        """Odds of a whole page by its distinct tokens, from the distinct parts of its names: of names and of words over the root of their number, and the mean of the five highest."""
        listed: dict[str, float] = {}
        for part in parts:
            if found := self._of_part(part):
                listed |= found
        names = [value for value in listed.values() if value]
        words = self.of_words(sorted_distinct(hashes[self.of_words(hashes) != 0])).astype(np.float64)
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
