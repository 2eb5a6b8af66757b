"""Slide shows: all slides stand in the page, each with its number and their count, and the address names one of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from es_dedup.extraction.seen.view import View

_COUNTER: Final = re.compile(r"(\d{1,3}) ?(?:/|of|／) ?(\d{1,3})")
_ADDRESS: Final = re.compile(
    r"(?:slides?|photos?|images?|pics?|gallery)[/=_-](\d{1,3})/?(?=$|[?#&])", re.IGNORECASE
)
_SLIDES: Final = 3


def named_slide(view: View) -> int:
    """Index of the element that holds the slide of the page's address; -1 where there is no such slide."""
    found = _ADDRESS.search(view.document.url or "")
    if not found:
        return -1
    counters: dict[str, list[tuple[int, int]]] = {}  # by the count of slides: number, element
    for block in view.blocks:
        if block.node >= 0 and (counter := _COUNTER.fullmatch(block.text)):
            counters.setdefault(counter[2], []).append((int(counter[1]), block.node))
    for members in counters.values():
        nodes = dict(reversed(members))  # the first of equal numbers
        if len(nodes) >= _SLIDES and (node := nodes.get(int(found[1]), -1)) >= 0:
            return _around(view, node, [other for number, other in nodes.items() if number != int(found[1])])
    return -1


def _around(view: View, node: int, others: list[int]) -> int:
    """The largest element around a node that holds none of the others."""
    while (parent := view.parents[node]) >= 0:
        if any(parent <= other < view.ends[parent] for other in others):
            return node
        node = parent
    return node
