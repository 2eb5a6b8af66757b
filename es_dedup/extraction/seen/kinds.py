"""What blocks of one kind have in common: text elements with the same place in the page's pattern.

A block's kind is the tag and first class word of the three elements around it. Paragraphs of one article are of one kind, and so
are the bodies of all posts of a thread, however short one of them is: the average over a kind says more than one block.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.markup import MARK

if TYPE_CHECKING:
    from es_dedup.extraction.reading.columns import Columns
    from es_dedup.extraction.reading.document import Document

_MOST_BITS: Final = 20  # of a mark, three of which are a number of 64 bits


class Kinds:
    """Kinds of elements and blocks as numbers that are equal for equal kinds.

    Args:
        document: a page.

    Attributes:
        of_nodes: number of each element's kind.
        of_blocks: number of the kind of each block: that of the element it stands in; -1 for none.
    """

    def __init__(self, document: Document) -> None:
        elements = document.elements
        marks = [look[MARK] for look in elements.looks]
        numbers = dict(zip(dict.fromkeys(marks), count(1), strict=False))
        by_look, bits = [numbers[mark] for mark in marks], len(numbers).bit_length()
        if document.columns is None or bits > _MOST_BITS:
            own = [*map(by_look.__getitem__, elements.look_of), 0]  # the last stands for no element
            pairs = [mark | own[parent] << bits for mark, parent in zip(own, elements.parents, strict=False)]
            pairs.append(0)
            rows = zip(own, elements.parents, strict=False)
            kinds = [mark | pairs[parent] << bits for mark, parent in rows]
            kinds.append(-1)
            self.of_blocks = list(map(kinds.__getitem__, elements.holders))
        else:
            kinds, self.of_blocks = _gathered(by_look, document.columns, bits)
        self.of_nodes = kinds[:-1]
        self._named, self._look_of, self._kinds = ["." in mark for mark in marks], elements.look_of, kinds

    def of_node(self, index: int) -> int:
        """Number of an element's kind; -1 for none."""
        return self._kinds[index]

    def is_named(self, index: int) -> bool:
        """The element has a class or an id."""
        return self._named[self._look_of[index]]


def _gathered(by_look: list[int], columns: Columns, bits: int) -> tuple[list[int], list[int]]:
    """Kinds of elements, with one more for none, and of blocks."""
    import numpy as np  # noqa: PLC0415 - only where there are arrays

    size = len(columns.parents) + 1
    own, pairs, kinds = np.zeros((3, size), dtype=np.int64)  # the last stands for no element
    own[:-1] = np.array(by_look, dtype=np.int64)[columns.look_of]
    pairs[:-1] = own[:-1] | own[columns.parents] << bits
    kinds[:-1] = own[:-1] | pairs[columns.parents] << bits
    kinds[-1] = -1
    return kinds.tolist(), kinds[columns.holders].tolist()
