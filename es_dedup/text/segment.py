"""Words of a text, with their parts of speech; the only module that imports a segmenter.

``jieba`` cuts by its dictionary alone, ``jieba-hmm`` also by the hidden Markov model that finds unknown words. Where ``rjieba`` is
installed, it takes jieba's place for the dictionary: the same words and tags from native code. docs/algorithms/segmentation.md has
the measurements.
"""

from __future__ import annotations

import logging
import re
from functools import cache
from itertools import chain
from typing import Any, Final, Protocol

from es_dedup import lazy
from es_dedup.errors import ConfigError
from es_dedup.text.characters import UNSPACED

DEFAULT: Final = "jieba"
BY_MODEL: Final = "jieba-hmm"
_RUN: Final = re.compile(r"[^\W_]+")
_UNSPACED: Final = lazy.pattern(f"[{UNSPACED}]")
_OTHER_LETTER: Final = lazy.pattern(rf"[^\W\d_a-z{UNSPACED}]")  # which the segmenters cut one by one


class Segmenter(Protocol):
    """Cuts normalised text into words."""

    name: str

    def cut(self, text: str) -> list[str]:
        """Words in order; joined they give the text again, white space and punctuation included."""

    def tag(self, word: str) -> str:
        """Part of speech of a word that ``cut`` has given, by the tag set of ICTCLAS; ``x`` when unknown."""


class RjiebaSegmenter:
    """Words by rjieba, jieba's dictionary and algorithm in native code.

    Raises:
        ImportError: rjieba is not installed.
    """

    name = DEFAULT

    def __init__(self) -> None:
        import rjieba  # noqa: PLC0415 - the dictionary takes 50 MB, only who segments pays for it

        self._cut, self._tag = rjieba.cut, rjieba.tag

    def cut(self, text: str) -> list[str]:
        """See ``Segmenter``."""
        return list(self._cut(text, False))  # noqa: FBT003 - takes no keyword

    def tag(self, word: str) -> str:
        """See ``Segmenter``."""
        found = self._tag(word, False)  # noqa: FBT003 - takes no keyword
        return str(found[0][1]) if len(found) == 1 else "x"


class JiebaSegmenter:
    """Words by jieba.

    Args:
        hmm: find words that are not in the dictionary by the statistical model, as ``jieba.cut(text)`` does by default; without it
            they fall into characters.
    """

    def __init__(self, *, hmm: bool = False) -> None:
        import jieba  # noqa: PLC0415 - its dictionary loads for a second

        jieba.setLogLevel(logging.WARNING)
        self.name = BY_MODEL if hmm else DEFAULT
        self._hmm = hmm
        self._tokenizer = jieba.Tokenizer()
        self._tokenizer.initialize()
        self._tagger: Any = None

    def cut(self, text: str) -> list[str]:
        """See ``Segmenter``."""
        return list(self._tokenizer.cut(text, HMM=self._hmm))

    def tag(self, word: str) -> str:
        """See ``Segmenter``; a word of the dictionary has one tag, as in ``jieba.posseg`` without its model."""
        if self._tagger is None:
            import jieba.posseg  # noqa: PLC0415 - reads the dictionary a second time, only who tags pays for it

            self._tagger = jieba.posseg.POSTokenizer(self._tokenizer)
        known = self._tagger.word_tag_tab.get(word)
        if known is None and word.isascii() and word.isalnum():
            return "m" if word.isdigit() else "eng"
        if known is None and self._hmm:
            found = self._tagger.lcut(word)
            known = found[0].flag if len(found) == 1 else None
        return known or "x"


@cache
def segmenter(name: str = DEFAULT) -> Segmenter:
    """The segmenter of that name, ``jieba`` or ``jieba-hmm``, built once per process.

    Raises:
        ConfigError: the name is unknown.
    """
    if name == BY_MODEL:
        return JiebaSegmenter(hmm=True)
    if name != DEFAULT:
        raise ConfigError((f"words.segmenter: must be one of {DEFAULT}, {BY_MODEL}, got {name!r}",))
    try:
        return RjiebaSegmenter()
    except ImportError:
        return JiebaSegmenter()


def words(text: str, by: str = DEFAULT) -> list[str]:
    """Words of a normalised text that hold a letter or digit, in order; ``by`` names the segmenter."""
    found = segmenter(by).cut(text)
    wanted = {word for word in set(found) if any(map(str.isalnum, word))}  # most come often
    return [word for word in found if word in wanted]


def search_text(text: str, by: str = DEFAULT) -> str:
    """Words of a normalised text, separated by spaces, for full-text search; words of letters that the segmenter does not know stay whole."""
    if not _OTHER_LETTER.search(text):
        return " ".join(words(text, by))
    runs = (words(run, by) if _UNSPACED.search(run) else [run] for run in _RUN.findall(text))
    return " ".join(chain.from_iterable(runs))
