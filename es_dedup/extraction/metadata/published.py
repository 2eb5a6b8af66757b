"""When a page was published: declared, marked, labelled, in its address, or written beside its heading."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.metadata.dates import LABELS, has_cue, labelled_moment, parse_moment, url_moment
from es_dedup.extraction.reading.document import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from es_dedup.extraction.reading.document import Document
    from es_dedup.extraction.reading.markup import Tags

MAX_DATE_LINE_CHARS: Final = 200
"""Longer lines are prose: a date in them is not the page's own."""

_FIRST_KEYS: Final = ("article:published_time", "og:published_time", "publishdate", "pubdate")
_KEYS: Final = (
    "publish_date", "datepublished", "publication_date", "article.published", "article:published", "dc.date.issued", "dcterms.issued",
    "dcterms.created", "dc.date", "dc.date.created", "dcterms.date", "weibo: article:create_at", "weibo:article:create_at", "sailthru.date", "article_date_original",
    "parsely-pub-date", "citation_publication_date", "citation_date", "bt:pubdate", "pubtime", "publish-date", "date",
)  # fmt: skip
_MAX_DATELINE_CHARS: Final = 80
_DATED_LINES: Final = 150
_NEAR: Final = 5  # lines
_ABOVE: Final = 2
_NEAR_CHARS: Final = 60
_HEADINGS: Final = frozenset({"h1", "h2", "h3"})
_FULL_DATE: Final = re.compile(r"(?:19|20)\d{2}[-/.年]\d{1,2}[-/.月]\d{1,2}.{0,4}\d{1,2}[:：]\d{2}")
_YEAR: Final = re.compile(r"(?:19|20)\d{2}")
_LABEL: Final = re.compile(
    r"^(?:by|von|par|por)\s|\b(?:published|posted|first published|released|date|publié|veröffentlicht|erschienen|wurde am|gespeichert|geschrieben|erstellt|publicado|pubblicato|gepubliceerd|datum|fecha)\b",
    re.IGNORECASE,
)
_CHANGED: Final = re.compile(
    r"\b(?:updated?|modified|last (?:edited|change|review)|aktualisier|mis à jour|actualizado|aggiornato)|更新|修改",
    re.IGNORECASE,
)
_MARKS: Final = (b"date", b"Date", b"datum", b"publish", b"posted", b"created", b"fecha", b"time", b"Time")
_MARK: Final = re.compile(
    r"(?:^|[-_])(?:date|[a-z]{0,9}datum|time|timestamp|datetime|published?|posted|created|fecha|pubdate|pubtime|dateline)(?:$|[-_])",
    re.IGNORECASE,
)
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_OTHER_TIME: Final = re.compile(
    r"modif|updat|chang|edit|event|expir|comment|related|sidebar|widget|countdown|picker|timeline|start|end|reply",
    re.IGNORECASE,
)
_LABEL_CHARS: Final = 16  # of a line that is a label and nothing else
_MAX_TIMES: Final = 100
_BEFORE_TAGS: Final = 30  # tags between a heading and the time above or below it
_BEHIND_TAGS: Final = 80
_MARKED_CHARS: Final = 60
_MAX_MARKED: Final = 20
_MAX_SEEN: Final = 80


def published_of(
    document: Document, metas: dict[str, str], url: str | None, title: str = "", *, is_list: bool = False
) -> datetime | None:
    """When the page was published.

    Args:
        document: the page.
        metas: its meta elements.
        url: its address; a day in it counts.
        title: without the site's name.
        is_list: days in the text are those of other pages; only meta elements and JSON-LD count.

    Returns:
        The first of: what it declares (meta elements, JSON-LD, ``itemprop``, ``time``); a moment behind a label in a short line; the
        day in the address; a day beside the heading with the page's title; a line that is little else than a date with its time; a short
        element with a name of dates. The time of a change is none. None when there is none.
    """
    american = _is_american(document.tags)
    for text in _declared(document, metas, is_list=is_list):
        if moment := parse_moment(text, month_first=american):
            return moment
    if is_list:
        return None
    far: list[str] = []
    for stamp, is_near in _times(document.tags, title):
        if not is_near:
            far.append(stamp)
        elif moment := parse_moment(stamp, month_first=american):
            return moment
    lines = [block.text for block in document.blocks if block.chars <= MAX_DATE_LINE_CHARS]
    return (
        _labelled(lines)
        or (url_moment(url) if url else None)
        or _beside_title(document, title, american=american)
        or _first(far, american=american)
        or _date_line(lines)
        or _marked(document.tags, american=american)
        or _western_label(lines, american=american)
    )


def _first(texts: Sequence[str], *, american: bool) -> datetime | None:
    return next(filter(None, (parse_moment(text, month_first=american) for text in texts)), None)


def _is_american(tags: Tags) -> bool:
    """The page's language is English, and not that of a country where the day comes first."""
    language = tags.attributes_at(0).get("lang", "").lower() if len(tags) else ""
    return language in ("en", "en-us", "en_us", "")


def _declared(document: Document, metas: dict[str, str], *, is_list: bool) -> Iterator[str]:
    yield from (metas[key] for key in _FIRST_KEYS if key in metas)
    yield from document.structured.dates
    yield from (metas[key] for key in _KEYS if key in metas)
    if is_list:
        return
    tags = document.tags
    for place in tags.places_with((b"datePublished",)) if b"datePublished" in tags.markup else ():
        attributes = tags.attributes_at(place)
        if "datePublished" in attributes.get("itemprop", "").split():
            yield attributes.get("content") or attributes.get("datetime") or clean(tags.inner_text(place))


def _times(tags: Tags, title: str) -> Iterator[tuple[str, bool]]:
    """What ``time`` elements say, and whether one is near the heading that has the title, or marked as the page's own.

    Where no heading of the first rank has the title, the first element counts as near it.
    """
    places = tags.places("time")[:_MAX_TIMES]
    heads = [head for head in tags.places("h1") if places and title and clean(tags.inner_text(head)) in title]
    is_first = not heads
    for place in places:
        attributes = tags.attributes_at(place)
        stamp = attributes.get("datetime") or clean(tags.inner_text(place))
        if _OTHER_TIME.search(attributes.get("class", "") + attributes.get("itemprop", "")):
            yield stamp, False
        elif "pubdate" in attributes or any(-_BEFORE_TAGS <= place - head <= _BEHIND_TAGS for head in heads):
            yield stamp, True
            is_first = False
        else:
            yield stamp, is_first
            is_first = False


def _labelled(lines: Sequence[str]) -> datetime | None:
    whole = "\n".join(lines)
    labels = [label for label in LABELS if label in whole]
    for line in lines if labels else ():
        if any(map(line.__contains__, labels)) and (moment := labelled_moment(line)):
            return moment
    return None


def _western_label(lines: Sequence[str], *, american: bool) -> datetime | None:
    """A day in a short line with a label, such as "Published on"."""
    found = (
        _day_in(line, american=american)
        for before, line in zip(("", *lines), lines, strict=False)
        if len(line) <= _MAX_DATELINE_CHARS
        and _YEAR.search(line)
        and (_LABEL.search(line) or (len(before) <= _LABEL_CHARS and _LABEL.search(before)))
    )
    return next(filter(None, found), None)


def _day_in(text: str, *, american: bool) -> datetime | None:
    """The first moment in a short text that is not the time of a change."""
    if not has_cue(text):
        return None
    return parse_moment(_CHANGED.split(text, maxsplit=1)[0], month_first=american)


def _date_line(lines: Sequence[str]) -> datetime | None:
    """A short line near the head of the page that is little else than a full date with time."""
    for line in lines[:_DATED_LINES]:
        if len(line) <= _MAX_DATELINE_CHARS and ("20" in line or "19" in line) and _FULL_DATE.search(line):
            return parse_moment(line)
    return None


def _marked(tags: Tags, *, american: bool) -> datetime | None:
    """The day in the first short element whose class or id says date."""
    seen = 0
    known: dict[bytes, bool] = {}  # posts of a thread have equal ones
    for place in tags.places_with(_MARKS)[:_MAX_SEEN]:
        written = tags.attributes[place]
        says = known.get(written)
        if says is None:
            says = known[written] = _says_date(tags.attributes_at(place))
        if says:
            seen += 1
            text = clean(tags.inner_text(place))
            if len(text) <= _MARKED_CHARS and (moment := _day_in(text, american=american)):
                return moment
            if seen >= _MAX_MARKED:
                return None
    return None


def _says_date(attributes: dict[str, str]) -> bool:
    """Class or id say date, and not that of something else."""
    names = _CAMEL.sub("-", f"{attributes.get('class', '')} {attributes.get('id', '')}")
    return any(map(_MARK.search, names.split())) and not _OTHER_TIME.search(names)


def _beside_title(document: Document, title: str, *, american: bool) -> datetime | None:
    """A day in one of the short lines right below, or right above, a heading that has the page's title."""
    blocks = document.blocks
    elements = document.elements
    tags = list(map(_HEADINGS.__contains__, elements.by_look.tags))
    is_heading = [*map(tags.__getitem__, elements.look_of), False]  # the last stands for no element
    for place in [place for place, block in enumerate(blocks) if is_heading[block.node]]:
        text = blocks[place].text
        if text in document.title or (title and title in text):
            below, above = blocks[place + 1 : place + 1 + _NEAR], blocks[max(0, place - _ABOVE) : place]
            for line in (*below, *reversed(above)):
                if line.chars <= _NEAR_CHARS and (moment := _day_in(line.text, american=american)):
                    return moment
    return None
