"""Shingling: pages are compared by their runs of neighbouring tokens, sampled or grouped.

Source: Broder, Glassman, Manasse, Zweig, "Syntactic clustering of the web", WWW 1997; docs/algorithms/shingling.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.detectors.port import Detector
from es_dedup.model import CandidateQuery, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import tagged_terms
from es_dedup.text.normalise import normalise_many
from es_dedup.text.ragged import offsets_of
from es_dedup.text.tokens import gram_hashes, tokenise
from experiments.comparators import hashsets
from experiments.comparators.hashsets import BagDetector, HashBag, bags, jaccard, shared_count
from experiments.comparators.minima import band_hashes, permuted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.model import Content
    from experiments.settings import ShinglingConfig

RESEMBLANCE_TAG: Final = 48
CONTAINMENT_TAG: Final = 49
GROUP_TAG: Final = 50
GROUPS: Final = 6  # super-shingles of a page
GROUP_SIZE: Final = 14  # minima of one of them
PAYLOAD: Final = 1  # version of the stored form


def shingles(texts: Sequence[str], chars: int, words: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hashes of all shingles of several pages, and the page of each; a shingle that occurs twice stands twice.

    Args:
        texts: as read, not yet normalised.
        chars: tokens of a shingle that begins with a Chinese character.
        words: tokens of any other shingle.
    """
    tokens = tokenise(normalise_many(texts))
    hashes, first = gram_hashes(tokens, chars, words)
    return hashes, tokens.pages[first].astype(np.int64)


def sampled(hashes: NDArray[np.uint64], modulus: int) -> NDArray[np.bool_]:
    """Which shingles a sketch keeps: those whose hash is divisible by ``modulus``.

    Source:
        Broder 1997, section 3 (the sketch M(D) mod m).
    """
    kept: NDArray[np.bool_] = hashsets.short(hashes) % np.uint64(modulus) == 0
    return kept


class Shingling(BagDetector):
    """Resemblance of sampled shingles: shared over all."""

    name = "shingling"
    version = 1
    with_counts = False
    tag = RESEMBLANCE_TAG

    def __init__(self, config: ShinglingConfig) -> None:
        self._config = config

    def featurise_many(self, contents: Sequence[Content]) -> list[HashBag | Skipped]:
        """Sketches of several pages."""
        config = self._config
        hashes, owners = shingles([content.text for content in contents], config.chars, config.words)
        kept = sampled(hashes, config.modulus)
        found = bags(hashes[kept], owners[kept], len(contents))
        return [
            HashBag(bag.values, np.ones_like(bag.counts))
            if len(bag) >= config.min_shingles
            else Skipped("few-shingles", f"{len(bag)} of {config.min_shingles} shingles in the sketch")
            for bag in found
        ]

    def terms(self, features: HashBag) -> tuple[int, ...]:
        """Terms to store: the sketch."""
        return tuple(tagged_terms(self.tag, features.values).tolist())

    def candidate_query(self, features: HashBag) -> CandidateQuery:
        """Pages that share enough: with resemblance r at least the share r of either sketch is common."""
        need = math.ceil(self._config.min_resemblance * len(features) - 1e-9)
        return CandidateQuery((TermGroup(self.terms(features), max(1, need)),))

    def verify(self, left: HashBag, right: HashBag) -> Verdict:
        """Duplicate iff the resemblance is at least ``min_resemblance``."""
        shared = shared_count(left, right)
        score = jaccard(shared, len(left), len(right))
        relation = Relation.DUPLICATE if score >= self._config.min_resemblance else Relation.DIFFERENT
        evidence = _counts(shared, left, right) | {
            "resemblance": round(score, 4),
            "min_resemblance": self._config.min_resemblance,
        }
        return Verdict(self.name, relation, score, evidence)


class ShinglingContainment(Shingling):
    """Containment of sampled shingles: shared over those of one page, both ways."""

    name = "shingling_containment"
    tag = CONTAINMENT_TAG

    def candidate_query(self, features: HashBag) -> CandidateQuery:
        """Pages that share as much as the smallest page that may be compared needs, or this one if it has less."""
        config = self._config
        need = math.ceil(config.min_containment * min(len(features), config.min_shingles) - 1e-9)
        return CandidateQuery((TermGroup(self.terms(features), max(1, need)),))

    def verify(self, left: HashBag, right: HashBag) -> Verdict:
        """The better covered page accepts; the other one distinguishes a duplicate from containment."""
        config, shared = self._config, shared_count(left, right)
        of_left, of_right = (shared / len(side) if len(side) else 0.0 for side in (left, right))
        score = max(of_left, of_right)
        if score < config.min_containment:
            relation = Relation.DIFFERENT
        elif min(of_left, of_right) >= config.min_both:
            relation = Relation.DUPLICATE
        else:
            relation = Relation.CONTAINS if of_right > of_left else Relation.CONTAINED
        evidence = _counts(shared, left, right) | {
            "left_containment": round(of_left, 4),
            "right_containment": round(of_right, 4),
            "min_containment": config.min_containment,
            "min_both": config.min_both,
        }
        return Verdict(self.name, relation, score, evidence)


@dataclass(frozen=True, slots=True)
class SuperShingles:
    """The six super-shingles of one page; each a 64-bit hash."""

    groups: tuple[int, ...]


class Supershingles(Detector[SuperShingles]):
    """Hashes of groups of minima: two pages are equal in one of them only when all its 14 minima agree.

    Source:
        Broder, "Identifying and filtering near-duplicate documents", CPM 2000: 6 groups of 14, two must agree.
    """

    name = "supershingles"
    version = 1

    def __init__(self, config: ShinglingConfig) -> None:
        self._config = config

    def featurise_many(self, contents: Sequence[Content]) -> list[SuperShingles | Skipped]:
        """Super-shingles of several pages."""
        config = self._config
        hashes, owners = shingles([content.text for content in contents], config.chars, config.words)
        offsets = offsets_of(owners, len(contents)).tolist()
        return [self._groups(hashes[low:high]) for low, high in pairwise(offsets)]

    def _groups(self, hashes: NDArray[np.uint64]) -> SuperShingles | Skipped:
        if len(hashes) < self._config.min_shingles:
            return Skipped("few-shingles", f"{len(hashes)} of {self._config.min_shingles} shingles")
        return SuperShingles(tuple(band_hashes(permuted(hashes, GROUPS * GROUP_SIZE), GROUPS).tolist()))

    def terms(self, features: SuperShingles) -> tuple[int, ...]:
        """Terms to store: the super-shingles, each with its place."""
        return tuple(tagged_terms(GROUP_TAG, np.array(features.groups, dtype=np.uint64)).tolist())

    def candidate_query(self, features: SuperShingles) -> CandidateQuery:
        """Pages that share ``min_groups`` of them."""
        return CandidateQuery((TermGroup(self.terms(features), self._config.min_groups),))

    def verify(self, left: SuperShingles, right: SuperShingles) -> Verdict:
        """Duplicate iff ``min_groups`` super-shingles are equal."""
        equal = sum(ours == theirs for ours, theirs in zip(left.groups, right.groups, strict=True))
        relation = Relation.DUPLICATE if equal >= self._config.min_groups else Relation.DIFFERENT
        evidence = {"groups": equal, "min_groups": self._config.min_groups, "of_groups": GROUPS}
        return Verdict(self.name, relation, equal / GROUPS, evidence)

    def pack(self, features: SuperShingles) -> bytes:
        """A version byte and eight bytes a super-shingle."""
        return bytes((PAYLOAD,)) + np.array(features.groups, dtype="<u8").tobytes()

    def unpack(self, payload: bytes) -> SuperShingles:
        """Super-shingles from ``pack``; raises ``ValueError`` on damaged bytes."""
        if len(payload) != 1 + 8 * GROUPS or payload[0] != PAYLOAD:
            raise ValueError(f"super-shingles take {1 + 8 * GROUPS} bytes of version {PAYLOAD}")
        return SuperShingles(tuple(np.frombuffer(payload, dtype="<u8", offset=1).tolist()))


def _counts(shared: int, left: HashBag, right: HashBag) -> dict[str, Any]:
    return {"common": shared, "left_shingles": len(left), "right_shingles": len(right)}
