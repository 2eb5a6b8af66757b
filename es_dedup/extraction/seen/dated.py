"""Pages that are threads by their form alone: a date, what somebody said, the next date, what the next one said.

Software that nobody has heard of writes no name that tells it. In an article dates stand at its head and in lists of other
pages, where a linked headline comes with each.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.hints import HEADING_TAGS
from es_dedup.extraction.seen.lengths import LINKED

if TYPE_CHECKING:
    from es_dedup.extraction.seen.view import View

DATE_CHARS: Final = 40
"""Longer lines speak of a date."""

_DAY: Final = r"(?:19|20)\d\d\s?[-/.年]\s?\d{1,2}"
_CLOCK: Final = r"\d{1,2}:\d\d"
_AGO: Final = r"\b\d{1,3} ?(?:years?|months?|weeks?|days?|hours?|minutes?|mins?|h|hrs?) ago"
_AGO_ASIAN: Final = (
    r"\d{1,3}\s?(?:年|个月|個月|[かヶケカ]月|周|週(?:间|間)?|天|日|小时|小時|時間|分钟|分鐘|分)前"
)
_AGO_GERMAN: Final = r"\bvor \d{1,3} (?:Jahr|Monat|Woche|Tag|Stunde|Minute)"
_MONTHS: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_MONTH: Final = r"[a-z]{0,6}\.? (?:\d{1,2}(?:st|nd|rd|th)?,? )?(?:19|20)\d\d"
_MONTH_DAY: Final = r"(?:^|(?<=[^\x00-\x7f])\s?)(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?=$|\s?[^\x00-\x7f岁人个天年月页元分周号级]| [A-Z])"
"""Alone, or with a number of the post before it and a place behind; ranges are counted in something."""

_DAY_FIRST: Final = (
    r"\b\d{1,2}(?:(?:\. ?|[/-])\d{1,2}(?:\. ?|[/-])|\.? (?:de )?[^\W\d_]{3,10}\.? (?:de )?)(?:19|20)\d\d\b"
)
"""A day, a number or any word, a year."""

DATE: Final = re.compile(
    "|".join((_DAY, _CLOCK, _AGO, _AGO_ASIAN, _AGO_GERMAN, rf"\b{_MONTHS}{_MONTH}", _DAY_FIRST, _MONTH_DAY))
)
_SOME_DAY, _SOME_CLOCK, _SOME_AGO, _SOME_AGO_ASIAN, _SOME_AGO_GERMAN, _SOME_DAY_FIRST, _SOME_MONTH_DAY = map(
    re.compile, (_DAY, _CLOCK, _AGO, _AGO_ASIAN, _AGO_GERMAN, _DAY_FIRST, _MONTH_DAY)
)
_SOME_MONTH: Final = re.compile(rf"{_MONTHS}(?<!\w...){_MONTH}")  # what begins with letters is found faster
_WORDS: Final = re.compile(r"[^\W\d_]{2}")
_HEADLINE_UNITS: Final = 5.0
MIN_POSTS: Final = 3
OF_ALL: Final = 0.85
"""Share of the page's prose that stands in dated posts."""

LARGEST: Final = 0.65
"""Share of it that stands in one of them at most: an article with some words below is no thread."""


def has_date(text: str) -> bool:
    """True when ``DATE`` finds a date, a time or an age in a short text; each form is looked for beside its own cue."""
    if ":" in text and _SOME_CLOCK.search(text):
        return True
    if ("20" in text or "19" in text) and (
        _SOME_DAY.search(text) or _SOME_MONTH.search(text) or _SOME_DAY_FIRST.search(text)
    ):
        return True
    return bool(
        ("ago" in text and _SOME_AGO.search(text))
        or ("前" in text and _SOME_AGO_ASIAN.search(text))
        or ("vor " in text and _SOME_AGO_GERMAN.search(text))
        or ("-" in text and _SOME_MONTH_DAY.search(text))
    )


def short_stamps(view: View) -> list[int]:
    """Places of all lines of up to ``DATE_CHARS`` with a date in them."""
    if view.stamps is None:
        view.stamps = [
            place
            for place, block in enumerate(view.blocks)
            if block.chars <= DATE_CHARS and has_date(block.text)
        ]
    return view.stamps


def dates(view: View) -> set[int]:
    """Places of visible lines that are little else than a date or an age, but no headings of a chronicle."""
    if view.dated is None:
        view.dated = {
            place
            for place in short_stamps(view)
            if not view.blocks[place].hidden and not _is_section(view, place)
        }
    return view.dated


def _is_section(view: View, place: int) -> bool:
    """A heading that is a date and nothing else: the part of a chronicle, not somebody's post."""
    node = view.blocks[place].node
    return (
        node >= 0
        and view.nodes[node].tag in HEADING_TAGS
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
    negative = view.negative
    total = sum(
        prose
        for node, prose in zip(view.holders, view.prose, strict=True)
        if prose > 0 and not (node >= 0 and negative[node])
    )
    said = sum(posts)
    return said >= OF_ALL * total and max(posts) <= LARGEST * said


def _posts(view: View, dates_at: set[int]) -> list[float]:
    """Units of prose behind each date, up to the next date or headline that leads to another page."""
    posts: list[float] = []
    units, dated = 0.0, False
    for place, (block, prose) in enumerate(zip(view.blocks, view.prose, strict=True)):
        if block.hidden:
            continue
        is_date = place in dates_at
        if is_date or (block.link_chars > LINKED * block.chars and view.units[place] >= _HEADLINE_UNITS):
            if dated and units > 0:
                posts.append(units)
                dated = False
            if is_date:
                units, dated = 0.0, True
            elif units <= 0:
                dated = False
        elif prose > 0 and not view.is_negative(place):
            units += prose
    return [*posts, units] if dated and units > 0 else posts
