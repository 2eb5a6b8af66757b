"""What blocks of one kind have in common: text elements with the same place in the page's pattern.

A block's kind is the tag and first class word of the three elements around it. Paragraphs of one article are of one kind, and so
are the bodies of all posts of a thread, however short one of them is: the average over a kind says more than one block.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.document import Block, Node

_NUMBER_BITS: Final = 20
_DIGITS: Final = {ord(digit): None for digit in "0123456789"}


@lru_cache(maxsize=16_384)
def _mark(tag: str, names: str) -> str:
    """Tag and first word of class or id, without digits."""
    words = names[:100].split(None, 1)
    return f"{tag}.{words[0].translate(_DIGITS)}" if words else tag


class Kinds:
    """Kinds of elements and blocks as numbers that are equal for equal kinds.

    Args:
        nodes: block elements in page order.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        numbers: dict[str, int] = {}
        marks: list[str] = []
        own: list[int] = []
        pairs: list[int] = []  # with the element around it
        kinds: list[int] = []  # with the two elements around it
        for node in nodes:
            names, parent = node.names, node.parent
            mark = _mark(node.tag, names) if names else node.tag
            number = numbers.get(mark)
            if number is None:
                number = numbers[mark] = len(numbers) + 1
            marks.append(mark)
            own.append(number)
            if parent < 0:
                pairs.append(number)
                kinds.append(number)
            else:
                pairs.append(number | own[parent] << _NUMBER_BITS)
                kinds.append(number | pairs[parent] << _NUMBER_BITS)
        kinds.append(-1)
        self._marks, self._kinds = marks, kinds

    def of_node(self, index: int) -> int:
        """Number of an element's kind; -1 for none."""
        return self._kinds[index]

    def is_named(self, index: int) -> bool:
        """The element has a class or an id."""
        return "." in self._marks[index]

    def of_blocks(self, blocks: Sequence[Block]) -> list[int]:
        """Number of the kind of each block: that of the element it stands in."""
        kinds = self._kinds  # the last stands for no element
        return [kinds[block.node] for block in blocks]
