"""Frequent characters of a page (the main string) and what follows each of them (the auxiliary string).

Source: the patent application on deduplicating pages by character frequency, numbering and strings as in its description;
docs/algorithms/char_frequency.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.characters import CJK, PLANE
from es_dedup.text.characters import WORD as WORD_KIND
from es_dedup.text.normalise import TextBatch, decode, normalise_many
from es_dedup.text.ragged import SameArrays, gather, offsets_of, owners_of
from es_dedup.text.stopwords import STOP_CHARACTERS, STOP_WORDS
from es_dedup.text.tokens import character_kinds, tokenise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


LEVEL_1: Final = 3755
GB2312: Final = 6763
CODES: Final = 6799  # 6,763 characters, ten digits, 26 letters
WORD: Final = 1 << 31
"""Units from here on are words: pages in other scripts are compared by words, as letters carry nothing."""
_CODE_BITS: Final = 32
_FIRST_ROW: Final = 16
_ROW: Final = 94
_SHORT_ROW: Final = 55  # has 89 characters


@dataclass(frozen=True, slots=True, eq=False)
class FrequentUnits(SameArrays):
    """Main and auxiliary string of one page.

    Attributes:
        length: characters of the normalised text without white space.
        units: S1: codes of the frequent characters (or words), ascending, distinct; unsigned 32-bit.
            A follower without a number in GB 2312 has one from 6,799 on (``follower_table``).
        offsets: the followers of ``units[i]`` are ``followers[offsets[i]:offsets[i + 1]]``.
        followers: S2: for each frequent unit the unit after each of its occurrences, in text order.
    """

    length: int
    units: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    followers: NDArray[np.uint32]

    @property
    def compared(self) -> NDArray[np.uint32]:
        """S1 as the main comparison takes it: without function words."""
        return self.units[~np.isin(self.units, _stop_units())]


def gb_code(character: str) -> int:
    """Number of a character: GB 2312 0-6762 (level 1 below 3,755), digits 6763-6772, letters 6773-6798; -1 for others."""
    if character.isascii():
        if character.isdigit():
            return GB2312 + ord(character) - ord("0")
        return GB2312 + 10 + ord(character) - ord("a") if "a" <= character <= "z" else -1
    try:
        first, second = character.encode("gb2312")
    except (UnicodeEncodeError, ValueError):
        return -1
    row, cell = first - 0xA0, second - 0xA0
    if row < _FIRST_ROW:
        return -1
    return (row - _FIRST_ROW) * _ROW + cell - 1 - (5 if row > _SHORT_ROW else 0)


def frequent_units(batch: TextBatch, count_above: int) -> list[FrequentUnits]:
    """Both strings of each page of normalised texts.

    Only characters of level 1 become frequent; a follower is the next character, of any kind, or on a page compared by words the next word.

    Args:
        batch: the pages. One with more words of letters than Chinese characters is compared by words.
        count_above: a unit is frequent when it occurs more often than this.
    """
    words = _mostly_words(batch)
    by_words, by_characters = np.flatnonzero(words), np.flatnonzero(~words)
    chinese, others = _rows(batch, by_characters), tokenise(_rows(batch, by_words))
    solid = _solid(chinese.codes)
    numbers = follower_table()[np.minimum(chinese.codes[solid], PLANE - 1)].astype(np.int64)
    lengths, code_owners = _lengths(batch), owners_of(chinese.offsets)[solid]
    found = [
        *_strings(numbers, code_owners, lengths[by_characters], count_above),
        *_strings(_word_units(others.hashes), others.pages.astype(np.int64), lengths[by_words], count_above),
    ]
    pages = dict(zip((*by_characters.tolist(), *by_words.tolist()), found, strict=True))
    return [pages[at] for at in range(len(batch))]


def unit_names(page: FrequentUnits, text: str) -> dict[int, str] | None:
    """The characters, or words, of the units and followers of a page that was made from this text.

    Characters need no text; None for words that are not in it.
    """
    numbers = {*page.units.tolist(), *page.followers.tolist()}
    if all(number < WORD for number in numbers):
        return {number: chr(_code_points()[number]) for number in numbers}
    batch = normalise_many([text])
    tokens = tokenise(batch)
    units = _word_units(tokens.hashes).tolist()
    edges = zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)
    found = {unit: decode(batch.codes[start:end]) for unit, (start, end) in zip(units, edges, strict=True)}
    return found if numbers <= found.keys() else None


def followers_by_name(page: FrequentUnits, names: Mapping[int, str]) -> list[dict[str, str]]:
    """For each frequent unit its followers in text order, as one string; words are separated by spaces."""
    space = " " if any(unit >= WORD for unit in page.units.tolist()) else ""
    after = [names[unit] for unit in page.followers.tolist()]
    return [
        {"character": names[unit], "followers": space.join(after[low:high])}
        for unit, (low, high) in zip(page.units.tolist(), pairwise(page.offsets.tolist()), strict=True)
    ]


def _mostly_words(batch: TextBatch) -> NDArray[np.bool_]:
    """Whether a page has more words of letters than Chinese characters; shape (pages,)."""
    kinds = character_kinds(batch.codes)
    inside = kinds == WORD_KIND
    begins = inside.copy()
    begins[1:] &= ~inside[:-1]
    first = batch.offsets[:-1][batch.offsets[:-1] < len(inside)]
    begins[first] = inside[first]
    balance = np.concatenate(([0], np.cumsum(begins.astype(np.int32) - (kinds == CJK), dtype=np.int64)))
    return np.asarray(np.diff(balance[batch.offsets]) > 0)


def _rows(batch: TextBatch, pages: NDArray[np.int64]) -> TextBatch:
    places, _ = gather(batch.offsets, pages)
    lengths = batch.offsets[pages + 1] - batch.offsets[pages]
    return TextBatch(batch.codes[places], np.concatenate(([0], np.cumsum(lengths))))


def _lengths(batch: TextBatch) -> NDArray[np.int64]:
    solid = np.concatenate(([0], np.cumsum(_solid(batch.codes))))
    return np.asarray(np.diff(solid[batch.offsets]))


def _solid(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether each code point of normalised text is no white space."""
    return np.asarray((codes != ord(" ")) & (codes != ord("\n")))


def _strings(
    units: NDArray[np.int64], owner: NDArray[np.int64], lengths: NDArray[np.int64], count_above: int
) -> list[FrequentUnits]:
    """Both strings of each page from its characters or words in order."""
    distinct, entry, counts = np.unique(owner << _CODE_BITS | units, return_inverse=True, return_counts=True)
    codes = distinct & ((1 << _CODE_BITS) - 1)
    frequent = (counts > count_above) & ((codes < LEVEL_1) | (codes >= WORD))
    at = np.flatnonzero(frequent[entry[:-1]] & (owner[1:] == owner[:-1]))
    number = (np.cumsum(frequent) - 1)[entry[at]]
    # radix sort takes 16-bit keys only
    narrow = number.astype(np.uint16) if len(counts) <= 1 << 16 else number
    followers = units[at + 1][np.argsort(narrow, kind="stable")].astype(np.uint32)
    frequent_codes = codes[frequent].astype(np.uint32)
    ends = np.concatenate(([0], np.cumsum(np.bincount(number, minlength=len(frequent_codes)))))
    found = []
    edges = pairwise(offsets_of((distinct >> _CODE_BITS)[frequent], len(lengths)).tolist())
    for length, (low, high) in zip(lengths.tolist(), edges, strict=True):
        own = ends[low : high + 1]
        found.append(
            FrequentUnits(length, frequent_codes[low:high], own - own[0], followers[own[0] : own[-1]])
        )
    return found


def _word_units(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (hashes >> np.uint64(33)).astype(np.int64) | WORD


@cache
def follower_table() -> NDArray[np.uint16]:
    """Number of each code point of the basic plane: that of ``gb_code``, else one from 6,799 on in the order of Unicode.

    All numbers differ and fit two bytes; code points beyond the plane share that of its last one.
    """
    table = np.full(PLANE, -1, dtype=np.int32)
    for code in (
        *range(0x80),
        *range(0x4E00, 0xA000),
    ):  # ASCII and the ideographs, which have all that are numbered
        table[code] = gb_code(chr(code))
    without = table < 0
    table[without] = CODES + np.arange(int(without.sum()))
    return table.astype(np.uint16)


@cache
def _code_points() -> NDArray[np.int64]:
    """Code point of each number of ``follower_table``; U+FFFD for the number of all beyond the basic plane."""
    codes = np.argsort(follower_table())
    codes[follower_table()[-1]] = ord("\N{REPLACEMENT CHARACTER}")
    return codes


@cache
def _stop_units() -> NDArray[np.uint32]:
    """Codes of function words: of Chinese characters, and of words in letters."""
    characters = [gb_code(character) for character in sorted(STOP_CHARACTERS)]
    tokens = tokenise(normalise_many([" ".join(sorted(word for word in STOP_WORDS if word.isascii()))]))
    return np.sort(np.concatenate((np.array(characters), _word_units(tokens.hashes)))).astype(np.uint32)
