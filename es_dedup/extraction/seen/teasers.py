"""Teasers of other pages: repeated items, each with a linked headline and below it a few lines of prose.

Portals and blogs print them beside and below an article, with the first sentences of each: prose that is not of this page.
Class names say nothing; that every item of the kind has a headline that leads away says it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.kinds import PARTS

if TYPE_CHECKING:
    from es_dedup.extraction.seen.view import View

_HEADLINE_UNITS: Final = 5.0
_MOST_UNITS: Final = 300.0  # of prose in one item: what is longer is a text of its own
_ITEMS: Final = 4
_FEW: Final = 2
_LITTLE: Final = 0.3  # of the page's prose
_SHARE: Final = 0.75  # of the elements of a kind with prose in them
_LEFT: Final = 100.0  # units of prose that must stand outside all items: else the items are the page


def teasers(view: View) -> list[int]:
    """Places of the blocks inside such items; empty where little else is on the page."""
    headlines = _headlines(view)
    if len(headlines) < _FEW:
        return []
    parents, mass = view.parents, view.mass
    counts = [0] * len(parents)
    for place in headlines:
        counts[view.holders[place]] += 1
    for index in range(len(parents) - 1, 0, -1):
        if count := counts[index]:
            counts[parents[index]] += count
    titled: dict[int, list[int]] = {}
    for index, count in enumerate(counts):
        if count and 0 < mass[index] <= _MOST_UNITS and _may_be_teaser(view, index):
            titled.setdefault(view.kind.of_nodes[index], []).append(index)
    titled = {kind: items for kind, items in titled.items() if len(items) >= _FEW}
    if not titled:
        return []
    members = Counter(
        kind
        for index, kind in enumerate(view.kind.of_nodes)
        if kind in titled and mass[index] > 0 and _may_be_teaser(view, index)
    )
    titled = {kind: items for kind, items in titled.items() if _are_most(items, members[kind])}
    return _of_items(view, titled, members, headlines) if titled else []


def _are_most(items: list[int], members: int) -> bool:
    return len(items) >= max(_ITEMS, _SHARE * members) or _FEW <= len(items) == members


def _of_items(
    view: View, titled: dict[int, list[int]], members: Counter[int], headlines: list[int]
) -> list[int]:
    """Places of the blocks inside the items whose headline stands above their prose."""
    first = _first_of(view, headlines)
    prose = _first_of(
        view,
        [
            place
            for place, (block, units) in enumerate(zip(view.blocks, view.prose, strict=True))
            if units > 0 and not block.led and block.node >= 0
        ],
    )
    inside: set[int] = set()
    for kind, found in titled.items():
        items = [index for index in found if first[index] < prose[index]]
        if len(items) >= max(_ITEMS, _SHARE * members[kind]) or _few(view, items, members[kind]):
            for index in items:
                inside.update(range(index, view.ends[index]))
    if not inside:
        return []
    places = [place for place, block in enumerate(view.blocks) if block.node in inside]
    gone = sum(view.prose[place] for place in places if view.prose[place] > 0 and not view.is_negative(place))
    left = (
        sum(prose for place, prose in enumerate(view.prose) if prose > 0 and not view.is_negative(place))
        - gone
    )
    return places if left >= _LEFT else []


def _may_be_teaser(view: View, index: int) -> bool:
    """No furniture and no part of a text, but an item of a list that is not numbered: numbered ones with prose in them are notes of the text."""
    if view.negative[index]:
        return False
    node = view.nodes[index]
    if node.tag not in PARTS:
        return True
    return node.tag == "li" and not (node.parent >= 0 and view.nodes[node.parent].tag == "ol")


def _few(view: View, items: list[int], members: int) -> bool:
    """Two or three boxes between the paragraphs: all of their kind have a headline, and together they say little."""
    return (
        _FEW <= len(items) == members
        and view.nodes[items[0]].tag != "li"
        and sum(view.mass[index] for index in items) <= _LITTLE * view.total
    )


def _headlines(view: View) -> list[int]:
    """Places of lines that are, or begin with, a link of the length of a headline."""
    return [
        place
        for place, (block, units) in enumerate(zip(view.blocks, view.units, strict=True))
        if block.link_chars
        and units >= _HEADLINE_UNITS
        and block.node >= 0
        and (block.led or view.linked(place))
        and units * block.link_chars / block.chars >= _HEADLINE_UNITS
    ]


def _first_of(view: View, places: list[int]) -> list[int]:
    """For each element: the first of some places in it; the number of blocks where there is none."""
    first = [len(view.blocks)] * len(view.nodes)
    for place in reversed(places):
        first[view.holders[place]] = place
    parents = view.parents
    for index in range(len(parents) - 1, 0, -1):
        if (place := first[index]) < first[parents[index]]:
            first[parents[index]] = place
    return first
