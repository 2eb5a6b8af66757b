"""What a thread is about: the line that names it, and what is asked below that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.measures import ENDS
from es_dedup.extraction.seen.dated import has_date
from es_dedup.extraction.seen.hints import HEADINGS
from es_dedup.extraction.threads.posts import held, stamped

if TYPE_CHECKING:
    from es_dedup.extraction.seen.records import Records
    from es_dedup.extraction.seen.view import View

_TITLE_CHARS: Final = 4
_LONGER: Final = 1.5  # times: what is shorter may be the name of the site
_LINKED_TITLE: Final = 0.33  # of the page's title


def subject_of(view: View, start: int) -> int:
    """Place of the line before the first post that has most of the page's title, the last of equals; -1 for none.

    A linked line outside a heading only where there is no other of such a length, and if it is much of the title.
    """
    title = "".join(view.document.title.split())
    chars, opening = len(title), set(title)
    best, most, linked, longest = -1, _TITLE_CHARS - 1, -1, _LINKED_TITLE * len(title)
    for place, block in enumerate(view.blocks[:start]):
        if not _TITLE_CHARS <= block.chars <= chars or block.text[0] not in opening:
            continue
        if (
            block.hidden
            or view.is_negative(place)
            or block.chars < min(most, longest)
            or block.text in view.repeated
            or "".join(block.text.split()) not in title
        ):
            continue
        if not view.linked(place) or view.nodes[block.node].tag in HEADINGS:
            if block.chars >= most:
                best, most = place, block.chars
        elif block.chars >= longest and _stands_apart(block.text, view.document.title):
            linked, longest = place, block.chars
    if best < 0 or linked < 0 or view.nodes[view.blocks[best].node].tag in HEADINGS:
        return max(best, linked) if best < 0 or linked < 0 else best
    return linked if view.blocks[linked].chars >= _LONGER * view.blocks[best].chars else best


def _stands_apart(text: str, title: str) -> bool:
    """Between signs, or at an end of the title: a name of the site or of somebody may go on."""
    before, _, behind = title.partition(text)
    return not (before[-1:].isalnum() or behind[:1].isalnum())


def begin_of(view: View, found: Records) -> int:
    """Place of the first prose in a list, or of its first date."""
    prose = (
        place for place in range(found.first, found.last) if found.inside[place] and view.prose[place] > 0
    )
    return next(prose, found.dates[0])


def asked_above(view: View, title: int, first: int, written: set[int]) -> list[int]:
    """Places of sentences between the title and the first of the posts, in an element with a date that holds none of them: what is asked."""
    candidates = [
        place
        for place in range(title + 1, first)
        if place not in written
        and not view.linked(place)
        and view.blocks[place].text.endswith(ENDS)
        and not (has_date(view.blocks[place].text) or view.is_negative(place) or view.is_furniture(place))
    ]
    dated = stamped(view) if candidates else []
    return [place for place in candidates if _has_date(view, dated, place, view.blocks[first].node)]


def _has_date(view: View, dated: list[int], place: int, other: int) -> bool:
    """The largest element around a block that does not hold the other element has a date in it."""
    top = view.blocks[place].node
    while (around := view.parents[top]) >= 0 and not around <= other < view.ends[around]:
        top = around
    return held(dated, top, view.ends[top]) > 0
