"""Words of a text, with their parts of speech; the only module that imports a segmenter.

Two packages stand behind one interface: ``rjieba`` (jieba's dictionary in native code) and ``jieba`` itself; each by dictionary
alone, or with the statistical model that finds unknown words (``-hmm``). docs/algorithms/segmentation.md says how they differ.
"""

from __future__ import annotations

import logging
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from es_dedup.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT: Final = "rjieba"


class Segmenter(Protocol):
    """Cuts normalised text into words."""

    name: str

    def cut(self, text: str) -> list[str]:
        """Words in order; joined they give the text again, white space and punctuation included."""

    def tag(self, word: str) -> str:
        """Part of speech of a word that ``cut`` has given, by the tag set of ICTCLAS; ``x`` when unknown."""


class RjiebaSegmenter:
    """Words by rjieba.

    Args:
        hmm: find words that are not in the dictionary by its statistical model; without it they fall into characters.
    """

    def __init__(self, *, hmm: bool = False) -> None:
        import rjieba  # noqa: PLC0415 - the dictionary takes 50 MB, only who segments pays for it

        self.name = "rjieba-hmm" if hmm else "rjieba"
        self._hmm = hmm
        self._cut, self._tag = rjieba.cut, rjieba.tag

    def cut(self, text: str) -> list[str]:
        """See ``Segmenter``."""
        return list(self._cut(text, self._hmm))

    def tag(self, word: str) -> str:
        """See ``Segmenter``."""
        found = self._tag(word, self._hmm)
        return str(found[0][1]) if len(found) == 1 else "x"


class JiebaSegmenter:
    """Words by jieba.

    Args:
        hmm: as for ``RjiebaSegmenter``; ``jieba.cut(text)`` does so by default.
    """

    def __init__(self, *, hmm: bool = False) -> None:
        import jieba  # noqa: PLC0415 - its dictionary loads for a second

        jieba.setLogLevel(logging.WARNING)
        self.name = "jieba-hmm" if hmm else "jieba"
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
    """The segmenter of that name, ``rjieba``, ``jieba``, ``rjieba-hmm`` or ``jieba-hmm``, built once per process.

    Raises:
        ConfigError: the name is unknown, or the package is not installed. Another one does not take its place: pages of
            one index are segmented alike.
    """
    if name not in _SEGMENTERS:
        raise ConfigError((f"words.segmenter: must be one of {', '.join(_SEGMENTERS)}, got {name!r}",))
    try:
        return _SEGMENTERS[name]()
    except ImportError as error:
        package = name.removesuffix("-hmm")
        others = " or ".join(each for each in _SEGMENTERS if each.removesuffix("-hmm") != package)
        raise ConfigError(
            (f"words.segmenter: {name} cannot be imported ({error}): install it, or choose {others}",)
        ) from error


_SEGMENTERS: Final[dict[str, Callable[[], Segmenter]]] = {
    "rjieba": RjiebaSegmenter,
    "jieba": JiebaSegmenter,
    "rjieba-hmm": partial(RjiebaSegmenter, hmm=True),
    "jieba-hmm": partial(JiebaSegmenter, hmm=True),
}


def words(text: str, by: str = DEFAULT) -> list[str]:
    """Words of a normalised text that hold a letter or digit, in order; ``by`` names the segmenter."""
    return [word for word in segmenter(by).cut(text) if any(character.isalnum() for character in word)]


def search_text(text: str, by: str = DEFAULT) -> str:
    """Words separated by spaces: the form in which full text is indexed and queried."""
    return " ".join(words(text, by))
