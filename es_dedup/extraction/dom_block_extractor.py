"""The published DOM-block method: the block with the least link text per other text is the main text.

Source: the content extraction of the character-frequency method; what it leaves open, and our readings, stand in
docs/algorithms/extraction.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.blocks import HIDDEN_CONTEXT, LINK_END, LINK_START, MARKS_REMOVED
from es_dedup.extraction.plain_extractor import plain_text
from es_dedup.model.batches import by_key

if TYPE_CHECKING:
    from lxml.etree import _Element

    from es_dedup.extraction.reading.document import Document
    from es_dedup.settings.loading import ExtractionConfig

MIN_WIDTH_SHARE: Final = 0.8
"""Of the page's width; a block known to be narrower is not the topic area (source's own figure)."""

BLOCK_TAGS: Final = frozenset("table p tr div article section main td li".split())
"""TABLE, P, TR and DIV in the source; the others have taken their place since."""

_LINKED: Final = re.compile(f"{LINK_START}([^{LINK_END}]*)")
_DISPLAY_ATTRIBUTES: Final = ("class", "width", "align", "valign", "bgcolor")
_DISPLAY: Final = re.compile(r"(?:^|;)\s*(display|width|float|position)\s*:\s*([^;]+)", re.IGNORECASE)
_LENGTH: Final = re.compile(r"\s*(\d{1,5}(?:\.\d{1,3})?)\s*(px|%)?\s*(?:!important)?\s*$", re.IGNORECASE)


def topic_text(document: Document, config: ExtractionConfig) -> str:
    """Text of the block with the smallest Topic ratio, one line for each run of text.

    Returns:
        The whole visible page when no block is left to choose from.
    """
    tree = _Blocks(document)
    selected = [index for index in tree.elements if not tree.hidden[index]] or tree.elements
    for clean_up in (tree.without_inner, tree.without_uniform_children, tree.without_narrow):
        selected = clean_up(selected) or selected
    long_enough = [
        index for index in selected if tree.word[index] + tree.link[index] >= config.min_block_chars
    ]
    topics = [(tree.topic(index), -tree.word[index], index) for index in long_enough if tree.word[index]]
    if not topics:
        return plain_text(document, config)
    first = min(topics)[2]
    inside = range(tree.blocks.first[first], tree.blocks.last[first])
    return "\n".join(document.lines[place] for place in inside if tree.counts(place))


class _Blocks:
    """The block elements of a page with their Word and Link lengths (whole subtrees)."""

    def __init__(self, document: Document) -> None:
        self.blocks = blocks = document.blocks
        self.elements = [index for index, tag in enumerate(blocks.tags) if tag in BLOCK_TAGS]
        self.hidden = [bool(context & HIDDEN_CONTEXT) for context in blocks.contexts]
        self._all_hidden = all(self.hidden[holder] for holder in blocks.holders)
        self.word, self.link = [0] * len(blocks.tags), [0] * len(blocks.tags)
        for place, (text, holder) in enumerate(zip(blocks.texts, blocks.holders, strict=True)):
            if self.counts(place):
                link = sum(map(_length, _LINKED.findall(text)))
                self.link[holder] += link
                self.word[holder] += _length(text.translate(MARKS_REMOVED)) - link
        for index in range(len(blocks.tags) - 1, 0, -1):
            parent = blocks.parents[index]
            self.word[parent] += self.word[index]
            self.link[parent] += self.link[index]

    def counts(self, place: int) -> bool:
        """The block is shown."""
        return self._all_hidden or not self.hidden[self.blocks.holders[place]]

    def topic(self, index: int) -> float:
        return self.link[index] / self.word[index] if self.word[index] else float("inf")

    def _outer(self, selected: list[int]) -> dict[int, int]:
        """Nearest enclosing selected block of each node of the page, -1 for none."""
        members = set(selected)
        outer: dict[int, int] = {}
        for index, parent in enumerate(self.blocks.parents):
            outer[index] = parent if parent in members or parent < 0 else outer[parent]
        return outer

    def without_inner(self, selected: list[int]) -> list[int]:
        """Drop blocks that hold no block but stand in one: the outer one holds their text."""
        outer = self._outer(selected)
        holders = {outer[index] for index in selected}
        return [index for index in selected if index in holders or outer[index] < 0]

    def without_uniform_children(self, selected: list[int]) -> list[int]:
        """Where all (two or more) block children look alike, keep the parent and drop the children."""
        outer = self._outer(selected)
        looks = by_key((outer[index], _look(self.blocks.elements[index])) for index in selected)
        uniform = {
            index
            for index, found in looks.items()
            if index >= 0 and len(found) > 1 and found[0] and len(set(found)) == 1
        }
        return [index for index in selected if outer[index] not in uniform]

    def without_narrow(self, selected: list[int]) -> list[int]:
        """Drop blocks whose stated width is below ``MIN_WIDTH_SHARE`` of the page; unknown widths stay."""
        stated = [_width(element) for element in self.blocks.elements]
        page = max((value for width in stated if width and not width[1] for value in width[:1]), default=0.0)
        shares: list[float | None] = []
        for parent, width in zip(self.blocks.parents, stated, strict=True):
            above = shares[parent] if parent >= 0 else 1.0
            if width is None:
                shares.append(above)
            elif width[1]:
                shares.append(width[0] / 100 * (1.0 if above is None else above))
            else:
                shares.append(width[0] / page if page else None)
        known = {index: share for index in selected if (share := shares[index]) is not None}
        return [index for index in selected if known.get(index, 1.0) >= MIN_WIDTH_SHARE]


def _look(element: _Element) -> tuple[str, ...]:
    """Display attributes a block declares itself; empty when it declares none."""
    get = element.get
    plain = [f"{key}={value}" for key in _DISPLAY_ATTRIBUTES if (value := get(key))]
    styles = [f"{name}:{value.strip()}".lower() for name, value in _DISPLAY.findall(get("style") or "")]
    return (element.tag, *plain, *sorted(styles)) if plain or styles else ()


def _width(element: _Element) -> tuple[float, bool] | None:
    """Stated width and whether it is in per cent; None when the page does not say."""
    style = element.get("style") or ""
    values = [value for name, value in _DISPLAY.findall(style) if name.lower() == "width"]
    for value in (*values, element.get("width") or ""):
        if found := _LENGTH.match(value):
            return float(found[1]), found[2] == "%"
    return None


def _length(text: str) -> int:
    """Characters other than white space."""
    return sum(map(len, text.split()))
