"""Boxes that say themselves what they are: their first line is a heading that opens like furniture, whatever their class is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.extraction.hints import is_furniture, is_tail_heading

if TYPE_CHECKING:
    from es_dedup.extraction.document import Block, Node

_HEADINGS: Final = frozenset({"h2", "h3", "h4", "h5", "h6", "legend"})
_WHOLE: Final = frozenset({"html", "body", "main", "article"})
_HEADING_CHARS: Final = 60


def furniture_boxes(nodes: list[Node], blocks: list[Block]) -> list[int]:
    """Indices of elements, other than the page and its main part, that begin with such a heading.

    Args:
        nodes: block elements in page order.
        blocks: all text of the page.
    """
    found: list[int] = []
    before = -1  # the element of the block before
    for block in blocks:
        node = block.node
        if node >= 0 and nodes[node].tag in _HEADINGS and block.chars <= _HEADING_CHARS:
            box = nodes[node].parent
            begins = box > before
            if (
                begins
                and nodes[box].tag not in _WHOLE
                and (is_furniture(block.text) or is_tail_heading(block.text))
            ):
                found.append(box)
        before = max(before, node)
    return found
