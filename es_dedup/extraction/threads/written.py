"""What software writes around the posts of a thread: labels, notes, counts, the title once more.

Words differ from software to software and from language to language. That one line is written around every post, with another name,
number or date in it each time, does not.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.measures import ENDS
from es_dedup.extraction.seen.dated import DATE, dates, has_date

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.extraction.seen.view import View

_DIGITS: Final = re.compile(r"\d+")
_LINE_CHARS: Final = 120
_MEMBERS: Final = 3
_TEXTS: Final = frozenset({"p", "li", "pre", "blockquote"})
_QUOTED: Final = frozenset({"li", "pre", "blockquote"})
_LABEL: Final = re.compile(r"[^\s:：]{2,20} ?[:：]")
_NUMBER: Final = re.compile(r"[^\s:：]{2,20} ?[:：] ?[\d.,]+|[\d.,]+ [^\W\d_]{2,12}")
_LABELLED_CHARS: Final = 12
_END_CHARS: Final = 4
_BEGIN_CHARS: Final = 6  # of lines with a date
_LABELS: Final = 2  # in the element of one member
_LABELLED: Final = 0.3  # of the lines there
_NUMBERED: Final = 0.8  # of the lines of a kind
_COMMON: Final = 0.6  # of the lines of a kind
_ALIKE: Final = 0.5  # of a line's trigrams
_TINY_UNITS: Final = 4.0  # on average; posts of a word or two are alike by chance
_TITLE_CHARS: Final = 8
_BESIDE_TITLE: Final = 40  # characters of a label, a name and a date
_LETTERS: Final = re.compile(r"[^\W\d_]")
_EDITED: Final = (
    r"[\s\[(（【]*(?:本帖最后由|(?:此)?(?:帖|贴|文章|回复)(?:子)?(?:于|被|最后)|(?:last )?edited (?:by|on|at)\b|this post (?:was|has been) (?:last )?(?:edited|modified)|"
    r"(?:message )?(?:modifi[ée]|édité) (?:par|le)|zuletzt (?:geändert|bearbeitet|editiert)|最終(?:更新|編集)|編集済|ultima modifica|última edición|отредактировано)"
)
_MAIL: Final = re.compile(
    r"(from|to|cc|date|subject|message-id|in-reply-to|references|reply-to|newsgroups|发信人|寄信人|发件人|收件人|信区|标\s*题|发信站|转信站)\s?[:：]",
    re.IGNORECASE,
)
_MAIL_LABELS: Final = 3  # different ones
_MODIFIED: Final = "This post was last modified"
_COUNTED: Final = (
    r"(?:全部|共|all )?[\s(（]*[\d,.]+\s?[kmw万]?\+?\s?(?:条|個|个|人|件|次)?\s?"
    r"(?:回答|回复|回帖|回覆|评论|評論|閲覧|浏览|阅读|点击|关注|赞同[^\0]{0,6}|answers?|repl(?:y|ies)|comments?|responses?|views?|votes?|points?|likes?|upvotes?|kudos|antworten|aufrufe)[)）]?(?=\0)"
)
_NOTE: Final = re.compile(rf"\0((?:{_EDITED}|{_COUNTED})[^\0]*+)", re.IGNORECASE)
_WITH_NUMBER: Final = re.compile(r"\0([.,][^\0]*+|[^\0\d:：]*+[\d:：][^\0]*+)")
"""Lines between null characters, which no text holds: all that may be equal but for numbers, or begin with a label."""

_LINKED: Final = 0.1  # of the characters
_DATED: Final = 0.3  # of the lines of a kind
_STAMP_CHARS: Final = 80
_BYLINE_CHARS: Final = 160


def written_lines(view: View, title: int, start: int) -> set[int]:
    """Places of lines that software wrote: alike but for numbers and names, notes of changes, the title once more.

    Args:
        view: of the page.
        title: place of the thread's title; -1 for none.
        start: place before which nobody but the first has spoken.
    """
    kinds: dict[int, list[int]] = defaultdict(list)
    lines: dict[str, list[int]] = defaultdict(list)
    for place, (block, node, kind) in enumerate(zip(view.blocks, view.holders, view.kinds, strict=True)):
        if node < 0 or not view.negative[node]:
            kinds[kind].append(place)
            lines[block.text].append(place)
    short = [text for text in lines if len(text) <= _LINE_CHARS]
    whole = "\0".join(("", *short, ""))  # asked once, not line by line
    found = {place for text in (*_notes(short, whole), *mail_headers(short)) for place in lines[text]}
    found.update(
        members[0]
        for members in kinds.values()
        if len(members) == 1 and members[0] < start and _is_byline(view, members[0])
    )
    patterns = _patterns(view, lines, whole)
    found |= patterns | _panels(view, lines, patterns) | _notices(view, lines)
    dated = dates(view)
    for members in kinds.values():
        if len(members) < _MEMBERS:
            continue
        if _are_alike(view, members):
            found.update(members)
        elif sum(place in dated for place in members) >= _DATED * len(members):
            found.update(place for place in members if _is_stamp(view.blocks[place].text))
    if title >= 0:
        said = view.blocks[title].text
        again = (members for text, members in lines.items() if said in text and _repeats(text, said))
        found.update(place for members in again for place in members if place != title)
    return found


def _notes(lines: Iterable[str], whole: str) -> list[str]:
    """Short lines on changes of a post, and on how many answers there are."""
    notes = _NOTE.findall(whole)
    if _MODIFIED in whole:
        notes += [text for text in lines if _MODIFIED in text]
    return notes


def mail_headers(lines: Iterable[str]) -> list[str]:
    """Lines of the head of a message, as mail and news have it; none where there are fewer than three different ones."""
    found = [(line, label[1].lower()) for line in lines if (label := _MAIL.match(line))]
    return [line for line, _ in found] if len({label for _, label in found}) >= _MAIL_LABELS else []


def _is_stamp(text: str) -> bool:
    """A short line with a date that does not end like a sentence: a long name beside it."""
    return len(text) <= _STAMP_CHARS and not text.endswith(ENDS) and has_date(text)


def _is_byline(view: View, place: int) -> bool:
    """A short line with a date and a link, the only one of its kind: who began a thread, and who spoke last."""
    block = view.blocks[place]
    return (
        block.link_chars >= _LINKED * block.chars
        and len(block.text) <= _BYLINE_CHARS
        and has_date(block.text)
    )


def _notices(view: View, lines: dict[str, list[int]]) -> set[int]:
    """What opens like furniture, and more than once."""
    several = (members for members in lines.values() if len(members) > 1)
    return {place for members in several if view.is_furniture(members[0]) for place in members}


def _patterns(view: View, lines: Mapping[str, list[int]], whole: str) -> set[int]:
    """Short lines that are equal but for their numbers, or begin with one label and end alike, three times."""
    texts = _WITH_NUMBER.findall(whole)
    patterns: dict[str | tuple[str, str], list[str]] = {}
    for text, bare in zip(texts, "".join(_DIGITS.split("\0".join(texts))).split("\0"), strict=False):
        patterns.setdefault(bare, []).append(text)
        if len(bare) < len(text) and not text.endswith(ENDS) and has_date(text):
            patterns.setdefault((text[:_BEGIN_CHARS], ""), []).append(text)
        if len(bare) >= _LABELLED_CHARS and (":" in bare or "：" in bare) and (label := _LABEL.match(bare)):
            patterns.setdefault((label[0], bare[-_END_CHARS:]), []).append(text)
    places: set[int] = set()
    for pattern, members in patterns.items():
        if len(members) > 1:
            places.update(_of_pattern(view, pattern, [(text, lines[text]) for text in members]))
    return places


def _of_pattern(
    view: View, pattern: str | tuple[str, str], lines: Iterable[tuple[str, list[int]]]
) -> list[int]:
    """Places of three lines and more that differ, if most do not end like a sentence; none where there are fewer.

    Args:
        view: of the page.
        pattern: the lines without their digits, or label and end of them.
        lines: with the places of each. What is quoted counts where it is a number with its label.
    """
    found: dict[str, list[int]] = {}
    for text, places in lines:
        is_number = isinstance(pattern, str) and _NUMBER.fullmatch(text)
        is_line = isinstance(pattern, tuple) or (len(pattern) < len(text) and _LETTERS.search(pattern))
        own = [place for place in places if (is_number if _is_quoted(view, place) else is_line)]
        if own:
            found[text] = own
    own = [place for places in found.values() for place in places]
    if len(found) < 2 or len(own) < _MEMBERS:  # noqa: PLR2004 - they differ
        return []
    return [] if _are_sentences([view.blocks[place].text for place in own]) else own


def _is_quoted(view: View, place: int) -> bool:
    return view.nodes[view.blocks[place].node].tag in _QUOTED


def _panels(view: View, lines: Mapping[str, list[int]], patterns: set[int]) -> set[int]:
    """What stands beside such lines in elements that hold little else: names and ranks above numbers of posts."""
    counts = Counter(view.blocks[place].node for place in patterns)
    panels = {node for node, count in counts.items() if count >= _LABELS}
    if len(panels) < _MEMBERS:
        return set()
    held: dict[int, list[int]] = {}
    for place in (place for places in lines.values() for place in places):
        if (node := view.blocks[place].node) in panels:
            held.setdefault(node, []).append(place)
    return {
        place
        for node, members in held.items()
        if counts[node] >= _LABELLED * len(members) and all(view.prose[place] <= 0 for place in members)
        for place in members
    }


def _are_sentences(lines: Sequence[str]) -> bool:
    """Most lines end like a sentence: people may say nearly the same."""
    return 2 * sum(text.endswith(ENDS) for text in lines) > len(lines)


def _are_alike(view: View, members: Sequence[int]) -> bool:
    """Most lines have numbers, and at least half of each stands in most of the others too."""
    if view.nodes[view.blocks[members[0]].node].tag in _TEXTS:
        return False
    lines = [view.blocks[place].text for place in members]
    if max(map(len, lines)) > _LINE_CHARS:
        return False
    if sum(view.units[place] for place in members) < _TINY_UNITS * len(members):
        return False
    if sum(map(bool, map(_DIGITS.search, lines))) < _NUMBERED * len(lines) or _are_sentences(lines):
        return False
    texts = {_DIGITS.sub("0", text) for text in lines}
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
