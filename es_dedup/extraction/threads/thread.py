"""Forum threads, questions with answers, discussions: all posts are the main text."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.choice import Choice
from es_dedup.extraction.seen.dated import DATE, dates, short_stamps
from es_dedup.extraction.seen.hints import HEADINGS
from es_dedup.extraction.seen.lengths import LINKED
from es_dedup.extraction.seen.records import labels, records
from es_dedup.extraction.threads.asides import of_messages, without_asides, without_teasers
from es_dedup.extraction.threads.posts import forgive_posts, short_kinds
from es_dedup.extraction.threads.subject import asked_above, begin_of, subject_of
from es_dedup.extraction.threads.talk import talk_nodes
from es_dedup.extraction.threads.written import written_lines
from es_dedup.model import PageKind

if TYPE_CHECKING:
    from es_dedup.extraction.seen.records import Records
    from es_dedup.extraction.seen.view import View

_STOPPED: Final = 0.3
_LEAST: Final = -30.0  # that an element takes off the one around it
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
    inside = view.inside(best)
    fine = short | _body_kinds(view, [place for place in inside if place not in written])
    bodies = _bodies(view, best, inside, fine, short, written)
    said = _said(view, bodies, view.repeated - _short_posts(view, fine), fine)
    if not found:
        said = without_teasers(view, said)
    names = _labels(view, said) - short
    said = [place for place in said if view.kinds[place] not in names and place not in written]
    posts = of_messages(view, _without_signatures(view, without_asides(view, said)))
    places = _between(view, posts, found, short, title)
    if not places:
        return None
    if 0 <= title == places[0] and len(places) > 1:
        places[1:1] = asked_above(view, title, places[1], written)

    def reason(place: int) -> str:
        if not bodies[view.holders[place]]:
            return "in furniture, by its names" if view.is_negative(place) else "not in the body of a post"
        return "repeated, a date or furniture inside a post"

    return Choice(places, PageKind.THREAD, "posts of one kind", best, score, reason=reason)


def _widened(view: View, best: int, found: Records | None) -> int:
    """The element around all items, where only some of what was said was found: the others say too little against their links.

    Without dated items, the element around what stands behind in elements that names call replies.
    """
    if found:
        first, last = found.items[0], found.items[-1]
    else:
        said = talk_nodes(view)
        replies = [
            block.node
            for place, block in enumerate(view.blocks)
            if block.node >= view.ends[best]
            and said[block.node]
            and view.prose[place] > 0
            and not (view.is_negative(place) or view.is_furniture(place))
        ]
        if not replies:
            return best
        first, last = best, replies[-1]
    if best < view.ends[last]:
        while best > 0 and not best <= first <= last < view.ends[best]:
            best = view.parents[best]
    return best


def _short_posts(view: View, fine: set[int]) -> set[str]:
    """Short texts that several people said, each in an element with a name for what is said: not in most of them, as labels stand."""
    if not view.repeated:
        return set()
    posts: Counter[int] = Counter()
    texts: Counter[tuple[int, str]] = Counter()
    for block, kind, holder in zip(view.blocks, view.kinds, view.arounds, strict=True):
        if kind in fine and holder >= 0 and view.kind.is_named(holder):
            posts[kind] += 1
            if block.text in view.repeated:
                texts[kind, block.text] += 1
    return {text for (kind, text), count in texts.items() if count <= _SAID_AGAIN * posts[kind]}


def _bodies(
    view: View, best: int, inside: list[int], fine: set[int], short: set[int], written: set[int]
) -> list[bool]:
    """For each element, whether it is the body of a post or stands in one; the last stands for no element."""
    kind_of, kinds = view.kind.of_nodes, view.kinds
    holders = {
        view.arounds[place]
        for place in inside
        if kinds[place] in fine and (view.prose[place] > 0 or kinds[place] in short)
    }
    wanted = {kind_of[holder] for holder in holders if holder >= 0}
    end = view.ends[best]
    alike: dict[int, list[int]] = {}
    for index, kind in enumerate(kind_of):
        if kind in wanted and (best <= index < end or view.kind.is_named(index)):
            alike.setdefault(kind, []).append(index)
    direct, whole = _said_in(view, written | dates(view))
    found = [False] * (len(kind_of) + 1)
    for members in alike.values():
        if sum(direct[index] for index in members) < _DIRECT * sum(whole[index] for index in members):
            continue  # a wrapper of other parts, not the body of a post
        for index in members:
            if not view.negative[index]:
                found[index : view.ends[index]] = [True] * (view.ends[index] - index)
    return found


def _said_in(view: View, apart: set[int]) -> tuple[list[float], list[float]]:
    """Units of unlinked text of each element: in its own paragraphs and lines, and with everything inside it.

    What software wrote, and dates, stand apart: they are longer than posts of a word. Of preformatted text messages count, no programs.
    """
    parents, preformatted = view.parents, view.called("pre")
    direct, whole = [0.0] * len(parents), [0.0] * len(parents)
    columns = zip(view.blocks, view.units, view.prose, view.holders, view.arounds, strict=True)
    for place, (block, units, prose, index, holder) in enumerate(columns):
        if (
            holder >= 0
            and block.link_chars <= LINKED * block.chars
            and (prose > 0 or index not in preformatted)
            and place not in apart
        ):
            direct[holder] += units
            whole[index] += units
    for index in range(len(parents) - 1, -1, -1):
        if (units := whole[index]) and parents[index] >= 0:
            whole[parents[index]] += units
    return direct, whole


def _weights(view: View) -> list[float]:
    """What each block says for the element that holds all posts, or against it."""
    heads, negative, boxed = view.called("h1"), view.negative, view.boxed
    weights: list[float] = []
    for place, (block, node, prose) in enumerate(zip(view.blocks, view.holders, view.prose, strict=True)):
        if node in heads:
            weights.append(0.0)
        elif node >= 0 and negative[node]:
            lightly = node in boxed and block.link_chars > LINKED * block.chars
            weights.append((-2.0 if lightly else -4.0) if prose <= 0 else -0.3 * prose)
        elif prose > 0:
            weights.append(-5.0 if view.is_furniture(place) else prose)
        else:
            weights.append(-2.0 if block.link_chars > LINKED * block.chars else 0.0)
    return weights


def _best(view: View, weight: list[float]) -> tuple[int, float]:
    """The innermost element with the largest sum; one takes at most 30 off the one around it."""
    sums, parents = [0.0] * (len(view.nodes) + 1), view.parents  # the last stands for no element
    for node, value in zip(view.holders, weight, strict=True):
        sums[node] += value
    best, most = -1, 0.0
    for index in range(len(parents) - 1, -1, -1):
        if total := sums[index]:
            if total > most:
                best, most = index, total
            sums[parents[index]] += total if total > _LEAST else _LEAST  # noqa: FURB136 - for each element; a call costs more
    return best, most


def _body_kinds(view: View, places: list[int]) -> set[int]:
    groups: dict[int, list[int]] = {}
    for place in places:
        groups.setdefault(view.kinds[place], []).append(place)
    return {kind for kind, members in groups.items() if _is_body(view, members)}


def _between(view: View, posts: list[int], found: Records | None, short: set[int], title: int) -> list[int]:
    """From the thread's title to its last dated post: rules, greetings and notices of the site stand before and behind.

    The title comes first, whether it stands in a heading or not: in it stands what is asked. Without a list of dated posts it is looked for above the first of them.
    """
    if not posts:
        return []
    if found:
        above = labels(view, found)
        posts = [place for place in posts if place not in above or view.kinds[place] in short]
    else:
        title = subject_of(view, posts[0])
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
    if not any(block.text[0] in _RULES and _RULE.fullmatch(block.text) for block in view.blocks):
        return posts
    below: set[int] = set()
    drawn: int | None = None
    for place, block in enumerate(view.blocks):
        if block.node == drawn:
            below.add(place)
        elif block.text[0] in _RULES and _RULE.fullmatch(block.text):
            drawn = block.node
            below.add(place)
    return [place for place in posts if place not in below]


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
    """Blocks of one kind are unlinked, much of them reads like prose, and not all of them are alike."""
    chars = linked = 0
    units = stopped = 0.0
    once: dict[str, float] = {}
    for place in places:
        block, own = view.blocks[place], view.units[place]
        chars += block.chars
        linked += block.link_chars
        units += own
        if view.prose[place] > 0:
            stopped += own
        once[block.text] = own
    if linked > LINKED * chars or stopped < _STOPPED * units:
        return False
    if len(places) >= _SEVERAL:
        return sum(once.values()) >= _DISTINCT * units
    notices = sum(view.units[place] for place in places if view.prose[place] > 0 and view.is_furniture(place))
    return stopped - notices >= _STOPPED * units


def _said(view: View, bodies: list[bool], labelled: set[str], fine: set[int]) -> list[int]:
    """Places in bodies that are no labels, dates and furniture."""
    stamps, preformatted = set(short_stamps(view)), view.called("pre")
    said: list[int] = []
    for place, (block, node, kind) in enumerate(zip(view.blocks, view.holders, view.kinds, strict=True)):
        if not bodies[node] or block.text in labelled:
            continue
        if view.negative[node] and not view.is_quoted(place):
            continue
        if place in stamps and node not in preformatted and not _SAID.search(DATE.sub("", block.text)):
            continue
        if kind in fine or not view.is_furniture(place):
            said.append(place)
    return said
