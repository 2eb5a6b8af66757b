"""Words of a text, with their parts of speech; the only module that imports a segmenter.

Jieba cuts by its dictionary alone. With the native core, the dictionary is read by that and jieba is not loaded: the words and tags are
the same. docs/algorithms/segmentation.md has the measurements.
"""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from functools import cache
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from es_dedup import lazy, native
from es_dedup.text.characters import UNSPACED
from es_dedup.text.idf import file_of_jieba
from es_dedup.text.normalise import decode, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RUN: Final = re.compile(r"[^\W_]+")
_MIDDLE: Final = re.compile(r"(?<=(?<![a-zA-Z0-9])[a-zA-Z0-9]{16})([a-zA-Z0-9]{1000,})(?=[a-zA-Z0-9]{16})")
"""The middle of a long run of letters and digits, in which no word of jieba's dictionary begins or ends; jieba takes the square of its length."""
_UNSPACED: Final = lazy.pattern(f"[{UNSPACED}]")
_OTHER_LETTER: Final = lazy.pattern(rf"[^\W\d_a-z{UNSPACED}]")  # which the segmenters cut one by one


class CutText(NamedTuple):
    """The words of a text, white space and punctuation included.

    Attributes:
        text: as it was given.
        ids: number of each word, by first appearance.
        starts: place of its first character.
        facts: where the first appearance of each number begins and ends, and the number that the segmenter gives the word, 0 where
            it gives none; shape (distinct words, 3).
    """

    text: str
    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    facts: NDArray[np.int64]

    def distinct(self, some: slice | NDArray[np.int64] = slice(None)) -> list[str]:
        """The words of some numbers."""
        begins, ends, _ = self.facts[some].T.tolist()
        return [self.text[begin:end] for begin, end in zip(begins, ends, strict=True)]


class Segmenter(ABC):
    """Cuts normalised text into words."""

    @abstractmethod
    def cut_codes(self, codes: NDArray[np.uint32]) -> CutText:
        """Words of a text given as code points."""

    def cut(self, text: str) -> list[str]:
        """Words in order; joined they give the text again."""
        found = self.cut_codes(encode([text])[0])
        return list(map(found.distinct().__getitem__, found.ids.tolist()))

    @abstractmethod
    def tag(self, word: str) -> str:
        """Part of speech of a word that was cut, by the tag set of ICTCLAS; ``x`` when unknown."""


class NativeSegmenter(Segmenter):
    """Words by jieba's dictionary in the native core."""

    def __init__(self) -> None:
        self._dictionary = native.core.Dictionary(file_of_jieba("dict.txt").read_text(encoding="utf-8"))

    def cut_codes(self, codes: NDArray[np.uint32]) -> CutText:
        """See ``Segmenter``."""
        ids, starts, facts = self._dictionary.cut(codes)
        return CutText(decode(codes), ids, starts, facts.reshape(-1, 3))

    def tag(self, word: str) -> str:
        """See ``Segmenter``."""
        return self._dictionary.tag(word) or _tag_of_unknown(word)


class JiebaSegmenter(Segmenter):
    """Words by jieba."""

    def __init__(self) -> None:
        import jieba  # noqa: PLC0415 - its dictionary loads for a second

        jieba.setLogLevel(logging.WARNING)
        self._tokenizer = jieba.Tokenizer()
        self._tokenizer.initialize()
        self._tagger: Any = None

    def cut_codes(self, codes: NDArray[np.uint32]) -> CutText:
        """See ``Segmenter``."""
        text = decode(codes)
        cut = self.cut(text)
        number: defaultdict[str, int] = defaultdict(count().__next__)
        ids = np.fromiter(map(number.__getitem__, cut), dtype=np.int64, count=len(cut))
        ends = np.cumsum(np.fromiter(map(len, cut), dtype=np.int64, count=len(cut)))
        starts = np.append(0, ends)[:-1]
        first = np.unique(ids, return_index=True)[1]
        return CutText(text, ids, starts, np.stack((starts[first], ends[first], 0 * first), axis=1))

    def cut(self, text: str) -> list[str]:
        """See ``Segmenter``."""
        found: list[str] = []
        for place, part in enumerate(_MIDDLE.split(text)):
            words = [part] if place % 2 else self._tokenizer.lcut(part, HMM=False)
            if place:
                found[-1] += words.pop(0)
            found += words
        return found

    def tag(self, word: str) -> str:
        """See ``Segmenter``; a word of the dictionary has one tag, as in ``jieba.posseg`` without its model."""
        if self._tagger is None:
            import jieba.posseg  # noqa: PLC0415 - reads the dictionary a second time, only who tags pays for it

            self._tagger = jieba.posseg.POSTokenizer(self._tokenizer)
        return self._tagger.word_tag_tab.get(word) or _tag_of_unknown(word)


def _tag_of_unknown(word: str) -> str:
    """Tag of a word that is not in the dictionary, as jieba gives it."""
    if word.isascii() and word.isalnum():
        return "m" if word.isdigit() else "eng"
    return "x"


@cache
def segmenter() -> Segmenter:
    """The segmenter, built once per process."""
    return JiebaSegmenter() if native.core is None else NativeSegmenter()


def words(text: str) -> list[str]:
    """Words of a normalised text that hold a letter or digit, in order."""
    found = segmenter().cut(text)
    wanted = {word for word in set(found) if any(map(str.isalnum, word))}  # most come often
    return [word for word in found if word in wanted]


def search_text(text: str) -> str:
    """Words of a normalised text, separated by spaces, for full-text search; words of letters that the segmenter does not know stay whole."""
    if not _OTHER_LETTER.search(text):
        return " ".join(words(text))
    runs = (words(run) if _UNSPACED.search(run) else [run] for run in _RUN.findall(text))
    return " ".join(chain.from_iterable(runs))
