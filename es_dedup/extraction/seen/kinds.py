"""What blocks of one kind have in common: text elements with the same place in the page's pattern.

A block's kind is the tag and first class word of the three elements around it. Paragraphs of one article are of one kind, and so
are the bodies of all posts of a thread, however short one of them is: the average over a kind says more than one block.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from es_dedup.extraction.reading.blocks import Elements
    from es_dedup.extraction.reading.columns import Columns
    from es_dedup.extraction.reading.document import Document

PARTS: Final = frozenset(
    "p li ul ol dl dt dd pre blockquote h1 h2 h3 h4 h5 h6 figure figcaption center".split()
)
"""Elements that are parts of a text, never the text as a whole."""

_MOST_BITS: Final = 20  # of a mark, three of which are a number of 64 bits


class Kinds:
    """Kinds of elements and blocks as numbers that are equal for equal kinds.

    Args:
        document: a page.

    Attributes:
        of_nodes: number of each element's kind.
        of_blocks: number of the kind of each block: that of the element it stands in; -1 for none.
        outer: the element itself, or the first around it that is no part of a text, -1 for none; the last stands for no element.
    """

    def __init__(self, document: Document) -> None:
        elements, columns = document.elements, document.columns
        marks = elements.by_look.marks
        numbers = dict(zip(dict.fromkeys(marks), count(1), strict=False))
        by_look, bits = list(map(numbers.__getitem__, marks)), len(numbers).bit_length()
        is_part = list(map(PARTS.__contains__, elements.by_look.tags))
        if columns is None or bits > _MOST_BITS:
            kinds, self.outer = _kinds_of(by_look, bits, elements), _outer_of(is_part, elements)
        else:
            kinds, self.outer = _fast(by_look, bits, is_part, columns)
        self.of_nodes, self.of_blocks = kinds[:-1], list(map(kinds.__getitem__, elements.holders))
        self._marks, self._look_of = marks, elements.look_of

    def is_named(self, index: int) -> bool:
        """The element has a class or an id."""
        return "." in self._marks[self._look_of[index]]


def _kinds_of(by_look: list[int], bits: int, elements: Elements) -> list[int]:
    """Kind of each element, and of none."""
    parents = elements.parents
    own = [*map(by_look.__getitem__, elements.look_of), 0]  # the last stands for no element
    pairs = [mark | own[parent] << bits for mark, parent in zip(own, parents, strict=False)]
    pairs.append(0)
    kinds = [mark | pairs[parent] << bits for mark, parent in zip(own, parents, strict=False)]
    return [*kinds, -1]


def _outer_of(is_part: list[bool], elements: Elements) -> list[int]:
    outer: list[int] = []
    for index, (look, parent) in enumerate(zip(elements.look_of, elements.parents, strict=True)):
        if not is_part[look]:
            outer.append(index)
        else:
            outer.append(outer[parent] if parent >= 0 else -1)
    return [*outer, -1]


def _fast(by_look: list[int], bits: int, is_part: list[bool], columns: Columns) -> list[list[int]]:
    """Both by their kernel."""
    import numpy as np  # noqa: PLC0415 - only where numba is installed

    from es_dedup.extraction.seen.compiled.looking import kinds_of  # noqa: PLC0415

    marks, parts = np.array(by_look, dtype=np.int64), np.array(is_part, dtype=np.bool_)
    found: list[list[int]] = kinds_of(marks, bits, parts, columns.parents, columns.look_of).tolist()
    return found
