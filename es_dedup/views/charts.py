"""Bar charts as inline SVG, coloured by the page's style."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.views.markup import element, escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WIDTH: Final = 560
_HEIGHT: Final = 220
_TOP: Final = 22
_BOTTOM: Final = 26
_SIZE_STEPS: Final = ((2, 2), (3, 3), (4, 4), (5, 5), (6, 10), (11, 20), (21, 50), (51, 100))
_SCORE_STEP: Final = 5
_FULL: Final = 100
_LEAST_BARS: Final = 5


def size_bars(sizes: Mapping[int, int]) -> list[tuple[str, int]]:
    """Number of clusters by size, in classes that widen."""
    bars = []
    for low, high in _SIZE_STEPS:
        label = str(low) if low == high else f"{low}-{high}"
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
        (f"{low} %", sum(scores.get(score, 0) for score in range(low, low + _SCORE_STEP)))
        for low in range(first, _FULL, _SCORE_STEP)
    ]
    return [*bars, ("100 %", scores.get(_FULL, 0))]


def bar_chart(title: str, unit: str, bars: Sequence[tuple[str, int]]) -> str:
    """One chart with the count above each bar and the class below it.

    Args:
        title: heading and accessible name.
        unit: what is counted, for the tooltip.
        bars: label and count, in order.
    """
    top = max((count for _, count in bars), default=0) or 1
    step = _WIDTH / max(len(bars), 1)
    drawn = []
    for place, (label, count) in enumerate(bars):
        height = max(count / top * (_HEIGHT - _TOP - _BOTTOM), 1.5 if count else 0)
        middle, base = place * step + step / 2, _HEIGHT - _BOTTOM
        width = min(step * 0.68, 52)
        bar = element(
            "rect",
            element("title", escape(f"{label}: {count:,} {unit}")),
            x=f"{middle - width / 2:.1f}", y=f"{base - height:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", rx=3,
        )  # fmt: skip
        number = element(
            "text", f"{count:,}", x=f"{middle:.1f}", y=f"{base - height - 6:.1f}", class_="count"
        )
        name = element("text", escape(label), x=f"{middle:.1f}", y=_HEIGHT - 8, class_="label")
        drawn += [bar, number if count else "", name]
    axis = element("line", x1=0, x2=_WIDTH, y1=_HEIGHT - _BOTTOM + 0.5, y2=_HEIGHT - _BOTTOM + 0.5)
    svg = element("svg", axis, *drawn, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=title)
    return element("figure", element("figcaption", escape(title)), svg)
