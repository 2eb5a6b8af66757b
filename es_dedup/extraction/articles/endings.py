"""What belongs to a text below its last paragraph: programs, lists under headings, who signs it on which day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.measures import STOPS
from es_dedup.extraction.seen.hints import HEADING_TAGS, is_tail_heading

if TYPE_CHECKING:
    from es_dedup.extraction.articles.edges import Edges
    from es_dedup.extraction.seen.view import View

_LISTS: Final = frozenset({"ul", "ol"})
_ITEMS: Final = 3  # of a list
_SIGNED_LINES: Final = 3  # at most: offices, a name, the day
_SIGNED_UNITS: Final = 30.0
_FOLLOWING: Final = 200  # lines that are looked at
_NUMBER: Final = re.compile(r"\d")
_DAY: Final = re.compile(
    r"(?:19|20|二[〇○零])[\d〇○零一二三四五六七八九]{2}\s?年\s?[\d一二三四五六七八九十]{1,3}\s?月\s?[\d一二三四五六七八九十]{1,3}\s?日"
)


def ending(edges: Edges, places: list[int]) -> list[int]:
    """Places below the last one, in the element around it.

    Args:
        edges: of the page.
        places: of the text, in page order.
    """
    view = edges.view
    around = view.around(places[-1]) if places else -1
    if around < 0:
        return []
    behind = range(places[-1] + 1, min(places[-1] + 1 + _FOLLOWING, len(view.blocks)))
    inside: list[int] = []
    for place in behind:
        if not around <= view.blocks[place].node < view.ends[around]:
            break
        inside.append(place)
    programs = _programs(edges, inside, around)
    inside = inside[len(programs) :]
    return [*programs, *(_signed(edges, inside, around) or _lists(edges, inside, around))]


def _programs(edges: Edges, inside: list[int], around: int) -> list[int]:
    """Preformatted lines right behind the text."""
    view = edges.view
    found: list[int] = []
    for place in inside:
        if not (_tag(view, place) == "pre" and view.around(place) == around and edges.joins(place)):
            break
        found.append(place)
    return found


def _signed(edges: Edges, inside: list[int], around: int) -> list[int]:
    """Short paragraphs of which the last is a day: notices end so."""
    view = edges.view
    for count, place in enumerate(inside[:_SIGNED_LINES]):
        if (
            _tag(view, place) != "p"
            or view.around(place) != around
            or view.units[place] > _SIGNED_UNITS
            or not edges.joins(place)
        ):
            break
        if _DAY.fullmatch(view.blocks[place].text):
            return inside[: count + 1]
    return []


def _lists(edges: Edges, inside: list[int], around: int) -> list[int]:
    """Lists of three or more unlinked items right below a sub-heading, with it: what is needed, what is to be done."""
    view = edges.view
    found: list[int] = []
    for at, place in enumerate(inside):
        if _tag(view, place) not in HEADING_TAGS or not edges.joins(place):
            continue
        if edges.is_head(place) or is_tail_heading(view.blocks[place].text):
            continue
        items: list[int] = []
        first = -1
        for item in inside[at + 1 :]:
            holder = _list_of(view, item, around)
            first = holder if first < 0 else first
            if holder < 0 or holder != first:
                break
            items.append(item)
        fine = [item for item in items if edges.joins(item) and not view.blocks[item].link_chars]
        if len(fine) >= _ITEMS and fine == items and _says_something(view, items):
            found += [place, *items]
    return found


def _says_something(view: View, items: list[int]) -> bool:
    """Half of the items have numbers or are sentences: names alone are of people, or of other pages."""
    texts = [view.blocks[item].text for item in items]
    return 2 * sum(bool(_NUMBER.search(text) or STOPS.search(text)) for text in texts) >= len(texts)


def _list_of(view: View, place: int, around: int) -> int:
    """Index of the list inside an element in which a block stands; -1 for none."""
    index = view.blocks[place].node
    while index > around and view.nodes[index].tag not in _LISTS:
        index = view.parents[index]
    return index if index > around else -1


def _tag(view: View, place: int) -> str:
    return view.nodes[view.blocks[place].node].tag
