"""Segmented words of many normalised texts, with the sentence that each stands in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.hashing import mix64
from es_dedup.text.normalise import encode
from es_dedup.text.segment import segmenter
from es_dedup.text.tokens import character_kinds, segment_hashes
from es_dedup.text.words import sentence_ends

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from es_dedup.text.normalise import TextBatch

_NEWLINE: Final = 0x0A
_BASE: Final = 0xA24BAED4963EE407


@dataclass(frozen=True, slots=True)
class SegmentedWords:
    """Words of several pages that hold a letter or digit, in order.

    Attributes:
        hashes: one 64-bit hash per word; equal words have equal hashes, whatever the batch.
        pages: page of each word, ascending.
        offsets: words of page ``i`` are ``[offsets[i]:offsets[i + 1]]``.
        starts, ends: place of each word in ``codes``.
        sentences: running number of the sentence each word stands in; a sentence never leaves its page.
        codes: code points of all pages, a newline after each.
        sentence_of: number of the sentence of each code point.
    """

    hashes: NDArray[np.uint64]
    pages: NDArray[np.int64]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    sentences: NDArray[np.int64]
    codes: NDArray[np.uint32]
    sentence_of: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.hashes)


def words_of(batch: TextBatch) -> SegmentedWords:
    """Words of normalised texts."""
    codes = np.insert(batch.codes, batch.offsets[1:], _NEWLINE)
    page_starts = batch.offsets + np.arange(len(batch) + 1)
    starts = segmenter().cut_codes(codes).starts
    ends = np.append(starts[1:], len(codes))
    lettered = np.concatenate(([0], np.cumsum(character_kinds(codes) > 0)))
    keep = lettered[ends] > lettered[starts]
    starts, ends = starts[keep], ends[keep]
    hashes = segment_hashes(mix64(codes.astype(np.uint64)), starts, ends, _BASE)
    marks = sentence_ends(codes)
    sentence_of: NDArray[np.int64] = np.cumsum(marks) - marks
    return SegmentedWords(
        hashes=hashes,
        pages=np.searchsorted(page_starts, starts, side="right") - 1,
        offsets=np.searchsorted(starts, page_starts),
        starts=starts,
        ends=ends,
        sentences=sentence_of[starts],
        codes=codes,
        sentence_of=sentence_of,
    )


def hashes_of(words: Iterable[str]) -> NDArray[np.uint64]:
    """The hash that ``words_of`` gives to each of these normalised words; ascending."""
    known = sorted(set(words))
    codes, offsets = encode(known)
    return np.sort(segment_hashes(mix64(codes.astype(np.uint64)), offsets[:-1], offsets[1:], _BASE))
