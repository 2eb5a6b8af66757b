"""Features that are one short text: their grams as terms, their verdict by common subsequence, their bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.detectors.comparators.subsequence import common_subsequence
from es_dedup.model import Relation, Verdict
from es_dedup.text.hashing import mix64, tagged_terms
from es_dedup.text.normalise import encode
from es_dedup.text.tokens import segment_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CHARS: Final = 1024  # of a kept text; comparing takes time with the product of the lengths
_HEAD: Final = struct.Struct("<BI")  # version, bytes of the text
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


def pack(features: Text, version: int) -> bytes:
    """A head of five bytes and the text as UTF-8."""
    raw = features.text.encode("utf-8")
    return _HEAD.pack(version, len(raw)) + raw


def unpack(payload: bytes, version: int) -> Text:
    """The inverse of ``pack``.

    Raises:
        ValueError: another version, a wrong length, no UTF-8, or a text of a wrong size.
    """
    if len(payload) < _HEAD.size or payload[0] != version:
        raise ValueError(f"features of another version, this release reads version {version}")
    _, size = _HEAD.unpack_from(payload)
    if len(payload) != _HEAD.size + size:
        raise ValueError(f"a text of {size} bytes does not take {len(payload)} bytes")
    text = payload[_HEAD.size :].decode("utf-8")
    if not 0 < len(text) <= MOST_CHARS:
        raise ValueError(f"a text of {len(text)} characters, 1 to {MOST_CHARS} are kept")
    return Text(text)


def subsequence_verdict(detector: str, left: Text, right: Text, limit: float) -> Verdict:
    """Duplicate iff the longest common subsequence holds at least ``limit`` of the longer text."""
    shared = common_subsequence(left.text, right.text)
    score = shared / max(len(left.text), len(right.text))
    evidence = {
        "similarity": round(score, 4),
        "min_similarity": limit,
        "common_chars": shared,
        "left_chars": len(left.text),
        "right_chars": len(right.text),
    }
    return Verdict(detector, Relation.DUPLICATE if score >= limit else Relation.DIFFERENT, score, evidence)
