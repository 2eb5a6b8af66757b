"""Verse, lists of dates, texts without punctuation: lines that do not read like prose one by one, and are a text together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.measures import STOPS
from es_dedup.extraction.seen.lengths import MANY_UNITS

if TYPE_CHECKING:
    from es_dedup.extraction.seen.view import View

_LINES: Final = 4  # lines of one element, or paragraphs of one kind, that make up a text without punctuation
_SENTENCES: Final = 0.6  # of the items of a list
_LINE_UNITS: Final = 6.0
_LINE_WEIGHT: Final = 0.4
_DIFFERENT: Final = 0.8  # of the lines


def weigh_lines(view: View) -> None:
    """Let many unlinked lines of one kind count a little: change their prose, in units, in the view."""
    lines: dict[int, list[int]] = {}
    for place, (block, prose) in enumerate(zip(view.blocks, view.prose, strict=True)):
        if prose <= 0 and not block.link_chars and block.node >= 0:
            lines.setdefault(view.kinds[place], []).append(place)
    for places in lines.values():
        if len(places) < _LINES or not _are_lines(view, places):
            continue
        for place in places:
            view.prose[place] = _LINE_WEIGHT * min(view.units[place], MANY_UNITS)


def _are_lines(view: View, places: list[int]) -> bool:
    first = view.blocks[places[0]].node
    in_one = view.blocks[places[-1]].node == first
    tag = view.nodes[first].tag
    if not in_one and tag != "p" and not (tag == "li" and _are_sentences(view, places)):
        return False
    mean = sum(view.units[place] for place in places) / len(places)
    different = len({view.blocks[place].text for place in places})
    return mean >= _LINE_UNITS and different > _DIFFERENT * len(places)


def _are_sentences(view: View, places: list[int]) -> bool:
    """Most lines have a stop: items of a list in a text, not of a menu that a script opens."""
    stopped = sum(1 for place in places if STOPS.search(view.blocks[place].text))
    return stopped >= _SENTENCES * len(places)
