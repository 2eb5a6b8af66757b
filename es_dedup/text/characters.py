"""Tables over Unicode code points: what each character becomes, and what kind of token it makes.

The tables cover the basic plane (65,536 entries, built on first use in about 10 ms); what a table cannot express
(expansion to several characters, combining sequences, the other planes) is flagged and done on the string itself.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup import lazy
from es_dedup.text.simplify import characters as characters_of_simplifier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

PLANE: Final = 0x10000
SEPARATOR, CJK, WORD = 0, 1, 2  # kinds of characters

_SINGLE_RANGES: Final = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x3040, 0x30FF),
    (0xAC00, 0xD7A3),
    (0x20000, 0x3FFFF),
)
UNSPACED_WORDS: Final = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
"""Thai and Lao, Burmese, Khmer: WORD characters of scripts without spaces between words."""
UNSPACED: Final = "".join(f"{chr(low)}-{chr(high)}" for low, high in (*_SINGLE_RANGES, *UNSPACED_WORDS))
"""All characters of such scripts, in the notation of a regular expression's character class."""
_IDEOGRAPHS: Final = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF))
_UNCHANGED: Final = (*_IDEOGRAPHS, (0xAC00, 0xD7A3), (0xE000, 0xF8FF))  # folding keeps these
_STRAIGHT: Final = str.maketrans("“”„‟「」『』" + "‘’‚‛" + "‐‑‒–—―─", '"' * 8 + "'" * 4 + "-" * 7)
"""Quotes and dashes to those of a keyboard."""
_ODD: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_SURROGATES: Final = (0xD800, 0xDFFF)
_VOWEL_SIGNS: Final = (
    "\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1b35"
)
"""Indic signs that join the character before them, though they are no combining characters."""
_COMPOSING: Final = (*map(chr, range(0x1100, 0x1200)), *_VOWEL_SIGNS, "\u03a3", "\u0130")
"""Characters whose folding depends on their neighbours, besides combining ones: Jamo, these signs, and the capitals of final sigma and dotted i."""


@dataclass(frozen=True, slots=True)
class Tables:
    """One entry per code point of the basic plane.

    Attributes:
        mapped: the normalised code point; 0 where the character is dropped.
        slow: True where the string needs the full Unicode algorithm.
        joining: False for characters across which that algorithm does not look: white space and ideographs.
        simplified: the character, simplified where it stands alone.
        in_phrases, by_phrase: True for the characters that ``simplify.Characters`` names so.
        kind: SEPARATOR, CJK (a token of its own) or WORD (part of a run).
    """

    mapped: NDArray[np.uint32]
    slow: NDArray[np.bool_]
    joining: NDArray[np.bool_]
    simplified: NDArray[np.uint32]
    in_phrases: NDArray[np.bool_]
    by_phrase: NDArray[np.bool_]
    kind: NDArray[np.uint8]


def fold_string(text: str) -> str:
    """What the tables cannot do: composition across characters, expansion, context of lower case; the rest is left to them."""
    kept = "".join(c for c in text if not _dropped(c)) if _ODD.search(text) else text
    return unicodedata.normalize("NFKC", kept).lower()


def kind_of(code: int) -> int:
    """SEPARATOR, CJK or WORD for any code point."""
    if any(low <= code <= high for low, high in _SINGLE_RANGES):
        return CJK
    return WORD if chr(code).isalnum() else SEPARATOR


def _dropped(character: str) -> bool:
    category = unicodedata.category(character)
    return category in ("Cf", "Cs") or (category == "Cc" and character not in "\n\r\t")


@lazy.once
def tables() -> Tables:
    """The tables, built once per process."""
    mapped = np.zeros(PLANE, dtype=np.uint32)
    slow = np.zeros(PLANE, dtype=np.bool_)
    kind = np.zeros(PLANE, dtype=np.uint8)
    for low, high in _UNCHANGED:
        mapped[low : high + 1] = np.arange(low, high + 1, dtype=np.uint32)
        kind[low : high + 1] = kind_of(low)
    codes = [*_others()]
    characters = [*map(chr, codes)]
    normal, folded = _folded_alone(characters)
    kind[codes] = [WORD if each.isalnum() else SEPARATOR for each in characters]
    mapped[codes] = [0 if len(each) != 1 else 0x20 if each.isspace() else ord(each) for each in folded]
    composing = {*_COMPOSING, *(each for each in characters if unicodedata.combining(each))}
    slow[codes] = [
        len(after) > 1 or not composing.isdisjoint(before)
        for before, after in zip(normal, folded, strict=True)
    ]
    slow[_SURROGATES[0] : _SURROGATES[1] + 1] = True
    for low, high in _SINGLE_RANGES:
        kind[low : high + 1] = CJK
    mapped[0x0D] = mapped[0x0A] = 0x0A
    mapped[0x09] = 0x20
    joining = slow | ~np.isin(mapped, (0x20, 0x0A))
    for low, high in _IDEOGRAPHS:
        joining[low : high + 1] = False
    known = characters_of_simplifier()
    simplified = np.arange(PLANE, dtype=np.uint32)
    simplified[[*map(ord, known.traditional)]] = [*map(ord, known.simplified)]
    return Tables(
        mapped, slow, joining, simplified, table_of(known.in_phrases), table_of(known.by_phrase), kind
    )


def _folded_alone(characters: list[str]) -> tuple[list[str], list[str]]:
    """NFKC of each character; and then with straight quotes and dashes, in lower case, and without control characters.

    Each is a line of one text, which takes a third of the time: nothing composes with a line feed, and lower case does not look across it.
    """
    normal = unicodedata.normalize("NFKC", "\n".join(characters))
    dropped = dict.fromkeys(ord(each) for each in characters if _dropped(each))
    folded = normal.translate(_STRAIGHT | dropped).lower()
    return normal.split("\n"), folded.split("\n")


def _others() -> Iterator[int]:
    """Code points that folding may change and that can stand in a text as a line of their own."""
    start = 0
    for low, high in sorted((*_UNCHANGED, _SURROGATES, (0x0A, 0x0A))):
        yield from range(start, low)
        start = high + 1
    yield from range(start, PLANE)


@cache
def table_of(characters: str) -> NDArray[np.bool_]:
    """True for these characters; shape (PLANE,)."""
    table = np.zeros(PLANE, dtype=np.bool_)
    table[[ord(each) for each in characters]] = True
    return table
