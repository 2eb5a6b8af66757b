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


class RjiebaSegmenter:
    """Words by rjieba, dictionary only: unknown words fall into characters, so results never depend on a model."""

    name = "rjieba"

    def __init__(self) -> None:
        import rjieba  # noqa: PLC0415 - the dictionary takes 50 MB, only who segments pays for it

        self._cut = rjieba.cut

    def cut(self, text: str) -> list[str]:
        """See ``Segmenter``."""
        return list(self._cut(text, False))  # noqa: FBT003 - the library takes no keyword here


class JiebaSegmenter:
    """Words by jieba, dictionary only."""

    name = "jieba"

    def __init__(self) -> None:
        import jieba  # noqa: PLC0415 - the pure Python fallback loads for a second

        jieba.setLogLevel(logging.WARNING)
        self._tokenizer = jieba.Tokenizer()
        self._tokenizer.initialize()

    def cut(self, text: str) -> list[str]:
        """See ``Segmenter``."""
        return list(self._tokenizer.cut(text, HMM=False))


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
