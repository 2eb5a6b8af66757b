"""Two texts side by side as markup: row by row, with what only one of them has marked."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from es_dedup.report.markup import element, escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from es_dedup.decision.alignment import AlignedRow, Piece

LEGEND: Final = element(
    "p", element("mark", "only here"), " stands in one of the two texts · ", element("s", "discounted"),
    " stands in both, but is template text of the site and does not count", class_="note",
)  # fmt: skip
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def side_by_side(rows: Sequence[AlignedRow], languages: tuple[str, str], most: int) -> str:
    """Rows of two texts in two columns; nothing without rows.

    Args:
        rows: of ``decision.alignment.aligned``.
        languages: of both texts; ``und`` where it is not known.
        most: characters of each text that are shown; below stands how many more there are.
    """
    if not rows:
        return ""
    remaining = [most, most]
    drawn: list[str] = []
    for row in rows:
        if max(remaining) <= 0:
            break
        cells = []
        for side, pieces in enumerate((row.left, row.right)):
            name = languages[side] if languages[side] != "und" else None
            cells.append(element("div", _markup(pieces, remaining[side]), dir="auto", lang=name))
            remaining[side] = max(0, remaining[side] - _length(pieces))
        drawn.append(element("div", *cells, class_="row" if row.same else "row differs"))
    lengths = (sum(_length(row.left) for row in rows), sum(_length(row.right) for row in rows))
    more = tuple(max(0, length - most) for length in lengths)
    note = element("p", f"… {more[0]:,} and {more[1]:,} more characters", class_="note") if any(more) else ""
    return (
        element("div", *drawn, class_="text aligned", tabindex="0", role="region", aria_label="texts") + note
    )


def visible(text: str) -> str:
    """A text with the names of invisible characters in place of these, for stretches that may differ in nothing else."""
    return _INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def _length(pieces: Iterable[Piece]) -> int:
    return sum(len(piece.text) for piece in pieces)


def _markup(pieces: Iterable[Piece], most: int) -> str:
    parts: list[str] = []
    for each in pieces:
        piece = replace(each, text=each.text[:most])
        most -= len(piece.text)
        if piece.only:
            parts.append(element("mark", escape(visible(piece.text)), title="only here"))
        elif piece.template:
            parts.append(element("s", escape(piece.text), title="shared, discounted as template"))
        else:
            parts.append(escape(piece.text))
    return "".join(parts)
