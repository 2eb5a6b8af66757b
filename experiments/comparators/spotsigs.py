"""SpotSigs: pages are compared by their multisets of spot signatures.

Source: Theobald, Siddharth, Paepcke, SIGIR 2008; see docs/algorithms/spotsigs.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.model import CandidateQuery, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import tagged_terms
from experiments.comparators.collection import Collection
from experiments.comparators.hashsets import BagDetector, HashBag, common, jaccard, similarity_verdict
from experiments.comparators.spots import spot_bags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.model import Content
    from experiments.settings import SpotsigsConfig

TAG: Final = 52
_SLACK: Final = 1e-9


def multiset_jaccard(left: HashBag, right: HashBag) -> float:
    """Sum of the smaller counts over the sum of the larger ones, in [0, 1]."""
    ours, theirs = common(left, right)
    overlap = int(np.minimum(left.counts[ours], right.counts[theirs]).sum(dtype=np.int64))
    return jaccard(overlap, left.size, right.size)


def fewest_shared(bag: HashBag, min_similarity: float) -> int:
    """Distinct signatures that any page at least this similar shares with the bag; at least 1.

    Of two multisets with similarity s the overlap is at least s times either size; no fewer signatures than the
    most frequent ones that make up as much can hold it.
    """
    heaviest = np.sort(bag.counts)[::-1].cumsum(dtype=np.int64)
    return int(np.searchsorted(heaviest, min_similarity * bag.size - _SLACK)) + 1 if len(bag) else 1


class Spotsigs(BagDetector):
    """The detector.

    Args:
        config: lists, chain and thresholds.
        collection: document frequencies of signatures; None keeps all signatures.
    """

    name = "spotsigs"
    version = 1

    def __init__(self, config: SpotsigsConfig, collection: Collection | None = None) -> None:
        self._config = config
        self._lexicon = collection.lexicon(config.min_idf, config.max_idf) if collection else None

    def learned(self, contents: Sequence[Content]) -> Spotsigs:
        """The same method, with the document frequencies of these pages."""
        found = spot_bags([content.text for content in contents], self._config)
        none = np.zeros(0, dtype=np.uint64)
        return Spotsigs(
            self._config, Collection.count(np.concatenate([none, *(bag.values for bag in found)]), len(found))
        )

    def featurise_many(self, contents: Sequence[Content]) -> list[HashBag | Skipped]:
        """Signatures of several pages; those the collection refuses are taken out when pages are compared."""
        least = self._config.min_signatures
        return [
            bag if len(bag) >= least else Skipped("few-spot-signatures", f"{len(bag)} of {least} signatures")
            for bag in spot_bags([content.text for content in contents], self._config)
        ]

    def useful(self, features: HashBag) -> HashBag:
        """The signatures that are neither too frequent nor too rare in the collection."""
        return features if self._lexicon is None else features.only(self._lexicon.holds(features.values))

    def terms(self, features: HashBag) -> tuple[int, ...]:
        """Terms to store: all signatures that are of use."""
        return tuple(tagged_terms(TAG, self.useful(features).values).tolist())

    def candidate_query(self, features: HashBag) -> CandidateQuery | None:
        """Pages that share as many signatures as similar pages must; None when the collection left none."""
        useful = self.useful(features)
        if not len(useful):
            return None
        return CandidateQuery(
            (TermGroup(self.terms(features), fewest_shared(useful, self._config.min_similarity)),)
        )

    def verify(self, left: HashBag, right: HashBag) -> Verdict:
        """Duplicate iff the multiset Jaccard similarity is at least ``min_similarity``."""
        ours, theirs = self.useful(left), self.useful(right)
        score, shared = multiset_jaccard(ours, theirs), len(common(ours, theirs)[0])
        return similarity_verdict(self.name, score, self._config.min_similarity, shared, (ours, theirs))
