"""White space and invisible characters in the text of a page."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_INNER_CHARS: Final = 4_000
_MAX_PIECES: Final = 500

_INVISIBLE: Final = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ud800-\udfff\x00-\x08\x0e-\x1f]+"
)
_WIDE: Final = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_LINE_END: Final = re.compile(f"([{_WIDE}][\ufdd0\ufdd1]*)[^\\S\n]*\n\\s*(?=[\ufdd0\ufdd1]*[{_WIDE}])")
"""A line end between two characters of scripts that put no space there; marks of links may stand between."""


def fold(text: str) -> str:
    """White space as single spaces, and none where a line ends between two ideographs."""
    if not text.isascii() and ("\n" in text or "\r" in text):
        text = _LINE_END.sub(r"\1", text.replace("\r", "\n"))
    return " ".join(text.split())


def clean(text: str) -> str:
    """White space folded to single spaces; invisible characters, and line ends between ideographs, removed."""
    text = text.strip()
    if text.isprintable():  # true of most lines: the space is their only white space
        return " ".join(text.split()) if "  " in text else text
    text = fold(text)
    return text if text.isprintable() else " ".join(_INVISIBLE.sub("", text).split())


def text_inside(element: _Element) -> str:
    """Text of an element and of those in it; of a very long one the beginning."""
    return "".join(map(str, islice(element.itertext(), _MAX_PIECES)))[:MAX_INNER_CHARS]
