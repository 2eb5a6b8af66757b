"""MinHash with bands: equal minima estimate the Jaccard similarity, equal bands bring pages together.

Source: Broder 1997; Indyk, Motwani 1998 (bands); one-permutation form: see ``minima``. docs/algorithms/minhash.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.detectors.port import Detector
from es_dedup.model import CandidateQuery, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import tagged_terms
from es_dedup.text.normalise import normalise_many
from es_dedup.text.ragged import SameArrays
from es_dedup.text.tokens import gram_hashes, tokenise
from experiments.comparators.minima import band_hashes, candidate_chance, one_permutation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.model import Content
    from es_dedup.text.tokens import TokenBatch
    from experiments.settings import MinhashConfig

TAG: Final = 51
PAYLOAD: Final = 1
MINIMUM_BITS: Final = 16  # kept of a minimum: others agree by chance once in 65,536
_MASK: Final = np.uint64((1 << MINIMUM_BITS) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class MinimaOfPage(SameArrays):
    """The minima of one page, 16 bits each; shape (bands * rows,)."""

    minima: NDArray[np.uint16]


def minima_table(
    tokens: TokenBatch, pages: int, config: MinhashConfig
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Minima of tokenised pages, shape (pages, bands * rows), and the number of shingles of each page."""
    hashes, first = gram_hashes(tokens, config.chars, config.words)
    owners = tokens.pages[first].astype(np.int64)
    table = one_permutation(hashes, owners, pages, config.bands * config.rows)
    return (table & _MASK).astype(np.uint16), np.bincount(owners, minlength=pages)


class Minhash(Detector[MinimaOfPage]):
    """The detector."""

    name = "minhash"
    version = 1

    def __init__(self, config: MinhashConfig) -> None:
        self._config = config

    def candidate_chance(self, score: float) -> float:
        """Chance that the bands bring together two pages whose estimated similarity is this."""
        return candidate_chance(score, self._config.bands, self._config.rows)

    def featurise_many(self, contents: Sequence[Content]) -> list[MinimaOfPage | Skipped]:
        """Minima of several pages."""
        tokens = tokenise(normalise_many([content.text for content in contents]))
        table, sizes = minima_table(tokens, len(contents), self._config)
        least = self._config.min_shingles
        return [
            MinimaOfPage(row) if size >= least else Skipped("few-shingles", f"{size} of {least} shingles")
            for row, size in zip(table, sizes.tolist(), strict=True)
        ]

    def terms(self, features: MinimaOfPage) -> tuple[int, ...]:
        """Terms to store: one per band."""
        return tuple(tagged_terms(TAG, band_hashes(features.minima, self._config.bands)).tolist())

    def candidate_query(self, features: MinimaOfPage) -> CandidateQuery:
        """Pages with an equal band."""
        return CandidateQuery((TermGroup(self.terms(features), 1),))

    def verify(self, left: MinimaOfPage, right: MinimaOfPage) -> Verdict:
        """Duplicate iff the share of equal minima is at least ``min_similarity``.

        The share estimates the Jaccard similarity J with a standard error of sqrt(J (1 - J) / minima).

        Raises:
            ValueError: the pages have minima of different numbers.
        """
        if len(left.minima) != len(right.minima):
            raise ValueError(f"{len(left.minima)} and {len(right.minima)} minima do not compare")
        equal = int((left.minima == right.minima).sum())
        score = equal / len(left.minima)
        threshold = self._config.min_similarity
        relation = Relation.DUPLICATE if score >= threshold else Relation.DIFFERENT
        evidence = {
            "similarity": round(score, 4),
            "min_similarity": threshold,
            "equal_minima": equal,
            "of_minima": len(left.minima),
        }
        return Verdict(self.name, relation, score, evidence)

    def pack(self, features: MinimaOfPage) -> bytes:
        """A version byte and two bytes a minimum."""
        return bytes((PAYLOAD,)) + features.minima.astype("<u2").tobytes()

    def unpack(self, payload: bytes) -> MinimaOfPage:
        """Minima from ``pack``; raises ``ValueError`` on damaged bytes or another number of minima."""
        size = self._config.bands * self._config.rows
        if len(payload) != 1 + 2 * size or payload[0] != PAYLOAD:
            raise ValueError(f"{size} minima take {1 + 2 * size} bytes of version {PAYLOAD}")
        return MinimaOfPage(np.frombuffer(payload, dtype="<u2", offset=1).astype(np.uint16))
