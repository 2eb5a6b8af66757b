"""The texts of all blocks as one array of code points: counts of kinds of characters, words and pairs of ideographs as hashes."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import chain, starmap
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.extraction.blocks import LINK_END, LINK_START
from es_dedup.text.hashing import powers
from es_dedup.text.ragged import run_starts, sorted_distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

KINDS: Final = (
    "space", "lower", "upper", "ideograph", "kana", "letter", "digit", "stop", "comma", "separator", "bracket", "symbol", "mark",
)  # fmt: skip
"""Kinds of characters; ``letter``: of other scripts; ``mark``: around links."""

SPACE, LOWER, UPPER, IDEOGRAPH, KANA, LETTER, DIGIT, STOP, COMMA, SEPARATOR, BRACKET, SYMBOL, MARK = range(
    len(KINDS)
)
UNITS: Final = np.array([0, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 0], np.float64) / 3
"""Length of a character of each kind: an ideograph is 1, a Latin letter a third."""

SHORT_UNITS: Final = 40.0
"""Words of longer blocks say nothing of what a block is."""

_PLANE: Final = 0x10000
_NO_IDEOGRAPHS: Final = ((0, 0x3400), (0x4DC0, 0x4E00), (0xA000, 0xAC00), (0xD7B0, 0x10000))
_STOPS: Final = ".!?。！？…．｡؟۔।"
_COMMAS: Final = ",;:，、；：،"
_SEPARATORS: Final = "|/•·›»→>«‹～~_=+#*│｜丨-–—"
_BRACKETS: Final = "()[]{}（）【】《》「」『』〈〉“”‘’\"'"
_PRIME: Final = 0x9E3779B97F4A7C15
_INVERSE: Final = pow(_PRIME, -1, 1 << 64)
_RUN: Final = 8
_SAMPLE: Final = 4
_MIX: Final = np.uint64(0xFF51AFD7ED558CCD)

DATES: Final = re.compile(
    r"(?:19|20)\d\d\s?[-/.年]\s?\d{1,2}\s?(?:[-/.月]\s?\d{1,2})?|\b\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d\d\b|\d{1,2}月\d{1,2}日|\b\d{1,2}:\d\d\b|"
    r"\b[^\W\d]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?,? (?:19|20)\d\d|\b\d{1,2}\.? [^\W\d]{3,9}\.?,? (?:19|20)\d\d|"
    r"\d+\s?(?:秒|分钟|分鐘|小时|小時|天|日|周|个月|月|年|時間)前|"
    r"\b\d+ (?:second|minute|min|hour|day|week|month|year)s? ago|\bvor \d+ ",
    re.IGNORECASE,
)
"""Days, clocks and ages, by their form; all have a digit."""
_MAY_BE_DATED: Final = re.compile(r"(?:19|20)\d\d|\d[-/.月:]|前|ago|vor", re.IGNORECASE)
"""Something of this stands in all of ``DATES``; it is found sooner."""

DATED_CHARS: Final = 200
"""Of a block, that are looked at for dates."""


@dataclass(slots=True)
class Characters:
    """What the blocks' texts are made of.

    Attributes:
        counts: of each kind (columns) in each block (rows).
        linked: the same of link text.
        units: length of each block.
        links: number of links in each block.
        dates: number of dates in each block.
        bigrams: hashes of pairs of characters without space and marks, small letters.
        bigram_blocks: block of each.
        words: hashes of words (of letters) and of pairs of ideographs, of blocks of at most ``SHORT_UNITS``.
        word_blocks: block of each.
        first, last: kind of each block's first and last character.
        above, below: share of each block's text that stands in a block above it or below it, too.
    """

    counts: NDArray[np.int64]
    linked: NDArray[np.int64]
    units: NDArray[np.float64]
    links: NDArray[np.int64]
    dates: NDArray[np.int64]
    bigrams: NDArray[np.uint64]
    bigram_blocks: NDArray[np.int64]
    words: NDArray[np.uint64]
    word_blocks: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    above: NDArray[np.float64]
    below: NDArray[np.float64]

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Characters of each block without white space."""
        return np.asarray(self.counts[:, 1:MARK].sum(axis=1), np.float64)


@cache
def _kinds() -> NDArray[np.uint8]:
    """Kind of each code point of the first plane; all others are symbols or, in planes 2 and 3, ideographs."""
    table = np.full(_PLANE, SYMBOL, np.uint8)
    for code in chain(*starmap(range, _NO_IDEOGRAPHS)):
        category = unicodedata.category(chr(code))
        if category[0] in "LM":
            table[code] = LETTER
        elif category[0] in "ZC":
            table[code] = SPACE
        elif category == "Nd":
            table[code] = DIGIT
        elif category in ("Ps", "Pe", "Pi", "Pf"):
            table[code] = BRACKET
    for first, last, kind in ((0x61, 0x7A, LOWER), (0x41, 0x5A, UPPER), (0xDF, 0xFF, LOWER), (0xC0, 0xDE, UPPER),
                              (0x3400, 0x4DBF, IDEOGRAPH), (0x4E00, 0x9FFF, IDEOGRAPH), (0xF900, 0xFAFF, IDEOGRAPH),
                              (0x3041, 0x30FF, KANA), (0xAC00, 0xD7AF, KANA)):  # fmt: skip
        table[first : last + 1] = kind
    for characters, kind in ((_STOPS, STOP), (_COMMAS, COMMA), (_SEPARATORS, SEPARATOR), (_BRACKETS, BRACKET),
                             (LINK_START + LINK_END, MARK)):  # fmt: skip
        table[[ord(character) for character in characters]] = kind
    return table


def code_points(text: str) -> NDArray[np.uint32]:
    """Code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def kinds_of(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Kind of each code point."""
    if codes.size and int(codes.max()) >= _PLANE:
        kinds = _kinds()[np.minimum(codes, _PLANE - 1)]
        high = codes >= _PLANE
        kinds[high] = np.where((codes[high] >= 2 * _PLANE) & (codes[high] < 4 * _PLANE), IDEOGRAPH, SYMBOL)
        return kinds
    return _kinds()[codes]


def _small(codes: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Capitals as small letters, all digits as one."""
    wide = codes.astype(np.uint64)
    wide[kinds == UPPER] += np.uint64(32)
    wide[kinds == DIGIT] = np.uint64(48)
    return wide


def read_characters(texts: Sequence[str]) -> Characters:
    """What the texts of blocks are made of; work grows with their length."""
    joined = "\n".join(texts) + "\n"
    codes = code_points(joined)
    kinds = kinds_of(codes)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
    blocks = np.repeat(np.arange(len(texts)), lengths)
    starts_link = codes == ord(LINK_START)
    inside = np.cumsum(starts_link.astype(np.int8) - (codes == ord(LINK_END)), dtype=np.int32) > 0
    # a dot is a stop only at the end of a word: not in numbers, names of files, addresses
    dots = np.flatnonzero(codes[:-1] == ord("."))
    after = kinds[dots + 1]
    kinds[dots[(after != SPACE) & (after != MARK) & (after != BRACKET) & (after != STOP)]] = SEPARATOR
    width = len(KINDS)
    cells = (blocks * 2 + inside) * width + kinds
    counts = np.bincount(cells, minlength=len(texts) * 2 * width).reshape(len(texts), 2, width)
    dates = np.zeros(len(texts), np.int64)
    for block in np.flatnonzero(counts[:, :, DIGIT].any(axis=1)).tolist():
        text = texts[block][:DATED_CHARS]
        if _MAY_BE_DATED.search(text):
            dates[block] = len(DATES.findall(text))
    small = _small(codes, kinds)
    plain = (kinds != SPACE) & (kinds != MARK)
    order = np.flatnonzero(plain)
    pair_blocks, bigrams = _pairs(small[order], blocks[order])
    all_counts = counts.sum(axis=1)
    units = all_counts @ UNITS
    short = np.repeat(units <= SHORT_UNITS, lengths)
    word_blocks, words = _words(small[short], kinds[short], blocks[short])
    edge_kinds, edge_blocks = kinds[order], blocks[order]
    first, last = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
    last[edge_blocks] = edge_kinds  # the last of equal places wins
    first[edge_blocks[::-1]] = edge_kinds[::-1]
    return Characters(
        all_counts, counts[:, 1], units, np.bincount(blocks[starts_link], minlength=len(texts)), dates,
        bigrams, pair_blocks, words, word_blocks, first, last, *_repeated(bigrams, pair_blocks, len(texts)),
    )  # fmt: skip


def _pairs(
    codes: NDArray[np.uint64], blocks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    same = blocks[1:] == blocks[:-1]
    return blocks[1:][same], ((codes[:-1] << np.uint64(21)) | codes[1:])[same]


def _repeated(
    bigrams: NDArray[np.uint64], blocks: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share of each block's runs of nine characters, of one in ``_SAMPLE``, that stand in a block above and below."""
    if bigrams.size <= _RUN:
        return np.zeros(count), np.zeros(count)
    runs = bigrams[:-_RUN] * _MIX
    for step in range(2, _RUN + 1, 2):
        runs = (runs ^ bigrams[step : bigrams.size - _RUN + step]) * np.uint64(_PRIME)
    chosen = np.flatnonzero(
        (blocks[:-_RUN] == blocks[_RUN:]) & ((runs >> np.uint64(60)) % np.uint64(_SAMPLE) == 0)
    )
    own = blocks[chosen]
    order = np.argsort(runs[chosen])
    ordered, owners = runs[chosen][order], own[order]
    starts = run_starts(ordered)
    sizes = np.diff(starts, append=order.size)
    first = np.repeat(np.minimum.reduceat(owners, starts), sizes)
    last = np.repeat(np.maximum.reduceat(owners, starts), sizes)
    total = np.maximum(np.bincount(own, minlength=count), 1)
    return (
        np.bincount(owners[first < owners], minlength=count) / total,
        np.bincount(owners[last > owners], minlength=count) / total,
    )


def _words(
    codes: NDArray[np.uint64], kinds: NDArray[np.uint8], blocks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Words of letters and digits by a polynomial of their code points, pairs of ideographs and kana as they are."""
    dense = (kinds == IDEOGRAPH) | (kinds == KANA)
    near = np.flatnonzero(dense[:-1] & dense[1:])
    pairs = (codes[near] << np.uint64(21)) | codes[near + 1]
    letters = (kinds == LOWER) | (kinds == UPPER) | (kinds == LETTER) | (kinds == DIGIT)
    order = np.flatnonzero(letters)
    if not order.size:
        return blocks[near], pairs * _MIX
    begins = np.flatnonzero(np.diff(order, prepend=-2) > 1)
    ends = np.append(begins[1:], order.size)
    multiples, inverses = _power_tables(1 << max(order.size - 1, 1 << 16).bit_length())
    sums = np.concatenate(([np.uint64(0)], np.cumsum(codes[order] * multiples[: order.size])))
    words = (sums[ends] - sums[begins]) * inverses[begins]
    return np.concatenate((blocks[near], blocks[order[begins]])), np.concatenate((pairs * _MIX, words))


@cache
def _power_tables(size: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Powers of an odd number and of its inverse, modulo 2^64."""
    return powers(_PRIME, size), powers(_INVERSE, size)


def hashed_bigrams(text: str) -> NDArray[np.uint64]:
    """Distinct hashes of the pairs of characters of one text, as in ``Characters.bigrams``, sorted."""
    codes = code_points(text)
    kinds = kinds_of(codes)
    plain = _small(codes, kinds)[(kinds != SPACE) & (kinds != MARK)]
    return sorted_distinct((plain[:-1] << np.uint64(21)) | plain[1:])
