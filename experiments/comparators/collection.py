"""Document frequencies of one kind of feature: what a method that weighs by rarity knows of a corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """An immutable snapshot.

    Attributes:
        terms: hashes, ascending, distinct.
        df: document frequency of each of them, at least 1.
        pages: pages counted.
    """

    terms: NDArray[np.uint64]
    df: NDArray[np.int64]
    pages: int

    @classmethod
    def count(cls, hashes: NDArray[np.uint64], pages: int) -> Collection:
        """The snapshot of a corpus, given each page's distinct features one after the other."""
        terms, df = np.unique(hashes, return_counts=True)
        return cls(terms, df, pages)

    def frequency(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Document frequency of each of these features; 0 for those never seen."""
        if not len(self.terms):
            return np.zeros(len(hashes), dtype=np.int64)
        place = np.minimum(np.searchsorted(self.terms, hashes), len(self.terms) - 1)
        return np.where(self.terms[place] == hashes, self.df[place], 0)

    def normalised_idf(self, hashes: NDArray[np.uint64]) -> NDArray[np.float64]:
        """``ln((N + 1) / df) / ln(N + 1)`` in [0, 1]: 1 for a feature of one page, and for one never seen.

        Source:
            The released SpotSigs code; I-Match (Chowdhury 2002) calls it nidf.
        """
        if not self.pages:
            return np.ones(len(hashes))
        df = np.maximum(self.frequency(hashes), 1)
        idf: NDArray[np.float64] = np.log((self.pages + 1) / df) / np.log(self.pages + 1)
        return idf

    def lexicon(self, low: float, high: float) -> Lexicon:
        """The features with a normalised idf from ``low`` to ``high``."""
        idf = self.normalised_idf(self.terms)
        kept = (idf >= low - _SLACK) & (idf <= high + _SLACK)
        return Lexicon(self.terms, kept, unseen=high + _SLACK >= 1)


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Which features count.

    Attributes:
        terms: features seen, ascending.
        kept: whether each of them counts.
        unseen: whether a feature never seen counts.
    """

    terms: NDArray[np.uint64]
    kept: NDArray[np.bool_]
    unseen: bool

    def holds(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of these features count."""
        if not len(self.terms):
            return np.full(len(hashes), self.unseen)
        place = np.minimum(np.searchsorted(self.terms, hashes), len(self.terms) - 1)
        return np.where(self.terms[place] == hashes, self.kept[place], self.unseen)


_SLACK: Final = 1e-9  # so that a threshold is not missed by the last bit of a logarithm
