"""Tables over Unicode code points: what each character becomes, and what kind of token it makes.

The tables cover the basic plane (65,536 entries, built on first use in about 50 ms); what a table cannot express
(expansion to several characters, combining sequences, the other planes) is flagged and done on the string itself.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.simplify import traditional_characters

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
_UNCHANGED: Final = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xE000, 0xF8FF),
)  # folding keeps these
_QUOTES: Final = {
    **dict.fromkeys("“”„‟「」『』", '"'),
    **dict.fromkeys("‘’‚‛", "'"),
    **dict.fromkeys("‐‑‒–—―─", "-"),
}
_ODD: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_JAMO: Final = (0x1100, 0x11FF)
_VOWEL_SIGNS: Final = frozenset(
    map(
        ord,
        "\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1b35",
    )
)
"""Indic signs that join the character before them, though they are no combining characters."""


@dataclass(frozen=True, slots=True)
class Tables:
    """One entry per code point of the basic plane.

    Attributes:
        mapped: the normalised code point; 0 where the character is dropped.
        slow: True where the string needs the full Unicode algorithm.
        traditional: True where simplification may change the character.
        kind: SEPARATOR, CJK (a token of its own) or WORD (part of a run).
    """

    mapped: NDArray[np.uint32]
    slow: NDArray[np.bool_]
    traditional: NDArray[np.bool_]
    kind: NDArray[np.uint8]


def fold_character(character: str) -> str:
    """NFKC, then straight quotes and dashes, then lower case, of one character; empty for control characters."""
    if 0xD800 <= ord(character) <= 0xDFFF:
        return ""
    folded = "".join(_QUOTES.get(c, c) for c in unicodedata.normalize("NFKC", character)).lower()
    return "".join(c for c in folded if not _dropped(c))


def fold_string(text: str) -> str:
    """What ``fold_character`` cannot do alone: composition across characters, expansion, context of lower case.

    Quotes, dashes and what is dropped are left to the tables.
    """
    kept = "".join(c for c in text if not _dropped(c)) if _ODD.search(text) else text
    return unicodedata.normalize("NFKC", kept).lower()


def kind_of(code: int) -> int:
    """SEPARATOR, CJK or WORD for any code point."""
    if any(low <= code <= high for low, high in _SINGLE_RANGES):
        return CJK
    return WORD if chr(code).isalnum() else SEPARATOR


def _dropped(character: str) -> bool:
    category = unicodedata.category(character)
    return category in ("Cf", "Cs") or (category == "Cc" and character not in "\n\t")


@cache
def tables() -> Tables:
    """The tables, built once per process."""
    mapped = np.zeros(PLANE, dtype=np.uint32)
    slow = np.zeros(PLANE, dtype=np.bool_)
    traditional = np.zeros(PLANE, dtype=np.bool_)
    kind = np.zeros(PLANE, dtype=np.uint8)
    for low, high in _UNCHANGED:
        mapped[low : high + 1] = np.arange(low, high + 1, dtype=np.uint32)
        kind[low : high + 1] = kind_of(low)
    for code in _others():
        character = chr(code)
        kind[code] = WORD if character.isalnum() else SEPARATOR
        if _stays(character):
            mapped[code] = 0x20 if character.isspace() else code
            continue
        folded = fold_character(character)
        if len(folded) > 1 or any(map(_composes, unicodedata.normalize("NFKC", character))):
            slow[code] = True
        mapped[code] = 0 if len(folded) != 1 else 0x20 if folded.isspace() else ord(folded)
    for low, high in _SINGLE_RANGES:
        kind[low : high + 1] = CJK
    mapped[0x0D] = mapped[0x0A] = 0x0A
    mapped[0x09] = 0x20
    for character in traditional_characters():
        if ord(character) < PLANE:
            traditional[ord(character)] = True
    return Tables(mapped, slow, traditional, kind)


def _stays(character: str) -> bool:
    """Whether folding leaves the character unchanged in any context, which is true of most and quick to test."""
    return (
        character == unicodedata.normalize("NFKC", character)
        and character == character.lower()
        and character not in _QUOTES
        and not _dropped(character)
        and not _composes(character)
    )


def _others() -> Iterator[int]:
    start = 0
    for low, high in _UNCHANGED:
        yield from range(start, low)
        start = high + 1
    yield from range(start, PLANE)


def _composes(character: str) -> bool:
    """Characters whose folding depends on their neighbours."""
    code = ord(character)
    return (
        unicodedata.combining(character) != 0
        or _JAMO[0] <= code <= _JAMO[1]
        or code in _VOWEL_SIGNS
        or code in (0x03A3, 0x0130)
        or 0xD800 <= code <= 0xDFFF
    )


@cache
def table_of(characters: str) -> NDArray[np.bool_]:
    """True for these characters; shape (PLANE,)."""
    table = np.zeros(PLANE, dtype=np.bool_)
    table[[ord(each) for each in characters]] = True
    return table
