"""Content words of many pages at once: segmented, stemmed, without function words, with their parts of speech.

What is done word by word is done once per distinct word and kept; everything per occurrence is an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.characters import PLANE
from es_dedup.text.hashing import hash64
from es_dedup.text.normalise import decode
from es_dedup.text.segment import DEFAULT, segmenter
from es_dedup.text.stopwords import STOP_WORDS
from es_dedup.text.tokens import character_kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.text.normalise import TextBatch

KEPT_WORDS: Final = 1 << 17
"""Distinct words whose part of speech and hash a process keeps, about 30 MB."""
SENTENCE_MARKS: Final = (
    "。!?;…\n"  # in the normalised form; a point ends a sentence where no letter or digit follows
)
_POINT: Final = 0x2E


class Speech(IntEnum):
    """Parts of speech that the methods distinguish."""

    NOUN = 0
    ADJECTIVE = 1
    VERB = 2
    OTHER = 3


@dataclass(frozen=True, slots=True)
class WordBatch:
    """Content words of several pages.

    Attributes:
        vocabulary: distinct words in order of appearance.
        hashes, speech, sizes: 64-bit hash, part of speech and characters of each distinct word.
        ids: place in the vocabulary of each occurrence, in text order.
        offsets: words of page ``i`` are ``ids[offsets[i]:offsets[i + 1]]``; shape (pages + 1,).
        sentence: running number of the sentence each occurrence stands in; never shared by two pages.
    """

    vocabulary: tuple[str, ...]
    hashes: NDArray[np.uint64]
    speech: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sentence: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def pages(self) -> NDArray[np.int64]:
        """Page of each occurrence."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def words(self, page: int) -> list[str]:
        """The content words of one page in order."""
        return [self.vocabulary[at] for at in self.ids[self.offsets[page] : self.offsets[page + 1]].tolist()]


@dataclass(frozen=True, slots=True)
class DistinctWords:
    """Distinct words of each page, ordered by page, then by first place.

    Attributes:
        pages: page of each entry, ascending.
        ids: place in the vocabulary.
        counts: occurrences.
        first: place of the first one among the page's content words, from 0.
        entry: the entry that each occurrence belongs to; shape (occurrences,).
    """

    pages: NDArray[np.int64]
    ids: NDArray[np.int64]
    counts: NDArray[np.int64]
    first: NDArray[np.int64]
    entry: NDArray[np.int64]


def content_words(batch: TextBatch, by: str = DEFAULT) -> WordBatch:
    """Content words of normalised texts: words that hold a letter or digit and are no function words.

    Args:
        batch: the texts.
        by: name of the segmenter.

    Raises:
        ConfigError: as ``segmenter``.
    """
    codes = np.insert(batch.codes, batch.offsets[1:], ord("\n"))
    edges = batch.offsets + np.arange(len(batch) + 1)
    cut = segmenter(by).cut(decode(codes)) if len(batch) else []
    ends = np.cumsum(np.fromiter(map(len, cut), dtype=np.int64, count=len(cut)))
    starts = np.concatenate((np.zeros(1, dtype=np.int64), ends))[:-1]
    letters = np.concatenate(([0], np.cumsum(character_kinds(codes) > 0)))
    number = {word: at for at, word in enumerate(dict.fromkeys(cut))}
    raw = np.fromiter(map(number.__getitem__, cut), dtype=np.int64, count=len(cut))
    entries = [_entry(word, by) for word in number]
    known = dict.fromkeys(word for word, _, _ in entries if word)
    place = {word: at for at, word in enumerate(known)}
    new = np.array([place.get(word, -1) for word, _, _ in entries], dtype=np.int64)
    ids = new[raw]
    keep = (letters[ends] > letters[starts]) & (ids >= 0)
    starts, ids = starts[keep], ids[keep]
    ids, vocabulary = by_appearance(ids, tuple(place))
    marks = np.concatenate(([0], np.cumsum(sentence_ends(codes))))
    facts = {word: (speech, value) for word, speech, value in entries}
    return WordBatch(
        vocabulary=vocabulary,
        hashes=np.array([facts[word][1] for word in vocabulary], dtype=np.uint64),
        speech=np.array([facts[word][0] for word in vocabulary], dtype=np.int64),
        sizes=np.array([len(word) for word in vocabulary], dtype=np.int64),
        ids=ids,
        offsets=np.searchsorted(starts, edges),
        sentence=marks[starts],
    )


def sentence_ends(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether a sentence ends with each code point of normalised text; at a point where no letter or digit follows."""
    ends: NDArray[np.bool_] = _marks()[np.minimum(codes, PLANE - 1)]
    points = codes == _POINT
    if points.any():
        lettered = character_kinds(codes) > 0
        ends = ends | (points & ~np.append(lettered[1:], False))
    return ends


@cache
def _marks() -> NDArray[np.bool_]:
    table = np.zeros(PLANE, dtype=np.bool_)
    table[[ord(mark) for mark in SENTENCE_MARKS]] = True
    return table


def distinct_words(words: WordBatch) -> DistinctWords:
    """The distinct words of each page."""
    width = max(len(words.vocabulary), 1)
    pages = words.pages
    _, first, entry, counts = np.unique(
        pages * width + words.ids, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    first = first[order]
    owner = pages[first]
    return DistinctWords(owner, words.ids[first], counts[order], first - words.offsets[owner], place[entry])


def stem(word: str) -> str:
    """An English word without its plural ending, any other word unchanged.

    Source:
        Harman: How effective is suffixing? JASIS 42 (1991), the S stemmer.
    """
    if not (word.isascii() and word.isalpha()) or len(word) < 4 or not word.endswith("s"):  # noqa: PLR2004
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]


def speech_of(tag: str) -> Speech:
    """Part of speech of an ICTCLAS tag.

    Verbs and adjectives used as nouns (``vn``, ``an``) are nouns. So are words in Latin letters (``eng``): in a Chinese
    text they are names, and in an English one, where no dictionary tags them, all words then weigh the same.
    """
    if tag in ("vn", "an", "eng") or tag.startswith("n"):
        return Speech.NOUN
    if tag.startswith("a"):
        return Speech.ADJECTIVE
    return Speech.VERB if tag.startswith("v") else Speech.OTHER


@lru_cache(maxsize=KEPT_WORDS)
def _entry(word: str, by: str) -> tuple[str, int, int]:
    """Stem, part of speech and hash of a word; an empty stem for a function word."""
    if word in STOP_WORDS:
        return "", int(Speech.OTHER), 0
    base = stem(word)
    return base, int(speech_of(segmenter(by).tag(base))), hash64(base)


def by_appearance(
    ids: NDArray[np.int64], vocabulary: Sequence[str]
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Renumber so that only words that occur are left, in order of first appearance."""
    used = np.zeros(len(vocabulary), dtype=np.bool_)
    used[ids] = True
    number = np.cumsum(used) - 1
    return number[ids], tuple(vocabulary[at] for at in np.flatnonzero(used).tolist())
