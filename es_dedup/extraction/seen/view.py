"""What the choice of the main text looks at: for every block its length, prose, kind and hints.

Lengths are in units: ideographs, or three Latin letters. All lists go by the place of a block or the index of a node.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from functools import cache
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.boxes import ANY_HEADING, furniture_boxes
from es_dedup.extraction.seen.furniture import forgiven, hints_of
from es_dedup.extraction.seen.hints import TAG_HINTS, is_furniture, named_hint
from es_dedup.extraction.seen.kinds import PARTS, Kinds
from es_dedup.extraction.seen.lengths import LINKED, lengths
from es_dedup.extraction.seen.verse import weigh_lines

if TYPE_CHECKING:
    from collections.abc import Collection

    from es_dedup.extraction.reading.document import Document
    from es_dedup.extraction.seen.records import Records

_REPEATED: Final = 3  # times the same short text stands in a page: a button, a label
_REPEATED_CHARS: Final = 32


class View:
    """A document with what is known of its blocks.

    Args:
        document: the parsed page.
        talk: replies are part of the main text; False takes them for furniture.
    """

    def __init__(self, document: Document, *, talk: bool = False) -> None:
        self.document = document
        self.nodes, self.blocks = document.nodes, document.blocks
        self.by_look = document.elements.by_look
        self.parents = document.elements.parents
        self.holders = document.elements.holders
        """For each block, index of the element around it; -1 for none."""
        self.units, self.prose = lengths(document)
        self.kind = Kinds(document)
        self.kinds = self.kind.of_blocks
        weigh_lines(self)
        counts = Counter([block.text for block in self.blocks if block.chars <= _REPEATED_CHARS])
        self.repeated = {text for text, count in counts.items() if count >= _REPEATED}
        self.headings = self._headings()
        """Names of all headings and legends, by the index of the element."""
        self.headed = [place for place, node in enumerate(self.holders) if node in self.headings]
        """Places of the blocks right in them."""
        self.captions = self.called("figcaption")
        """Indices of the captions of figures."""
        self.ends = document.elements.ends
        self.arounds = list(map(self.kind.outer.__getitem__, self.holders))
        """``around`` of each block."""
        self._furniture: dict[int, bool] = {}
        self._nearest: dict[str, list[int]] = {}
        self._reached: list[int] | None = None
        self.stamps: list[int] | None = None  # these are found when they are asked for
        self.dated: set[int] | None = None
        self.talking: list[bool] | None = None
        self.lists: dict[frozenset[int], list[Records]] = {}
        """Of dated items, by the places of the dates."""
        self.boxes, self.talk_boxes = furniture_boxes(self)
        """Indices of the elements whose heading says that they are furniture, and of those among them with comments."""
        self.mass, self.total = self._mass()
        self._judged: dict[bool, tuple[list[int], list[bool], list[int]]] = {}
        self.judge(talk=talk)

    @property
    def boxed(self) -> set[int]:
        """Indices of elements in boxes that say in their heading that they are furniture."""
        return {index for box in self.boxes for index in range(box, self.ends[box])}

    def judge(self, *, talk: bool) -> None:
        """Read the hints again: with or without replies as furniture."""
        if talk not in self._judged:
            document = self.document
            by_look = [
                named_hint(tag, names, talk) if names else TAG_HINTS.get(tag, 0)
                for tag, names in zip(self.by_look.tags, self.by_look.names, strict=True)
            ]
            named = list(map(by_look.__getitem__, document.elements.look_of))
            other = self._judged.get(not talk)
            if other is None or other[0] != named or self.talk_boxes:
                hints = hints_of(self, named.copy(), talk=talk)
                other = named, forgiven(self, hints), hints
            self._judged[talk] = other
        _, negative, self.hints = self._judged[talk]
        self.negative = negative.copy()

    def forgive(self, elements: Collection[int]) -> None:
        """Read the hints as if these elements had none of their own."""
        hints = self.hints.copy()
        for index in elements:
            hints[index] = 0
        self.negative = forgiven(self, hints)

    def linked(self, place: int) -> bool:
        """At least half of the block is link text."""
        block = self.blocks[place]
        return block.link_chars > LINKED * block.chars

    def is_furniture(self, place: int) -> bool:
        """The block's text opens like a byline, a notice, a share bar or the like."""
        known = self._furniture.get(place)
        if known is None:
            known = self._furniture[place] = is_furniture(self.blocks[place].text)
        return known

    def is_negative(self, place: int) -> bool:
        """The block stands in furniture, by the names of what is around it."""
        node = self.holders[place]
        return node >= 0 and self.negative[node]

    def is_quoted(self, place: int) -> bool:
        """A quotation belongs to the text around it, whatever the box between them is called."""
        quotation = self.nearest("blockquote", PARTS, place)
        return quotation >= 0 and not self.nodes[quotation].hidden

    def nearest(self, tag: str, through: frozenset[str], place: int) -> int:
        """Index of the nearest element with a name around a block; -1 where there is none, or where another than those to be gone through stands between.

        Each name always with the same others.
        """
        found = self._nearest.get(tag)
        if found is None:
            found = self._nearest[tag] = self._nearest_to_all(tag, through)
        return found[self.blocks[place].node] if found else -1

    def _nearest_to_all(self, tag: str, through: frozenset[str]) -> list[int]:
        """The same for each element, the last standing for none; empty where no element has the name."""
        tags = self.by_look.tags
        if tag not in tags:
            return []
        found: list[int] = []
        for index, (look, parent) in enumerate(
            zip(self.document.elements.look_of, self.parents, strict=True)
        ):
            if tags[look] == tag:
                found.append(index)
            else:
                found.append(found[parent] if parent >= 0 and tags[look] in through else -1)
        return [*found, -1]

    def inside(self, node: int) -> list[int]:
        """Places of the blocks in a subtree."""
        holders, end = self.holders, self.ends[node]
        if self._reached is None:
            self._reached = list(accumulate(holders, max))  # elements are numbered as they are reached
        first, last = bisect_left(self._reached, node), bisect_left(self._reached, end)
        while last > first and holders[last - 1] < node:  # behind it, in what is around it
            last -= 1
        return list(range(first, last))

    def around(self, place: int) -> int:
        """The element that holds a block's text as a whole: around its paragraph, or its own where ``<br>`` breaks lines.

        -1 for text outside all elements.
        """
        return self.arounds[place]

    def holder(self, index: int) -> int:
        """The element itself, or the first around it that is no part of a text; -1 for none."""
        return self.kind.outer[index]

    def headed_by(self, tags: Collection[str]) -> list[int]:
        """Places of the blocks right in headings with one of these names."""
        return [place for place in self.headed if self.headings[self.holders[place]] in tags]

    def called(self, tag: str) -> set[int]:
        """Indices of the elements with a name."""
        if tag not in self.by_look.tags:
            return set()
        return set(self.with_looks({look for look, other in enumerate(self.by_look.tags) if other == tag}))

    def with_looks(self, looks: Collection[int]) -> list[int]:
        """Indices of the elements with one of these looks, by the numbers of the looks; ascending."""
        return [index for index, look in enumerate(self.document.elements.look_of) if look in looks]

    def _headings(self) -> dict[int, str]:
        tags, look_of = self.by_look.tags, self.document.elements.look_of
        is_heading = list(map(ANY_HEADING.__contains__, tags))
        found = compress(range(len(look_of)), map(is_heading.__getitem__, look_of))
        return {index: tags[look_of[index]] for index in found}

    def _mass(self) -> tuple[list[float], float]:
        """Prose in each element, and in the whole page."""
        mass, total = [0.0] * len(self.nodes), 0.0
        for node, prose in zip(self.holders, self.prose, strict=True):
            if prose > 0:
                total += prose
                if node >= 0:
                    mass[node] += prose
        parents = self.parents
        for index in range(len(parents) - 1, 0, -1):
            if units := mass[index]:
                mass[parents[index]] += units
        return mass, total


@cache
def load_kernels() -> None:
    """Bring the kernels of this room into the process, see ``spans.load_kernels``."""
    from es_dedup.extraction.reading.spans import read_spans  # noqa: PLC0415 - needs numba

    if document := read_spans(b"<p>x", 9):
        View(document)
