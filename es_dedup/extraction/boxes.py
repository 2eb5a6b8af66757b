"""Boxes that say themselves what they are: their first line is a heading that opens like furniture, whatever their class is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.hints import is_tail_heading, opens_like_furniture

if TYPE_CHECKING:
    from es_dedup.extraction.view import View

_HEADINGS: Final = frozenset({"h2", "h3", "h4", "h5", "h6", "legend"})
_WHOLE: Final = frozenset({"html", "body", "main", "article"})
_HEADING_CHARS: Final = 60
_TALK: Final = re.compile(r"comment|评论|評論", re.IGNORECASE)


def furniture_boxes(view: View) -> tuple[list[int], set[int]]:
    """Indices of elements, other than the page and its main part, that begin with such a heading; and which of them have comments in them."""
    nodes = view.nodes
    headings = {node.index for node in nodes if node.tag in _HEADINGS}
    found: list[int] = []
    talk: set[int] = set()
    before = -1  # the last element with text above
    for block in view.blocks if headings else ():
        node = block.node
        if node in headings and block.chars <= _HEADING_CHARS:
            box = nodes[node].parent
            if (
                box > before
                and nodes[box].tag not in _WHOLE
                and (opens_like_furniture(block.text) or is_tail_heading(block.text))
            ):
                found.append(box)
                if _TALK.search(block.text):
                    talk.add(box)
        before = max(before, node)
    return found, talk
