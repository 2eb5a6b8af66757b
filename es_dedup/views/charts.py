"""What charts show: classes with counts, and months without gaps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.views.templates import short

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIZE_STEPS: Final = ((2, 2), (3, 3), (4, 4), (5, 5), (6, 10), (11, 20), (21, 50), (51, 100))
_SCORE_STEP: Final = 5
_FULL: Final = 100
_LEAST_BARS: Final = 5
_MONTH: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
MOST_SITES: Final = 10
SITE_CHARS: Final = 60
MOST_MONTHS: Final = 240
"""Months of an axis, the latest."""


def size_bars(sizes: Mapping[int, int]) -> list[tuple[str, int]]:
    """Number of clusters by size, in classes that widen."""
    bars = []
    for low, high in _SIZE_STEPS:
        label = str(low) if low == high else f"{low}\u2011{high}"
        bars.append((label, sum(count for size, count in sizes.items() if low <= size <= high)))
    bars.append(("> 100", sum(count for size, count in sizes.items() if size > _SIZE_STEPS[-1][1])))
    while len(bars) > _LEAST_BARS and not bars[-1][1]:
        bars.pop()
    return bars


def score_bars(scores: Mapping[int, int]) -> list[tuple[str, int]]:
    """Number of members by share in steps of 5 %, from the lowest that occurs; all of a page has its own bar."""
    lowest = min((score for score in scores if score < _FULL), default=80)
    first = min(lowest - lowest % _SCORE_STEP, 80)
    bars = [
        (f"{low}\u00a0%", sum(scores.get(score, 0) for score in range(low, low + _SCORE_STEP)))
        for low in range(first, _FULL, _SCORE_STEP)
    ]
    return [*bars, ("100\u00a0%", scores.get(_FULL, 0))]


def site_bars(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The sites with most; ``–`` stands for pages without one."""
    most = sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))[:MOST_SITES]
    return [(short(site, SITE_CHARS) or "–", count) for site, count in most]


def month_axis(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """All months from the first to the last that has a count, of very many the latest; what is no month is left out."""
    numbers = [int(name[:4]) * 12 + int(name[5:]) - 1 for name in counts if _MONTH.fullmatch(name)]
    if not numbers:
        return []
    last = max(numbers)
    months = range(max(min(numbers), last - MOST_MONTHS + 1), last + 1)
    names = (f"{number // 12:04}-{number % 12 + 1:02}" for number in months)
    return [(name, counts.get(name, 0)) for name in names]
