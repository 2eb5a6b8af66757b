"""Semantic multi-SimHash: one fingerprint of all content words, one of the words around the keywords.

Source: CN106649222A, "Approximate text duplicate detection based on semantic analysis and multiple Simhash"; the formula
of a word's weight is lost in every stored copy and restored from the text (docs/algorithms/multi_simhash.md).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from es_dedup.detectors.fingerprint import (
    BAND_BITS,
    BANDS,
    BITS,
    band_fields,
    band_types,
    fingerprints,
    hamming_distance,
)
from es_dedup.detectors.port import Detector
from es_dedup.model import CandidateQuery, Content, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import HASH_BITS_IN_TERM
from es_dedup.text.idf import Idf, chosen
from es_dedup.text.ragged import rank_within
from es_dedup.text.synonyms import NONE, Synonyms
from es_dedup.text.words import DistinctWords, WordBatch, distinct_words, words_of_pages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.settings.sections import MultiSimhashConfig

TAG: Final = 32
# Characters; longer words are names and runs of Latin letters, which should not win by length.
LONGEST_WORD: Final = 4
TFIDF_WEIGHT: Final = 0.8  # λ1
SPEECH_WEIGHT: Final = 0.5  # λ2
LENGTH_WEIGHT: Final = 0.05  # λ3
PLACE_WEIGHT: Final = 0.1  # λ4
# Of a noun, an adjective, a verb and any other word: by the codes of WordBatch.speech.
SPEECH: Final = (0.6, 0.4, 0.3, 0.1)
PAYLOAD: Final = struct.Struct("<BQQ")
PAYLOAD_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class TwoFingerprints:
    """The 64-bit SimHash of all content words (``text``) and of the words around the keywords (``keywords``)."""

    text: int
    keywords: int


def word_weights(words: WordBatch, distinct: DistinctWords, idf: Idf) -> NDArray[np.float64]:
    """Weight of each distinct word of a page; shape (entries,).

    λ1 · tfidf + λ2 · pro + λ3 · len + λ4 · (1 - pos / length): tf-idf as a share of the page's largest, the length of
    the word in characters, at most 4, the place of its first occurrence and the length of the page in content words.

    Source:
        CN106649222A, step 2 (reading: the formula is lost).
    """
    if not len(distinct.ids):
        return np.zeros(0)
    tfidf = distinct.counts * idf.of(words.vocabulary)[distinct.ids]
    starts = np.flatnonzero(np.diff(distinct.pages, prepend=-1))
    largest = np.repeat(np.maximum.reduceat(tfidf, starts), np.diff(starts, append=len(tfidf)))
    length = np.diff(words.offsets)[distinct.pages]
    weights: NDArray[np.float64] = (
        TFIDF_WEIGHT * (tfidf / largest)
        + SPEECH_WEIGHT * np.array(SPEECH)[words.speech[distinct.ids]]
        + LENGTH_WEIGHT * np.minimum(words.sizes[distinct.ids], LONGEST_WORD)
        + PLACE_WEIGHT * (1 - distinct.first / length)
    )
    return weights


def keyword_entries(weights: NDArray[np.float64], distinct: DistinctWords, count: int) -> NDArray[np.bool_]:
    """Whether each distinct word is one of the ``count`` heaviest of its page; the earlier one of equals."""
    order = np.lexsort((distinct.first, -weights, distinct.pages))
    owner = distinct.pages[order]
    rank = rank_within(owner, int(owner[-1]) + 1 if len(owner) else 0)
    heaviest = np.zeros(len(order), dtype=np.bool_)
    heaviest[order[rank < count]] = True
    return heaviest


def windows_around(words: WordBatch, keyword: NDArray[np.bool_], context: int) -> NDArray[np.int64]:
    """How many occurrences of keywords of its page each occurrence stands within ``context`` words of, itself included.

    Args:
        words: all content words.
        keyword: whether each occurrence is a keyword; shape (occurrences,).
        context: words on each side; windows end with the page.
    """
    at = np.flatnonzero(keyword)
    page = words.pages[at]
    change = np.zeros(len(keyword) + 1, dtype=np.int64)
    np.add.at(change, np.maximum(at - context, words.offsets[page]), 1)
    np.add.at(change, np.minimum(at + context + 1, words.offsets[page + 1]), -1)
    return np.cumsum(change[:-1])


def band_terms(value: int, which: int) -> tuple[int, ...]:
    """The four 16-bit bands of the first (0) or second (1) fingerprint as candidate terms."""
    return tuple(
        (TAG << HASH_BITS_IN_TERM)
        | ((which * BANDS + band) << BAND_BITS)
        | ((value >> (BAND_BITS * band)) & 0xFFFF)
        for band in range(BANDS)
    )


class MultiSimhash(Detector[TwoFingerprints]):
    """The detector.

    Args:
        config: windows and thresholds.
        synonyms: words of one meaning; they get one code in the second fingerprint.
    """

    name = "multi_simhash"
    version = 2
    field_types: ClassVar[Mapping[str, str]] = {
        **band_types("multi_simhash_text"),
        **band_types("multi_simhash_keywords"),
    }
    term_fields: ClassVar[Mapping[int, tuple[str, ...]]] = {
        TAG: tuple(
            f"multi_simhash_{which}_band_{band}"
            for which in ("text", "keywords")
            for band in reversed(range(4))
        )
    }

    def __init__(self, config: MultiSimhashConfig, synonyms: Synonyms = NONE) -> None:
        self._config = config
        self._synonyms = synonyms

    def values(self, words: WordBatch) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Both fingerprints of each page; 0 where a page has no content word."""
        distinct, count = distinct_words(words), len(words)
        text = fingerprints(words.hashes[distinct.ids], distinct.pages, count, distinct.counts)
        near = np.flatnonzero(self._windows(words, distinct))
        return text, fingerprints(self._synonyms.codes(words)[words.ids[near]], words.pages[near], count)

    def _windows(self, words: WordBatch, distinct: DistinctWords) -> NDArray[np.int64]:
        """How many windows of keywords each occurrence stands in."""
        weights = word_weights(words, distinct, chosen(self._config.idf, "multi_simhash.idf"))
        keyword = keyword_entries(weights, distinct, self._config.keywords)
        return windows_around(words, keyword[distinct.entry], self._config.context)

    def featurise_many(self, contents: Sequence[Content]) -> list[TwoFingerprints | Skipped]:
        """Both fingerprints of several pages."""
        return self.of_words(words_of_pages(tuple(content.text for content in contents)))

    def of_words(self, words: WordBatch) -> list[TwoFingerprints | Skipped]:
        """The same of pages that are segmented already."""
        text, keywords = self.values(words)
        return [
            TwoFingerprints(one, other) if length else Skipped("no-content-words")
            for one, other, length in zip(
                text.tolist(), keywords.tolist(), np.diff(words.offsets).tolist(), strict=True
            )
        ]

    def fields(
        self,
        contents: Sequence[Content | None],  # noqa: ARG002 - the fingerprints are all
        features: Sequence[TwoFingerprints | None],
    ) -> list[dict[str, Any]]:
        """``multi_simhash_text`` and ``multi_simhash_keywords`` with four bands each, see ``band_fields``."""
        return [
            {}
            if page is None
            else {
                **band_fields("multi_simhash_text", page.text),
                **band_fields("multi_simhash_keywords", page.keywords),
            }
            for page in features
        ]

    def terms(self, features: TwoFingerprints) -> tuple[int, ...]:
        """Terms to store: four bands of each fingerprint."""
        return (*band_terms(features.text, 0), *band_terms(features.keywords, 1))

    def candidate_query(self, features: TwoFingerprints) -> CandidateQuery:
        """Pages with an equal band of either fingerprint.

        Complete: the rule implies that one of the two distances is at most ``max_bits``, so at most three bits differ
        there, and one of its four bands is equal.
        """
        return CandidateQuery((TermGroup(self.terms(features), 1),))

    def verify(self, left: TwoFingerprints, right: TwoFingerprints) -> Verdict:
        """Duplicate by the rule of the source.

        D1 ≤ k1, or k1 < D1 ≤ k2 and D2 ≤ k1.
        """
        text_bits = hamming_distance(left.text, right.text)
        keyword_bits = hamming_distance(left.keywords, right.keywords)
        near, wide = self._config.max_bits, self._config.max_text_bits
        same = text_bits <= near or (text_bits <= wide and keyword_bits <= near)
        return Verdict(
            self.name,
            Relation.DUPLICATE if same else Relation.DIFFERENT,
            1 - text_bits / BITS,
            {
                "text_bits": text_bits,
                "max_text_bits": wide,
                "keyword_bits": keyword_bits,
                "max_bits": near,
                "of_bits": BITS,
            },
        )

    def pack(self, features: TwoFingerprints) -> bytes:
        """A version byte and twice eight bytes, little-endian."""
        return PAYLOAD.pack(PAYLOAD_VERSION, features.text, features.keywords)

    def unpack(self, payload: bytes) -> TwoFingerprints:
        """The fingerprints from ``pack``; raises ``ValueError`` on another length or version."""
        if len(payload) != PAYLOAD.size or payload[0] != PAYLOAD_VERSION:
            message = (
                f"two fingerprints take {PAYLOAD.size} bytes of version {PAYLOAD_VERSION}, got {len(payload)}"
            )
            raise ValueError(message)
        _, text, keywords = PAYLOAD.unpack(payload)
        return TwoFingerprints(text, keywords)
