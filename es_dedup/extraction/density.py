"""Main text by density: the subtree whose blocks, weighed for and against, give the largest sum.

Every block of text weighs its length when it reads like prose (sentence punctuation, few links) and weighs against when
it reads like furniture. The subtree with the largest sum holds the main text: a larger one adds furniture, a smaller one
loses prose. Inside it, furniture is taken out again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.document import inner_text
from es_dedup.extraction.hints import NEGATIVE_TAGS, POSITIVE_TAGS, hint, is_furniture, is_tail_heading
from es_dedup.extraction.plain import plain_text

if TYPE_CHECKING:
    from es_dedup.config import ExtractionConfig
    from es_dedup.extraction.document import Block, Document

_STOPS: Final = re.compile(r"[，。！？；、：,.!?;:](?=\s|$|[^\x00-\x7f])|[。！？，；]")
_LATIN_SHARE: Final = 3.0  # Latin letters that say as much as one ideograph
_FORGIVEN_SHARE: Final = (
    0.7  # of the page's prose; a container that holds it is no furniture, whatever its name
)
_TAIL_SHARE: Final = 0.6  # of the prose must stand before the heading of a list of related pages
_HEAD_CHARS: Final = 120
_DATELINE_CHARS: Final = 60
_LINKED: Final = 0.5  # share of link text from which a block is no prose
_FEW_UNITS: Final = 12  # with one stop
_MANY_UNITS: Final = 50  # prose without any stop
_DAY: Final = re.compile(r"(?:19|20)\d\d\s?[-/.年]\s?\d{1,2}\s?[-/.月]\s?\d{1,2}")


def density_text(document: Document, config: ExtractionConfig) -> str:
    """Main text, one line for each paragraph; the whole visible page when nothing reads like prose."""
    page = _Page(document)
    best = page.best()
    if best < 0:
        return plain_text(document, config)
    kept = page.kept(best)
    return "\n".join(document.blocks[place].text for place in kept) or plain_text(document, config)


class _Page:
    def __init__(self, document: Document) -> None:
        self.nodes, self.blocks = document.nodes, document.blocks
        title = next(document.root.iter("title"), None)
        self.title = inner_text(title) if title is not None else ""
        self.hints = self._hints()
        self.units = [_units(block.text, block.chars) for block in self.blocks]
        self.prose = [_prose(block, units) for block, units in zip(self.blocks, self.units, strict=True)]
        self._forgive()
        self.weight = [self._weigh(place) for place in range(len(self.blocks))]

    def _hints(self) -> list[int]:
        """Hint of each node: negative ones are inherited."""
        found: list[int] = []
        for node in self.nodes:
            get = node.element.get
            names, identity = get("class"), get("id")
            own = hint(f"{names or ''} {identity or ''}") if names or identity else 0
            if node.tag in NEGATIVE_TAGS or get("role") in ("navigation", "complementary", "contentinfo"):
                own = -1
            elif node.tag in POSITIVE_TAGS:
                own = 1
            if node.hidden and not (node.parent >= 0 and self.nodes[node.parent].hidden):
                own = -1
            found.append(own)
        return found

    def _forgive(self) -> None:
        """Drop negative hints on a container that holds most of the page's prose; hand down the others."""
        mass = [0.0] * len(self.nodes)
        total = 0.0
        for block, prose in zip(self.blocks, self.prose, strict=True):
            if prose > 0:
                total += prose
                if block.node >= 0:
                    mass[block.node] += prose
        for node in reversed(self.nodes):
            if node.parent >= 0:
                mass[node.parent] += mass[node.index]
        self.negative = [False] * len(self.nodes)
        for node in self.nodes:
            above = node.parent >= 0 and self.negative[node.parent]
            own = self.hints[node.index] < 0 and mass[node.index] < _FORGIVEN_SHARE * total
            self.negative[node.index] = above or own
        self.mass, self.total = mass, total

    def _weigh(self, place: int) -> float:
        block, prose = self.blocks[place], self.prose[place]
        if block.node >= 0 and self.negative[block.node]:
            return -10.0 if prose <= 0 else -0.3 * prose
        if prose > 0 and is_furniture(block.text):
            return -5.0
        return prose

    def best(self) -> int:
        """The node with the largest sum, the innermost of equals; -1 when no sum is positive."""
        sums = [0.0] * len(self.nodes)
        for block, weight in zip(self.blocks, self.weight, strict=True):
            if block.node >= 0:
                sums[block.node] += weight
        best, value = -1, 0.0
        for node in reversed(self.nodes):
            total = sums[node.index]
            if total > value:
                best, value = node.index, total
            if node.parent >= 0:
                sums[node.parent] += max(total, -60.0)
        self.sums = sums
        return best

    def kept(self, best: int) -> list[int]:
        end = best + 1
        inside = {best}
        for node in self.nodes[best + 1 :]:
            if node.parent not in inside:
                break
            inside.add(node.index)
            end = node.index + 1
        places = [place for place, block in enumerate(self.blocks) if best <= block.node < end]
        return self._tidy(places)

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
        return [
            place for place in places if good[0] <= place <= end and (place in fine or self._joins(place))
        ]

    def _extended(self, end: int, following: list[int]) -> int:
        """The end of the text with the short sentences that follow its last paragraph as its equals."""
        for place in following:
            if not (
                self._equals(end, place) and self._joins(place) and _STOPS.search(self.blocks[place].text)
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
        """A short line between paragraphs: kept unless it is linked, hinted or opens like furniture."""
        block = self.blocks[place]
        if block.link_chars > _LINKED * block.chars or is_furniture(block.text):
            return False
        return not (block.node >= 0 and self.negative[block.node])


def _units(text: str, chars: int) -> float:
    """Length in ideographs: three Latin letters count as one."""
    narrow = len(text.encode("ascii", "ignore")) - text.count(" ")
    return chars - narrow + narrow / _LATIN_SHARE


def _prose(block: Block, units: float) -> float:
    """Length of what reads like prose; negative for what reads like furniture."""
    linked = block.link_chars / block.chars
    stops = len(_STOPS.findall(block.text))
    if linked > _LINKED:
        return -(4.0 + 0.3 * units)
    if stops > 1 or (stops and units >= _FEW_UNITS) or units >= _MANY_UNITS:
        return units * (1 - 1.5 * linked)
    return -(2.0 + 4.0 * linked)
