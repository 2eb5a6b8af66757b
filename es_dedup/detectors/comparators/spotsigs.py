"""SpotSigs: pages are compared by their multisets of spot signatures, with bounds that never lose a pair.

Source: Theobald, Siddharth, Paepcke, SIGIR 2008; docs/algorithms/spotsigs.md says where the released bounds are not
sound and what stands in their place.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.detectors.comparators import hashsets
from es_dedup.detectors.comparators.collection import Collection
from es_dedup.detectors.comparators.hashsets import HashBag, common, jaccard
from es_dedup.detectors.comparators.spots import spot_bags
from es_dedup.model import CandidateQuery, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import tagged_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.model import Content
    from es_dedup.settings.comparators import SpotsigsConfig

TAG: Final = 52
PAYLOAD: Final = 1
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


class SpotIndex:
    """Pages in partitions by size, each with its inverted index; finds all pages of at least one similarity.

    Two pages of similarity s have sizes of at least that ratio, so a partition is as wide as that allows and a match
    lies in the same one or in a neighbour. Within a list the largest pages come first.

    Args:
        pages: the multisets; a match is named by its place here.
        min_similarity: in (0, 1].
    """

    def __init__(self, pages: Sequence[HashBag], min_similarity: float) -> None:
        self._pages, self._limit = pages, min_similarity
        self._sizes = [page.size for page in pages]
        self._df: dict[int, int] = {}
        self._edges = _partition_edges(sorted({size for size in self._sizes if size}), min_similarity)
        self._lists: list[dict[int, list[int]]] = [{} for _ in self._edges]
        for at in sorted(range(len(pages)), key=lambda at: (-self._sizes[at], at)):
            for value in pages[at].values.tolist():
                self._lists[self._partition(self._sizes[at])].setdefault(value, []).append(at)
                self._df[value] = self._df.get(value, 0) + 1

    def matches(self, page: HashBag) -> dict[int, float]:
        """Place and similarity of every page that is similar enough; complete for pages of any size.

        A page not met under any signature so far can share at most what is left of ``page``: below the limit it is
        passed over, and the search ends when that holds for all.
        """
        size = page.size
        if not size:
            return {}
        seen: dict[int, float] = {}
        rarest = sorted(
            zip(page.values.tolist(), page.counts.tolist(), strict=True),
            key=lambda each: (self._df.get(each[0], 0), each[0]),
        )
        passed = 0
        for value, count in rarest:
            if size - passed < self._limit * size - _SLACK:
                break
            for other in self._listed(value, size):
                if other not in seen and self._possible(size, self._sizes[other], passed):
                    seen[other] = multiset_jaccard(page, self._pages[other])
            passed += count
        return {other: score for other, score in seen.items() if score >= self._limit - _SLACK}

    def pairs(self) -> Iterator[tuple[int, int, float]]:
        """Every pair of pages that is similar enough, once, the smaller place first."""
        for at, page in enumerate(self._pages):
            for other, score in self.matches(page).items():
                if other > at:
                    yield at, other, score

    def _listed(self, value: int, size: int) -> Iterator[int]:
        """Pages with this signature in the neighbouring partitions; each list ends where pages become too small."""
        middle = self._partition(size)
        for lists in self._lists[max(0, middle - 1) : middle + 2]:
            for other in lists.get(value, ()):
                if self._sizes[other] < self._limit * size - _SLACK:
                    break
                yield other

    def _possible(self, size: int, other: int, passed: int) -> bool:
        """Whether a page of this size that shares none of the signatures passed can be similar enough."""
        return min(other, size - passed) >= self._limit * max(size, other + passed) - _SLACK

    def _partition(self, size: int) -> int:
        return min(bisect_left(self._edges, size), max(len(self._edges) - 1, 0))


def _partition_edges(sizes: Sequence[int], min_similarity: float) -> list[int]:
    """The largest size of each partition: cut as soon as its sizes are too far apart to be similar enough."""
    edges: list[int] = []
    smallest = 0
    for size in sizes:
        if not edges or smallest < min_similarity * size - _SLACK:
            edges.append(size)
            smallest = size
        edges[-1] = size
    return edges


class Spotsigs:
    """The detector.

    Args:
        config: lists, chain and limits.
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

    def featurise(self, content: Content) -> HashBag | Skipped:
        """Signatures of one page, or ``Skipped`` when it has fewer than ``min_signatures``."""
        return self.featurise_many([content])[0]

    def featurise_many(self, contents: Sequence[Content]) -> list[HashBag | Skipped]:
        """Signatures of several pages; those the collection refuses are taken out when pages are compared."""
        least = self._config.min_signatures
        return [
            bag
            if len(bag) >= least
            else Skipped("few-spot-signatures", f"{len(bag)} signatures, {least} needed")
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
        score = multiset_jaccard(ours, theirs)
        limit = self._config.min_similarity
        relation = Relation.DUPLICATE if score >= limit else Relation.DIFFERENT
        evidence = {
            "similarity": round(score, 4),
            "min_similarity": limit,
            "common": len(common(ours, theirs)[0]),
            "left_signatures": len(ours),
            "right_signatures": len(theirs),
        }
        return Verdict(self.name, relation, score, evidence)

    def pack(self, features: HashBag) -> bytes:
        """Six bytes a signature (its hash, its count), after a head of five."""
        return hashsets.pack(features, PAYLOAD, with_counts=True)

    def unpack(self, payload: bytes) -> HashBag:
        """Signatures from ``pack``; raises ``ValueError`` on damaged bytes."""
        return hashsets.unpack(payload, PAYLOAD, with_counts=True)
