"""The main text of an article: the element whose blocks weigh most, and what belongs to it around it."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.articles.edges import Edges
from es_dedup.extraction.articles.endings import ending
from es_dedup.extraction.articles.headlines import Headlines
from es_dedup.extraction.articles.slides import named_slide
from es_dedup.extraction.articles.standfirst import standfirst
from es_dedup.extraction.reading.measures import STOPS
from es_dedup.extraction.seen.choice import Choice
from es_dedup.extraction.seen.dated import dates
from es_dedup.extraction.seen.hints import HEADINGS
from es_dedup.extraction.seen.kinds import PARTS
from es_dedup.extraction.seen.records import SHORT_OWN, TALK_SHARE, are_said, records
from es_dedup.extraction.seen.teasers import teasers

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.extraction.seen.view import View

_MAIN_UNITS: Final = 20.0  # of prose that a main element must hold to be believed
_BESIDE_MAIN: Final = 0.4  # weight of prose outside it
_MAIN_KIND: Final = 0.3  # of the chosen prose that is of one kind
_OUTSIDE_BODY: Final = 0.35  # of the prose; more of it outside the main kinds' elements is no furniture
_LEAD: Final = 0.18  # the same before them: leads are longer than bylines
_LEVELS_UP: Final = 6  # elements around the chosen one in which more of that kind is looked for
_LITTLE_TEXT: Final = 100.0  # units
_ABOVE: Final = 0.7  # of the own prose stands before what readers say
_TITLE_WEIGHT: Final = 60.0  # of a line that is all of words of the title
_FAR_OUTSIDE: Final = 0.6  # of the prose, in several elements of which none holds much
_PARAGRAPHS: Final = 3
_FEW: Final = 2  # lines from a teaser to the paragraph that repeats it: a byline may stand between them
_MOST_AGAINST: Final = -60.0  # what one subtree may weigh against the one around it


class Article:
    """The blocks of an article in a page.

    Args:
        view: of the page; hints may be read again.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.nodes, self.blocks = view.nodes, view.blocks
        self.title = view.document.title
        self.edges = Edges(view)
        self.headlines = Headlines(view)
        self._without_comments()
        self.weight = self._weights()
        start = self.headlines.start(self.weight)
        self.weight[:start] = [weight if weight < 0 else 0.0 for weight in self.weight[:start]]
        self._favour_main()
        self._favour_title()
        self._without(self._of_other_pages())
        self._without(self.headlines.next_article(self.weight))

    def _without(self, places: list[int]) -> None:
        for place in places:
            self.weight[place] = min(0.0, self.weight[place])
            self.edges.foreign.add(place)

    def _without_comments(self) -> None:
        """What stands below the text as dated items of people is furniture, whatever its names are."""
        view, dated = self.view, dates(self.view)
        for found in records(view, dated) if dated else ():
            self.edges.foreign.update(found.dates)
            own = above = talk = 0.0
            for place, prose in enumerate(view.prose):
                if prose <= 0 or view.is_negative(place) or view.is_furniture(place):
                    continue
                if found.inside[place]:
                    talk += prose
                else:
                    own += prose
                    above += prose if place < found.first else 0.0
            if own < _LITTLE_TEXT or above < _ABOVE * own or (own < SHORT_OWN and talk > TALK_SHARE * own):
                continue
            if talk and are_said(view, found, dated):
                for place, inside in enumerate(found.inside):
                    if inside:
                        view.negative[self.blocks[place].node] = True

    def _of_other_pages(self) -> list[int]:
        """Places of what belongs to other pages: other slides than the one that the address names, teasers."""
        slide = named_slide(self.view)
        if slide < 0:
            return teasers(self.view)
        first, end = slide, self.view.ends[slide]
        return [place for place, block in enumerate(self.blocks) if not first <= block.node < end]

    def _favour_title(self) -> None:
        """On a page with little text, lines that speak of the title are nearer to it than others."""
        if not self.title or sum([weight for weight in self.weight if weight > 0]) > _LITTLE_TEXT:
            return
        pairs = {self.title[i : i + 2] for i in range(len(self.title) - 1)}
        for place, block in enumerate(self.blocks):
            node = block.node
            if (
                self.weight[place] <= 0
                or block.link_chars
                or (node >= 0 and self.nodes[node].tag in HEADINGS)
            ):
                continue
            text = block.text[:300]
            shared = sum(1 for i in range(len(text) - 1) if text[i : i + 2] in pairs)
            self.weight[place] += _TITLE_WEIGHT * shared / len(text)

    def _favour_main(self) -> None:
        """Where one element says that it is the main part and holds prose, text beside it counts less."""
        tags, roles = self.view.by_look.tags, self.view.by_look.roles
        if "main" not in tags and "main" not in roles:
            return
        looks = {look for look, own in enumerate(zip(tags, roles, strict=True)) if "main" in own}
        main = self.view.with_looks(looks)
        if len(main) != 1 or self.view.mass[main[0]] < _MAIN_UNITS:
            return
        first, end = main[0], self.view.ends[main[0]]
        for place, block in enumerate(self.blocks):
            if not first <= block.node < end and self.weight[place] > 0:
                self.weight[place] *= _BESIDE_MAIN

    def choice(self) -> Choice:
        """The densest part of the page, tidied."""
        best, score = self.best()
        while best > 0 and self.nodes[best].tag in PARTS:
            best = self.nodes[best].parent
        places = self.edges.tidy(self._widened(best), self.weight) if best >= 0 else []
        above = standfirst(self.edges, self.headlines.above(places), places, self.weight)
        places = self._without_teaser([*above, *places, *ending(self.edges, places)])
        return Choice(
            places, rule="the densest part of the page", node=best, score=score, reason=self._reason(best)
        )

    def _without_teaser(self, places: list[int]) -> list[int]:
        """From the second of two equal paragraphs of different kinds on, where the first begins: a teaser in the headline's box."""
        text, kind = (self.blocks[places[0]].text, self.view.kinds[places[0]]) if places else ("", -1)
        for number, place in enumerate(places[1 : _FEW + 1], start=1):
            if self.blocks[place].text == text and self.view.kinds[place] != kind:
                return places[number:]
        return places

    def without_hints(self) -> Choice:
        """The same without regard to names: a page whose prose stands in furniture throughout."""
        self.view.negative = [node.hidden for node in self.nodes]
        self.weight = self._weights()
        return self.choice()

    def _reason(self, best: int) -> Callable[[int], str]:
        view = self.view

        def reason(place: int) -> str:
            if self.blocks[place].hidden:
                return "hidden"
            if view.is_negative(place):
                return "in furniture, by its names"
            if view.linked(place):
                return "links"
            if self.view.is_furniture(place):
                return "reads like furniture"
            if best < 0 or not best <= self.blocks[place].node < view.ends[best]:
                return "outside the chosen part"
            return "at the edge of the text" if self.edges.is_head(place) else "no prose"

        return reason

    def _widened(self, best: int) -> list[int]:
        """The chosen part, with blocks of its main kind that stand in the elements around it."""
        view = self.view
        places = view.inside(best)
        mass: dict[int, float] = {}
        for place in places:
            if self.weight[place] > 0:
                mass[view.kinds[place]] = mass.get(view.kinds[place], 0.0) + self.weight[place]
        total = sum(mass.values())
        main = {kind for kind, units in mass.items() if units >= _MAIN_KIND * total}
        found, outer = set(places), best
        for _ in range(_LEVELS_UP):
            inner, node = outer, self.nodes[outer].parent
            if node < 0 or (self.nodes[node].tag in ("body", "html") and self.nodes[inner].tag not in PARTS):
                break
            outer = node
        if outer != best:
            found.update(
                place
                for place in view.inside(outer)
                if view.kinds[place] in main and (self.weight[place] > 0 or self._is_sentence(place))
            )
        if len(found) > len(places):
            found.update(self._headings(found))
        return self._within_body(sorted(found), main)

    def _headings(self, places: set[int]) -> list[int]:
        """Headings that stand beside the paragraphs, in the same elements."""
        around = {self.view.arounds[place] for place in places if self.weight[place] > 0}
        return [place for place in self.headlines.places if self.view.arounds[place] in around]

    def _is_sentence(self, place: int) -> bool:
        return bool(STOPS.search(self.blocks[place].text)) and self.edges.joins(place)

    def _within_body(self, places: list[int], main: set[int]) -> list[int]:
        """Without what stands before the first and behind the last block of the main kinds, outside their elements."""
        arounds, weight = self.view.arounds, self.weight
        body = [place for place in places if self.view.kinds[place] in main and weight[place] > 0]
        if not body:
            return places
        around = {arounds[place] for place in body}
        holders = sorted(holder for holder in around if holder >= 0)
        inside = [
            place
            for place in places
            if arounds[place] in around or (weight[place] > 0 and self._is_direct(place, holders))
        ]
        first, last = inside[0], inside[-1]
        before = sum([weight[place] for place in places if place < first and weight[place] > 0])
        tail: dict[int, float] = {}
        for place in places:
            if place > last and weight[place] > 0:
                tail[arounds[place]] = tail.get(arounds[place], 0.0) + weight[place]
        behind = sum(tail.values())
        total = sum([weight[place] for place in places if weight[place] > 0])
        first = first if before <= _LEAD * total else places[0]
        most = _FAR_OUTSIDE if len(body) >= _PARAGRAPHS else _OUTSIDE_BODY
        if behind > most * total or max(tail.values(), default=0.0) > _OUTSIDE_BODY * total:
            last = places[-1]
        return [place for place in places if first <= place <= last]

    def _is_direct(self, place: int, holders: list[int]) -> bool:
        """A paragraph that stands, alone or in a nameless element of its own, in an element around those of the text."""
        node = self.blocks[place].node
        if node >= 0 and self.nodes[node].tag in HEADINGS:
            return False
        around = self.view.around(place)
        if around == node:
            if around < 0 or self.nodes[around].names:
                return False
            around = self.view.parents[around]
        first = bisect_left(holders, around)
        return around >= 0 and first < len(holders) and holders[first] < self.view.ends[around]

    def _weights(self) -> list[float]:
        view, captions, negative = self.view, self.view.captions, self.view.negative
        weights: list[float] = []
        for place, (node, prose) in enumerate(zip(view.holders, view.prose, strict=True)):
            if node >= 0 and negative[node]:
                if node in captions:
                    weights.append(0.0)
                else:
                    weights.append(-10.0 if prose <= 0 else -0.3 * prose)
            elif prose > 0 and view.is_furniture(place):
                weights.append(-5.0)
            else:
                weights.append(prose)
        return weights

    def best(self) -> tuple[int, float]:
        """The node with the largest sum, the innermost of equals, and the sum; -1 when no sum is positive."""
        sums = [0.0] * len(self.nodes)
        for node, weight in zip(self.view.holders, self.weight, strict=True):
            if node >= 0:
                sums[node] += weight
        best, value = -1, 0.0
        parents = self.view.parents
        for index in range(len(parents) - 1, -1, -1):
            if total := sums[index]:
                if total > value:
                    best, value = index, total
                if index:
                    sums[parents[index]] += total if total > _MOST_AGAINST else _MOST_AGAINST  # noqa: FURB136 - faster
        return best, value
