"""Content words of many pages at once: segmented, stemmed, without function words, with their parts of speech.

What is done word by word is done once in a process and kept in a lexicon; everything else is an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import repeat
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.text.characters import PLANE, table_of
from es_dedup.text.hashing import hash64
from es_dedup.text.normalise import encode, normalised_pages
from es_dedup.text.ragged import owners_of
from es_dedup.text.segment import DEFAULT, segmenter
from es_dedup.text.stopwords import STOP_WORDS
from es_dedup.text.tokens import character_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from es_dedup.text.normalise import TextBatch

KEPT_WORDS: Final = 1 << 17
"""Distinct words whose facts a process keeps, about 30 MB."""
KEPT_CHARACTERS: Final = 1 << 23
"""Of all these words together: a page may hold one word of a million characters."""
KEPT_COLUMNS: Final = 16
"""Facts of which a lexicon keeps the values; beyond, the one that was used longest ago is dropped."""
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


class Lexicon:
    """Words that have been met, by number, and what is known of them; threads may share it.

    Args:
        by: name of the segmenter, which knows parts of speech.

    Attributes:
        words: by number.
        characters: of all words.
    """

    def __init__(self, by: str) -> None:
        self.characters = 0
        self._segmenter = segmenter(by)
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}
        self._columns: dict[Callable[[Sequence[str]], Sequence[int]], tuple[NDArray[Any], int]] = {}
        self._lock = RLock()

    def number(self, word: str) -> int:
        """The number of a word, a new one when it is met for the first time."""
        with self._lock:
            if word not in self._numbers:
                self.words.append(word)
                self.characters += len(word)
                self._numbers[word] = len(self.words) - 1
            return self._numbers[word]

    def numbers(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The number of each word."""
        found = np.fromiter(map(self._numbers.get, words, repeat(-1)), dtype=np.int64, count=len(words))
        for at in np.flatnonzero(found < 0).tolist():
            found[at] = self.number(words[at])
        return found

    def column(
        self, facts: Callable[[Sequence[str]], Sequence[int]], kind: type[np.generic] = np.int64
    ) -> NDArray[Any]:
        """A fact of all words by number, found once a word; room for further words may follow."""
        with self._lock:
            values, filled = self._columns.pop(facts, (np.empty(0, kind), 0))
            while filled < len(self.words):  # to find facts may add words
                new = facts(self.words[filled:])
                if filled + len(new) > len(values):
                    values = np.concatenate((values[:filled], np.empty(filled + 2 * len(new), kind)))
                values[filled : filled + len(new)] = new
                filled += len(new)
            self._columns[facts] = values, filled  # in the order of their last use
            if len(self._columns) > KEPT_COLUMNS:
                del self._columns[next(iter(self._columns))]
            return values

    def stems(self, words: Sequence[str]) -> list[int]:
        """Numbers of the stems of words; -1 for a function word and for what holds no letter or digit."""
        codes, offsets = encode(words)
        letters = np.append(0, np.cumsum(character_kinds(codes) > 0))[offsets]
        return [
            -1 if empty or word in STOP_WORDS else self.number(stem(word))
            for word, empty in zip(words, (np.diff(letters) == 0).tolist(), strict=True)
        ]

    def speech(self, words: Sequence[str]) -> list[Speech]:
        """Parts of speech of words."""
        return list(map(speech_of, map(self._segmenter.tag, words)))


def _hashes(words: Sequence[str]) -> list[int]:
    return list(map(hash64, words))


def _sizes(words: Sequence[str]) -> list[int]:
    return list(map(len, words))


_lexicons: dict[str, Lexicon] = {}


def _lexicon(by: str) -> Lexicon:
    """The lexicon of a segmenter; a new one begins when it is full."""
    found = _lexicons.get(by)
    if found is None or len(found.words) > KEPT_WORDS or found.characters > KEPT_CHARACTERS:
        found = _lexicons[by] = Lexicon(by)
    return found


@dataclass(frozen=True, slots=True)
class WordBatch:
    """Content words of several pages.

    Attributes:
        vocabulary: distinct words in order of appearance.
        hashes, speech, sizes: 64-bit hash, part of speech and characters of each distinct word.
        ids: place in the vocabulary of each occurrence, in text order.
        offsets: words of page ``i`` are ``ids[offsets[i]:offsets[i + 1]]``; shape (pages + 1,).
        sentence: running number of the sentence each occurrence stands in; never shared by two pages.
        lexicon: where further facts of the words are found.
        numbers: number of each distinct word in the lexicon.
    """

    vocabulary: tuple[str, ...]
    hashes: NDArray[np.uint64]
    speech: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sentence: NDArray[np.int64]
    lexicon: Lexicon
    numbers: NDArray[np.int64]

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
    cut, lexicon = segmenter(by).cut_codes(codes), _lexicon(by)
    number = lexicon.numbers(cut.distinct)
    stems = lexicon.column(lexicon.stems)[number]
    kept = stems[stems >= 0]
    first = np.empty(len(lexicon.words), dtype=np.int64)
    first[kept[::-1]] = np.arange(len(kept))[::-1]  # several words may have one stem
    leads = first[kept] == np.arange(len(kept))
    numbers, place = kept[leads], np.cumsum(leads) - 1
    stem_of = stems[cut.ids]
    content = stem_of >= 0
    starts = cut.starts[content]
    marks = np.concatenate(([0], np.cumsum(sentence_ends(codes))))
    return WordBatch(
        vocabulary=tuple(map(lexicon.words.__getitem__, numbers.tolist())),
        hashes=lexicon.column(_hashes, np.uint64)[numbers],
        speech=lexicon.column(lexicon.speech)[numbers],
        sizes=lexicon.column(_sizes)[numbers],
        ids=place[first[stem_of[content]]],
        offsets=np.searchsorted(starts, edges),
        sentence=marks[starts],
        lexicon=lexicon,
        numbers=numbers,
    )


@lru_cache(maxsize=1)
def words_of_pages(texts: tuple[str, ...], by: str) -> WordBatch:
    """``content_words`` with the last result cached, since several methods read the same pages one after the other."""
    return content_words(normalised_pages(texts), by)


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
