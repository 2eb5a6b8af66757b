"""Two texts side by side as markup: row by row, with what only one of them has marked."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from es_dedup.model.translations import ENGLISH, translate
from es_dedup.report.markup import element, escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from es_dedup.decision.alignment import AlignedRow, Piece

_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def legend(language: str = ENGLISH) -> str:
    """What the marks of aligned texts mean."""
    only = element("mark", escape(translate(language, "only here")))
    template = element("s", escape(translate(language, "discounted")))
    meant = (
        translate(language, "stands in one of the two texts"),
        translate(language, "stands in both, but is template text of the site and does not count"),
    )
    return element("p", f"{only} {escape(meant[0])} · {template} {escape(meant[1])}", class_="note")


def side_by_side(
    rows: Sequence[AlignedRow], languages: tuple[str, str], most: int, spoken: str = ENGLISH
) -> str:
    """Rows of two texts in two columns; nothing without rows.

    Args:
        rows: of ``decision.alignment.aligned``.
        languages: of both texts; ``und`` where it is not known.
        most: characters of each text that are shown; below stands how many more there are.
        spoken: the language of what is said about them.
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
            cells.append(element("div", _markup(pieces, remaining[side], spoken), dir="auto", lang=name))
            remaining[side] = max(0, remaining[side] - _length(pieces))
        drawn.append(element("div", *cells, class_="row" if row.same else "row differs"))
    lengths = (sum(_length(row.left) for row in rows), sum(_length(row.right) for row in rows))
    more = tuple(max(0, length - most) for length in lengths)
    template = "… {left} and {right} more characters"
    said = translate(spoken, template, left=f"{more[0]:,}", right=f"{more[1]:,}")
    note = element("p", escape(said), class_="note") if any(more) else ""
    label = translate(spoken, "texts")
    return element("div", *drawn, class_="text aligned", tabindex="0", role="region", aria_label=label) + note


def visible(text: str) -> str:
    """A text with the names of invisible characters in place of these, for stretches that may differ in nothing else."""
    return _INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def _length(pieces: Iterable[Piece]) -> int:
    return sum(len(piece.text) for piece in pieces)


def _markup(pieces: Iterable[Piece], most: int, spoken: str) -> str:
    parts: list[str] = []
    for each in pieces:
        piece = replace(each, text=each.text[:most])
        most -= len(piece.text)
        if piece.only:
            parts.append(element("mark", escape(visible(piece.text)), title=translate(spoken, "only here")))
        elif piece.template:
            parts.append(
                element("s", escape(piece.text), title=translate(spoken, "shared, discounted as template"))
            )
        else:
            parts.append(escape(piece.text))
    return "".join(parts)
