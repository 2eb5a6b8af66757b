"""LSH-S and LSH-P: bands of minima over spot signatures, or over period signatures; verified on the signatures.

Source: Indyk, Motwani, STOC 1998; over spot signatures as in Theobald et al., SIGIR 2008, over period signatures as in
the comparison of CCDet. docs/algorithms/lsh.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from es_dedup.model import CandidateQuery, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import mix64, tagged_terms
from experiments.comparators.hashsets import BagDetector, HashBag, jaccard, shared_count, similarity_verdict
from experiments.comparators.minima import band_hashes, candidate_chance, permuted
from experiments.comparators.periods import period_sets
from experiments.comparators.spots import spot_bags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.model import Content
    from experiments.settings import LshConfig, SpotsigsConfig

SPOT_TAG: Final = 57
PERIOD_TAG: Final = 58
MIN_PERIODS: Final = 3  # signatures, as in CCDet


class LshPeriods(BagDetector):
    """LSH-P."""

    name = "lsh_p"
    version = 1
    with_counts = False
    tag: ClassVar[int] = PERIOD_TAG
    skipped: ClassVar[str] = "few-full-stops"

    def __init__(self, config: LshConfig) -> None:
        self._config = config

    @property
    def least(self) -> int:
        """Signatures a page needs."""
        return MIN_PERIODS

    def candidate_chance(self, score: float) -> float:
        """Chance that the bands bring together two pages of this similarity."""
        return candidate_chance(score, self._config.bands, self._config.rows)

    def sets(self, texts: Sequence[str]) -> list[HashBag]:
        """Period signatures of several texts."""
        return [HashBag(part, np.ones(len(part), dtype=np.uint8)) for part in period_sets(texts)]

    def featurise_many(self, contents: Sequence[Content]) -> list[HashBag | Skipped]:
        """Signatures of several pages; the minima are made of them when terms are needed."""
        return [
            bag if len(bag) >= self.least else Skipped(self.skipped, f"{len(bag)} of {self.least} signatures")
            for bag in self.sets([content.text for content in contents])
        ]

    def terms(self, features: HashBag) -> tuple[int, ...]:
        """Terms to store: one per band."""
        config = self._config
        minima = permuted(mix64(features.values), config.bands * config.rows)
        return tuple(tagged_terms(self.tag, band_hashes(minima, config.bands)).tolist())

    def candidate_query(self, features: HashBag) -> CandidateQuery:
        """Pages with an equal band."""
        return CandidateQuery((TermGroup(self.terms(features), 1),))

    def verify(self, left: HashBag, right: HashBag) -> Verdict:
        """Duplicate iff the Jaccard similarity of the signatures is at least ``min_similarity``."""
        shared = shared_count(left, right)
        score = jaccard(shared, len(left), len(right))
        return similarity_verdict(self.name, score, self._config.min_similarity, shared, (left, right))


class LshSpots(LshPeriods):
    """LSH-S."""

    name = "lsh_s"
    tag = SPOT_TAG
    skipped = "few-spot-signatures"

    def __init__(self, config: LshConfig, spots: SpotsigsConfig) -> None:
        super().__init__(config)
        self._spots = spots

    @property
    def least(self) -> int:
        """Signatures a page needs."""
        return self._spots.min_signatures

    def sets(self, texts: Sequence[str]) -> list[HashBag]:
        """Distinct spot signatures of several texts."""
        return [HashBag(bag.values, np.ones_like(bag.counts)) for bag in spot_bags(texts, self._spots)]
