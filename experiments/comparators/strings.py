"""Features that are one short text: their grams as terms, their verdict by common subsequence, their bytes."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.detectors.port import Detector
from es_dedup.model import CandidateQuery, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import mix64, tagged_terms
from es_dedup.text.normalise import encode
from es_dedup.text.tokens import segment_hashes
from experiments.comparators.subsequence import common_subsequence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.model import Content

PAYLOAD: Final = 1  # version of packed features
MOST_CHARS: Final = 1024  # of a kept text; comparing takes time with the product of the lengths
_HEAD: Final = struct.Struct("<BI")  # version, bytes of the text
_SHARED_PART: Final = 4  # one term in so many must be shared
_BASE: Final = 0x8CB92BA72F3D8DD7


@dataclass(frozen=True, slots=True)
class Text:
    """What is kept of one page: 1 to ``MOST_CHARS`` characters."""

    text: str


def gram_terms(text: str, size: int, step: int, tag: int) -> tuple[int, ...]:
    """Distinct grams of ``size`` characters, one every ``step`` characters, as terms; ascending.

    A text shorter than one gram has itself as its only gram.
    """
    codes, _ = encode([text])
    starts = np.arange(0, max(len(codes) - size, 0) + 1, step, dtype=np.int64)
    ends = np.minimum(starts + size, len(codes))
    hashes = np.unique(_window_hashes(codes, starts, ends))
    return tuple(sorted(set(tagged_terms(tag, hashes).tolist())))


def _window_hashes(
    codes: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Hash of each window; windows may overlap, so they are laid out one after the other first."""
    lengths = ends - starts
    edges = np.concatenate(([0], np.cumsum(lengths)))
    places = np.arange(int(edges[-1])) + np.repeat(starts - edges[:-1], lengths)
    return segment_hashes(mix64(codes[places].astype(np.uint64)), edges[:-1], edges[1:], _BASE)


class StringComparator(Detector[Text], ABC):
    """A method that keeps one string a page and compares two by their longest common subsequence.

    Args:
        min_similarity: share of the longer string that the common subsequence must hold, in (0, 1].
    """

    name: str
    version = 1

    def __init__(self, min_similarity: float) -> None:
        self._min_similarity = min_similarity

    @abstractmethod
    def featurise_many(self, contents: Sequence[Content]) -> list[Text | Skipped]:
        """Strings of several pages."""

    @abstractmethod
    def terms(self, features: Text) -> tuple[int, ...]:
        """Terms to store: grams of the string."""

    def candidate_query(self, features: Text) -> CandidateQuery:
        """Pages that share a quarter of the terms; the source compares every pair of pages instead."""
        terms = self.terms(features)
        return CandidateQuery((TermGroup(terms, max(1, len(terms) // _SHARED_PART)),))

    def verify(self, left: Text, right: Text) -> Verdict:
        """Duplicate iff the longest common subsequence holds at least ``min_similarity`` of the longer string."""
        shared = common_subsequence(left.text, right.text)
        score = shared / max(len(left.text), len(right.text))
        evidence = {
            "similarity": round(score, 4),
            "min_similarity": self._min_similarity,
            "common_chars": shared,
            "left_chars": len(left.text),
            "right_chars": len(right.text),
        }
        relation = Relation.DUPLICATE if score >= self._min_similarity else Relation.DIFFERENT
        return Verdict(self.name, relation, score, evidence)

    def pack(self, features: Text) -> bytes:
        """A head of five bytes and the string as UTF-8."""
        raw = features.text.encode("utf-8")
        return _HEAD.pack(PAYLOAD, len(raw)) + raw

    def unpack(self, payload: bytes) -> Text:
        """The inverse of ``pack``.

        Raises:
            ValueError: another version, a wrong length, no UTF-8, or a string of a wrong size.
        """
        if len(payload) < _HEAD.size or payload[0] != PAYLOAD:
            raise ValueError(f"features of another version, this release reads version {PAYLOAD}")
        _, size = _HEAD.unpack_from(payload)
        if len(payload) != _HEAD.size + size:
            raise ValueError(f"a text of {size} bytes does not take {len(payload)} bytes")
        text = payload[_HEAD.size :].decode("utf-8")
        if not 0 < len(text) <= MOST_CHARS:
            raise ValueError(f"a text of {len(text)} characters, 1 to {MOST_CHARS} are kept")
        return Text(text)
