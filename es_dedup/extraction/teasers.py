"""Teasers of other pages: repeated items, each with a linked headline and below it a few lines of prose.

Portals and blogs print them beside and below an article, with the first sentences of each: prose that is not of this page.
Class names say nothing; that every item of the kind has a headline that leads away says it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.extraction.view import PARTS

if TYPE_CHECKING:
    from es_dedup.extraction.view import View

_HEADLINE_UNITS: Final = 5.0
_MOST_UNITS: Final = 300.0  # of prose in one item: what is longer is a text of its own
_ITEMS: Final = 4
_FEW: Final = 2
_LITTLE: Final = 0.3  # of the page's prose
_SHARE: Final = 0.75  # of the elements of a kind with prose in them
_LEFT: Final = 100.0  # units of prose that must stand outside all items: else the items are the page


def teasers(view: View) -> list[int]:
    """Places of the blocks inside such items; empty where little else is on the page."""
    headlines, first = _headlines(view)
    if sum(headlines) < _FEW:
        return []
    parents, mass = view.parents, view.mass
    for index in range(len(parents) - 1, 0, -1):
        if count := headlines[index]:
            headlines[parents[index]] += count
            first[parents[index]] = min(first[parents[index]], first[index])
    known: dict[int, list[int]] = {}
    for node in view.nodes:
        index = node.index
        if mass[index] > 0 and not view.negative[index] and (node.tag not in PARTS or _is_item(view, index)):
            known.setdefault(view.kind.of_node(index), []).append(index)
    inside: set[int] = set()
    prose: list[int] = []
    for members in known.values():
        items = [index for index in members if headlines[index] and mass[index] <= _MOST_UNITS]
        if len(items) < _FEW:
            continue
        prose = prose or _first_prose(view)
        items = [index for index in items if first[index] < prose[index]]
        enough = len(items) >= max(_ITEMS, _SHARE * len(members))
        if enough or _few(view, items, members):
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


def _is_item(view: View, index: int) -> bool:
    """An item of a list that is not numbered: numbered ones with prose in them are notes of the text."""
    node = view.nodes[index]
    return node.tag == "li" and not (node.parent >= 0 and view.nodes[node.parent].tag == "ol")


def _few(view: View, items: list[int], members: list[int]) -> bool:
    """Two or three boxes between the paragraphs: all of their kind have a headline, and together they say little."""
    return (
        _FEW <= len(items) == len(members)
        and view.nodes[items[0]].tag != "li"
        and sum(view.mass[index] for index in items) <= _LITTLE * view.total
    )


def _headlines(view: View) -> tuple[list[int], list[int]]:
    """For each element: how many lines directly in it are, or begin with, a link of the length of a headline; place of the first."""
    counts, first = [0] * len(view.nodes), [len(view.blocks)] * len(view.nodes)
    for place, block in enumerate(view.blocks):
        if block.node >= 0 and block.link_chars and (block.led or view.linked(place)):
            linked = view.units[place] * block.link_chars / block.chars
            if linked >= _HEADLINE_UNITS:
                counts[block.node] += 1
                first[block.node] = min(first[block.node], place)
    return counts, first


def _first_prose(view: View) -> list[int]:
    """For each element: place of the first prose in it that begins with no link."""
    first = [len(view.blocks)] * len(view.nodes)
    for place, block in enumerate(view.blocks):
        if block.node >= 0 and view.prose[place] > 0 and not block.led:
            first[block.node] = min(first[block.node], place)
    parents = view.parents
    for index in range(len(parents) - 1, 0, -1):
        first[parents[index]] = min(first[parents[index]], first[index])
    return first
