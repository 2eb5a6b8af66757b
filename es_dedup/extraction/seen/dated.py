"""Pages that are threads by their form alone: a date, what somebody said, the next date, what the next one said.

Software that nobody has heard of writes no name that tells it. In an article dates stand at its head and in lists of other
pages, where a linked headline comes with each.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from es_dedup.extraction.seen.view import View

DATE_CHARS: Final = 40
"""Longer lines speak of a date."""

DATE: Final = re.compile(
    r"(?:19|20)\d\d\s?[-/.年]\s?\d{1,2}|\d{1,2}:\d\d|\b\d{1,3} ?(?:years?|months?|weeks?|days?|hours?|minutes?|mins?|h|hrs?) ago|"
    r"\d{1,3}\s?(?:年|个月|個月|[かヶケカ]月|周|週(?:间|間)?|天|日|小时|小時|時間|分钟|分鐘|分)前|\bvor \d{1,3} (?:Jahr|Monat|Woche|Tag|Stunde|Minute)|"
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.? (?:\d{1,2}(?:st|nd|rd|th)?,? )?(?:19|20)\d\d",
)
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_WORDS: Final = re.compile(r"[^\W\d_]{2}")
CUE: Final = re.compile(r"20|19|:|ago|前|vor ")
"""In every line in which ``DATE`` finds one stands one of these."""

_HEADLINE_UNITS: Final = 5.0
MIN_POSTS: Final = 3
OF_ALL: Final = 0.85
"""Share of the page's prose that stands in dated posts."""

LARGEST: Final = 0.65
"""Share of it that stands in one of them at most: an article with some words below is no thread."""


@lru_cache(maxsize=4_096)  # several steps ask the same lines of a page
def has_date(text: str) -> bool:
    """True when a date, a time or an age stands in a short text."""
    return CUE.search(text) is not None and DATE.search(text) is not None


def dates(view: View) -> set[int]:
    """Places of visible lines that are little else than a date or an age, but no headings of a chronicle."""
    if view.dated is None:
        view.dated = _dates(view)
    return view.dated


def _dates(view: View) -> set[int]:
    lines = [(place, block.text) for place, block in enumerate(view.blocks) if block.chars <= DATE_CHARS]
    return {
        place
        for place, text in lines
        if has_date(text) and not view.blocks[place].hidden and not _is_section(view, place)
    }


def _is_section(view: View, place: int) -> bool:
    """A heading that is a date and nothing else: the part of a chronicle, not somebody's post."""
    node = view.blocks[place].node
    return (
        node >= 0
        and view.nodes[node].tag in _HEADINGS
        and not _WORDS.search(DATE.sub("", view.blocks[place].text))
    )


def has_dated_posts(view: View, dated: set[int]) -> bool:
    """True when at least three dated posts hold nearly all prose of the page, and none of them most of it.

    Args:
        view: in which replies are no furniture.
        dated: places of dates.
    """
    posts = _posts(view, dated)
    if len(posts) < MIN_POSTS:
        return False
    total = sum(prose for place, prose in enumerate(view.prose) if prose > 0 and not view.is_negative(place))
    said = sum(posts)
    return said >= OF_ALL * total and max(posts) <= LARGEST * said


def _posts(view: View, dates_at: set[int]) -> list[float]:
    """Units of prose behind each date, up to the next date or headline that leads to another page."""
    posts: list[float] = []
    units, dated = 0.0, False
    for place, block in enumerate(view.blocks):
        if block.hidden:
            continue
        is_date = place in dates_at
        if is_date or (view.units[place] >= _HEADLINE_UNITS and view.linked(place)):
            if dated and units > 0:
                posts.append(units)
                dated = False
            if is_date:
                units, dated = 0.0, True
            elif units <= 0:
                dated = False
        elif view.prose[place] > 0 and not view.is_negative(place):
            units += view.prose[place]
    return [*posts, units] if dated and units > 0 else posts
