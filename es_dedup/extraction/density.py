"""Main text by density: the subtree whose blocks, weighed for and against, give the largest sum.

Every block of text weighs its length when it reads like prose (sentence punctuation, few links) and weighs against when
it reads like furniture. The subtree with the largest sum holds the main text: a larger one adds furniture, a smaller one
loses prose. Inside it, furniture is taken out again. Threads have rules of their own, in ``threads``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.choice import Choice
from es_dedup.extraction.fallback import data_text, description_text
from es_dedup.extraction.hints import is_tail_heading
from es_dedup.extraction.pagekind import kind_of
from es_dedup.extraction.plain import plain_text
from es_dedup.extraction.slides import named_slide
from es_dedup.extraction.teasers import teasers
from es_dedup.extraction.threads import is_mostly_talk, is_thread, is_thread_by_form, thread_choice
from es_dedup.extraction.view import PARTS, STOPS, View
from es_dedup.model import PageKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.config import ExtractionConfig
    from es_dedup.extraction.document import Document

_LITTLE_CHARS: Final = 300  # of main text; then the page's data are looked at
_MORE_DATA: Final = 2.0  # times as long as the blocks' text
_LITTLE_SHARE: Final = 0.3  # of the prose; who keeps less may have kept the wrong part
_NO_PROSE: Final = "nothing in the page reads like prose"
_TAIL_SHARE: Final = 0.6  # of the prose must stand before the heading of a list of related pages
_HEAD_CHARS: Final = 120
_DATELINE_CHARS: Final = 70
_MAIN_UNITS: Final = 20.0  # of prose that a main element must hold to be believed
_BESIDE_MAIN: Final = 0.4  # weight of prose outside it
_MAIN_KIND: Final = 0.3  # of the chosen prose that is of one kind
_OUTSIDE_BODY: Final = 0.35  # of the prose; more of it outside the main kinds' elements is no furniture
_LEAD: Final = 0.18  # the same before them: leads are longer than bylines
_LEVELS_UP: Final = 2  # elements around the chosen one in which more of that kind is looked for
_LITTLE_TEXT: Final = 100.0  # units
_TITLE_WEIGHT: Final = 60.0  # of a line that is all of words of the title
_HEADINGS: Final = frozenset({"h1", "h2", "h3"})
_ARTICLE_UNITS: Final = 40.0  # of prose before a further main heading that begins another article
_MOST_AGAINST: Final = -60.0  # what one subtree may weigh against the one around it
_DAY: Final = re.compile(
    r"(?:19|20)\d\d\s?[-/.年]\s?\d{1,2}\s?[-/.月]\s?\d{1,2}|"
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.? \d{1,2},? (?:19|20)\d\d|\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?,? (?:19|20)\d\d"
)


def density_text(document: Document, config: ExtractionConfig) -> str:
    """Main text of ``density_choice``, one line for each paragraph."""
    return density_choice(document, config).main_text(document)


def density_choice(document: Document, config: ExtractionConfig) -> Choice:
    """The blocks of the main text.

    Returns:
        The densest part of an article, all posts of a thread. Where the page has next to no text, what its scripts hold as
        data; no blocks where all that reads like prose is a notice; the whole visible page when nothing reads like prose.
    """
    thread = is_thread(document)
    view = View(document, talk=thread)
    choice = _choice(view, config, thread=thread or is_thread_by_form(view))
    if not choice.doubt and choice.places and _share(view, choice) < _LITTLE_SHARE:
        choice.doubt = "most of what reads like prose is left out"
    return choice


def _choice(view: View, config: ExtractionConfig, *, thread: bool) -> Choice:
    document = view.document
    if thread and (choice := thread_choice(view)) is not None:
        return _or_data(document, choice)
    article = _Article(view)
    choice = article.choice()
    if not thread and is_mostly_talk(view, choice.places):
        view.judge(talk=True)
        talk = thread_choice(view)
        if talk is not None:
            talk.places = sorted({*choice.places, *talk.places})
            talk.doubt = "what readers say is far longer than the text above it"
            return talk
    if not choice.places and any(view.prose[place] > 0 for place in range(len(view.blocks))):
        choice = article.without_hints()
        if not choice.places:
            choice.kind = PageKind.EMPTY
    choice = _or_data(document, choice)
    if choice.text or choice.places:
        choice.kind = kind_of(view, choice)
        return choice
    if choice.kind is PageKind.EMPTY:
        return choice
    text = plain_text(document, config)
    description = description_text(document)
    if len(text) < len(description):
        return Choice((), rule="the page's description", text=description, doubt=_NO_PROSE)
    places = [place for place, block in enumerate(document.blocks) if not block.hidden]
    rule = "the whole page: nothing reads like prose"
    return Choice(places, kind_of(view, choice), rule=rule, text=text, doubt=_NO_PROSE)


def _share(view: View, choice: Choice) -> float:
    """Share of what reads like prose and is shown that was chosen."""
    chosen = set(choice.places)
    kept = left = 0.0
    for place, prose in enumerate(view.prose):
        if prose > 0:
            if place in chosen:
                kept += prose
            elif not view.blocks[place].hidden:
                left += prose
    return kept / (kept + left) if kept else 0.0


def _or_data(document: Document, choice: Choice) -> Choice:
    """Text from the page's data where its blocks hold far less."""
    own = sum(document.blocks[place].chars for place in choice.places)
    if own < _LITTLE_CHARS and len(text := data_text(document)) > _MORE_DATA * own:
        return Choice((), choice.kind, "data in a script", text=text)
    return choice


class _Article:
    def __init__(self, view: View) -> None:
        self.view = view
        self.nodes, self.blocks = view.nodes, view.blocks
        self.title = view.document.title
        self.weight = [self._weigh(place) for place in range(len(self.blocks))]
        self._favour_main()
        self._favour_title()
        for place in self._of_other_pages():
            self.weight[place] = min(0.0, self.weight[place])
        self._end_at_next_article()

    def _of_other_pages(self) -> list[int]:
        """Places of what belongs to other pages: other slides than the one that the address names, teasers."""
        slide = named_slide(self.view)
        if slide < 0:
            return teasers(self.view)
        first, end = slide, self.view.ends[slide]
        return [place for place, block in enumerate(self.blocks) if not first <= block.node < end]

    def _favour_title(self) -> None:
        """On a page with little text, lines that speak of the title are nearer to it than others."""
        if sum(max(0.0, weight) for weight in self.weight) > _LITTLE_TEXT or not self.title:
            return
        pairs = {self.title[i : i + 2] for i in range(len(self.title) - 1)}
        for place, block in enumerate(self.blocks):
            node = block.node
            if (
                self.weight[place] <= 0
                or block.link_chars
                or (node >= 0 and self.nodes[node].tag in _HEADINGS)
            ):
                continue
            text = block.text[:300]
            shared = sum(1 for i in range(len(text) - 1) if text[i : i + 2] in pairs)
            self.weight[place] += _TITLE_WEIGHT * shared / len(text)

    def _end_at_next_article(self) -> None:
        """Pages may go on with whole other articles: nothing counts from a main heading of another part on."""
        titled, before, reached = False, 0.0, -1
        for place, block in enumerate(self.blocks):
            node = block.node
            if node >= 0 and self.nodes[node].tag == "h1" and not self.view.linked(place):
                if not titled:
                    titled = block.text in self.title
                elif before >= _ARTICLE_UNITS and self.nodes[node].parent > reached:
                    for later in range(place, len(self.weight)):
                        self.weight[later] = min(0.0, self.weight[later])
                    return
            elif titled and self.weight[place] > 0:
                before += self.weight[place]
                reached = max(reached, node)

    def _favour_main(self) -> None:
        """Where one element says that it is the main part and holds prose, text beside it counts less."""
        main = [node.index for node in self.nodes if node.tag == "main" or node.role == "main"]
        if len(main) != 1 or self.view.mass[main[0]] < _MAIN_UNITS:
            return
        first, end = main[0], self.view.ends[main[0]]
        for place, block in enumerate(self.blocks):
            if not first <= block.node < end and self.weight[place] > 0:
                self.weight[place] *= _BESIDE_MAIN

    def choice(self) -> Choice:
        """The densest part of the page, tidied."""
        best, score = self.best()
        places = self._tidy(self._widened(best)) if best >= 0 else []
        return Choice(
            places, rule="the densest part of the page", node=best, score=score, reason=self._reason(best)
        )

    def without_hints(self) -> Choice:
        """The same without regard to names: a page whose prose stands in furniture throughout."""
        self.view.negative = [node.hidden for node in self.nodes]
        self.weight = [self._weigh(place) for place in range(len(self.blocks))]
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
            return "at the edge of the text" if self._is_head(place) else "no prose"

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
        found, node = set(places), best
        for _ in range(_LEVELS_UP):
            inner, node = node, self.nodes[node].parent
            if node < 0 or (self.nodes[node].tag in ("body", "html") and self.nodes[inner].tag not in PARTS):
                break
            found.update(
                place
                for place in view.inside(node)
                if view.kinds[place] in main and (self.weight[place] > 0 or self._is_sentence(place))
            )
        if len(found) > len(places):
            found.update(self._headings(found))
        return self._within_body(sorted(found), main)

    def _headings(self, places: set[int]) -> list[int]:
        """Headings that stand beside the paragraphs, in the same elements."""
        around = {self.view.around(place) for place in places if self.weight[place] > 0}
        return [
            place
            for place, block in enumerate(self.blocks)
            if block.node >= 0
            and self.nodes[block.node].tag in _HEADINGS
            and self.view.around(place) in around
        ]

    def _is_sentence(self, place: int) -> bool:
        return bool(STOPS.search(self.blocks[place].text)) and self._joins(place)

    def _within_body(self, places: list[int], main: set[int]) -> list[int]:
        """Without what stands before the first and behind the last block of the main kinds, outside their elements."""
        body = [place for place in places if self.view.kinds[place] in main and self.weight[place] > 0]
        if not body:
            return places
        around = {self.view.around(place) for place in body}
        inside = [place for place in places if self.view.around(place) in around]
        first, last = inside[0], inside[-1]
        before = sum(self.weight[place] for place in places if place < first and self.weight[place] > 0)
        behind = sum(self.weight[place] for place in places if place > last and self.weight[place] > 0)
        total = sum(self.weight[place] for place in places if self.weight[place] > 0)
        first = first if before <= _LEAD * total else places[0]
        last = last if behind <= _OUTSIDE_BODY * total else places[-1]
        return [place for place in places if first <= place <= last]

    def _weigh(self, place: int) -> float:
        prose = self.view.prose[place]
        if self.view.is_negative(place):
            return -10.0 if prose <= 0 else -0.3 * prose
        if prose > 0 and self.view.is_furniture(place):
            return -5.0
        return prose

    def best(self) -> tuple[int, float]:
        """The node with the largest sum, the innermost of equals, and the sum; -1 when no sum is positive."""
        sums = [0.0] * len(self.nodes)
        for block, weight in zip(self.blocks, self.weight, strict=True):
            if block.node >= 0:
                sums[block.node] += weight
        best, value = -1, 0.0
        parents = self.view.parents
        for index in range(len(parents) - 1, -1, -1):
            total = sums[index]
            if total > value:
                best, value = index, total
            if total and index:
                sums[parents[index]] += max(total, _MOST_AGAINST)
        return best, value

    def _tidy(self, places: list[int]) -> list[int]:
        """Cut heading and byline at the head, related pages at the tail, furniture in between."""
        good = [place for place in places if self.weight[place] > 0]
        last = self._tail(places, good)
        good = [place for place in good if place < last]
        while len(good) > 1 and self._is_head(good[0]):
            good.pop(0)
        if not good:
            return []
        fine = set(good)
        end = self._extended(good[-1], [place for place in places if good[-1] < place < last])
        span = [place for place in places if good[0] <= place <= end]
        return [
            place
            for index, place in enumerate(span)
            if place in fine
            or self._joins(place)
            or self._is_between(span, index, fine)
            or self._is_numbered(place, span)
            or self._is_quotation(place)
        ]

    def _is_quotation(self, place: int) -> bool:
        """Between paragraphs a quotation belongs to them, whatever the box around it is called."""
        index = self.blocks[place].node
        while index >= 0 and self.nodes[index].tag in PARTS:
            if self.nodes[index].tag == "blockquote":
                return not self.nodes[index].hidden
            index = self.nodes[index].parent
        return False

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
        if not 0 < index < len(span) - 1 or self.view.is_negative(span[index]):
            return False
        before, place, behind = span[index - 1 : index + 2]
        around = self.view.around(place)
        return (
            before in fine
            and behind in fine
            and around == self.view.around(before) == self.view.around(behind)
            and not self.view.is_furniture(place)
            and self.blocks[place].text not in self.view.repeated
        )

    def _extended(self, end: int, following: list[int]) -> int:
        """The end of the text with the short sentences that follow its last paragraph as its equals."""
        for place in following:
            if not (
                self._equals(end, place) and self._joins(place) and STOPS.search(self.blocks[place].text)
            ):
                break
            end = place
        return end

    def _equals(self, left: int, right: int) -> bool:
        """Both stand in the same element, or in elements of one kind with one parent."""
        if self.blocks[left].node == self.blocks[right].node:
            return True
        first, second = self.nodes[self.blocks[left].node], self.nodes[self.blocks[right].node]
        return first.parent == second.parent and first.tag == second.tag

    def _tail(self, places: list[int], good: list[int]) -> int:
        """Where the heading of a list of related pages or comments stands after most of the prose, or past the end."""
        total, before, fine = sum(self.weight[place] for place in good), 0.0, set(good)
        for place in places:
            if place in fine:
                before += self.weight[place]
            if before > _TAIL_SHARE * total and is_tail_heading(self.blocks[place].text):
                return place
        return places[-1] + 1 if places else 0

    def _is_head(self, place: int) -> bool:
        """The page's own title, or a line with little else than a date."""
        block = self.blocks[place]
        if block.node >= 0 and self.nodes[block.node].tag == "h1":
            return True
        if block.chars > _HEAD_CHARS:
            return False
        return block.text in self.title or bool(_DAY.search(block.text) and block.chars < _DATELINE_CHARS)

    def _joins(self, place: int) -> bool:
        """A short line between paragraphs: kept unless it is linked, hinted, a caption or opens like furniture."""
        if self.nodes[self.blocks[place].node].tag == "figcaption":
            return False
        if self.view.linked(place) or self.view.is_furniture(place):
            return False
        return not self.view.is_negative(place)
