"""The published DOM-block method: the block with the least link text per other text is the main text.

Source: the content extraction of the character-frequency method; what it leaves open, and our readings, stand in
docs/algorithms/extraction.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.plain import plain_text

if TYPE_CHECKING:
    from es_dedup.config import ExtractionConfig
    from es_dedup.extraction.reading.document import Block, Document, Node

MIN_WIDTH_SHARE: Final = 0.8
"""Of the page's width; a block known to be narrower is not the topic area (source's own figure)."""

BLOCK_TAGS: Final = frozenset("table p tr div article section main td li".split())
"""TABLE, P, TR and DIV in the source; the others have taken their place since."""

_DISPLAY_ATTRIBUTES: Final = ("class", "width", "align", "valign", "bgcolor")
_DISPLAY: Final = re.compile(r"(?:^|;)\s*(display|width|float|position)\s*:\s*([^;]+)", re.IGNORECASE)
_LENGTH: Final = re.compile(r"\s*(\d{1,5}(?:\.\d{1,3})?)\s*(px|%)?\s*(?:!important)?\s*$", re.IGNORECASE)


def topic_text(document: Document, config: ExtractionConfig) -> str:
    """Text of the block with the smallest Topic ratio, one line for each run of text.

    Returns:
        The whole visible page when no block is left to choose from.
    """
    tree = _Blocks(document)
    chosen = [index for index in tree.blocks if not document.nodes[index].hidden] or tree.blocks
    for clean_up in (tree.without_inner, tree.without_uniform_children, tree.without_narrow):
        chosen = clean_up(chosen) or chosen
    long_enough = [index for index in chosen if tree.word[index] + tree.link[index] >= config.min_block_chars]
    topics = [(tree.topic(index), -tree.word[index], index) for index in long_enough if tree.word[index]]
    if not topics:
        return plain_text(document, config)
    first = min(topics)[2]
    texts = [
        block.text
        for block in document.blocks
        if first <= block.node < tree.end[first] and tree.counts(block)
    ]
    return "\n".join(texts)


class _Blocks:
    """The block elements of a page with their Word and Link lengths (whole subtrees)."""

    def __init__(self, document: Document) -> None:
        self.nodes = document.nodes
        self.blocks = [node.index for node in self.nodes if node.tag in BLOCK_TAGS]
        self._all_hidden = all(block.hidden for block in document.blocks)
        self.word, self.link = [0] * len(self.nodes), [0] * len(self.nodes)
        for block in document.blocks:
            if block.node >= 0 and self.counts(block):
                self.word[block.node] += block.chars - block.link_chars
                self.link[block.node] += block.link_chars
        self.end = [node.index + 1 for node in self.nodes]  # one past the last node of the subtree
        for node in reversed(self.nodes):
            if node.parent >= 0:
                self.word[node.parent] += self.word[node.index]
                self.link[node.parent] += self.link[node.index]
                self.end[node.parent] = max(self.end[node.parent], self.end[node.index])

    def counts(self, block: Block) -> bool:
        return self._all_hidden or not block.hidden

    def topic(self, index: int) -> float:
        return self.link[index] / self.word[index] if self.word[index] else float("inf")

    def _outer(self, chosen: list[int]) -> dict[int, int]:
        """Nearest enclosing chosen block of each node of the page, -1 for none."""
        members = set(chosen)
        outer: dict[int, int] = {}
        for node in self.nodes:
            parent = node.parent
            outer[node.index] = parent if parent in members or parent < 0 else outer[parent]
        return outer

    def without_inner(self, chosen: list[int]) -> list[int]:
        """Drop blocks that hold no block but stand in one: the outer one holds their text."""
        outer = self._outer(chosen)
        holders = {outer[index] for index in chosen}
        return [index for index in chosen if index in holders or outer[index] < 0]

    def without_uniform_children(self, chosen: list[int]) -> list[int]:
        """Where all (two or more) block children look alike, keep the parent and drop the children."""
        outer = self._outer(chosen)
        looks: dict[int, list[tuple[str, ...]]] = {}
        for index in chosen:
            looks.setdefault(outer[index], []).append(_look(self.nodes[index]))
        uniform = {
            index
            for index, found in looks.items()
            if index >= 0 and len(found) > 1 and found[0] and len(set(found)) == 1
        }
        return [index for index in chosen if outer[index] not in uniform]

    def without_narrow(self, chosen: list[int]) -> list[int]:
        """Drop blocks whose stated width is below ``MIN_WIDTH_SHARE`` of the page; unknown widths stay."""
        stated = [_width(node) for node in self.nodes]
        page = max((value for width in stated if width and not width[1] for value in width[:1]), default=0.0)
        shares: list[float | None] = []
        for node, width in zip(self.nodes, stated, strict=True):
            above = shares[node.parent] if node.parent >= 0 else 1.0
            if width is None:
                shares.append(above)
            elif width[1]:
                shares.append(width[0] / 100 * (1.0 if above is None else above))
            else:
                shares.append(width[0] / page if page else None)
        known = {index: share for index in chosen if (share := shares[index]) is not None}
        return [index for index in chosen if known.get(index, 1.0) >= MIN_WIDTH_SHARE]


def _look(node: Node) -> tuple[str, ...]:
    """Display attributes a block declares itself; empty when it declares none."""
    get = node.attributes.get
    plain = [f"{key}={value}" for key in _DISPLAY_ATTRIBUTES if (value := get(key))]
    styles = [f"{name}:{value.strip()}".lower() for name, value in _DISPLAY.findall(get("style") or "")]
    return (node.tag, *plain, *sorted(styles)) if plain or styles else ()


def _width(node: Node) -> tuple[float, bool] | None:
    """Stated width and whether it is in per cent; None when the page does not say."""
    attributes = node.attributes
    values = [
        value for name, value in _DISPLAY.findall(attributes.get("style") or "") if name.lower() == "width"
    ]
    for value in (*values, attributes.get("width") or ""):
        if found := _LENGTH.match(value):
            return float(found[1]), found[2] == "%"
    return None
