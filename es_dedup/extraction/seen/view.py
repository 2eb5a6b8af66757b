"""What the choice of the main text looks at: for every block its length, prose, kind and hints.

Lengths are in units: ideographs, or three Latin letters. All lists go by the place of a block or the index of a node.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from functools import cache
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.measures import STOPS
from es_dedup.extraction.seen.boxes import (
    ANY_HEADING,
    WRAPPED,
    furniture_boxes,
    sections_by_headline,
    wraps_main,
)
from es_dedup.extraction.seen.hints import (
    BOX_HINT,
    LIST_HINT,
    NEGATIVE_TAGS,
    TAG_HINTS,
    is_furniture,
    named_hint,
)
from es_dedup.extraction.seen.kinds import PARTS, Kinds
from es_dedup.extraction.seen.lengths import LINKED, MANY_UNITS, lengths

if TYPE_CHECKING:
    from collections.abc import Collection

    from es_dedup.extraction.reading.document import Document
    from es_dedup.extraction.seen.records import Records

_FORGIVEN_SHARE: Final = (
    0.7  # of the page's prose; a container that holds it is no furniture, whatever its name
)
_MOST_WRAPPERS: Final = 16  # elements of a page that are looked into
_BESIDE_UNITS: Final = 100.0  # of prose in a main part beside it: then it is furniture all the same
_BESIDE_SHARE: Final = 0.2  # and of the page's prose
_FORM_SHARE: Final = 0.25  # the same for forms: some wrap all posts of a thread
_TEXT_UNITS: Final = 20.0  # of prose
_FEW_LINKS: Final = 0.4  # of the characters
_REPEATED: Final = 3  # times the same short text stands in a page: a button, a label
_REPEATED_CHARS: Final = 32
_LINES: Final = 4  # lines of one element, or paragraphs of one kind, that make up a text without punctuation
_SENTENCES: Final = 0.6  # of the items of a list
_LINE_UNITS: Final = 6.0
_LINE_WEIGHT: Final = 0.4
_HIDDEN_ROLES: Final = frozenset(
    "navigation complementary contentinfo search dialog alertdialog banner".split()
)


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
        self._lines()
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
        self._reached: list[int] | None = None
        self.stamps: list[int] | None = None  # these are found when they are asked for
        self.dated: set[int] | None = None
        self.talking: list[bool] | None = None
        self.lists: dict[frozenset[int], list[Records]] = {}
        """Of dated items, by the places of the dates."""
        self._boxes, self._talk_boxes = furniture_boxes(self)
        self.mass, self.total = self._mass()
        self._judged: dict[bool, tuple[list[int], list[bool], list[int]]] = {}
        self.judge(talk=talk)

    @property
    def boxed(self) -> set[int]:
        """Indices of elements in boxes that say in their heading that they are furniture."""
        return {index for box in self._boxes for index in range(box, self.ends[box])}

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
            if other is None or other[0] != named or self._talk_boxes:
                hints = self._hints(named.copy(), talk=talk)
                other = named, self._forgiven(hints), hints
            self._judged[talk] = other
        _, negative, self.hints = self._judged[talk]
        self.negative = negative.copy()

    def forgive(self, elements: Collection[int]) -> None:
        """Read the hints as if these elements had none of their own."""
        hints = self.hints.copy()
        for index in elements:
            hints[index] = 0
        self.negative = self._forgiven(hints)

    def _hints(self, hints: list[int], *, talk: bool) -> list[int]:
        """For each element: names, role, state and what stands in it speak for or against it."""
        nodes = self.nodes
        for index in sections_by_headline(self, hints):
            hints[index] = 0
        if any(self.by_look.hidden) or any(self.by_look.roles):
            roles, hidden = map(_HIDDEN_ROLES.__contains__, self.by_look.roles), self.by_look.hidden
            says = [role or hides for role, hides in zip(roles, hidden, strict=True)]
            look_of = self.document.elements.look_of
            for index in compress(range(len(look_of)), map(says.__getitem__, look_of)):
                node = nodes[index]
                if node.role in _HIDDEN_ROLES or not (node.parent >= 0 and nodes[node.parent].hidden):
                    hints[index] = -1
        for index in self._short_captions():
            hints[index] = -1
        for index in self._boxes:
            if not (talk and index in self._talk_boxes):
                hints[index] = BOX_HINT if hints[index] < 0 else -1
        return hints

    def _short_captions(self) -> list[int]:
        """Captions of figures; one with several paragraphs of prose is a text."""
        if not self.captions:
            return []
        captions = dict.fromkeys(sorted(self.captions), 0)
        for block, prose in zip(self.blocks, self.prose, strict=True):
            if prose > 0 and block.node >= 0:
                inside = block.node if block.node in captions else self.parents[block.node]
                if inside in captions:
                    captions[inside] += 1
        return [index for index, paragraphs in captions.items() if paragraphs <= 1]

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
        index = self.blocks[place].node
        while index >= 0 and self.nodes[index].tag in PARTS:
            if self.nodes[index].tag == "blockquote":
                return not self.nodes[index].hidden
            index = self.nodes[index].parent
        return False

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
        looks = {look for look, other in enumerate(self.by_look.tags) if other == tag}
        return {index for index, look in enumerate(self.document.elements.look_of) if look in looks}

    def _headings(self) -> dict[int, str]:
        tags, look_of = self.by_look.tags, self.document.elements.look_of
        is_heading = list(map(ANY_HEADING.__contains__, tags))
        found = compress(range(len(look_of)), map(is_heading.__getitem__, look_of))
        return {index: tags[look_of[index]] for index in found}

    def _lines(self) -> None:
        """Verse, lists of dates, texts without punctuation: many unlinked lines of one kind count a little."""
        lines: dict[int, list[int]] = {}
        for place, (block, prose) in enumerate(zip(self.blocks, self.prose, strict=True)):
            if prose <= 0 and not block.link_chars and block.node >= 0:
                lines.setdefault(self.kinds[place], []).append(place)
        for places in lines.values():
            if len(places) < _LINES or not self._are_lines(places):
                continue
            for place in places:
                self.prose[place] = _LINE_WEIGHT * min(self.units[place], MANY_UNITS)

    def _are_lines(self, places: list[int]) -> bool:
        first = self.blocks[places[0]].node
        in_one = self.blocks[places[-1]].node == first
        tag = self.nodes[first].tag
        if not in_one and tag != "p" and not (tag == "li" and self._are_sentences(places)):
            return False
        mean = sum(self.units[place] for place in places) / len(places)
        return mean >= _LINE_UNITS and len({self.blocks[place].text for place in places}) > 0.8 * len(places)

    def _are_sentences(self, places: list[int]) -> bool:
        """Most lines have a stop: items of a list in a text, not of a menu that a script opens."""
        stopped = sum(1 for place in places if STOPS.search(self.blocks[place].text))
        return stopped >= _SENTENCES * len(places)

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

    def _forgiven(self, hints: list[int]) -> list[bool]:
        """Without negative hints on a container that holds most of the page's prose; others are handed down."""
        if LIST_HINT in hints:
            self._forgive_texts(hints)
        negative = [False] * len(hints)
        looks = _MOST_WRAPPERS
        furniture = [index for index, hint in enumerate(hints) if hint < 0]
        mains = [index for index, hint in enumerate(hints) if hint == 1] if furniture else []
        least = max(_BESIDE_UNITS, _BESIDE_SHARE * self.total)
        beside = [main for main in mains if self.mass[main] >= least]
        for index in furniture:
            forgiven = _FORM_SHARE if self.nodes[index].tag == "form" else _FORGIVEN_SHARE
            if negative[index] or (
                hints[index] != BOX_HINT
                and self.mass[index] >= forgiven * self.total
                and not self._stands_beside(index, beside)
            ):
                continue
            if looks and self.mass[index] >= WRAPPED * self.total and self._is_named(index):
                looks -= 1
                if wraps_main(self, index, mains, furniture):
                    continue
            end = self.ends[index]
            negative[index:end] = [True] * (end - index)
        return negative

    def _stands_beside(self, index: int, mains: list[int]) -> bool:
        """One of some parts stands outside an element."""
        end = self.ends[index]
        return any(main >= end or self.ends[main] <= index for main in mains)

    def _is_named(self, index: int) -> bool:
        """Nothing but its class or id says that an element is furniture."""
        node = self.nodes[index]
        return not (node.hidden or node.role in _HIDDEN_ROLES or node.tag in NEGATIVE_TAGS)

    def _forgive_texts(self, hints: list[int]) -> None:
        """An element named after a list of links that holds prose and few links is none."""
        for index, hint in enumerate(hints):
            if hint != LIST_HINT or self.mass[index] < _TEXT_UNITS:
                continue
            held = [self.blocks[place] for place in self.inside(index)]
            if sum(block.link_chars for block in held) <= _FEW_LINKS * sum(block.chars for block in held):
                hints[index] = 0


@cache
def load_kernels() -> None:
    """Bring the kernels of this room into the process, see ``spans.load_kernels``."""
    from es_dedup.extraction.reading.spans import read_spans  # noqa: PLC0415 - needs numba

    if document := read_spans(b"<p>x", 9):
        View(document)
