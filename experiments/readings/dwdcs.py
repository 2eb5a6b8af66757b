"""Other readings of DWDCS: words for concepts (DWSWN), phrases, weights of the cosine, formula 12 as printed."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from es_dedup.detectors.dwdcs import Dwdcs
from es_dedup.detectors.dwdcs_network import KeyConcepts, Merger, concepts_of, network
from es_dedup.detectors.dwdcs_paths import Graphs, removal_sums
from es_dedup.model import Relation, Skipped
from es_dedup.text.hashing import hash64
from es_dedup.text.idf import general
from es_dedup.text.synonyms import NONE
from experiments.readings.phrases import BETWEEN, with_phrases

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.model import Verdict
    from es_dedup.settings.sections import DwdcsConfig
    from es_dedup.text.synonyms import Places, Synonyms
    from es_dedup.text.words import WordBatch

WORD_TAG: Final = 35
MIN_PHRASE_OCCURRENCES: Final = 2
_COUNT: Final = struct.Struct("<H")


class Dwswn(Dwdcs):
    """The variant that the source compares with: the network of words, without synonyms."""

    name = "dwswn"
    field_types: ClassVar[Mapping[str, str]] = {
        "dwswn_key_concepts": "keyword",
        "dwswn_key_concept_positions": "object",
    }
    term_fields: ClassVar[Mapping[int, tuple[str, ...]]] = {WORD_TAG: ("dwswn_key_concepts",)}

    def __init__(self, config: DwdcsConfig) -> None:
        super().__init__(config)


class PhraseMerger(Merger):
    """Which words and phrases of a page are one concept; the synonyms of a phrase are those of all its words (formula 6)."""

    def __bool__(self) -> bool:
        return True

    def codes(self, words: WordBatch, known: Places) -> NDArray[np.uint64]:
        """Code of the meaning of each distinct word and phrase."""
        codes = super().codes(words, known)
        for at, word in enumerate(words.vocabulary):
            if BETWEEN in word:
                codes[at] = self.code(word)
        return codes

    def code(self, word: str) -> int:
        """Code of a word's meaning; of a phrase, of its words' codes."""
        if BETWEEN not in word:
            return super().code(word)
        return hash64(BETWEEN.join(str(self.code(part)) for part in word.split(BETWEEN)))

    def name(self, word: str) -> str:
        """The word that stands for a word's meaning; a phrase is named by the names of its words."""
        return BETWEEN.join(super(PhraseMerger, self).name(part) for part in word.split(BETWEEN))

    def concept(self, word: str) -> frozenset[str]:
        """Con(p): a word with its synonyms, or all words of a phrase with theirs (formulas 5 and 6)."""
        return frozenset().union(*(super(PhraseMerger, self).concept(part) for part in word.split(BETWEEN)))

    def pairs(self, words: WordBatch, known: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of words and phrases that are one concept with a later one of the vocabulary, ascending, and of these."""
        left, right = super().pairs(words, known)
        place = {word: at for at, word in enumerate(words.vocabulary)}
        found = {*zip(left.tolist(), right.tolist(), strict=True), *self._phrase_pairs(place)}
        left, right = np.array(sorted(found), dtype=np.int64).reshape(-1, 2).T
        return left, right

    def _phrase_pairs(self, place: Mapping[str, int]) -> Iterator[tuple[int, int]]:
        """The pairs of a phrase and another word or phrase."""
        known = {word: self.concept(word) for word in place}
        holders: dict[str, list[str]] = {}
        for word, concept in known.items():
            for each in concept:
                holders.setdefault(each, []).append(word)
        for phrase, concept in known.items():
            if BETWEEN in phrase:
                for word in {word for each in concept for word in holders[each]} - {phrase}:
                    if self._overlap(concept, word) > self._min_overlap:
                        yield min(place[phrase], place[word]), max(place[phrase], place[word])


class DwdcsPhrases(Dwdcs):
    """Content words that stand side by side again and again on the page are one node."""

    name = "dwdcs_phrases"

    def __init__(self, config: DwdcsConfig, synonyms: Synonyms = NONE) -> None:
        super().__init__(config, synonyms)
        self._merger = PhraseMerger(synonyms, config.min_overlap)

    def of_words(self, words: WordBatch) -> list[KeyConcepts | Skipped]:
        """Key concepts of segmented pages, with phrases among them."""
        return super().of_words(with_phrases(words, MIN_PHRASE_OCCURRENCES))


@dataclass(frozen=True, slots=True, eq=False)
class WeightedConcepts(KeyConcepts):
    """Key concepts with a weight of each in the cosine, at least 0."""

    weights: NDArray[np.float32]

    @property
    def vector(self) -> NDArray[np.float64]:
        """Weight of each concept in the cosine; shape (concepts,)."""
        return self.weights.astype(np.float64)


class _Weighted(Dwdcs):
    """DWDCS with other weights than occurrences in the cosine."""

    def of_words(self, words: WordBatch) -> list[KeyConcepts | Skipped]:
        """Key concepts of segmented pages with their weights."""
        found = super().of_words(words)
        return [
            page if isinstance(page, Skipped) else _weighted(page, weights)
            for page, weights in zip(found, self.weights(words, found), strict=True)
        ]

    def weights(self, words: WordBatch, found: Sequence[KeyConcepts | Skipped]) -> list[NDArray[np.float64]]:
        """Weights of the key concepts of each page; of a skipped page any."""
        raise NotImplementedError

    def pack(self, features: KeyConcepts) -> bytes:
        """The number of weights, four bytes for each, and the key concepts."""
        weights = features.vector.astype("<f4").tobytes()
        return _COUNT.pack(len(features.concepts)) + weights + super().pack(features)

    def unpack(self, payload: bytes) -> WeightedConcepts:
        """The key concepts from ``pack``; raises ``ValueError`` on bytes that it did not make."""
        (count,) = _COUNT.unpack_from(payload) if len(payload) >= _COUNT.size else (0,)
        end = _COUNT.size + 4 * count
        found = super().unpack(payload[end:])
        weights = np.frombuffer(payload[_COUNT.size : end], "<f4").astype(np.float64)
        if len(weights) != len(found.concepts) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError("key concepts are damaged: weights do not fit")
        return _weighted(found, weights)


def _weighted(page: KeyConcepts, weights: NDArray[np.float64]) -> WeightedConcepts:
    return WeightedConcepts(
        page.length,
        page.nodes,
        page.concepts,
        page.words,
        page.offsets,
        page.positions,
        weights.astype(np.float32),
    )


class DwdcsTfidf(_Weighted):
    """Key concepts weigh by occurrences times idf."""

    name = "dwdcs_tfidf"

    def weights(
        self,
        words: WordBatch,  # noqa: ARG002 - as the other
        found: Sequence[KeyConcepts | Skipped],
    ) -> list[NDArray[np.float64]]:
        """Occurrences of each key concept times the idf of its word in general Chinese."""
        return [
            np.zeros(0) if isinstance(page, Skipped) else np.diff(page.offsets) * general().of(page.words)
            for page in found
        ]


class DwdcsContribution(_Weighted):
    """Key concepts weigh by what they contribute to the network, CB, or 0 where that is negative."""

    name = "dwdcs_contribution"

    def weights(self, words: WordBatch, found: Sequence[KeyConcepts | Skipped]) -> list[NDArray[np.float64]]:
        """How much longer the mean path is without each key concept."""
        concepts = concepts_of(words, self._merger)
        graphs, place = network(words, concepts, self._config)
        codes, bounds = concepts.codes[place].tolist(), graphs.offsets.tolist()
        nodes, counts = [], []
        for page, (low, high) in zip(found, pairwise(bounds), strict=True):
            node = dict(zip(codes[low:high], range(low, high), strict=True))
            own = () if isinstance(page, Skipped) else page.concepts.tolist()
            nodes += [node[code] for code in own]
            counts.append(len(own))
        ends = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        sums = removal_sums(graphs, np.array(nodes, dtype=np.int64), ends)
        sizes, owner = np.diff(graphs.offsets), np.repeat(np.arange(len(graphs)), counts)
        others = np.maximum((sizes - 1) * (sizes - 2), 1)
        gained = np.maximum(sums / others[owner] - mean_paths(graphs)[owner], 0)
        return [gained[low:high] for low, high in pairwise(ends.tolist())]


def mean_paths(graphs: Graphs) -> NDArray[np.float64]:
    """Mean distance between two nodes of each connected graph (formula 4), 0 where there are none; shape (graphs,)."""
    sizes = np.diff(graphs.offsets)
    # a lone node more in each graph: its removal leaves the graph as it is
    shift = np.repeat(np.arange(len(graphs)), sizes)
    source = np.repeat(np.arange(len(shift)), graphs.degrees)
    once = source < graphs.neighbours
    left, right = source[once], graphs.neighbours[once]
    wider = Graphs.of_edges(
        graphs.offsets + np.arange(len(graphs) + 1), left + shift[left], right + shift[right]
    )
    sums = removal_sums(wider, wider.offsets[1:] - 1, np.arange(len(graphs) + 1))
    means: NDArray[np.float64] = sums / np.maximum(sizes * (sizes - 1), 1)
    return means


class DwdcsPrinted(Dwdcs):
    """Formula 12 as printed: the mean of absolute shifts is subtracted, so that the verdict depends on which page is left."""

    name = "dwdcs_printed"

    def verify(self, left: KeyConcepts, right: KeyConcepts) -> Verdict:
        """Duplicate iff the cosine and the relative spread by the printed formula are within the thresholds."""
        verdict, spread = super().verify(left, right), printed_spread(left, right)
        relative = 1.0 if spread is None else spread / max(left.length, right.length)
        same = verdict.score > self._config.min_similarity and relative < self._config.max_position_variance
        evidence: dict[str, Any] = {**verdict.evidence, "position_variance": round(relative, 4)}
        relation = Relation.DUPLICATE if same and spread is not None else Relation.DIFFERENT
        return replace(verdict, relation=relation, evidence=evidence)


def printed_spread(left: KeyConcepts, right: KeyConcepts) -> float | None:
    """Mean over shared concepts of the deviation of position shifts from the mean absolute shift; None where none is shared."""
    _, ours, theirs = np.intersect1d(left.concepts, right.concepts, assume_unique=True, return_indices=True)
    spreads = []
    for one, other in zip(ours.tolist(), theirs.tolist(), strict=True):
        sides = [
            page.positions[page.offsets[at] : page.offsets[at + 1]]
            for page, at in ((left, one), (right, other))
        ]
        paired = min(map(len, sides))
        delta = (sides[0][:paired] - sides[1][:paired]).astype(np.float64)
        spreads.append(float(np.sqrt(((delta - np.abs(delta).mean()) ** 2).mean())))
    return sum(spreads) / len(spreads) if spreads else None
