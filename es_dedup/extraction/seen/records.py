"""Items that repeat and carry a date: posts of a thread, comments below an article, reviews of a product.

Names differ from software to software; that somebody is named with a time beside each text does not. Dates of one kind have an element
around them all, and what it holds around each of them is an item.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.measures import STOPS
from es_dedup.extraction.seen.dated import DATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.extraction.seen.view import View

SHORT_OWN: Final = 300.0
"""Units; longer texts are articles, whatever is said about them."""

TALK_SHARE: Final = 5.0
"""Times a short text that readers say about it from which the page is theirs."""

_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4"})
_NAME_UNITS: Final = 12.0  # of a line that names who speaks
_SIGNS: Final = re.compile(r"[^\W\d_]{2}|\*")
_SHARE: Final = 0.7  # of the items
_MIN_ITEMS: Final = 2


@dataclass(slots=True)
class Records:
    """One list of dated items.

    Attributes:
        dates: places of the dates, in page order.
        items: index of the element around each date that holds no other date of the list.
        inside: for each block of the page, whether it stands in the list: in an item, or in an element that holds several.
        units: of sentences in each item, short ones too.
        first: place of the first block inside.
        last: place of the last one.
    """

    dates: list[int]
    items: list[int]
    inside: list[bool]
    units: list[float]
    first: int
    last: int


def records(view: View, dated: set[int]) -> list[Records]:
    """All lists of dated items with sentences in at least two of them, longest first.

    Args:
        view: of the page.
        dated: places of lines that are little else than a date.
    """
    key = frozenset(dated)
    if key in view.lists:
        return view.lists[key]
    groups: dict[int, list[int]] = {}
    for place in sorted(dated):
        if view.blocks[place].node >= 0:
            groups.setdefault(view.kinds[place], []).append(place)
    known: dict[int, bool] = {}
    found = [_read(view, places, known) for places in groups.values() if len(places) >= _MIN_ITEMS]
    view.lists[key] = sorted((one for one in found if one), key=lambda one: -sum(one.units))
    return view.lists[key]


def _read(view: View, places: list[int], known: dict[int, bool]) -> Records | None:
    """The list of some dates of one kind; ``known`` has the places that have been asked for sentences."""
    holders, parents, ends = view.holders, view.parents, view.ends
    nodes = [holders[place] for place in places]
    around = nodes[0]
    while around >= 0 and ends[around] <= nodes[-1]:
        around = parents[around]
    if around < 0 or around in nodes:
        return None
    items: list[int] = []
    tops: list[int] = []
    for place, node in enumerate(nodes):
        before, behind = nodes[place - 1] if place else -1, nodes[place + 1] if place + 1 < len(nodes) else -1
        item = node
        while (parent := parents[item]) != around and parent > before and not parent <= behind < ends[parent]:
            item = parent
        items.append(item)
        while parents[item] != around:
            item = parents[item]
        tops.append(item)
    held = [False] * (len(view.nodes) + 1)  # the last stands for no element
    for top in tops:
        held[top : ends[top]] = [True] * (ends[top] - top)
    inside = list(map(held.__getitem__, holders))
    first, last = inside.index(True), len(inside) - 1 - inside[::-1].index(True)
    said = (
        place
        for place in range(first, last + 1)
        if inside[place]
        and (known[place] if place in known else known.setdefault(place, _is_sentence(view, place)))
    )
    units = _units(view, items, set(places), said)
    if sum(one > 0 for one in units) < _MIN_ITEMS:
        return None
    return Records(places, items, inside, units, first, last)


def _units(view: View, items: list[int], stamps: set[int], said: Iterable[int]) -> list[float]:
    """Of the sentences in each item."""
    holders, ends = view.holders, view.ends
    units = [0.0] * len(items)
    at, last = 0, len(items) - 1
    for place in said:
        if place in stamps:
            continue
        node = holders[place]
        while at < last and node >= items[at + 1]:
            at += 1
        if items[at] <= node < ends[items[at]]:
            units[at] += view.units[place]
    return units


def _is_sentence(view: View, place: int) -> bool:
    return view.prose[place] > 0 or (
        not view.linked(place) and STOPS.search(view.blocks[place].text) is not None
    )


def _span(view: View, item: int, place: int) -> range:
    """Places of the blocks in an element, from one of them."""
    holders, end, first, last = view.holders, view.ends[item], place, place + 1
    while first and item <= holders[first - 1] < end:
        first -= 1
    while last < len(holders) and item <= holders[last] < end:
        last += 1
    return range(first, last)


def are_said(view: View, found: Records, dated: set[int]) -> bool:
    """True when somebody is named in most items, and most have no heading: what is reported hour by hour has one and names nobody."""
    named = headed = 0
    for item, date in zip(found.items, found.dates, strict=True):
        has_name = has_heading = False
        for place in _span(view, item, date):
            block = view.blocks[place]
            if place in dated:
                has_name = has_name or bool(_SIGNS.search(DATE.sub("", block.text)))
            elif view.units[place] <= _NAME_UNITS and view.prose[place] <= 0:
                has_name = True
            has_heading = has_heading or (
                view.nodes[block.node].tag in _HEADINGS and place not in dated and not _is_name(view, place)
            )
        named, headed = named + has_name, headed + has_heading
    return named >= _SHARE * len(found.items) and headed < (1 - _SHARE) * len(found.items)


def _is_name(view: View, place: int) -> bool:
    """A short linked line: headlines that lead elsewhere are longer."""
    return view.linked(place) and view.units[place] <= _NAME_UNITS / 2


def labels(view: View, found: Records) -> set[int]:
    """Places of lines above the dates of items, where no item has prose above its date: names, ranks, numbers of posts."""
    above: set[int] = set()
    for item, date in zip(found.items, found.dates, strict=True):
        lines = [place for place in _span(view, item, date) if place < date]
        if any(view.prose[place] > 0 for place in lines):
            return set()
        above.update(lines)
    return above
