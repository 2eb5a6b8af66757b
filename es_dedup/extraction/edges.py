"""What belongs to a text between its paragraphs and at its ends: short lines, quotations, lists; heading and byline do not."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.hints import HEADING_TAGS, is_tail_heading, opens_like_furniture
from es_dedup.extraction.view import PARTS, STOPS

if TYPE_CHECKING:
    from es_dedup.extraction.view import View

HEADINGS: Final = frozenset({"h1", "h2", "h3"})
_OF_CAPTIONS: Final = frozenset({"p", "div", "span", "center"})
_MEMBERS: Final = frozenset({"li", "td", "th", "dd", "dt"})
_OF_CELLS: Final = frozenset({"p", "span", "center"})
_BOX_LINES: Final = 3
_BOXES: Final = 4
_FULL_STOPS: Final = ("。", "！", "？", ".", "!", "?", "”", ".)")
_LINKED_ITEMS: Final = 0.7  # of a list
_SUBHEADINGS: Final = HEADING_TAGS - {"h1"}
_TAIL_SHARE: Final = 0.6  # of the prose must stand before the heading of a list of related pages
_HEAD_CHARS: Final = 120
_LINE_UNITS: Final = 3.0
_LEAD_UNITS: Final = 12.0  # shorter lines above the first paragraph are names, places, labels
_PARAGRAPHS: Final = 3  # as many behind a heading as above it
_APART: Final = 2  # lines of a box inside the text
_DATELINE_CHARS: Final = 70
_DAY: Final = re.compile(
    r"(?:19|20)\d\d\s?[-/.年]\s?\d{1,2}\s?[-/.月]\s?\d{1,2}|"
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.? \d{1,2},? (?:19|20)\d\d|\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?,? (?:19|20)\d\d"
)


class Edges:
    """Tidies the blocks of a chosen element.

    Args:
        view: of the page.

    Attributes:
        foreign: places of what belongs to other pages, and of the dates of repeated items.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.nodes, self.blocks = view.nodes, view.blocks
        self.foreign: set[int] = set()

    def tidy(self, places: list[int], weight: list[float]) -> list[int]:
        """Cut heading and byline at the head, related pages at the tail, furniture in between."""
        good = [place for place in places if weight[place] > 0]
        last = self._tail(places, good, weight)
        good = [place for place in good if place < last]
        while len(good) > 1 and self.is_head(good[0]):
            good.pop(0)
        if not good:
            return []
        good = self._with_preformatted(places, self._with_topic(places, good))
        fine = set(good)
        start = self._led(good[0], [place for place in places if place < good[0]])
        end = self._extended(good[-1], [place for place in places if good[-1] < place < last])
        span = [place for place in places if start <= place <= end]
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

    def _is_caption(self, place: int) -> bool:
        """The caption of a figure between paragraphs; credits open like furniture, and who links elsewhere says nothing of the picture."""
        index = self.blocks[place].node
        while index >= 0 and self.nodes[index].tag != "figcaption":
            if self.nodes[index].tag not in _OF_CAPTIONS:
                return False
            index = self.nodes[index].parent
        return (
            index >= 0
            and not self.nodes[index].hidden
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
            and self.view.units[place] >= _LEAD_UNITS
            and self.nodes[self.blocks[place].node].tag == "p"
            and self.view.around(place) in arounds
            and self._is_own(place)
        )

    def _in_lists(self, span: list[int], fine: set[int]) -> set[int]:
        """Linked items of lists, and cells of rows, of which others are text: what leads on to other pages is linked throughout."""
        lists: dict[int, list[int]] = {}
        for place in span:
            node = self.blocks[place].node
            while self.nodes[node].tag in _OF_CELLS and self.nodes[node].parent >= 0:
                node = self.nodes[node].parent
            if self.nodes[node].tag in _MEMBERS:
                lists.setdefault(self.nodes[node].parent, []).append(place)
        return {
            place
            for members in lists.values()
            if any(other in fine or self.joins(other) for other in members)
            and sum(self.view.linked(other) for other in members) <= _LINKED_ITEMS * len(members)
            for place in members
            if self._is_own(place)
        }

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

    def _with_topic(self, places: list[int], good: list[int]) -> list[int]:
        """With paragraphs that speak of rights or cookies between others in one element: the text is about that."""
        ends: dict[int, tuple[int, int]] = {}
        for place in good:
            around = self.view.around(place)
            ends[around] = (ends.get(around, (place, place))[0], place)
        found = [
            place
            for place in places
            if self.view.prose[place] > 0
            and not self.view.is_negative(place)
            and self.view.is_furniture(place)
            and not opens_like_furniture(self.blocks[place].text)
            and (span := ends.get(self.view.around(place)))
            and span[0] < place < span[1]
        ]
        return sorted({*good, *found}) if found else good

    def _with_preformatted(self, places: list[int], good: list[int]) -> list[int]:
        """With all lines of preformatted elements that hold a good one: a message, a program, verse."""
        held = {self.blocks[place].node for place in good if self.nodes[self.blocks[place].node].tag == "pre"}
        return (
            sorted({*good, *(place for place in places if self.blocks[place].node in held)}) if held else good
        )

    def _is_numbered(self, place: int, span: list[int]) -> bool:
        """An item of a numbered list beside the paragraphs, linked or not: lists of other pages are not numbered there."""
        index = self.blocks[place].node
        while index >= 0 and self.nodes[index].tag in PARTS:
            if self.nodes[index].tag == "ol":
                return not self.view.is_negative(place) and self.view.around(place) == self.view.around(
                    span[0]
                )
            index = self.nodes[index].parent
        return False

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

    def _is_shouted(self, place: int) -> bool:
        """A link in capitals leads to another page."""
        text = self.blocks[place].text
        return self.view.linked(place) and text.isupper() and self.view.units[place] >= _LEAD_UNITS

    def _led(self, start: int, above: list[int]) -> int:
        """The start of the text with the unlinked lines right above its first paragraph that are its equals and no byline."""
        for place in reversed(above):
            if not (
                self._equals(start, place)
                and self.joins(place)
                and not self.is_head(place)
                and self.blocks[place].text not in self.view.repeated
                and self.view.units[place] >= (_LINE_UNITS if self._is_paragraph(place) else _LEAD_UNITS)
            ):
                break
            start = place
        before = next((place for place in reversed(above) if place < start), -1)
        return before if before >= 0 and self._heads(before, start) else start

    def _is_paragraph(self, place: int) -> bool:
        return self.nodes[self.blocks[place].node].tag == "p"

    def _heads(self, place: int, first: int) -> bool:
        """A sub-heading right above the first paragraph, in its element: of the text, unless it is the title again."""
        return (
            self.nodes[self.blocks[place].node].tag in _SUBHEADINGS
            and self.view.around(place) == self.view.around(first)
            and self.joins(place)
            and not self.is_head(place)
        )

    def _extended(self, end: int, following: list[int]) -> int:
        """The end of the text with the short sentences that follow its last paragraph as its equals."""
        apart = 0
        for place in following:
            if not self._equals(end, place):
                apart += 1
                if apart > _APART or self.nodes[self.blocks[place].node].tag in HEADINGS:
                    break
            elif self.joins(place) and (
                STOPS.search(self.blocks[place].text)
                or (
                    self.blocks[end].node == self.blocks[place].node and self.view.units[place] >= _LEAD_UNITS
                )
            ):
                end, apart = place, 0
            else:
                break
        return end

    def _equals(self, left: int, right: int) -> bool:
        """Both stand in the same element, or in elements of one kind with one parent."""
        if self.blocks[left].node == self.blocks[right].node:
            return True
        first, second = self.nodes[self.blocks[left].node], self.nodes[self.blocks[right].node]
        return first.parent == second.parent and first.tag == second.tag

    def _tail(self, places: list[int], good: list[int], weight: list[float]) -> int:
        """Where the heading of a list of related pages or comments stands after most of the prose, or past the end."""
        total, before, fine = sum(weight[place] for place in good), 0.0, set(good)
        for place in places:
            if place in fine:
                before += weight[place]
            if (
                before > _TAIL_SHARE * total
                and is_tail_heading(self.blocks[place].text)
                and not self._goes_on(place, good)
            ):
                return place
        return places[-1] + 1 if places else 0

    def _goes_on(self, heading: int, good: list[int]) -> bool:
        """Several paragraphs behind a line are of a kind of which several stand above it: it is a cell or a headline of the text."""
        kinds = Counter([self.view.kinds[place] for place in good if place < heading])
        behind = [place for place in good if place > heading and kinds[self.view.kinds[place]] >= _PARAGRAPHS]
        return len(behind) >= _PARAGRAPHS

    def is_head(self, place: int) -> bool:
        """The page's own title, or a line with little else than a date."""
        block = self.blocks[place]
        if block.node >= 0 and self.nodes[block.node].tag == "h1":
            return True
        if block.chars > _HEAD_CHARS:
            return False
        return block.text in self.view.document.title or bool(
            _DAY.search(block.text) and block.chars < _DATELINE_CHARS
        )

    def joins(self, place: int) -> bool:
        """A short line between paragraphs: kept unless it is linked, hinted, a caption or opens like furniture."""
        if self.nodes[self.blocks[place].node].tag == "figcaption":
            return False
        if self.view.linked(place) or self.view.is_furniture(place) or place in self.foreign:
            return False
        return not self.view.is_negative(place)
