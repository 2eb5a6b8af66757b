"""Line charts over the unit square and lists of bars, as inline SVG coloured by the page's style."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from es_dedup.report.markup import element, escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Points = Sequence[tuple[float, float]]

_SIZE: Final = 420
_MARGIN: Final = 40
_LEGEND: Final = 230
_ROW: Final = 18
_HUES: Final = 10
_DASHES: Final = 4
_TICKS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_BARS_WIDTH: Final = 560
_NAMES: Final = 170
_VALUES: Final = 110
_WHOLE: Final = 100  # from here on no decimals


def line_chart(title: str, across: str, up: str, lines: Mapping[str, Points]) -> str:
    """Lines through points of [0, 1] x [0, 1], each beside its name in the legend.

    Args:
        title: heading and accessible name.
        across, up: what the axes measure.
        lines: name to points, in drawing order; a line of one point is drawn as a dot.
    """
    height = max(_SIZE, len(lines) * _ROW) + 2 * _MARGIN
    drawn = [_axes(across, up)]
    drawn += [_curve(place, name, points) for place, (name, points) in enumerate(lines.items())]
    width = _MARGIN + _SIZE + _LEGEND + 30
    svg = element("svg", *drawn, viewBox=f"0 0 {width} {height}", role="img", aria_label=title)
    return element("figure", element("figcaption", escape(title)), svg)


def _axes(across: str, up: str) -> str:
    parts = []
    for tick in _TICKS:
        x, y = _at(tick, tick)
        parts += [
            element("line", x1=_MARGIN, x2=_MARGIN + _SIZE, y1=f"{y:.1f}", y2=f"{y:.1f}"),
            element("text", f"{tick:.1f}", x=_MARGIN - 6, y=f"{y + 4:.1f}", class_="tick left"),
            element("text", f"{tick:.1f}", x=f"{x:.1f}", y=_MARGIN + _SIZE + 16, class_="tick"),
        ]
    middle = _MARGIN + _SIZE / 2
    parts.append(element("text", escape(across), x=f"{middle:.0f}", y=_MARGIN + _SIZE + 34))
    parts.append(element("text", escape(up), x=4, y=_MARGIN - 14, class_="names"))
    return "".join(parts)


def _at(x: float, y: float) -> tuple[float, float]:
    return _MARGIN + x * _SIZE, _MARGIN + (1 - y) * _SIZE


def _curve(place: int, name: str, points: Points) -> str:
    top, left = _MARGIN + place * _ROW, _MARGIN + _SIZE + 24
    places = [_at(x, y) for x, y in points]
    path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in places) if places else ""
    dots = [element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3) for x, y in places[-1:]]
    return element(
        "g",
        element("title", escape(name)),
        element("path", d=path) if len(places) > 1 else "",
        *dots,
        element("path", d=f"M{left} {top} L{left + 24} {top}"),
        element("text", escape(name), x=left + 30, y=top + 4),
        element("rect", x=left, y=top - 9, width=_LEGEND, height=_ROW, class_="zone"),
        class_=f"curve h{place % _HUES} d{place // _HUES % _DASHES}",
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= _WHOLE else f"{value:.3g}"


def bar_list(title: str, unit: str, values: Mapping[str, float]) -> str:
    """One horizontal bar a name on a logarithmic scale, since costs differ by orders of magnitude.

    Args:
        title: heading and accessible name.
        unit: shown behind each value.
        values: name to value, at least 0; drawn in ascending order.
    """
    ordered = sorted(values.items(), key=lambda item: (item[1], item[0]))
    positive = [value for _, value in ordered if value > 0]
    least, most = (min(positive), max(positive)) if positive else (1.0, 1.0)
    span = math.log(most / least) or 1.0
    available = _BARS_WIDTH - _NAMES - _VALUES
    drawn = []
    for place, (name, value) in enumerate(ordered):
        share = (0.08 + 0.92 * math.log(value / least) / span) if value > 0 else 0.0
        y, width = place * _ROW + 4, share * available
        drawn += [
            element("text", escape(name), x=_NAMES - 8, y=y + 11, class_="left"),
            element("rect", x=_NAMES, y=y + 1, width=f"{width:.1f}", height=_ROW - 6, rx=2),
            element("text", escape(f"{_short(value)} {unit}"), x=f"{_NAMES + width + 6:.1f}", y=y + 11),
        ]
    height = len(ordered) * _ROW + 8
    svg = element(
        "svg", *drawn, viewBox=f"0 0 {_BARS_WIDTH} {height}", role="img", aria_label=title, class_="bars"
    )
    note = element("p", "logarithmic scale", class_="note")
    return element("figure", element("figcaption", escape(title)), svg, note)
