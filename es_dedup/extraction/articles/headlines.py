"""Main headings of a page: the text stands below the one that is the page's title, and above that of a further article."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.hints import BELOW_TITLE, HEADINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.seen.view import View

_ARTICLE_UNITS: Final = 40.0  # of prose before a further main heading that begins another article
_TITLE_CHARS: Final = 6
_ARTICLES: Final = 2


class Headlines:
    """Where the text may begin and end.

    Args:
        view: of the page.
    """

    def __init__(self, view: View) -> None:
        self.view, self.nodes, self.blocks = view, view.nodes, view.blocks
        self.title = view.document.title
        self.places = view.headed_by(HEADINGS)
        """Of the blocks right in headings that can be a headline."""

    def start(self, weight: Sequence[float]) -> int:
        """Place of the heading, or else of the line, that is the page's title; 0 for none.

        Above it stand greetings, notices and requests for consent, unless most of the prose does.
        """
        first = next((place for place in self.places if self._is_title(place)), 0)
        if not first and not self.places:
            first = next(filter(self._is_title, range(len(self.blocks))), 0)
        if not first:
            return 0
        above = sum([units for units in weight[:first] if units > 0])
        behind = sum([units for units in weight[first:] if units > 0])
        return first if behind >= max(_ARTICLE_UNITS, BELOW_TITLE * above) else 0

    def above(self, places: Sequence[int]) -> int:
        """Place of the last main heading, or heading that is the page's title, above a text; -1 for none."""
        before = range(places[0] - 1 if places else -1, -1, -1)
        return next((place for place in before if self._is_main(place)), -1)

    def next_article(self, weight: Sequence[float]) -> list[int]:
        """Places from a main heading of another part on: pages may go on with whole other articles.

        Not of the element that holds the text above where it goes on behind the heading, which may be that of a player.
        """
        main = set(self.view.headed_by(("h1",)))
        if len(main) < _ARTICLES:
            return []
        titled, before, reached = False, 0.0, -1
        for place, block in enumerate(self.blocks):
            node = block.node
            if place in main and not self.view.linked(place):
                if not titled:
                    titled = block.text in self.title
                elif before >= _ARTICLE_UNITS and self.nodes[node].parent > reached:
                    held = {self.view.around(above) for above in range(place) if weight[above] > 0}
                    return [
                        later for later in range(place, len(weight)) if self.view.around(later) not in held
                    ]
            elif titled and weight[place] > 0:
                before += weight[place]
                reached = max(reached, node)
        return []

    def _is_main(self, place: int) -> bool:
        block = self.blocks[place]
        tag = self.nodes[block.node].tag if block.node >= 0 else ""
        return not block.hidden and (tag == "h1" or (tag in HEADINGS and self._is_title(place)))

    def _is_title(self, place: int) -> bool:
        """The text of a heading is in the page's title: all of it, or most where it is no main heading."""
        block = self.blocks[place]
        return (
            (
                (block.node >= 0 and self.nodes[block.node].tag == "h1")
                or 2 * len(block.text) >= len(self.title)
            )
            and not block.hidden
            and not self.view.linked(place)
            and block.chars >= _TITLE_CHARS
            and block.text in self.title
        )
