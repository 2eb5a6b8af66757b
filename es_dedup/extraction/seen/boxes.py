"""Boxes that say themselves what they are: their first line is a heading that opens like furniture, whatever their class is.

And elements whose names deceive: a section called by its own headline, a column named after what stands beside it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.hints import is_tail_heading, opens_like_furniture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.seen.view import View

ANY_HEADING: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "legend"})
_OF_BOXES: Final = ANY_HEADING - {"h1"}
_WHOLE: Final = frozenset({"html", "body", "main", "article"})
_HEADING_CHARS: Final = 60
_TALK: Final = re.compile(r"comment|评论|評論", re.IGNORECASE)
_SIGNS: Final = re.compile(r"[\W_]+")
_SECTION_LEVELS: Final = 2  # elements around a heading that may be called by it
_SLUG_CHARS: Final = 24  # in which both agree: names are cut, or end in a number
_SIGNS_WITHIN: Final = 2  # headings of fewer words may be those of boxes: "Related articles"
WRAPPED: Final = 0.3
"""Share of the page's prose; who holds less is not forgiven for a part of it."""

_WITHIN: Final = 0.8  # of its prose stands in one part that is named after main text


def furniture_boxes(view: View) -> tuple[list[int], set[int]]:
    """Indices of elements, other than the page and its main part, that begin with such a heading; and which of them have comments in them."""
    nodes, holders = view.nodes, view.holders
    found: list[int] = []
    talk: set[int] = set()
    above, seen = -1, 0  # the last element with text above the heading, and how many blocks that is known of
    for place in view.headed_by(_OF_BOXES):
        block, box = view.blocks[place], nodes[holders[place]].parent
        if block.chars > _HEADING_CHARS:
            continue
        above, seen = max(above, max(holders[seen:place], default=-1)), place
        if (
            box > above
            and nodes[box].tag not in _WHOLE
            and (opens_like_furniture(block.text) or is_tail_heading(block.text))
        ):
            found.append(box)
            if _TALK.search(block.text):
                talk.add(box)
    return found, talk


def sections_by_headline(view: View, hints: Sequence[int]) -> list[int]:
    """Indices of elements that are furniture by a name made of the words of a heading in them: manuals and wikis make such ids."""
    nodes = view.nodes
    found: list[int] = []
    for place in view.headed:
        index, slug = nodes[view.holders[place]].parent, ""
        for _ in range(_SECTION_LEVELS):
            if index < 0:
                break
            if hints[index] < 0 and (names := nodes[index].names):
                slug = slug or _slug(view.blocks[place].text)
                if slug.count("-") >= _SIGNS_WITHIN and _has_slug(names, slug[:_SLUG_CHARS]):
                    found.append(index)
            index = nodes[index].parent
    if not found:
        return []
    looks = {look for hint, look in zip(hints, view.document.elements.look_of, strict=True) if hint < 0}
    return found if any(len(_SIGNS.findall(view.by_look.names[look])) > 1 for look in looks) else []


def _has_slug(names: str, slug: str) -> bool:
    words = [word for word in names.lower().split() if len(word) >= len(slug)]
    return any(_slug(word)[:_SLUG_CHARS] == slug for word in words)


def _slug(word: str) -> str:
    return _SIGNS.sub("-", word.lower()).strip("-")


def wraps_main(view: View, index: int, mains: Sequence[int], furniture: Sequence[int]) -> bool:
    """True when nearly all prose of an element stands in one part that is named after main text.

    What is furniture by its own name inside does not count: a column may be named after the one beside it.

    Args:
        view: of the page.
        index: of the element.
        mains: indices of all elements that are named after main text, ascending.
        furniture: the same of those that are named after furniture.
    """
    mass, ends = view.mass, view.ends
    inner = mains[bisect_right(mains, index) : bisect_left(mains, ends[index])]
    main = max(inner, key=mass.__getitem__, default=-1)
    if main < 0:
        return False
    beside, end = 0.0, index
    for node in furniture[bisect_right(furniture, index) : bisect_left(furniture, ends[index])]:
        if node >= end and not (node <= main < ends[node] or main < node < ends[main]):
            beside += mass[node]
            end = ends[node]
    return mass[main] >= _WITHIN * (mass[index] - beside)
