"""Words of a text; the only module that imports a segmenter.

``rjieba`` (the dictionary of jieba in native code, about fifty times faster) is used when it is installed, else
``jieba``; both give the same interface and, on the same dictionary, nearly the same words.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


class Segmenter(Protocol):
    """Cuts normalised text into words."""

    name: str

    def cut(self, text: str) -> list[str]:
        """Words in order; joined they give the text again, white space and punctuation included."""

    def tag(self, word: str) -> str:
        """Part of speech of a word that ``cut`` has given, by the tag set of ICTCLAS; ``x`` when unknown."""


class RjiebaSegmenter:
    """Words by rjieba, dictionary only: unknown words fall into characters, so results never depend on a model."""

    name = "rjieba"

    def __init__(self) -> None:
        import rjieba  # noqa: PLC0415 - the dictionary takes 50 MB, only who segments pays for it

        self._cut, self._tag = rjieba.cut, rjieba.tag

    def cut(self, text: str) -> list[str]:
        """See ``Segmenter``."""
        return list(self._cut(text, False))  # noqa: FBT003 - the library takes no keyword here

    def tag(self, word: str) -> str:
        """See ``Segmenter``."""
        found = self._tag(word, False)  # noqa: FBT003 - the library takes no keyword here
        return str(found[0][1]) if len(found) == 1 else "x"


class JiebaSegmenter:
    """Words by jieba, dictionary only."""

    name = "jieba"

    def __init__(self) -> None:
        import jieba  # noqa: PLC0415 - the pure Python fallback loads for a second

        jieba.setLogLevel(logging.WARNING)
        self._tokenizer = jieba.Tokenizer()
        self._tokenizer.initialize()
        self._tags: dict[str, str] | None = None

    def cut(self, text: str) -> list[str]:
        """See ``Segmenter``."""
        return list(self._tokenizer.cut(text, HMM=False))

    def tag(self, word: str) -> str:
        """See ``Segmenter``."""
        if self._tags is None:
            import jieba.posseg  # noqa: PLC0415 - reads the dictionary a second time, only who tags pays for it

            self._tags = jieba.posseg.POSTokenizer(self._tokenizer).word_tag_tab
        known = self._tags.get(word)
        if known is None and word.isascii() and word.isalnum():
            return "m" if word.isdigit() else "eng"
        return known or "x"


@cache
def segmenter(name: str = "auto") -> Segmenter:
    """The segmenter of that name, built once per process; ``auto`` takes rjieba where it is installed.

    Raises:
        ValueError: unknown name.
        ImportError: the named segmenter is not installed.
    """
    if name == "rjieba":
        return RjiebaSegmenter()
    if name == "jieba":
        return JiebaSegmenter()
    if name != "auto":
        message = f"unknown segmenter {name!r}: use auto, rjieba or jieba"
        raise ValueError(message)
    try:
        return RjiebaSegmenter()
    except ImportError:
        return JiebaSegmenter()


def words(text: str) -> list[str]:
    """Words of a normalised text that hold a letter or digit, in order."""
    return [word for word in segmenter().cut(text) if any(character.isalnum() for character in word)]


def search_text(text: str) -> str:
    """Words separated by spaces: the form in which full text is indexed and queried."""
    return " ".join(words(text))


def spaced(texts: Iterable[str]) -> list[str]:
    """``search_text`` for several texts."""
    return [search_text(text) for text in texts]
