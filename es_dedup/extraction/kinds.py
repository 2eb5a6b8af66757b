"""What blocks of one kind have in common: text elements with the same place in the page's pattern.

A block's kind is the tag and first class word of the elements around it. Paragraphs of one article are of one kind, and so
are the bodies of all posts of a thread, however short one of them is: the average over a kind says more than one block.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.document import Block, Node

LEVELS: Final = 3
"""Elements around a block that make up its kind."""

_DIGITS: Final = {ord(digit): None for digit in "0123456789"}


@lru_cache(maxsize=16_384)
def _mark(tag: str, names: str) -> str:
    """Tag and first word of class or id, without digits."""
    words = names[:100].split(None, 1)
    return f"{tag}.{words[0].translate(_DIGITS)}" if words else tag


class Kinds:
    """Kinds of elements and blocks as small numbers.

    Args:
        nodes: block elements in page order.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._marks = [_mark(node.tag, node.names) if node.names else node.tag for node in nodes]
        self._numbers: dict[tuple[str, ...], int] = {}
        self._known: dict[int, int] = {-1: -1}

    def of_node(self, index: int) -> int:
        """Number of an element's kind; -1 for none."""
        number = self._known.get(index)
        if number is None:
            path: list[str] = []
            above = index
            while above >= 0 and len(path) < LEVELS:
                path.append(self._marks[above])
                above = self._nodes[above].parent
            number = self._known[index] = self._numbers.setdefault(tuple(path), len(self._numbers))
        return number

    def is_named(self, index: int) -> bool:
        """The element has a class or an id."""
        return "." in self._marks[index]

    def of_blocks(self, blocks: Sequence[Block]) -> list[int]:
        """Number of the kind of each block: that of the element it stands in."""
        known = self._known
        return [
            found if (found := known.get(block.node)) is not None else self.of_node(block.node)
            for block in blocks
        ]
