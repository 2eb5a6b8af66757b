"""Forum threads, questions with answers, discussions: all posts are the main text."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.choice import Choice
from es_dedup.extraction.seen.dated import DATE, DATE_CHARS, dates, has_date
from es_dedup.extraction.seen.hints import HEADINGS
from es_dedup.extraction.seen.lengths import LINKED
from es_dedup.extraction.seen.records import labels, records
from es_dedup.extraction.threads.posts import forgive_posts, short_kinds
from es_dedup.extraction.threads.subject import asked_above, begin_of, subject_of
from es_dedup.extraction.threads.talk import talk_nodes
from es_dedup.extraction.threads.written import written_lines
from es_dedup.model import PageKind

if TYPE_CHECKING:
    from es_dedup.extraction.seen.records import Records
    from es_dedup.extraction.seen.view import View

_STOPPED: Final = 0.3
_ASIDE_SHARE: Final = 0.35  # of the posts' own length
_DIRECT: Final = 0.4  # of the text inside a body that stands in its own paragraphs and lines
_IN_LIST: Final = 0.5  # of what was said stands in one list of dated items, or behind the title
_IN_ITEMS: Final = 0.25  # of what was said stands in items with a date, where nothing behind them counts
_SAID: Final = re.compile(r"\w{3}[，。！？]")  # beside a date
_RULES: Final = "_=*—–-"
_RULE: Final = re.compile(rf"[{_RULES}]{{4,}}|-- ?")
_LINES: Final = frozenset({"pre", "li", "td", "p", "blockquote"})
_LABEL_UNITS: Final = 6.0  # on average
_BIOGRAPHY_UNITS: Final = 16.0  # on average
_BIOGRAPHY_SHARE: Final = 0.15  # of what was said
_ENDS: Final = (".", "!", "?", "。", "！", "？", "…", "~", "”", ")", "）", ":", "：")
_SEVERAL: Final = 3
_DISTINCT: Final = 0.5  # of the units of a kind
_SAID_AGAIN: Final = 0.34  # of the posts


def thread_choice(view: View) -> Choice | None:
    """All posts; None when there is nothing like a post."""
    forgive_posts(view)
    weight = _weights(view)
    found = next(iter(records(view, dates(view))), None)
    start = begin_of(view, found) if found else len(view.blocks)
    title = subject_of(view, start)
    for place in range(title if found else 0):
        weight[place] = min(0.0, weight[place])
    written = written_lines(view, title, start)
    for place in written:
        weight[place] = min(0.0, weight[place])
    short = short_kinds(view, written)
    for place, kind in enumerate(view.kinds if short else ()):
        if kind in short and place not in written:
            weight[place] = max(weight[place], view.units[place])
    best, score = _best(view, weight)
    if best < 0:
        return None
    best = _widened(view, max(view.holder(best), 0), found)
    fine = short | _body_kinds(view, [place for place in view.inside(best) if place not in written])
    bodies = _bodies(view, best, fine, short)
    labelled = view.repeated - _short_posts(view, fine)
    said = [
        place
        for place, block in enumerate(view.blocks)
        if block.node in bodies and _is_said(view, place, labelled, fine)
    ]
    names = _labels(view, said) - short
    said = [place for place in said if view.kinds[place] not in names and place not in written]
    posts = _without_asides(view, said)
    places = _between(view, posts, found, short)
    if not places:
        return None
    if 0 <= title == places[0] and len(places) > 1:
        places[1:1] = asked_above(view, title, places[1], written)

    def reason(place: int) -> str:
        if view.blocks[place].node not in bodies:
            return "in furniture, by its names" if view.is_negative(place) else "not in the body of a post"
        return "repeated, a date or furniture inside a post"

    return Choice(places, PageKind.THREAD, "posts of one kind", best, score, reason=reason)


def _widened(view: View, best: int, found: Records | None) -> int:
    """The element around all items, where only one of them was found: the others say too little against their links."""
    if found and found.items[0] <= best < view.ends[found.items[-1]]:
        while best > 0 and not best <= found.items[0] <= found.items[-1] < view.ends[best]:
            best = view.parents[best]
    return best


def _short_posts(view: View, fine: set[int]) -> set[str]:
    """Short texts that several people said, each in an element with a name for what is said: not in most of them, as labels stand."""
    texts: dict[int, Counter[str]] = {}
    for place, kind in enumerate(view.kinds):
        if kind in fine and (holder := view.around(place)) >= 0 and view.kind.is_named(holder):
            texts.setdefault(kind, Counter())[view.blocks[place].text] += 1
    return {
        text
        for counts in texts.values()
        for text, count in counts.items()
        if text in view.repeated and count <= _SAID_AGAIN * counts.total()
    }


def _bodies(view: View, best: int, fine: set[int], short: set[int]) -> set[int]:
    """Elements of all posts' bodies with everything inside them."""
    places = view.inside(best)
    holders = {
        view.around(place)
        for place in places
        if view.kinds[place] in short or (view.kinds[place] in fine and view.prose[place] > 0)
    }
    kinds = {view.kind.of_node(holder) for holder in holders if holder >= 0}
    end, kind_of = view.ends[best], view.kind.of_node
    alike: dict[int, list[int]] = {}
    for index in range(len(view.nodes)):
        kind = kind_of(index)
        if kind in kinds and (best <= index < end or view.kind.is_named(index)):
            alike.setdefault(kind, []).append(index)
    direct, whole = _said_in(view)
    found: set[int] = set()
    for members in alike.values():
        if sum(direct[index] for index in members) < _DIRECT * sum(whole[index] for index in members):
            continue  # a wrapper of other parts, not the body of a post
        for index in members:
            if not view.negative[index]:
                found.update(range(index, view.ends[index]))
    return found


def _said_in(view: View) -> tuple[list[float], list[float]]:
    """Units of unlinked text of each element: in its own paragraphs and lines, and with everything inside it."""
    nodes, parents = view.nodes, view.parents
    direct, whole = [0.0] * len(nodes), [0.0] * len(nodes)
    for block, units in zip(view.blocks, view.units, strict=True):
        index = block.node
        if block.link_chars <= LINKED * block.chars and index >= 0 and nodes[index].tag != "pre":
            holder = view.holder(index)
            if holder >= 0:
                direct[holder] += units
                whole[index] += units
    for index in range(len(nodes) - 1, -1, -1):
        if whole[index] and parents[index] >= 0:
            whole[parents[index]] += whole[index]
    return direct, whole


def _weights(view: View) -> list[float]:
    """What each block says for the element that holds all posts, or against it."""
    heads = {node.index for node in view.nodes if node.tag == "h1"}
    negative = view.negative
    weights: list[float] = []
    for place, (block, prose) in enumerate(zip(view.blocks, view.prose, strict=True)):
        node = block.node
        if node in heads:
            weights.append(0.0)
        elif node >= 0 and negative[node]:
            weights.append(-4.0 if prose <= 0 else -0.3 * prose)
        elif prose > 0:
            weights.append(-5.0 if view.is_furniture(place) else prose)
        else:
            weights.append(-2.0 if block.link_chars > LINKED * block.chars else 0.0)
    return weights


def _best(view: View, weight: list[float]) -> tuple[int, float]:
    sums, parents = [0.0] * len(view.nodes), view.parents
    for block, value in zip(view.blocks, weight, strict=True):
        if value and block.node >= 0:
            sums[block.node] += value
    best, most = -1, 0.0
    for index in range(len(sums) - 1, -1, -1):
        total = sums[index]
        if total > most:
            best, most = index, total
        if total and parents[index] >= 0:
            sums[parents[index]] += max(total, -30.0)
    return best, most


def _body_kinds(view: View, places: list[int]) -> set[int]:
    groups: dict[int, list[int]] = {}
    for place in places:
        groups.setdefault(view.kinds[place], []).append(place)
    return {kind for kind, members in groups.items() if _is_body(view, members)}


def _name(view: View, place: int) -> tuple[str, str]:
    holder = view.around(place)
    return (view.nodes[holder].tag, view.nodes[holder].names) if holder >= 0 else ("", "")


def _without_asides(view: View, posts: list[int]) -> list[int]:
    """Without comments below posts, where they are far less than the posts themselves.

    What stands above all posts is the first, and what stands in elements with the name of theirs is one too.
    """
    talk = talk_nodes(view)
    own = [place for place in posts if view.blocks[place].node < 0 or not talk[view.blocks[place].node]]
    bodies = {_name(view, place) for place in own}
    asides = {
        place for place in posts if own and place > own[0] and _name(view, place) not in bodies
    }.difference(own)
    left = [place for place in posts if place not in asides]
    said = sum(view.units[place] for place in left)
    return left if sum(view.units[place] for place in asides) < _ASIDE_SHARE * said else posts


def _between(view: View, posts: list[int], found: Records | None, short: set[int]) -> list[int]:
    """From the thread's title to its last dated post: rules, greetings and notices of the site stand before and behind.

    The title comes first, whether it stands in a heading or not: in it stands what is asked.
    """
    posts = _without_signatures(view, posts)
    if not posts:
        return []
    start = posts[0]
    if found:
        above = labels(view, found)
        posts = [place for place in posts if place not in above or view.kinds[place] in short]
        start = begin_of(view, found)
    title = subject_of(view, start)
    posts = _most(view, posts, [place for place in posts if place > title])
    if found:
        inside = sum(view.units[place] for place in posts if found.inside[place])
        if inside >= _IN_ITEMS * sum(view.units[place] for place in posts):
            posts = _most(view, posts, [place for place in posts if place <= found.last])
    again = any(view.blocks[place].text == view.blocks[title].text for place in posts)
    return posts if title < 0 or again or (posts and posts[0] < title) else [title, *posts]


def _most(view: View, places: list[int], some: list[int]) -> list[int]:
    """Some of the places, if they hold most of what was said."""
    enough = sum(view.units[place] for place in some) >= _IN_LIST * sum(view.units[place] for place in places)
    return some if enough else places


def _without_signatures(view: View, posts: list[int]) -> list[int]:
    """Without what stands below a drawn line in the same element: mail and forum programs put signatures there."""
    below: set[int] = set()
    drawn: int | None = None
    for place, block in enumerate(view.blocks):
        if block.node == drawn:
            below.add(place)
        elif block.text[0] in _RULES and _RULE.fullmatch(block.text):
            drawn = block.node
            below.add(place)
    return [place for place in posts if place not in below] if below else posts


def _labels(view: View, places: list[int]) -> set[int]:
    """Kinds of short lines that are no sentences: names, ranks, buttons, who somebody is."""
    groups: dict[int, list[int]] = {}
    for place in places:
        groups.setdefault(view.kinds[place], []).append(place)
    most = _BIOGRAPHY_SHARE * sum(view.units[place] for place in places)
    return {
        kind
        for kind, members in groups.items()
        if len(members) > 1
        and view.nodes[view.blocks[members[0]].node].tag not in _LINES
        and (_are_names(view, members) or _are_biographies(view, members, most))
    }


def _are_names(view: View, members: list[int]) -> bool:
    units = sum(view.units[place] for place in members)
    heading = view.nodes[view.blocks[members[0]].node].tag in HEADINGS
    if heading and not any(view.linked(place) for place in members):
        return False
    return units <= _LABEL_UNITS * len(members) and all(view.prose[place] <= 0 for place in members)


def _are_biographies(view: View, members: list[int], most: float) -> bool:
    """Lines on who speaks: none ends like a sentence, and together they say little."""
    units = sum(view.units[place] for place in members)
    if view.nodes[view.blocks[members[0]].node].tag in HEADINGS:
        return False
    return units <= min(most, _BIOGRAPHY_UNITS * len(members)) and not any(
        view.blocks[place].text.endswith(_ENDS) for place in members
    )


def _is_body(view: View, places: list[int]) -> bool:
    chars = sum(view.blocks[place].chars for place in places)
    linked = sum(view.blocks[place].link_chars for place in places)
    if linked > LINKED * chars:
        return False
    units = sum(view.units[place] for place in places)
    once = {view.blocks[place].text: view.units[place] for place in places}
    if len(places) >= _SEVERAL and sum(once.values()) < _DISTINCT * units:
        return False
    stopped = sum(view.units[place] for place in places if view.prose[place] > 0)
    return stopped >= _STOPPED * units


def _is_said(view: View, place: int, written: set[str], fine: set[int]) -> bool:
    block = view.blocks[place]
    if block.text in written or (view.is_negative(place) and not view.is_quoted(place)):
        return False
    if block.chars <= DATE_CHARS and has_date(block.text) and not _SAID.search(DATE.sub("", block.text)):
        return False
    return view.kinds[place] in fine or not view.is_furniture(place)
