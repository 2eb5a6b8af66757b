"""Tokens, clauses and grams of many normalised texts at once, as arrays of hashes.

A token is one Chinese character (kana, hangul syllable) or one run of other letters and digits. A clause is what
stands between two clause marks. Hashes depend on the tokens alone, never on the place in the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.characters import CJK, PLANE, SEPARATOR, UNSPACED_WORDS, WORD, kind_of, table_of, tables
from es_dedup.text.hashing import mix64, powers
from es_dedup.text.normalise import TextBatch, decode, normalise_many
from es_dedup.text.ragged import begins_run, gather_between, owners_of, run_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


CJK_GRAM: Final = 5  # tokens; shorter grams match by chance (docs/algorithms/coverage.md)
WORD_GRAM: Final = 4  # tokens

_HARD_MARKS: Final = "。!?;…\n"
_SOFT_MARKS: Final = ".,:"
_CHARACTER_BASE: Final = 0x9E6D62D06F6A9A9B
TOKEN_BASE: Final = 0xC2B2AE3D27D4EB4F
GRAM_BASE: Final = 0x165667B19E3779F9


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Tokens of several pages.

    Attributes:
        hashes: one 64-bit hash per token; shape (tokens,).
        single: True for one-character tokens.
        starts, ends: place of each token in ``TextBatch.codes``.
        pages: page of each token, ascending.
        offsets: tokens of page ``i`` are ``[offsets[i]:offsets[i + 1]]``.
        clause: running number of the clause each token stands in; every clause has a token.
        clause_offsets: clauses of page ``i`` are numbered ``[clause_offsets[i]:clause_offsets[i + 1]]``.
    """

    hashes: NDArray[np.uint64]
    single: NDArray[np.bool_]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    pages: NDArray[np.int32]
    offsets: NDArray[np.int64]
    clause: NDArray[np.int64]
    clause_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def clause_count(self) -> int:
        """Number of clauses in the batch."""
        return int(self.clause_offsets[-1])

    @property
    def clause_starts(self) -> NDArray[np.int64]:
        """Index of each clause's first token; shape (clauses,)."""
        return run_starts(self.clause)


def tokenise(batch: TextBatch) -> TokenBatch:
    """Tokens and clauses of normalised texts."""
    codes, kinds = batch.codes, character_kinds(batch.codes)
    boundary = np.zeros(len(codes) + 1, dtype=np.bool_)
    boundary[batch.offsets] = True
    inside_word = kinds == WORD
    continues = np.zeros(len(codes), dtype=np.bool_)
    continues[1:] = inside_word[1:] & inside_word[:-1]
    continues &= ~boundary[:-1]
    starts = np.flatnonzero((kinds != SEPARATOR) & ~continues)
    single = kinds[starts] == CJK
    ends = _ends(starts, continues)
    hashes = segment_hashes(mix64(codes.astype(np.uint64)), starts, ends, _CHARACTER_BASE)
    offsets = np.searchsorted(starts, batch.offsets)
    pages = owners_of(offsets).astype(np.int32)
    clause, clause_offsets = _clauses(codes, starts, boundary, offsets)
    return TokenBatch(hashes, single, starts, ends, pages, offsets, clause, clause_offsets)


def segment_hashes(
    values: NDArray[np.uint64], starts: NDArray[np.int64], ends: NDArray[np.int64], base: int
) -> NDArray[np.uint64]:
    """One hash per segment ``values[start:end]``, polynomial in the position inside it, then mixed.

    Args:
        values: already mixed 64-bit values.
        starts, ends: ascending, not overlapping, each segment at least one long.
        base: odd multiplier.
    """
    lengths = ends - starts
    places, owner = gather_between(starts, ends)
    power = powers(base, int(lengths.max(initial=0)))[places - starts[owner]]
    return mix64(np.add.reduceat(values[places] * power, np.cumsum(lengths) - lengths))


def word_hashes(words: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint64]:
    """The token hash of each word, given as the code points of one or more normalised letters or digits."""
    ends = np.cumsum([len(word) for word in words])
    starts = ends - np.array([len(word) for word in words], dtype=np.int64)
    return segment_hashes(mix64(np.concatenate(words).astype(np.uint64)), starts, ends, _CHARACTER_BASE)


def gram_hashes(
    tokens: TokenBatch, cjk: int = CJK_GRAM, word: int = WORD_GRAM
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hashes of all complete grams: ``cjk`` tokens from a one-character token, ``word`` tokens from any other.

    Returns:
        The hashes, and for each the index of its first token; a gram never leaves its page.
    """
    sizes = np.where(tokens.single, cjk, word)
    ends = np.arange(len(tokens)) + sizes
    first = np.flatnonzero(ends <= np.repeat(tokens.offsets[1:], np.diff(tokens.offsets)))
    total, sizes = tokens.hashes[first], sizes[first]
    for step, power in enumerate(powers(GRAM_BASE, max(cjk, word))[1:].tolist(), 1):
        longer = sizes > step
        total[longer] += tokens.hashes[first[longer] + step] * np.uint64(power)
    return mix64(total), first


def clause_hashes(tokens: TokenBatch) -> NDArray[np.uint64]:
    """One hash per clause over its tokens' hashes."""
    return clause_hashes_of(tokens.hashes, tokens.clause)


def clause_hashes_of(values: NDArray[np.uint64], clause: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One hash per run of equal clause numbers over the values given per token."""
    starts = run_starts(clause)
    return segment_hashes(values, starts, np.append(starts[1:], len(values)), TOKEN_BASE)


def clause_lengths(tokens: TokenBatch) -> NDArray[np.int64]:
    """Characters of tokens in each clause, marks and spaces not counted; at least 1."""
    return np.add.reduceat(tokens.ends - tokens.starts, tokens.clause_starts)


def character_kinds(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """SEPARATOR, CJK or WORD for each code point."""
    kinds: NDArray[np.uint8] = tables().kind[np.minimum(codes, PLANE - 1)]
    astral = codes >= PLANE
    if astral.any():
        distinct, inverse = np.unique(codes[astral], return_inverse=True)
        kinds[astral] = np.array([kind_of(code) for code in distinct.tolist()], dtype=np.uint8)[inverse]
    return kinds


def characters_apart(texts: Sequence[str]) -> list[str]:
    """Normalised texts with spaces around each character of scripts that have none between words."""
    batch = normalise_many(texts)
    alone = character_kinds(batch.codes) == CJK
    for low, high in UNSPACED_WORDS:
        alone |= (batch.codes >= low) & (batch.codes <= high)
    gap = alone.copy()
    gap[1:] |= alone[:-1]
    text = decode(np.insert(batch.codes, np.flatnonzero(gap), ord(" ")))
    offsets = batch.offsets + np.concatenate(([0], np.cumsum(gap)))[batch.offsets]
    return [text[start:end] for start, end in pairwise(offsets.tolist())]


def _ends(starts: NDArray[np.int64], continues: NDArray[np.bool_]) -> NDArray[np.int64]:
    run: NDArray[np.int64] = np.concatenate(([0], np.cumsum(continues)))
    following: NDArray[np.int64] = np.append(starts[1:], len(continues))
    return starts + 1 + run[following] - run[np.minimum(starts + 1, len(continues))]


def _clauses(
    codes: NDArray[np.uint32],
    starts: NDArray[np.int64],
    boundary: NDArray[np.bool_],
    offsets: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    marks = _marks(codes)
    split = np.concatenate(([0], np.cumsum(marks | boundary[:-1])))
    begun = np.concatenate(([0], np.cumsum(begins_run(split[starts + 1]))))
    return begun[1:] - 1, begun[offsets]


def _marks(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Clause marks; a point, comma or colon inside a number and a point inside a name or version are none."""
    mark: NDArray[np.bool_] = table_of(_HARD_MARKS)[np.minimum(codes, PLANE - 1)]
    soft: NDArray[np.bool_] = table_of(_SOFT_MARKS)[np.minimum(codes, PLANE - 1)]
    digit = (codes >= 0x30) & (codes <= 0x39)
    ascii_word = digit | ((codes >= 0x61) & (codes <= 0x7A))
    inside = _between(digit) | (_between(ascii_word) & (codes == 0x2E))
    return np.where(inside, mark, mark | soft)


def _between(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True where both neighbours are flagged."""
    result = np.zeros(len(flags), dtype=np.bool_)
    result[1:-1] = flags[:-2] & flags[2:]
    return result
