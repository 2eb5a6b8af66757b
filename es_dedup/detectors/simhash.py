"""SimHash: one 64-bit fingerprint a page; pages are compared by the bits in which the fingerprints differ.

Source: Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002; Manku, Jain, Das Sarma,
"Detecting near-duplicates for web crawling", WWW 2007; block layout and k = 3 as in the article "SimHash" (2018).
"""

from __future__ import annotations

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
from es_dedup.model import NO_WORDS, CandidateQuery, Content, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import TERM_BITS, mix64
from es_dedup.text.idf import Idf, chosen
from es_dedup.text.normalise import TextBatch, normalise_many
from es_dedup.text.segment import segmenter
from es_dedup.text.tokens import TokenBatch, character_kinds, segment_hashes, tokenise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.settings.sections import SimhashConfig

TAG: Final = 2  # the four bands of a fingerprint carry the tags 2, 3, 4 and 5
IDF_STEPS: Final = 8  # votes are whole numbers of eighths, so that sums do not depend on their order
_PAIR: Final = np.uint64(0x9FB21C651E98DF25)
_WORD_BASE: Final = 0xA24BAED4963EE407


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A 64-bit SimHash."""

    value: int


def band_terms(value: int) -> tuple[int, ...]:
    """The four 16-bit bands as candidate terms, tagged by position."""
    return tuple(
        ((TAG + band) << (TERM_BITS - 8)) | ((value >> (BAND_BITS * band)) & 0xFFFF) for band in range(BANDS)
    )


def band_matrix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Band terms of several fingerprints; shape (fingerprints, 4)."""
    shifts = np.arange(BANDS, dtype=np.uint64) * np.uint64(BAND_BITS)
    tags = (np.arange(TAG, TAG + BANDS, dtype=np.uint64)) << np.uint64(TERM_BITS - 8)
    return ((values[:, None] >> shifts) & np.uint64(0xFFFF)) | tags


def query_terms(value: int, max_bits: int) -> tuple[int, ...]:
    """Band terms of which any fingerprint within ``max_bits`` of ``value`` stores at least one.

    Args:
        value: fingerprint.
        max_bits: 0-7. Up to 3 bits, one of four bands is equal (pigeonhole). Each further bit lets one more band
            differ in one bit, so that band is queried at distance 1 too: 16 more terms.

    Source:
        Generalised pigeonhole: radii t_i with sum(t_i + 1) = k + 1 (Norouzi et al. 2012); docs/algorithms/simhash.md.
    """
    exact = band_terms(value)
    near = [term ^ (1 << bit) for term in exact[: max(0, max_bits - 3)] for bit in range(BAND_BITS)]
    return (*exact, *near)


class Simhash(Detector[Fingerprint]):
    """The detector.

    Args:
        config: features and threshold.
    """

    name = "simhash"
    version = 1
    field_types: ClassVar[Mapping[str, str]] = band_types("simhash")
    term_fields: ClassVar[Mapping[int, tuple[str, ...]]] = {
        TAG + band: (f"simhash_band_{BANDS - 1 - band}",) for band in range(BANDS)
    }

    def __init__(self, config: SimhashConfig) -> None:
        self._config = config

    def values(self, batch: TextBatch, tokens: TokenBatch) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Fingerprints of tokenised texts, and which pages have any feature; both of shape (pages,)."""
        weights = None
        if self._config.features == "grams":
            hashes, owners = _pair_features(tokens)
        else:
            idf = None
            if self._config.features == "words-tfidf":
                idf = chosen(self._config.idf, "simhash.idf")
            hashes, owners, weights = _word_features(batch, idf)
        count = len(batch)
        has = np.bincount(owners, minlength=count) > 0
        return fingerprints(hashes, owners, count, weights), has

    def featurise_many(self, contents: Sequence[Content]) -> list[Fingerprint | Skipped]:
        """Fingerprints of several pages."""
        batch = normalise_many([content.text for content in contents])
        values, has = self.values(batch, tokenise(batch))
        return [
            Fingerprint(value) if known else Skipped(NO_WORDS)
            for value, known in zip(values.tolist(), has.tolist(), strict=True)
        ]

    def fields(
        self,
        contents: Sequence[Content | None],  # noqa: ARG002 - the fingerprint is all
        features: Sequence[Fingerprint | None],
    ) -> list[dict[str, Any]]:
        """``simhash`` and its four bands, see ``band_fields``."""
        return [{} if page is None else band_fields(self.name, page.value) for page in features]

    def terms(self, features: Fingerprint) -> tuple[int, ...]:
        """Terms to store: the four bands."""
        return band_terms(features.value)

    def candidate_query(self, features: Fingerprint) -> CandidateQuery:
        """Pages with an equal band, or for k above 3 one that differs in one bit."""
        return CandidateQuery((TermGroup(query_terms(features.value, self._config.max_hamming_distance), 1),))

    def verify(self, left: Fingerprint, right: Fingerprint) -> Verdict:
        """Duplicate if the Hamming distance is at most ``max_hamming_distance``, else different."""
        return self.decide(hamming_distance(left.value, right.value))

    def decide(self, distance: int) -> Verdict:
        """The verdict from a Hamming distance."""
        threshold = self._config.max_hamming_distance
        relation = Relation.DUPLICATE if distance <= threshold else Relation.DIFFERENT
        return Verdict(
            self.name,
            relation,
            1 - distance / BITS,
            {"hamming_distance": distance, "max_hamming_distance": threshold, "of_bits": BITS},
        )

    def pack(self, features: Fingerprint) -> bytes:
        """Eight bytes, little-endian."""
        return features.value.to_bytes(8, "little")

    def unpack(self, payload: bytes) -> Fingerprint:
        """The fingerprint from ``pack``; raises ``ValueError`` unless there are eight bytes."""
        if len(payload) != BITS // 8:
            message = f"a fingerprint takes 8 bytes, got {len(payload)}"
            raise ValueError(message)
        return Fingerprint(int.from_bytes(payload, "little"))


def _word_features(
    batch: TextBatch, idf: Idf | None
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64] | None]:
    """Hashes of all words that hold a letter or digit, their pages, and their weights where ``idf`` is given.

    A word that occurs n times counts n times, so with weights its votes are tf times idf, in whole eighths.
    """
    codes = np.insert(batch.codes, batch.offsets[1:], ord("\n"))
    offsets = batch.offsets + np.arange(len(batch) + 1)
    cut = segmenter().cut_codes(codes)
    starts, ends = cut.starts, np.append(cut.starts[1:], len(codes))
    letters = np.concatenate(([0], np.cumsum(character_kinds(codes) > 0)))
    keep = letters[ends] > letters[starts]
    starts, ends = starts[keep], ends[keep]
    hashes = segment_hashes(mix64(codes.astype(np.uint64)), starts, ends, _WORD_BASE)
    weights = None if idf is None else _rarity(cut.distinct(), idf)[cut.ids[keep]]
    return hashes, np.searchsorted(offsets, starts, side="right") - 1, weights


def _rarity(words: Sequence[str], idf: Idf) -> NDArray[np.int64]:
    """Idf of each word in whole eighths, at least 1."""
    return np.maximum(np.rint(IDF_STEPS * idf.of(words)).astype(np.int64), 1)


def _pair_features(tokens: TokenBatch) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hashes of two neighbouring tokens of one page; of its only token where a page has no more."""
    same_page = tokens.pages[1:] == tokens.pages[:-1]
    hashes = mix64(tokens.hashes[:-1] * _PAIR + tokens.hashes[1:])[same_page]
    owners = tokens.pages[:-1][same_page].astype(np.int64)
    alone = np.flatnonzero(np.diff(tokens.offsets) == 1)
    if len(alone):
        place = np.searchsorted(owners, alone)
        hashes = np.insert(hashes, place, mix64(tokens.hashes[tokens.offsets[alone]]))
        owners = np.insert(owners, place, alone)
    return hashes, owners
