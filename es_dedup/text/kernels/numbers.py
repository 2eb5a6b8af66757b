"""Kernels of ``text.numbers``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel
from es_dedup.text.characters import PLANE
from es_dedup.text.kernels.mixing import mix

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Bools, Bytes, Ints, Ints32, UInts32, UInts64

_DIGITS = (0x30, 0x39)
_ZERO, _DAY, _MONTH = 0x3007, ord("日"), ord("月")
_DATELINE = (ord("电"), ord("讯"))


@kernel
def flags_of(
    codes: UInts32, single: Bools, starts: Ints, ends: Ints, clause: Ints, numerals: Bools, units: Bools
) -> Bools:
    """See ``number_tokens``; ``numerals`` and ``units`` are tables over the basic plane."""
    count = len(single)
    digit_word = np.zeros(count, dtype=np.bool_)
    figure = np.zeros(count, dtype=np.bool_)
    unit = np.zeros(count, dtype=np.bool_)
    for token in range(count):
        code = min(codes[starts[token]], PLANE - 1)
        if single[token]:
            figure[token], unit[token] = numerals[code], units[code]
            continue
        digits = True
        for place in range(starts[token], ends[token]):
            if not (_DIGITS[0] <= codes[place] <= _DIGITS[1] or codes[place] == _ZERO):
                digits = False
                break
        digit_word[token] = figure[token] = digits
    result = digit_word.copy()
    for token in range(count):
        if not figure[token] or digit_word[token]:
            continue
        after = (
            token + 1 < count
            and clause[token + 1] == clause[token]
            and (figure[token + 1] or unit[token + 1])
        )
        result[token] = after or (token > 0 and clause[token - 1] == clause[token] and figure[token - 1])
    return result


@kernel
def _on_day(codes: UInts32, starts: Ints, pages: Ints32, run: tuple[int, int]) -> bool:
    """Whether a run with the token after it is the day of an agency's dateline."""
    first, after = run
    beyond = min(after + 1, len(starts) - 1)
    mark = codes[starts[beyond]]
    dated = codes[starts[after]] == _DAY and pages[beyond] == pages[first]
    return bool(dated and (mark == _DATELINE[0] or mark == _DATELINE[1]))


@kernel
def runs_of(
    codes: UInts32,
    hashes: UInts64,
    starts: Ints,
    pages: Ints32,
    clause: Ints,
    figures: Bytes,
    base: np.uint64,
) -> tuple[UInts64, Ints]:
    """See ``number_runs``; ``figures`` is 1 for a number and 2 for a part of the one before, which is in that one's hash."""
    values, owners = np.empty(len(hashes), dtype=np.uint64), np.empty(len(hashes), dtype=np.int64)
    count, total = 0, len(hashes)
    month, month_after, month_page = False, -1, -1
    token = 0
    while token < total:
        if not figures[token]:
            token += 1
            continue
        first = token
        value, power = np.uint64(0), np.uint64(1)
        while token < total and figures[token] and clause[token] == clause[first]:
            if figures[token] == 1:
                value += hashes[token] * power
                power *= base
            token += 1
        after = min(token, total - 1)
        inside = token < total and clause[after] == clause[first]
        value = mix(mix(value) + (hashes[after] if inside else np.uint64(0)))
        day = _on_day(codes, starts, pages, (first, after))
        if day and month and month_after + 1 == first and month_page == pages[first]:
            count -= 1  # the month before it belongs to the dateline too
        month = codes[starts[after]] == _MONTH and not day
        month_after, month_page = after, pages[first]
        if not day:
            values[count], owners[count] = value, pages[first]
            count += 1
    return values[:count].copy(), owners[:count].copy()
