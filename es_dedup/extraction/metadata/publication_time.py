"""When a page was published: declared, marked, labelled, in its address, or written beside its heading."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from lxml import etree

from es_dedup.extraction.blocks import HEADING_CONTEXTS, LINK_START
from es_dedup.extraction.metadata.date_parsing import (
    LABELS,
    has_cue,
    labelled_moment,
    parse_moment,
    url_moment,
)
from es_dedup.extraction.white_space import clean, text_inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from lxml.etree import _Element

    from es_dedup.extraction.reading.document import Document

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
_FULL_DATE: Final = re.compile(r"(?:19|20)\d{2}[-/.年]\d{1,2}[-/.月]\d{1,2}.{0,4}\d{1,2}[:：]\d{2}")
_CHANGED: Final = re.compile(
    r"\b(?:updated?|modified|last (?:edited|change|review)|aktualisier|mis à jour|actualizado|aggiornato)|更新|修改",
    re.IGNORECASE,
)
_MARK: Final = re.compile(
    r"(?:^|[-_])(?:date|[a-z]{0,9}datum|time|timestamp|datetime|published?|posted|created|fecha|pubdate|pubtime|dateline)(?:$|[-_])",
    re.IGNORECASE,
)
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_OTHER_TIME: Final = re.compile(
    r"modif|updat|chang|edit|event|expir|comment|related|sidebar|widget|countdown|picker|timeline|start|end|reply",
    re.IGNORECASE,
)
_WHEN: Final = "datePublished"
_MAX_TIMES: Final = 100
_BEFORE_ELEMENTS: Final = 15  # between a heading and the time above or below it
_BEHIND_ELEMENTS: Final = 40
_MARKED_CHARS: Final = 60
_MAX_MARKED: Final = 20


def published_of(
    document: Document, url: str | None, title: str = "", *, is_list: bool = False
) -> datetime | None:
    """When the page was published.

    Args:
        document: the page.
        url: its address; a day in it counts.
        title: without the site's name.
        is_list: days in the text are those of other pages; only meta elements and JSON-LD count.

    Returns:
        The first of: what it declares (meta elements, JSON-LD, ``itemprop``, ``time``); a moment behind a label in a short line; the
        day in the address; a day beside the heading with the page's title; a line that is little else than a date with its time; a short
        element with a name of dates. The time of a change is none. None when there is none.
    """
    american = (document.root.get("lang") or "").lower() in ("en", "en-us", "en_us", "")
    if moment := _first(_declared(document, is_list=is_list), american=american):
        return moment
    if is_list:
        return None
    if moment := _first(_times(document, title), american=american):
        return moment
    lines = [line for line in document.lines if len(line) <= MAX_DATE_LINE_CHARS]
    return (
        _labelled(lines)
        or (url_moment(url) if url else None)
        or _beside_title(document, title, american=american)
        or _date_line(lines)
        or _marked(document, american=american)
    )


def _first(texts: Iterable[str], *, american: bool) -> datetime | None:
    return next(filter(None, (parse_moment(text, month_first=american) for text in texts)), None)


def _declared(document: Document, *, is_list: bool) -> Iterator[str]:
    metas = document.metas
    yield from (metas[key] for key in _FIRST_KEYS if key in metas)
    yield from document.structured.dates
    yield from (metas[key] for key in _KEYS if key in metas)
    if is_list:
        return
    dated = (element for element in document.declaring if _WHEN in element.get("itemprop", "").split())
    for element in islice(dated, _MAX_TIMES):
        yield element.get("content") or element.get("datetime") or clean(text_inside(element))


def _times(document: Document, title: str) -> Iterator[str]:
    """What those ``time`` elements say that are near the heading with the title, or marked as the page's own.

    Where no heading of the first rank has the title, the first element counts as near it.
    """
    times = document.tagged["time"][:_MAX_TIMES]
    headings = document.tagged["h1"] if times and title else ()
    heads = {head for head in headings if clean(text_inside(head)) in title}
    places = {element: place for place, element in enumerate(document.root.iter(etree.Element)) if heads}
    is_first = not heads
    for element in times:
        if _OTHER_TIME.search((element.get("class") or "") + (element.get("itemprop") or "")):
            continue
        is_near = element.get("pubdate") is not None or any(
            -_BEFORE_ELEMENTS <= places[element] - places[head] <= _BEHIND_ELEMENTS for head in heads
        )
        if is_near or is_first:
            yield element.get("datetime") or clean(text_inside(element))
        is_first = False


def _labelled(lines: Sequence[str]) -> datetime | None:
    whole = "\n".join(lines)
    labels = [label for label in LABELS if label in whole]
    for line in lines if labels else ():
        if any(map(line.__contains__, labels)) and (moment := labelled_moment(line)):
            return moment
    return None


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


def _marked(document: Document, *, american: bool) -> datetime | None:
    """The day in the first short element whose class or id says date."""
    marked = (element for element in document.marked(_says_date) if not _is_other(element))
    for element in islice(marked, _MAX_MARKED):
        text = clean(text_inside(element))
        if len(text) <= _MARKED_CHARS and (moment := _day_in(text, american=american)):
            return moment
    return None


def _says_date(name: str) -> bool:
    """A class or id says date."""
    return any(map(_MARK.search, _CAMEL.sub("-", name).split()))


def _is_other(element: _Element) -> bool:
    """Class or id say that it is the date of something else."""
    names = f"{element.get('class', '')} {element.get('id', '')}"
    return _OTHER_TIME.search(_CAMEL.sub("-", names)) is not None


def _beside_title(document: Document, title: str, *, american: bool) -> datetime | None:
    """A day in one of the short lines right below, or right above, a heading that has the page's title; of a page without any, a line that is the title."""
    blocks, lines = document.blocks, document.lines
    headings = [
        place
        for place, (text, holder) in enumerate(zip(lines, blocks.holders, strict=True))
        if blocks.contexts[holder] & HEADING_CONTEXTS
        and (text in document.title or (title and title in text))
    ]
    # names of other pages are linked, with their days; the title of a page without headings is not
    unlinked = [LINK_START not in text for text in blocks.texts]
    titles = [place for place, text in enumerate(lines) if text == title and unlinked[place]]
    for place in headings or titles:
        below = range(place + 1, min(place + 1 + _NEAR, len(lines)))
        for near in (*below, *reversed(range(max(0, place - _ABOVE), place))):
            of_page = len(lines[near]) <= _NEAR_CHARS and (headings or unlinked[near])
            if of_page and (moment := _day_in(lines[near], american=american)):
                return moment
    return None
