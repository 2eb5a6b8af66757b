"""What in a thread is no post: lines that forum software writes around each of them, and parts that only look like posts.

Words differ from software to software and from language to language. That one line is written around every post, with another name,
number or date in it each time, does not.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.dated import DATE, dates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.view import View

_NEVER: Final = re.compile(
    r"relat|recom|similar|side|nav|foot|menu|popul|trend|promo|teaser|spons|advert|banner|sign|login|regist|modal|popup|cookie|consent",
    re.IGNORECASE,
)
"""Names that are furniture however much stands in them."""

_FORMS: Final = frozenset({"form", "fieldset"})
_HOLD: Final = 0.5  # of the page's prose
_DIGITS: Final = re.compile(r"\d+")
_LINE_CHARS: Final = 120
_MEMBERS: Final = 3
_TEXTS: Final = frozenset({"p", "li", "pre", "blockquote"})
_QUOTED: Final = frozenset({"li", "pre", "blockquote"})
_LABEL: Final = re.compile(r"[^\s:：]{2,20} ?[:：]")
_NUMBER: Final = re.compile(r"[^\s:：]{2,20} ?[:：] ?[\d.,]+")
_LABELLED_CHARS: Final = 12
_END_CHARS: Final = 4
_NUMBERED: Final = 0.8  # of the lines, or forms, of a kind
_COMMON: Final = 0.6  # of the lines of a kind
_ALIKE: Final = 0.5  # of a line's trigrams
_TINY_UNITS: Final = 4.0  # on average; posts of a word or two are alike by chance
_TITLE_CHARS: Final = 8
_BESIDE_TITLE: Final = 40  # characters of a label, a name and a date
_LETTERS: Final = re.compile(r"[^\W\d_]")
_EDITED: Final = re.compile(
    r"this post (?:was|has been) (?:last )?(?:edited|modified)|^[\s\[(（【]*(?:本帖最后由|(?:此)?(?:帖|贴|文章|回复)(?:子)?(?:于|被|最后)|(?:last )?edited (?:by|on|at)\b|"
    r"(?:message )?(?:modifi[ée]|édité) (?:par|le)|zuletzt (?:geändert|bearbeitet|editiert)|最終(?:更新|編集)|編集済|ultima modifica|última edición|отредактировано)",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(
    r"^(?:全部|共|all )?[\s(（]*[\d,.]+\s?[kmw万]?\+?\s?(?:条|個|个|人|件|次)?\s?"
    r"(?:回答|回复|回帖|回覆|评论|評論|閲覧|浏览|阅读|点击|关注|赞同.{0,6}|answers?|repl(?:y|ies)|comments?|responses?|views?|votes?|points?|likes?|upvotes?|kudos|antworten|aufrufe)[)）]?$",
    re.IGNORECASE,
)
_EDITED_CHARS: Final = 120
_ENDS: Final = (".", "!", "?", "。", "！", "？", "…")
_STAMP_CHARS: Final = 80
_STAMPS: Final = 4  # dates of one kind
_BESIDE: Final = 0.7  # of the dates
_SOME_PROSE: Final = 0.5  # of the dates
_LINKED: Final = 0.1  # of the characters
_BYLINE_CHARS: Final = 160


def forgive_posts(view: View) -> None:
    """Take elements out of the furniture in which most of the page's prose stands, in many of them: ``<div id=edit77>`` around each post.

    Another form that holds no date, behind one, is one to answer in, however long its rules are.
    """
    dated = _stamped(view)
    posts = _alike(view, dated) | _around_dates(view, dated)
    if posts:
        view.forgive(posts)
    for node in view.nodes if dated else ():
        index, end = node.index, view.ends[node.index]
        if (
            node.tag == "form"
            and index > min(dated)
            and index not in posts
            and not any(index <= inside < end for inside in dated)
        ):
            view.negative[index:end] = [True] * (end - index)


def _stamped(view: View) -> list[int]:
    """Elements of lines with a date in them, and a name, a rank, a number of points."""
    return [block.node for block in view.blocks if block.chars <= _STAMP_CHARS and DATE.search(block.text)]


def asked_above(view: View, title: int, first: int, written: set[int]) -> list[int]:
    """Places of prose between the title and the first of the posts, in an element with a date that holds none of them: what is asked."""
    stamped = _stamped(view)
    found: list[int] = []
    target = view.blocks[first].node
    for place in range(title + 1, first):
        text = view.blocks[place].text
        if view.prose[place] <= 0 or not text.endswith(_ENDS) or DATE.search(text):
            continue
        if place in written or view.is_negative(place) or view.is_furniture(place):
            continue
        top = view.blocks[place].node
        while (around := view.parents[top]) >= 0 and not around <= target < view.ends[around]:
            top = around
        if any(top <= inside < view.ends[top] for inside in stamped):
            found.append(place)
    return found


def _alike(view: View, dated: list[int]) -> set[int]:
    """Elements with one name, furniture by it, that hold most of the page's prose, or are forms with dates in them."""
    alike: dict[tuple[str, str], list[int]] = {}
    for node in view.nodes:
        index = node.index
        if (
            view.hints[index] < 0
            and (view.mass[index] > 0 or node.tag == "form")
            and not node.hidden
            and not (node.parent >= 0 and view.negative[node.parent])
            and (node.names or node.tag in _FORMS)
            and not _NEVER.search(node.names)
        ):
            alike.setdefault((node.tag, _DIGITS.sub("", node.names)), []).append(index)
    return {
        index
        for members in alike.values()
        if (len(members) > 1 or _DIGITS.search(view.nodes[members[0]].names))
        and (
            sum(view.mass[index] for index in members) >= _HOLD * view.total
            or (view.nodes[members[0]].tag == "form" and _are_dated(view, members, dated))
        )
        for index in members
    }


def _around_dates(view: View, dated: list[int]) -> set[int]:
    """Forms around most dates: some software puts one around all posts, to choose among them."""
    found: set[int] = set()
    for node in view.nodes if len(dated) >= _STAMPS else ():
        if node.tag == "form" and not node.hidden:
            held = sum(node.index <= inside < view.ends[node.index] for inside in dated)
            if held >= _BESIDE * len(dated):
                found.add(node.index)
    return found


def _are_dated(view: View, members: list[int], dated: list[int]) -> bool:
    """Most forms of those with prose in them hold a date."""
    said = [index for index in members if view.mass[index] > 0]
    held = sum(any(index <= inside < view.ends[index] for inside in dated) for index in said)
    return len(said) > 1 and held >= _NUMBERED * len(said)


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
    common = [kind for kind, found in beside.items() if len(found) >= _BESIDE * len(stamps)]
    if any(
        sum(view.prose[place] > 0 for place in members[kind]) >= _SOME_PROSE * len(stamps) for kind in common
    ):
        return set()
    differing = {kind: _differing(view, members[kind]) for kind in common}
    best = max(differing, key=lambda kind: differing[kind], default=-1)
    return {best} if best >= 0 and differing[best] > 0 else set()


def _differing(view: View, members: Sequence[int]) -> float:
    """Units of the different texts of a kind; 0 where they are less than half."""
    once = {view.blocks[place].text: view.units[place] for place in members}
    units = sum(once.values())
    return units if units >= _ALIKE * sum(view.units[place] for place in members) else 0.0


def written_lines(view: View, title: int, start: int) -> set[int]:
    """Places of lines that software wrote: alike but for numbers and names, notes of changes, the title once more.

    Args:
        view: of the page.
        title: place of the thread's title; -1 for none.
        start: place before which nobody but the first has spoken.
    """
    places = [place for place, block in enumerate(view.blocks) if not view.is_negative(place)]
    found = {
        place for place in places if _is_note(view, place) or (place < start and _is_byline(view, place))
    }
    found |= _patterns(view, places) | _notices(view, places)
    kinds: dict[int, list[int]] = {}
    for place in places:
        kinds.setdefault(view.kinds[place], []).append(place)
    for members in kinds.values():
        if len(members) >= _MEMBERS and _are_alike(view, members):
            found.update(members)
    if title >= 0:
        said = view.blocks[title].text
        found.update(place for place in places if place != title and _repeats(view.blocks[place].text, said))
    return found


def _is_note(view: View, place: int) -> bool:
    text = view.blocks[place].text
    return len(text) <= _EDITED_CHARS and bool(_EDITED.search(text) or _COUNTED.match(text))


def _is_byline(view: View, place: int) -> bool:
    """A short line with a date and a link, the only one of its kind: who began a thread, and who spoke last."""
    block = view.blocks[place]
    return (
        block.link_chars >= _LINKED * block.chars
        and len(block.text) <= _BYLINE_CHARS
        and DATE.search(block.text) is not None
        and view.kinds.count(view.kinds[place]) == 1
    )


def _notices(view: View, places: Sequence[int]) -> set[int]:
    """What opens like furniture, and more than once."""
    lines: dict[str, list[int]] = {}
    for place in places:
        if view.is_furniture(place):
            lines.setdefault(view.blocks[place].text, []).append(place)
    return {place for members in lines.values() if len(members) > 1 for place in members}


def _patterns(view: View, places: Sequence[int]) -> set[int]:
    """Short lines that are equal but for their numbers, or begin with one label and end alike, three times."""
    lines: dict[str | tuple[str, str], list[int]] = {}
    for place in places:
        block = view.blocks[place]
        text = block.text
        if len(text) > _LINE_CHARS or view.nodes[block.node].tag in _QUOTED:
            if _NUMBER.fullmatch(text):
                lines.setdefault(_DIGITS.sub("", text), []).append(place)
            continue
        bare = _DIGITS.sub("", text)
        if len(bare) < len(text) and _LETTERS.search(bare):
            lines.setdefault(bare, []).append(place)
        if (label := _LABEL.match(bare)) and len(bare) >= _LABELLED_CHARS:
            lines.setdefault((label[0], bare[-_END_CHARS:]), []).append(place)
    return {
        place
        for members in lines.values()
        if len(members) >= _MEMBERS and len({view.blocks[place].text for place in members}) > 1
        for place in members
    }


def _are_alike(view: View, members: Sequence[int]) -> bool:
    """Most lines have numbers, and at least half of each stands in most of the others too."""
    if view.nodes[view.blocks[members[0]].node].tag in _TEXTS:
        return False
    lines = [view.blocks[place].text for place in members]
    if max(map(len, lines)) > _LINE_CHARS or sum(map(bool, map(_DIGITS.search, lines))) < _NUMBERED * len(
        lines
    ):
        return False
    if sum(view.units[place] for place in members) < _TINY_UNITS * len(members):
        return False
    texts = {_DIGITS.sub("0", view.blocks[place].text) for place in members}
    if len(texts) < _MEMBERS:
        return False
    cut = [_trigrams(text) for text in texts]
    counts = Counter(gram for grams in cut for gram in grams)
    common = {gram for gram, count in counts.items() if count >= _COMMON * len(cut)}
    shares = [len(grams & common) / len(grams) for grams in cut if grams]
    return bool(shares) and sum(shares) >= _ALIKE * len(shares)


def _trigrams(text: str) -> set[str]:
    return {text[start : start + 3] for start in range(len(text) - 2)}


def _repeats(text: str, title: str) -> bool:
    """The title with a label, a name or a date beside it."""
    if len(title) < _TITLE_CHARS or title not in text or len(text) > len(title) + _LINE_CHARS:
        return False
    before, _, behind = text.rpartition(title)
    beside = _DIGITS.sub("", DATE.sub("", before)).strip()
    return len(beside) <= _BESIDE_TITLE and not _LETTERS.search(DATE.sub("", behind))
