"""Content words of many pages at once: segmented, stemmed, without function words, with their parts of speech.

Each word is looked at once in a process; everything else is an array.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.text.characters import PLANE, kind_of, table_of
from es_dedup.text.hashing import hash64
from es_dedup.text.normalise import TextBatch, normalised_pages
from es_dedup.text.ragged import begins_run, owners_of
from es_dedup.text.segment import CutText, segmenter
from es_dedup.text.stopwords import STOP_WORDS
from es_dedup.text.tokens import character_kinds

if TYPE_CHECKING:
    from numpy.typing import NDArray


KEPT_CHARACTERS: Final = 1 << 19
"""Of all words whose facts a process keeps: some tens of megabytes."""
# In the normalised form; a point ends a sentence where no letter or digit follows.
SENTENCE_MARKS: Final = "。!?;…\n"
_POINT: Final = 0x2E


class Speech(IntEnum):
    """Parts of speech that the methods distinguish."""

    NOUN = 0
    ADJECTIVE = 1
    VERB = 2
    OTHER = 3


class _Numbers(dict[str, int]):
    """Words numbered in the order in which they are asked for; ``words`` has them in that order."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self.words)
        self.words.append(word)
        return number


_FACTS: Final = np.dtype([("stem", np.int64), ("hash", np.uint64), ("speech", np.int64), ("size", np.int64)])


class _Vocabulary:
    """Facts of the words that a process has met. When these are many it begins anew; threads may share it."""

    def __init__(self) -> None:
        self._tag, self._lock = segmenter().tag, threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._numbers, self._facts, self._characters = _Numbers(), np.zeros(1, dtype=_FACTS), 0
        self._cut = np.full(1, -1, dtype=np.int64)  # by the segmenter's number, which spares making the word

    def of(self, cut: CutText) -> tuple[NDArray[np.int64], list[str], NDArray[np.void]]:
        """The number of each distinct word; and, by number, the words met so far and their ``_FACTS``. A stem is named by its number, -1: the word is no content word."""
        with self._lock:
            if self._characters > KEPT_CHARACTERS:
                self._begin()
            try:
                return self._of(cut)
            except BaseException:  # an interrupt leaves words that have a number but no facts
                self._begin()
                raise

    def _of(self, cut: CutText) -> tuple[NDArray[np.int64], list[str], NDArray[np.void]]:
        met = self._numbers.words
        before, given = len(met), cut.facts[:, 2]
        if (more := int(given.max(initial=0)) + 1 - len(self._cut)) > 0:
            self._cut = np.append(self._cut, np.full(more, -1))
        numbers = self._cut[given]
        (asked,) = np.nonzero(numbers < 0)
        words = cut.distinct(asked)
        numbers[asked] = np.fromiter(map(self._numbers.__getitem__, words), np.int64, len(words))
        self._cut[given[asked]] = numbers[asked]
        self._cut[0] = -1
        new: list[tuple[int, int, Speech, int]] = []
        while before + len(new) < len(met):
            new.append(self._look_at(met[before + len(new)]))  # whose stem may be new, too
        if len(met) > len(self._facts):
            self._facts = np.concatenate((self._facts, np.zeros(len(met), dtype=_FACTS)))
        self._facts[before : len(met)] = new
        return numbers, met, self._facts

    def _look_at(self, word: str) -> tuple[int, int, Speech, int]:
        self._characters += len(word)
        is_content = word not in STOP_WORDS and any(map(kind_of, map(ord, word)))
        stem_ = self._numbers[stem(word)] if is_content else -1
        return stem_, hash64(word), speech_of(self._tag(word)), len(word)


_vocabulary: Final = cache(_Vocabulary)


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


def content_words(batch: TextBatch) -> WordBatch:
    """Content words of normalised texts: words that hold a letter or digit and are no function words."""
    codes = np.insert(batch.codes, batch.offsets[1:], ord("\n"))
    edges = batch.offsets + np.arange(len(batch) + 1)
    cut = segmenter().cut_codes(codes)
    numbers, met, facts = _vocabulary().of(cut)
    stems = facts["stem"][numbers]
    known = np.flatnonzero(stems >= 0)
    distinct, first, place = np.unique(stems[known], return_index=True, return_inverse=True)
    order = np.argsort(first)
    stems[known], distinct = np.argsort(order)[place], distinct[order]
    ids = stems[cut.ids]
    content = ids >= 0
    starts = cut.starts[content]
    marks = np.concatenate(([0], np.cumsum(sentence_ends(codes))))
    facts = facts[distinct]
    return WordBatch(
        vocabulary=tuple(map(met.__getitem__, distinct.tolist())),
        hashes=facts["hash"],
        speech=facts["speech"],
        sizes=facts["size"],
        ids=ids[content],
        offsets=np.searchsorted(starts, edges),
        sentence=marks[starts],
    )


@lru_cache(maxsize=1)
def words_of_pages(texts: tuple[str, ...]) -> WordBatch:
    """``content_words`` with the last result cached, since several methods read the same pages one after the other."""
    return content_words(normalised_pages(texts))


def sentence_ends(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether a sentence ends with each code point of normalised text; at a point where no letter or digit follows."""
    ends: NDArray[np.bool_] = table_of(SENTENCE_MARKS)[np.minimum(codes, PLANE - 1)]
    (points,) = np.nonzero(codes == _POINT)
    following = np.append(codes, np.uint32(_POINT))[points + 1]
    ends[points[character_kinds(following) == 0]] = True
    return ends


def distinct_words(words: WordBatch) -> DistinctWords:
    """The distinct words of each page."""
    pages, ids = words.pages, words.ids
    # a sort by numbers of 16 bits takes as many steps as there are numbers
    order = np.lexsort((_narrow(ids, len(words.vocabulary)), _narrow(pages, len(words))))
    new = begins_run(ids[order]) | begins_run(pages[order])
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
