"""The paragraph between headline and text: of the text where it stands in one part of the page with it, of the headline where it stands there.

What the headline's box holds sums up the text or repeats the page's description; what the text's box holds is how the text begins.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.hints import is_caption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.articles.edges import Edges

_UNITS: Final = 12.0
_ENDS: Final = tuple("。！？…”’»\"'.!?)）")
_FEW: Final = 3  # blocks of a kind; more of them are items of a list
_LINKED: Final = 0.2  # of its characters
_SHARE: Final = 0.35  # of the text's prose; longer ones are something else


def standfirst(edges: Edges, heading: int, places: Sequence[int], weight: Sequence[float]) -> list[int]:
    """Places of such paragraphs.

    Args:
        edges: of the page.
        heading: place of the page's headline; -1 where there is none.
        places: of the text.
        weight: of all blocks.
    """
    if heading < 0 or not places or heading >= places[0]:
        return []
    view, first = edges.view, places[0]
    found = [
        place
        for place in range(heading + 1, first)
        if weight[place] > 0 and view.units[place] >= _UNITS and _is_paragraph(edges, place)
    ]
    if not found:
        return []
    with_text, kinds = _around(edges, first), Counter(view.kinds)
    own = {view.kinds[place] for place in places}
    found = [
        place
        for place in found
        if (kinds[view.kinds[place]] <= _FEW or view.kinds[place] in own)
        and _is_nearer(edges, place, with_text, heading)
    ]
    enough = _SHARE * sum(max(0.0, weight[place]) for place in places)
    if not found or len(found) > _FEW or sum(weight[place] for place in found) > enough:
        return []
    others = (
        block.text
        for place, block in enumerate(view.blocks)
        if place not in found and not view.is_negative(place)
    )
    said = "\n".join(others)
    return [place for place in found if view.blocks[place].text not in said]


def _is_paragraph(edges: Edges, place: int) -> bool:
    """Ends like a sentence, is no item, no caption and no byline, and leads nowhere."""
    block = edges.blocks[place]
    node = edges.nodes[block.node]
    return (
        block.link_chars <= _LINKED * block.chars
        and node.tag != "li"
        and block.text.endswith(_ENDS)
        and not is_caption(node.names)
        and not edges.is_head(place)
        and edges.joins(place)
    )


def _around(edges: Edges, place: int) -> list[int]:
    """Indices of the elements around a block, innermost first."""
    found, index = [], edges.blocks[place].node
    while index >= 0:
        found.append(index)
        index = edges.view.parents[index]
    return found


def _is_nearer(edges: Edges, place: int, with_text: list[int], heading: int) -> bool:
    """The innermost element that holds a block and the text does not hold the headline."""
    node, ends = edges.blocks[place].node, edges.view.ends
    common = next((index for index in with_text if index <= node < ends[index]), -1)
    return common >= 0 and not common <= edges.blocks[heading].node < ends[common]
