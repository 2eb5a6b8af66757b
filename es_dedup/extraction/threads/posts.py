"""Posts that names or shortness hide: in elements with a name of furniture, and of a word or two each."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.dated import DATE_CHARS, dates, has_date, short_stamps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.seen.view import View

_NEVER: Final = re.compile(
    r"relat|recom|similar|side|nav|foot|menu|popul|trend|promo|teaser|spons|advert|banner|sign|login|regist|modal|popup|cookie|consent",
    re.IGNORECASE,
)
"""Names that are furniture however much stands in them."""

_RECOMMENDED: Final = "recom"  # answers are, with a date in each, and other pages, without

_FORMS: Final = frozenset({"form", "fieldset"})
_HOLD: Final = 0.5  # of the page's prose
_DIGITS: Final = re.compile(r"\d+")
_NUMBERED: Final = 0.8  # of the elements of a kind
_ALIKE: Final = 0.5  # of the units of their different texts
_STAMP_CHARS: Final = 80  # of a line with a date and a name
_STAMPS: Final = 4  # dates of one kind
_BESIDE: Final = 0.7  # of the dates
_SOME_PROSE: Final = 0.5  # of the dates


def forgive_posts(view: View) -> None:
    """Take elements out of the furniture in which most of the page's prose stands, in many of them: ``<div id=edit77>`` around each post.

    Another form that holds no date, behind one, is one to answer in, however long its rules are.
    """
    dated = stamped(view)
    posts = _alike(view, dated) | _around_dates(view, dated)
    if posts:
        view.forgive(posts)
    for index in _forms(view) if dated else ():
        end = view.ends[index]
        if index > dated[0] and index not in posts and not held(dated, index, end):
            view.negative[index:end] = [True] * (end - index)


def stamped(view: View) -> list[int]:
    """Elements of lines with a date in them, and a name, a rank, a number of points; ascending."""
    longer = [
        block.node
        for block in view.blocks
        if DATE_CHARS < block.chars <= _STAMP_CHARS and has_date(block.text)
    ]
    return sorted(longer + [view.holders[place] for place in short_stamps(view)])


def held(dated: Sequence[int], first: int, end: int) -> int:
    """How many of these elements, ascending, stand in a subtree."""
    return bisect_left(dated, end) - bisect_left(dated, first)


def _alike(view: View, dated: list[int]) -> set[int]:
    """Elements with one name, furniture by it, that hold most of the page's prose, or are forms with dates in them."""
    alike: dict[tuple[str, str], list[int]] = {}
    for index in [index for index, hint in enumerate(view.hints) if hint < 0]:
        node = view.nodes[index]
        if (
            (view.mass[index] > 0 or node.tag == "form")
            and not node.hidden
            and (node.names or node.tag in _FORMS)
            and _may_hold_posts(view, index)
        ):
            alike.setdefault((node.tag, _DIGITS.sub("", node.names)), []).append(index)
    return {
        index
        for members in alike.values()
        if (len(members) > 1 or _DIGITS.search(view.nodes[members[0]].names))
        and (
            (
                sum(view.mass[index] for index in members) >= _HOLD * view.total
                and (
                    _RECOMMENDED not in view.nodes[members[0]].names.lower()
                    or _are_dated(view, members, dated)
                )
            )
            or (view.nodes[members[0]].tag == "form" and _are_dated(view, members, dated))
        )
        for index in members
    }


def _around_dates(view: View, dated: list[int]) -> set[int]:
    """Forms around most dates: some software puts one around all posts, to choose among them."""
    if len(dated) < _STAMPS:
        return set()
    return {
        index
        for index in _forms(view)
        if not view.nodes[index].hidden and held(dated, index, view.ends[index]) >= _BESIDE * len(dated)
    }


def _forms(view: View) -> list[int]:
    """Indices of all forms."""
    return sorted(view.called("form"))


def _may_hold_posts(view: View, index: int) -> bool:
    """No name of furniture, but that of an answer which is recommended; such elements stand in each other."""
    node = view.nodes[index]
    if never := _NEVER.search(node.names):
        return never[0].lower() == _RECOMMENDED
    return not (node.parent >= 0 and view.negative[node.parent])


def _are_dated(view: View, members: list[int], dated: list[int]) -> bool:
    """Most forms of those with prose in them hold a date."""
    said = [index for index in members if view.mass[index] > 0]
    count = sum(held(dated, index, view.ends[index]) > 0 for index in said)
    return len(said) > 1 and count >= _NUMBERED * len(said)


def short_kinds(view: View, written: set[int]) -> set[int]:
    """The kind of what stands beside most dates where next to none of it is prose: posts of a word or two.

    Args:
        view: of the page.
        written: places of what software wrote.

    Returns:
        One kind of blocks, or none: that with the most text of all that stand unlinked beside most dates and differ.
    """
    groups: dict[int, list[int]] = {}
    for place in sorted(dates(view)):
        groups.setdefault(view.kinds[place], []).append(place)
    stamps = max(groups.values(), key=len, default=[])
    if len(stamps) < _STAMPS:
        return set()
    gap = max(behind - before for before, behind in pairwise(stamps))
    beside: dict[int, set[int]] = {}
    members: dict[int, list[int]] = {}
    prosy: set[int] = set()
    number = 0
    for place in range(max(0, stamps[0] - gap), min(len(view.blocks), stamps[-1] + gap)):
        number += number < len(stamps) and place >= stamps[number]
        kind = view.kinds[place]
        if (
            place not in written
            and kind != view.kinds[stamps[0]]
            and not (view.blocks[place].link_chars or view.is_negative(place))
        ):
            beside.setdefault(kind, set()).add(number)
            members.setdefault(kind, []).append(place)
            if view.prose[place] > 0:
                prosy.add(number)
    common = [kind for kind, found in beside.items() if len(found) >= _BESIDE * len(stamps)]
    if len(prosy) >= _SOME_PROSE * len(stamps):
        return set()
    differing = {kind: _differing(view, members[kind]) for kind in common}
    best = max(differing, key=lambda kind: differing[kind], default=-1)
    return {best} if best >= 0 and differing[best] > 0 else set()


def _differing(view: View, members: Sequence[int]) -> float:
    """Units of the different texts of a kind; 0 where they are less than half."""
    once = {view.blocks[place].text: view.units[place] for place in members}
    units = sum(once.values())
    return units if units >= _ALIKE * sum(view.units[place] for place in members) else 0.0
