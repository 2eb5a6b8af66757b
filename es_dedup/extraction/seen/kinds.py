"""What blocks of one kind have in common: text elements with the same place in the page's pattern.

A block's kind is the tag and first class word of the three elements around it. Paragraphs of one article are of one kind, and so
are the bodies of all posts of a thread, however short one of them is: the average over a kind says more than one block.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from es_dedup.extraction.reading.markup import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.reading.markup import Look


class Kinds:
    """Kinds of elements and blocks as numbers that are equal for equal kinds.

    Args:
        parents: of block elements in page order.
        look_of: number of the look of each.
        looks: what elements look like.
    """

    def __init__(self, parents: Sequence[int], look_of: Sequence[int], looks: Sequence[Look]) -> None:
        marks = [look[MARK] for look in looks]
        numbers = dict(zip(dict.fromkeys(marks), count(1), strict=False))
        by_look, bits = [numbers[mark] for mark in marks], len(numbers).bit_length()
        own = [*map(by_look.__getitem__, look_of), 0]  # the last stands for no element
        pairs = [mark | own[parent] << bits for mark, parent in zip(own, parents, strict=False)]
        pairs.append(0)
        kinds = [mark | pairs[parent] << bits for mark, parent in zip(own, parents, strict=False)]
        kinds.append(-1)
        self.of_nodes = kinds[:-1]
        """Number of each element's kind."""
        self._named, self._look_of, self._kinds = ["." in mark for mark in marks], look_of, kinds

    def of_node(self, index: int) -> int:
        """Number of an element's kind; -1 for none."""
        return self._kinds[index]

    def is_named(self, index: int) -> bool:
        """The element has a class or an id."""
        return self._named[self._look_of[index]]

    def of_blocks(self, holders: Sequence[int]) -> list[int]:
        """Number of the kind of each block: that of the element it stands in."""
        return list(map(self._kinds.__getitem__, holders))  # the last stands for no element
