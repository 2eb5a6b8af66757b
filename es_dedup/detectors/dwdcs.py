"""DWDCS: pages are compared by their key concepts and where these stand.

Source: Cao, Niu, Zhao, Peng, "Near duplicated Web pages detection based on concept and semantic network", Journal of Software
22(8), 2011, sections 3.4 and 3.5; readings in docs/algorithms/dwdcs.md.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from es_dedup.detectors.dwdcs_network import MASK, KeyConcepts, key_concepts, merger_of
from es_dedup.detectors.port import Detector
from es_dedup.model import CandidateQuery, Content, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import from_low_bytes, low_bytes, tagged_terms
from es_dedup.text.ragged import sorted_distinct
from es_dedup.text.synonyms import NONE, Synonyms
from es_dedup.text.words import WordBatch, words_of_pages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.settings.sections import DwdcsConfig

TAG: Final = 34
# Of a concept that is queried: more than of other terms, as nearly all of a page's must be found.
MOST_PAGES: Final = 1_000
ROUNDING: Final = 1e-9  # a share that falls short by rounding alone is reached
PAYLOAD_VERSION: Final = 2
_HEAD: Final = struct.Struct("<BBIHBI")  # version, wide, content words, nodes, key concepts, positions
_CODE_BYTES: Final = 5
POSITION_DIGITS: Final = 4  # after the point, of a position as a share of the page


@dataclass(frozen=True, slots=True)
class Spread:
    """How the positions of shared concepts differ between two pages.

    Attributes:
        shared: concepts that both pages have among their key concepts.
        shift: mean distance of their positions, in content words (formula 11).
        spread: mean standard deviation of the signed shifts, in content words (formulas 12 and 13); infinite when
            nothing is shared.
    """

    shared: int
    shift: float
    spread: float


def cosine(left: KeyConcepts, right: KeyConcepts) -> float:
    """Cosine of two pages' weighted key concepts, in [0, 1].

    Source:
        DWDCS, formula 9 (reading: the printed denominator means the product of the norms).
    """
    _, ours, theirs = np.intersect1d(left.concepts, right.concepts, assume_unique=True, return_indices=True)
    first, second = left.vector, right.vector
    product = float((first[ours] * second[theirs]).sum())
    norms = float((first**2).sum()) * float((second**2).sum())
    return min(1.0, product / math.sqrt(norms)) if norms else 0.0


def spread(left: KeyConcepts, right: KeyConcepts) -> Spread:
    """How the positions of shared key concepts differ.

    Occurrences are paired in order, as many as the page with fewer has. The signed mean is subtracted: a paragraph put before
    a text shifts all positions alike and must not count.

    Source:
        DWDCS, formulas 10 to 13 (reading: formula 12 prints the mean of absolute values, which would depend on which page is left).
    """
    _, ours, theirs = np.intersect1d(left.concepts, right.concepts, assume_unique=True, return_indices=True)
    shifts, spreads = [], []
    for one, other in zip(ours.tolist(), theirs.tolist(), strict=True):
        first, second = _positions(left, one), _positions(right, other)
        paired = min(len(first), len(second))
        delta = (first[:paired] - second[:paired]).astype(np.float64)
        shifts.append(float(np.abs(delta).mean()))
        spreads.append(float(delta.std()))
    if not shifts:
        return Spread(0, 0.0, math.inf)
    return Spread(len(shifts), sum(shifts) / len(shifts), sum(spreads) / len(spreads))


def _positions(page: KeyConcepts, concept: int) -> NDArray[np.int64]:
    return page.positions[page.offsets[concept] : page.offsets[concept + 1]]


def relative_positions(page: KeyConcepts) -> list[dict[str, Any]]:
    """For each key concept its word and its positions, ascending, as shares of the page's content words."""
    shares = np.round(page.positions / page.length, POSITION_DIGITS).tolist()
    return [
        {"concept": word, "positions": shares[low:high]}
        for word, (low, high) in zip(page.words, pairwise(page.offsets.tolist()), strict=True)
    ]


class Dwdcs(Detector[KeyConcepts]):
    """The detector.

    Args:
        config: network, key concepts and thresholds.
        synonyms: words of one meaning; without them a concept is a word.
    """

    name = "dwdcs"
    version = 4
    field_types: ClassVar[Mapping[str, str]] = {"key_concepts": "keyword", "key_concept_positions": "object"}
    term_fields: ClassVar[Mapping[int, tuple[str, ...]]] = {TAG: ("key_concepts",)}

    def __init__(self, config: DwdcsConfig, synonyms: Synonyms = NONE) -> None:
        self._config = config
        self._merger = merger_of(synonyms, config.min_overlap)

    def featurise_many(self, contents: Sequence[Content]) -> list[KeyConcepts | Skipped]:
        """Key concepts of several pages."""
        return self.of_words(words_of_pages(tuple(content.text for content in contents)))

    def of_words(self, words: WordBatch) -> list[KeyConcepts | Skipped]:
        """The same of pages that are segmented already."""
        return [
            page
            if len(page.concepts)
            else Skipped("few-concepts", f"{page.nodes} of {self._config.min_concepts} nodes")
            for page in key_concepts(words, self._config, self._merger)
        ]

    def fields(
        self,
        contents: Sequence[Content | None],  # noqa: ARG002 - the features hold the words
        features: Sequence[KeyConcepts | None],
    ) -> list[dict[str, Any]]:
        """``key_concepts``: their words, the most important first; ``key_concept_positions``: where these stand.

        A position is the number of content words before an occurrence as a share of all of the page, 0 to 1.
        """
        words, places = self.field_types
        return [
            {} if page is None else {words: list(page.words), places: relative_positions(page)}
            for page in features
        ]

    def terms(self, features: KeyConcepts) -> tuple[int, ...]:
        """Terms to store: all key concepts."""
        (tag,) = self.term_fields
        return tuple(tagged_terms(tag, features.concepts).tolist())

    def candidate_query(self, features: KeyConcepts) -> CandidateQuery:
        """Pages that share enough key concepts.

        ``complete``: as many as any page with the cosine needed must share. By Cauchy and Schwarz the shared concepts
        hold at least ``min_similarity`` squared of the sum of this page's squared weights, which takes at least as many
        concepts as the heaviest ones that hold so much. ``leading``: ``query_hits`` of the first ``query_concepts``, as
        the source looks up its first n dimensions. A concept of more than ``MOST_PAGES`` pages is left out.
        """
        terms, config = self.terms(features), self._config
        if config.query == "leading":
            leading = terms[: config.query_concepts]
            return CandidateQuery(
                (TermGroup(leading, min(config.query_hits, len(leading)), max_df=MOST_PAGES),)
            )
        squares = np.sort(features.vector**2)[::-1]
        least = config.min_similarity**2 * float(squares.sum()) * (1 - ROUNDING)
        fewest = min(len(terms), 1 + int(np.searchsorted(np.cumsum(squares), least)))
        return CandidateQuery((TermGroup(terms, fewest, max_df=MOST_PAGES),))

    def verify(self, left: KeyConcepts, right: KeyConcepts) -> Verdict:
        """Duplicate iff the cosine is above ``min_similarity`` and the relative spread below ``max_position_variance``."""
        similarity = cosine(left, right)
        found = spread(left, right)
        longer = max(left.length, right.length)
        relative = found.spread / longer if found.shared else 1.0
        same = similarity > self._config.min_similarity and relative < self._config.max_position_variance
        return Verdict(
            self.name,
            Relation.DUPLICATE if same and found.shared else Relation.DIFFERENT,
            similarity,
            {
                "similarity": round(similarity, 4),
                "min_similarity": self._config.min_similarity,
                "position_variance": round(relative, 4),
                "max_position_variance": self._config.max_position_variance,
                "shift": round(found.shift / longer, 4),
                "shared": found.shared,
                "left_nodes": left.nodes,
                "right_nodes": right.nodes,
                "strict_thresholds": True,
            },
        )

    def pack(self, features: KeyConcepts) -> bytes:
        """A head, five bytes a concept, four an occurrence count, two (long pages: four) a position, and the words."""
        wide = features.length > 1 << 16
        counted = min(features.nodes, 0xFFFF), len(features.concepts), len(features.positions)
        head = _HEAD.pack(PAYLOAD_VERSION, wide, features.length, *counted)
        codes = low_bytes(features.concepts, _CODE_BYTES)
        counts = np.diff(features.offsets).astype("<u4")
        positions = features.positions.astype("<u4" if wide else "<u2")
        words = "".join(f"{word}\n" for word in features.words).encode()
        return b"".join((head, codes, counts.tobytes(), positions.tobytes(), words))

    def unpack(self, payload: bytes) -> KeyConcepts:
        """The key concepts from ``pack``; raises ``ValueError`` on bytes that it did not make."""
        if len(payload) < _HEAD.size or payload[0] != PAYLOAD_VERSION:
            raise ValueError(
                f"key concepts of version {PAYLOAD_VERSION} are wanted, got {len(payload)} bytes"
            )
        _, wide, length, nodes, concepts, positions = _HEAD.unpack_from(payload)
        size, kind = (4, "<u4") if wide else (2, "<u2")
        end = _HEAD.size + concepts * (_CODE_BYTES + 4) + positions * size
        *words, rest = payload[end:].decode().split("\n")
        if len(words) != concepts or rest or not all(words) or not length or wide > 1:
            raise ValueError(f"{concepts} key concepts do not take {len(payload)} bytes")
        at = _HEAD.size + concepts * _CODE_BYTES
        found = from_low_bytes(payload[_HEAD.size : at], _CODE_BYTES)
        counts = np.frombuffer(payload, "<u4", concepts, at).astype(np.int64)
        places = np.frombuffer(payload, kind, positions, at + 4 * concepts).astype(np.int64)
        if int(counts.sum()) != positions or not counts.all() or len(sorted_distinct(found)) < concepts:
            raise ValueError("key concepts are damaged: concepts or counts do not fit")
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return KeyConcepts(length, nodes, found & MASK, tuple(words), offsets, places)
