"""Content words of many pages at once: segmented, stemmed, without function words, with their parts of speech.

What is done word by word is done once per distinct word and kept; everything per occurrence is an array.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.text.characters import PLANE, table_of
from es_dedup.text.hashing import hash64
from es_dedup.text.normalise import decode, encode, normalised_pages
from es_dedup.text.ragged import owners_of
from es_dedup.text.segment import DEFAULT, segmenter
from es_dedup.text.stopwords import STOP_WORDS
from es_dedup.text.tokens import character_kinds

if TYPE_CHECKING:
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
        return owners_of(self.offsets)

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
    number: defaultdict[str, int] = defaultdict(count().__next__)
    raw = np.fromiter(map(number.__getitem__, cut), dtype=np.int64, count=len(cut))
    sizes = np.fromiter(map(len, number), dtype=np.int64, count=len(number))[raw]
    starts = np.cumsum(sizes) - sizes
    entries = [_entry(word, by) for word in number]
    facts = {entry[0]: entry for entry in entries if entry[0]}
    place = {word: at for at, word in enumerate(facts)}
    ids = np.array([place.get(word, -1) for word, _, _ in entries], dtype=np.int64)[raw]
    keep = ids >= 0
    starts, ids = starts[keep], ids[keep]
    marks = np.concatenate(([0], np.cumsum(sentence_ends(codes))))
    return WordBatch(
        vocabulary=tuple(facts),
        hashes=np.array([value for _, _, value in facts.values()], dtype=np.uint64),
        speech=np.array([speech for _, speech, _ in facts.values()], dtype=np.int64),
        sizes=np.array([len(word) for word in facts], dtype=np.int64),
        ids=ids,
        offsets=np.searchsorted(starts, edges),
        sentence=marks[starts],
    )


@lru_cache(maxsize=1)
def words_of_pages(texts: tuple[str, ...], by: str) -> WordBatch:
    """``content_words`` with the last result cached, since several methods read the same pages one after the other."""
    return content_words(normalised_pages(texts), by)


def sentence_ends(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether a sentence ends with each code point of normalised text; at a point where no letter or digit follows."""
    ends: NDArray[np.bool_] = table_of(SENTENCE_MARKS)[np.minimum(codes, PLANE - 1)]
    points = codes == _POINT
    if points.any():
        lettered = character_kinds(codes) > 0
        ends = ends | (points & ~np.append(lettered[1:], False))
    return ends


def distinct_words(words: WordBatch) -> DistinctWords:
    """The distinct words of each page."""
    pages, ids = words.pages, words.ids
    # a sort by numbers of 16 bits takes as many steps as there are numbers
    order = np.lexsort((_narrow(ids, len(words.vocabulary)), _narrow(pages, len(words))))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(ids[order]) != 0) | (np.diff(pages[order]) != 0)
    starts = np.flatnonzero(new)
    first = order[starts]
    leads = np.zeros(len(order), dtype=np.bool_)
    leads[first] = True
    place = (np.cumsum(leads) - 1)[first]  # entries stand in the order of their first occurrences
    counts, entry = np.empty_like(first), np.empty_like(order)
    counts[place] = np.diff(starts, append=len(order))
    entry[order] = place[np.cumsum(new) - 1]
    first = np.flatnonzero(leads)
    owner = pages[first]
    return DistinctWords(owner, ids[first], counts, first - words.offsets[owner], entry)


def _narrow(values: NDArray[np.int64], count: int) -> NDArray[Any]:
    """The numbers, all below ``count``, in the smallest sufficient type."""
    return values.astype(np.min_scalar_type(count))


def stem(word: str) -> str:
    """Singular form of an English word by its ending; any other word unchanged.

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
    """Stem, part of speech and hash of a word; an empty stem for a function word, and what holds no letter or digit."""
    if word in STOP_WORDS or not (character_kinds(encode([word])[0]) > 0).any():
        return "", int(Speech.OTHER), 0
    base = stem(word)
    return base, int(speech_of(segmenter(by).tag(base))), hash64(base)
