"""Where a text begins and ends in the chosen element: heading, byline and related pages do not belong to it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.articles.between import Between
from es_dedup.extraction.reading.measures import STOPS
from es_dedup.extraction.seen.hints import (
    HEADING_TAGS,
    HEADINGS,
    is_tail_heading,
    opens_like_furniture,
    speaks_of_rights,
)

if TYPE_CHECKING:
    from es_dedup.extraction.seen.view import View

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
        self.between = Between(view, self.foreign)

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
        start = self._led(good[0], [place for place in places if place < good[0]])
        end = self._extended(good[-1], [place for place in places if good[-1] < place < last])
        return self.between.kept([place for place in places if start <= place <= end], good)

    def joins(self, place: int) -> bool:
        """A short line is no furniture, no link and no caption."""
        return self.between.joins(place)

    def _with_topic(self, places: list[int], good: list[int]) -> list[int]:
        """With paragraphs that speak of rights or cookies between others in one element: the text is about that."""
        view = self.view
        doubtful = [
            place
            for place in places
            if view.prose[place] > 0
            and not view.is_negative(place)
            and view.is_furniture(place)
            and speaks_of_rights(self.blocks[place].text)
            and not opens_like_furniture(self.blocks[place].text)
        ]
        if not doubtful:
            return good
        ends: dict[int, tuple[int, int]] = {}
        for place in good:
            around = view.around(place)
            ends[around] = (ends.get(around, (place, place))[0], place)
        found = [
            place
            for place in doubtful
            if (span := ends.get(view.around(place))) and span[0] < place < span[1]
        ]
        return sorted({*good, *found})

    def _with_preformatted(self, places: list[int], good: list[int]) -> list[int]:
        """With all lines of preformatted elements that hold a good one: a message, a program, verse."""
        held = {self.blocks[place].node for place in good if self.nodes[self.blocks[place].node].tag == "pre"}
        return (
            sorted({*good, *(place for place in places if self.blocks[place].node in held)}) if held else good
        )

    def _led(self, start: int, above: list[int]) -> int:
        """The start of the text with the unlinked lines right above its first paragraph that are its equals and no byline."""
        for place in reversed(above):
            if not (
                (self._equals(start, place) or self._is_beside(start, place))
                and self.joins(place)
                and not self.is_head(place)
                and self.blocks[place].text not in self.view.repeated
                and self.view.units[place] >= (_LINE_UNITS if self._is_paragraph(place) else _LEAD_UNITS)
            ):
                break
            start = place
        before = next((place for place in reversed(above) if place < start), -1)
        return before if before >= 0 and self._heads(before, start) else start

    def _is_beside(self, start: int, place: int) -> bool:
        """A paragraph above a list or a quotation, in the element that holds it."""
        return self._is_paragraph(place) and self.view.around(place) == self.view.around(start)

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
        from_place = -1
        for place in places:
            if place in fine:
                before += weight[place]
            if before > _TAIL_SHARE * total and is_tail_heading(self.blocks[place].text):
                if from_place < 0:
                    from_place = self._goes_on_to(place, good)
                if place >= from_place:
                    return place
        return places[-1] + 1 if places else 0

    def _goes_on_to(self, heading: int, good: list[int]) -> int:
        """Place up to which a text goes on behind a line that is a cell or a headline of it, and not of what follows.

        From there on fewer than three paragraphs stand that are of a kind of which three stand above it.
        """
        kinds = Counter([self.view.kinds[place] for place in good if place < heading])
        behind = [place for place in good if place > heading and kinds[self.view.kinds[place]] >= _PARAGRAPHS]
        return behind[-_PARAGRAPHS] if len(behind) >= _PARAGRAPHS else heading

    def is_head(self, place: int) -> bool:
        """The page's own title, or a line with little else than a date."""
        block = self.blocks[place]
        if block.node >= 0 and self.nodes[block.node].tag == "h1":
            return True
        if block.chars > _HEAD_CHARS:
            return False
        return block.text in self.view.document.title or (
            block.chars < _DATELINE_CHARS
            and ("20" in block.text or "19" in block.text)  # of every year that the pattern finds
            and _DAY.search(block.text) is not None
        )
