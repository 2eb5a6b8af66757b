"""What belongs to a text between its paragraphs: short lines, captions, quotations, lists, tables, and which links do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.hints import opens_like_furniture
from es_dedup.extraction.seen.kinds import PARTS

if TYPE_CHECKING:
    from es_dedup.extraction.seen.view import View

_OF_CAPTIONS: Final = frozenset({"p", "div", "span", "center"})
_FIGURES: Final = frozenset({"figcaption", "figure"})
_MEMBERS: Final = frozenset({"li", "td", "th", "dd", "dt"})
_OF_CELLS: Final = frozenset({"p", "span", "center"})
_FULL_STOPS: Final = ("。", "！", "？", ".", "!", "?", "”", ".)")
_SENTENCE_UNITS: Final = 12.0
_LINKED_ITEMS: Final = 0.7  # of a list or row
_BOX_LINES: Final = 3
_BOXES: Final = 4


class Between:
    """Says of the blocks between two ends of a text which belong to it.

    Args:
        view: of the page.
        foreign: places of what belongs to other pages, and of the dates of repeated items; others add to it.
    """

    def __init__(self, view: View, foreign: set[int]) -> None:
        self.view, self.foreign = view, foreign
        self.nodes, self.blocks = view.nodes, view.blocks

    def kept(self, span: list[int], good: list[int]) -> list[int]:
        """Places of the text.

        Args:
            span: places of the chosen element from the first to the last of the text.
            good: those of them that are text without doubt.
        """
        fine = set(good)
        arounds = {self.view.around(place) for place in good}
        listed, boxed = self._in_lists(span, fine), self._in_fact_boxes(span, fine)
        return [
            place
            for index, place in enumerate(span)
            if place in fine
            or self.joins(place)
            or self._is_between(span, index, fine)
            or self._is_numbered(place, span)
            or (self.view.is_quoted(place) and self.blocks[place].text not in self.view.repeated)
            or self._is_caption(place)
            or self._is_linked_sentence(place, arounds)
            or place in listed
            or place in boxed
        ]

    def joins(self, place: int) -> bool:
        """A short line between paragraphs: kept unless it is linked, hinted, a caption or opens like furniture."""
        if self.nodes[self.blocks[place].node].tag == "figcaption":
            return False
        if self.view.linked(place) or self.view.is_furniture(place) or place in self.foreign:
            return False
        return not self.view.is_negative(place)

    def _is_caption(self, place: int) -> bool:
        """The caption of a figure; credits open like furniture, and who links elsewhere says nothing of the picture."""
        nodes, index = self.nodes, self.view.nearest("figcaption", _OF_CAPTIONS, place)
        if index < 0 or nodes[index].hidden:
            return False
        while index >= 0 and nodes[index].tag in _FIGURES:
            index = nodes[index].parent  # names of both say "caption", which is furniture elsewhere
        return (
            not (index >= 0 and self.view.negative[index])
            and place not in self.foreign
            and not self.view.linked(place)
            and not opens_like_furniture(self.blocks[place].text)
        )

    def _is_linked_sentence(self, place: int, arounds: set[int]) -> bool:
        """A paragraph beside the others that is a link as a whole and ends like a sentence; headlines of other pages end without a stop."""
        return (
            self.view.linked(place)
            and self.blocks[place].links == 1
            and self.blocks[place].text.endswith(_FULL_STOPS)
            and self.view.units[place] >= _SENTENCE_UNITS
            and self.nodes[self.blocks[place].node].tag == "p"
            and self.view.around(place) in arounds
            and self._is_own(place)
        )

    def _is_between(self, span: list[int], index: int, fine: set[int]) -> bool:
        """A single linked line between two paragraphs of one element belongs to them; lists of links do not."""
        if not 0 < index < len(span) - 1:
            return False
        before, place, behind = span[index - 1 : index + 2]
        around = self.view.around(place)
        return (
            before in fine
            and behind in fine
            and around == self.view.around(before) == self.view.around(behind)
            and self._is_own(place)
        )

    def _is_numbered(self, place: int, span: list[int]) -> bool:
        """An item of a numbered list beside the paragraphs, linked or not: lists of other pages are not numbered there."""
        return (
            self.view.nearest("ol", PARTS, place) >= 0
            and not self.view.is_negative(place)
            and self.view.around(place) == self.view.around(span[0])
        )

    def _in_lists(self, span: list[int], fine: set[int]) -> set[int]:
        """Linked items of lists, and cells of rows, of which others are text: what leads on to other pages is linked throughout."""
        items: dict[int, list[int]] = {}
        outer: dict[int, int] = {}
        for place in span:
            first = node = self.blocks[place].node
            while node not in outer and self.nodes[node].tag in _OF_CELLS and self.nodes[node].parent >= 0:
                node = self.nodes[node].parent
            node = outer[first] = outer.get(node, node)
            if self.nodes[node].tag in _MEMBERS:
                items.setdefault(node, []).append(place)
        lists: dict[int, list[int]] = {}
        for node in items:
            lists.setdefault(self.nodes[node].parent, []).append(node)
        found: set[int] = set()
        for members in lists.values():
            linked = {node for node in members if all(self.view.linked(place) for place in items[node])}
            others = [place for node in members for place in items[node] if node not in linked]
            if len(linked) <= _LINKED_ITEMS * len(members) and any(
                place in fine or self.joins(place) for place in others
            ):
                found.update(place for node in linked for place in items[node] if self._is_own(place))
        return found

    def _in_fact_boxes(self, span: list[int], fine: set[int]) -> set[int]:
        """Linked lines of boxes that return between the paragraphs: what the text recommends, with place and price."""
        boxes: dict[tuple[int, ...], list[list[int]]] = {}
        box: list[int] = []
        for place in (*span, -1):
            if (
                place >= 0
                and place not in fine
                and self.view.linked(place)
                and not self.view.is_negative(place)
                and place not in self.foreign
            ):
                box.append(place)
            elif place in fine or place < 0:
                if len(box) >= _BOX_LINES:
                    key = tuple(self.view.kinds[line] for line in box[:_BOX_LINES])
                    boxes.setdefault(key, []).append(box)
                box = []
        return {place for found in boxes.values() if len(found) >= _BOXES for box in found for place in box}

    def _is_own(self, place: int) -> bool:
        """Not of another page, no furniture, no label."""
        return (
            not self.view.is_negative(place)
            and not self.view.is_furniture(place)
            and not self._is_shouted(place)
            and place not in self.foreign
            and self.blocks[place].text not in self.view.repeated
        )

    def _is_shouted(self, place: int) -> bool:
        """A link in capitals leads to another page."""
        text = self.blocks[place].text
        return self.view.linked(place) and text.isupper() and self.view.units[place] >= _SENTENCE_UNITS
