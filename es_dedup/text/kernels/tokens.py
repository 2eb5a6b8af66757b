"""Kernels of ``text.tokens``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel
from es_dedup.text.characters import CJK, PLANE, SEPARATOR, WORD
from es_dedup.text.kernels.mixing import mix

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Arrays, Bytes, Ints, UInts32

HARD, SOFT = 1, 2  # kinds of clause marks
_POINT, _ZERO, _NINE, _A, _Z = 0x2E, 0x30, 0x39, 0x61, 0x7A


@kernel
def _is_digit(code: np.uint32) -> bool:
    return bool(_ZERO <= code <= _NINE)


@kernel
def _is_ascii_word(code: np.uint32) -> bool:
    return bool(_ZERO <= code <= _NINE or _A <= code <= _Z)


@kernel
def _inside_word(codes: UInts32, place: int) -> bool:
    """A point, comma or colon between digits, or a point between ASCII letters or digits."""
    if place == 0 or place + 1 >= len(codes):
        return False
    before, after = codes[place - 1], codes[place + 1]
    if _is_digit(before) and _is_digit(after):
        return True
    return bool(codes[place] == _POINT and _is_ascii_word(before) and _is_ascii_word(after))


@kernel
def tokenised(
    codes: UInts32,
    page_offsets: Ints,
    kinds: Bytes,
    astral: UInts32,
    astral_kinds: Bytes,
    marks: Bytes,
    base: np.uint64,
) -> Arrays:
    """The columns of ``TokenBatch``.

    Args:
        codes, page_offsets: of the ``TextBatch``.
        kinds: kind of each code point of the basic plane.
        astral, astral_kinds: code points beyond it that occur, ascending, and their kinds.
        marks: 0, HARD or SOFT for each code point of the basic plane.
        base: multiplier of the character hash.
    """
    most = len(codes)
    hashes, single = np.empty(most, np.uint64), np.empty(most, np.bool_)
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    pages, clauses = np.empty(most, np.int32), np.empty(most, np.int64)
    offsets = np.zeros(len(page_offsets), np.int64)
    clause_offsets = np.zeros(len(page_offsets), np.int64)
    count, clause = 0, -1
    for page in range(len(page_offsets) - 1):
        new_clause, in_word = True, False
        power = np.uint64(1)
        for place in range(page_offsets[page], page_offsets[page + 1]):
            code = codes[place]
            kind = kinds[code] if code < PLANE else astral_kinds[np.searchsorted(astral, code)]
            if kind == SEPARATOR:
                in_word = False
                if code < PLANE and (
                    marks[code] == HARD or (marks[code] == SOFT and not _inside_word(codes, place))
                ):
                    new_clause = True
                continue
            if kind == WORD and in_word:
                power *= base
                hashes[count - 1] += mix(np.uint64(code)) * power
                ends[count - 1] = place + 1
                continue
            if new_clause:
                clause += 1
                new_clause = False
            in_word = kind == WORD
            power = np.uint64(1)
            hashes[count] = mix(np.uint64(code))
            single[count] = kind == CJK
            starts[count], ends[count] = place, place + 1
            pages[count], clauses[count] = page, clause
            count += 1
        offsets[page + 1], clause_offsets[page + 1] = count, clause + 1
    for token in range(count):
        hashes[token] = mix(hashes[token])
    return (
        hashes[:count].copy(),
        single[:count].copy(),
        starts[:count].copy(),
        ends[:count].copy(),
        pages[:count].copy(),
        offsets,
        clauses[:count].copy(),
        clause_offsets,
    )
