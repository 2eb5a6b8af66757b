"""I-Match: pages whose sets of middling frequent words are equal are duplicates.

Source: Chowdhury, Frieder, Grossman, McCabe, "Collection statistics for fast duplicate document detection", TOIS 2002;
random lexicons: Kolcz, Chowdhury, Alspector, KDD 2004. docs/algorithms/imatch.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np

from es_dedup.detectors.port import Detector
from es_dedup.model import CandidateQuery, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import mix64, tagged_terms
from es_dedup.text.normalise import normalise_many
from experiments.comparators.collection import Collection
from experiments.comparators.hashsets import bags
from experiments.comparators.periods import period_sets
from experiments.comparators.spots import spot_bags
from experiments.comparators.words import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.model import Content
    from experiments.settings import ImatchConfig, SpotsigsConfig

WORD_TAG: Final = 53
RANDOM_TAG: Final = 54
SPOT_TAG: Final = 55
PERIOD_TAG: Final = 56
PAYLOAD: Final = 1
_LARGEST: Final = float(1 << 64)
_SIGNATURE_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Signatures:
    """Signatures of one page, the whole lexicon's first; 64 bits each, 0 where a lexicon leaves too few terms."""

    values: tuple[int, ...]


def set_signatures(
    terms: Sequence[NDArray[np.uint64]], lexicons: int, kept: float, min_terms: int
) -> list[Signatures]:
    """Signatures of several sets of terms.

    Args:
        terms: distinct hashes of each page.
        lexicons: random lexicons beside the whole one; a term is in one of them or not by its hash alone.
        kept: share of the terms that a random lexicon keeps, in (0, 1).
        min_terms: with fewer terms there is no signature.

    Returns:
        ``lexicons + 1`` signatures a page; equal sets, and only those, have equal signatures.
    """
    joined = np.concatenate([np.zeros(0, dtype=np.uint64), *terms])
    sizes = np.array([len(each) for each in terms], dtype=np.int64)
    chosen = np.stack([np.ones(len(joined), dtype=np.bool_), *_random_lexicons(joined, lexicons, kept)])
    spread = np.where(chosen, mix64(joined), np.uint64(0))
    edges = np.concatenate(([0], np.cumsum(sizes)))
    sums = np.concatenate(
        (np.zeros((len(chosen), 1), np.uint64), spread.cumsum(axis=1, dtype=np.uint64)), axis=1
    )
    counts = np.concatenate((np.zeros((len(chosen), 1), np.int64), chosen.cumsum(axis=1)), axis=1)
    # a sum of mixed hashes modulo 2^64 does not depend on the order, as the hash of a sorted list does not
    values = mix64(sums[:, edges[1:]] - sums[:, edges[:-1]]) | np.uint64(1)
    enough = (counts[:, edges[1:]] - counts[:, edges[:-1]]) >= min_terms
    table = np.where(enough, values, np.uint64(0)).T
    return [Signatures(tuple(row)) for row in table.tolist()]


def _random_lexicons(terms: NDArray[np.uint64], lexicons: int, kept: float) -> list[NDArray[np.bool_]]:
    seeds = mix64(np.arange(1, lexicons + 1, dtype=np.uint64))
    return [mix64(terms ^ seed) < np.uint64(min(kept * _LARGEST, _LARGEST - 2048)) for seed in seeds]


class Imatch(Detector[Signatures]):
    """I-Match over words with one lexicon.

    Args:
        config: lexicon and number of random ones.
        collection: document frequencies of the terms; None takes every term into the lexicon.
    """

    name = "imatch"
    version = 1
    tag: ClassVar[int] = WORD_TAG

    def __init__(self, config: ImatchConfig, collection: Collection | None = None) -> None:
        self._config = config
        self._lexicon = collection.lexicon(config.min_idf, self.highest_idf) if collection else None

    @property
    def lexicons(self) -> int:
        """Random lexicons beside the whole one."""
        return 0

    @property
    def highest_idf(self) -> float:
        """Terms above this normalised idf are not in the lexicon."""
        return self._config.max_idf

    def learned(self, contents: Sequence[Content]) -> Self:
        """The same method, with the document frequencies of these pages."""
        found = self.sets([content.text for content in contents])
        none = np.zeros(0, dtype=np.uint64)
        return self._with(Collection.count(np.concatenate([none, *found]), len(found)))

    def _with(self, collection: Collection) -> Self:
        return type(self)(self._config, collection)

    def sets(self, texts: Sequence[str]) -> list[NDArray[np.uint64]]:
        """Distinct terms of several texts, as hashes."""
        words = words_of(normalise_many(texts))
        return [bag.values for bag in bags(words.hashes, words.pages, len(texts))]

    def featurise_many(self, contents: Sequence[Content]) -> list[Signatures | Skipped]:
        """Signatures of several pages."""
        config = self._config
        found = self.sets([content.text for content in contents])
        if self._lexicon is not None:
            found = [each[self._lexicon.holds(each)] for each in found]
        made = set_signatures(found, self.lexicons, config.kept, config.min_terms)
        return [
            signatures
            if signatures.values[0]
            else Skipped("few-lexicon-terms", f"{len(each)} of {config.min_terms} terms")
            for each, signatures in zip(found, made, strict=True)
        ]

    def terms(self, features: Signatures) -> tuple[int, ...]:
        """Terms to store: each signature with the number of its lexicon."""
        numbered = [(number, value) for number, value in enumerate(features.values) if value]
        mixed = np.array([value for _, value in numbered], dtype=np.uint64) ^ mix64(
            np.array([number for number, _ in numbered], dtype=np.uint64)
        )
        return tuple(tagged_terms(self.tag, mix64(mixed)).tolist())

    def candidate_query(self, features: Signatures) -> CandidateQuery:
        """Pages with an equal signature under any lexicon."""
        return CandidateQuery((TermGroup(self.terms(features), 1),))

    def verify(self, left: Signatures, right: Signatures) -> Verdict:
        """Duplicate iff the pages have one equal signature; the score is the share of lexicons that give one."""
        pairs = list(zip(left.values, right.values, strict=True))
        equal = sum(ours == theirs != 0 for ours, theirs in pairs)
        usable = sum(ours != 0 or theirs != 0 for ours, theirs in pairs)
        relation = Relation.DUPLICATE if equal else Relation.DIFFERENT
        evidence = {"equal_signatures": equal, "min_equal_signatures": 1, "of_signatures": usable}
        return Verdict(self.name, relation, equal / usable if usable else 0.0, evidence)

    def pack(self, features: Signatures) -> bytes:
        """A version byte and eight bytes a signature."""
        return bytes((PAYLOAD,)) + np.array(features.values, dtype="<u8").tobytes()

    def unpack(self, payload: bytes) -> Signatures:
        """Signatures from ``pack``; raises ``ValueError`` on damaged bytes or another number of lexicons."""
        number = self.lexicons + 1
        if len(payload) != 1 + _SIGNATURE_BYTES * number or payload[0] != PAYLOAD:
            raise ValueError(
                f"{number} signatures take {1 + _SIGNATURE_BYTES * number} bytes of version {PAYLOAD}"
            )
        return Signatures(tuple(np.frombuffer(payload, dtype="<u8", offset=1).tolist()))


class ImatchRandom(Imatch):
    """I-Match over words with random lexicons: a page that differs in a few words still agrees under some of them."""

    name = "imatch_random"
    tag = RANDOM_TAG

    @property
    def lexicons(self) -> int:
        """As the settings say."""
        return self._config.lexicons


class ImatchPeriods(Imatch):
    """I-Match over period signatures (I-Match-P): pages whose sentences end alike."""

    name = "imatch_p"
    tag = PERIOD_TAG

    @property
    def highest_idf(self) -> float:
        """1: a sentence is rare by nature."""
        return 1.0

    def sets(self, texts: Sequence[str]) -> list[NDArray[np.uint64]]:
        """Period signatures of several texts."""
        return period_sets(texts)


class ImatchSpots(Imatch):
    """I-Match over spot signatures (I-Match-S)."""

    name = "imatch_s"
    tag = SPOT_TAG

    def __init__(
        self, config: ImatchConfig, spots: SpotsigsConfig, collection: Collection | None = None
    ) -> None:
        super().__init__(config, collection)
        self._spots = spots

    @property
    def highest_idf(self) -> float:
        """1: a chain of words is rare by nature."""
        return 1.0

    def _with(self, collection: Collection) -> Self:
        return type(self)(self._config, self._spots, collection)

    def sets(self, texts: Sequence[str]) -> list[NDArray[np.uint64]]:
        """Spot signatures of several texts."""
        return [bag.values for bag in spot_bags(texts, self._spots)]
