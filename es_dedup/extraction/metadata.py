"""Title, canonical URL, site and time of publication, from what a page declares and from its headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from es_dedup.extraction.byline import MAX_NAME_CHARS, author_of
from es_dedup.extraction.dates import LABELS, labelled_moment, parse_moment, url_moment
from es_dedup.extraction.document import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from es_dedup.extraction.document import Document
    from es_dedup.extraction.markup import Tags

MAX_TITLE_CHARS: Final = 500
MAX_URL_CHARS: Final = 2_000
MAX_DATE_LINE_CHARS: Final = 200
"""Longer lines are prose: a date in them is not the page's own."""

_MAX_DATELINE_CHARS: Final = 80
_NEAR: Final = 5  # lines
_NEAR_CHARS: Final = 60
_MAX_SITE_CHARS: Final = 16
_MIN_SEGMENT_CHARS: Final = 4  # a shorter part of a title is a section, not a headline
_MIN_HOST_CHARS: Final = 4
_HOST_SHARE: Final = 1 / 3  # of the letters of a site's name
_SEPARATOR: Final = re.compile(
    r"\s*(?:[|｜_»›·•丨]|(?<=\s)[-–—](?=\s)|--+|——|(?<=[\u3400-\u9fff）)】”！？])[-–—](?=[\u3400-\u9fffA-Za-z]))\s*"
)
_SITE_WORD: Final = re.compile(
    r"(?:网|網|网站|網站|官网|频道|中心|新闻|日报|晚报|在线|论坛|社区|博客|门户|电视台|客户端|Online|News|Blog|\.com|\.cn)$",
    re.IGNORECASE,
)
_TITLE_KEYS: Final = ("og:title", "twitter:title")
_DATE_KEYS: Final = (
    "article:published_time", "og:published_time", "publishdate", "pubdate", "publish_date", "datepublished", "publication_date",
    "article.published", "dc.date.issued", "dcterms.created", "dc.date", "weibo: article:create_at", "sailthru.date", "date",
)  # fmt: skip
_SITE_KEYS: Final = ("og:site_name", "application-name", "apple-mobile-web-app-title")
_FULL_DATE: Final = re.compile(r"(?:19|20)\d{2}[-/.年]\d{1,2}[-/.月]\d{1,2}.{0,4}\d{1,2}[:：]\d{2}")
_SOME_NEXT: Final = re.compile(rb"""rel\s{0,9}=\s{0,9}["']?[^"'<>]{0,80}[nN]ext""")
_NEXT: Final = re.compile(rb"\b(?i:next)\b")


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page says of itself.

    Attributes:
        title: without the site's name; may be empty.
        url: canonical URL when the page names a usable one, else the URL given.
        site: host of that URL without ``www.``; empty when unknown.
        published: time of publication; naive when the page names no zone.
        author: as declared, or from a byline; may be empty.
        site_name: what the site calls itself; may be empty.
        next_page: address of the next part of the article, if the page names one.
    """

    title: str
    url: str | None
    site: str
    published: datetime | None
    author: str = ""
    site_name: str = ""
    next_page: str | None = None


def read_metadata(document: Document, url: str | None) -> Metadata:
    """Read a page's metadata; whatever is missing or malformed is left out."""
    metas = document.metas
    canonical = _canonical(document.tags, metas, url)
    return Metadata(
        title=_title(document, metas, site_of(canonical or url)),
        url=canonical or url,
        site=site_of(canonical or url),
        published=_published(document, metas, canonical or url),
        author=author_of(document, metas),
        site_name=_site_name(document, metas),
        next_page=_next_page(document.tags, url),
    )


def site_of(url: str | None) -> str:
    """Host of a URL in lower case without ``www.`` and port; empty when there is none."""
    try:
        host = urlsplit(url or "").hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")


def _canonical(tags: Tags, metas: dict[str, str], url: str | None) -> str | None:
    links = (
        attributes.get("href")
        for place in tags.places("link")
        if tags.attributes[place].lower().find(b"canonical") >= 0
        and "canonical" in (attributes := tags.attributes_at(place)).get("rel", "").lower().split()
    )
    for candidate in (*links, metas.get("og:url")):
        if candidate and (absolute := _absolute(candidate.strip(), url)):
            return absolute
    return None


def _next_page(tags: Tags, url: str | None) -> str | None:
    if not _SOME_NEXT.search(tags.markup):
        return None
    for place, written in enumerate(tags.attributes):
        if written.find(b"rel") >= 0 and _NEXT.search(written) and tags.name_at(place) in ("a", "link"):
            attributes = tags.attributes_at(place)
            if "next" in attributes.get("rel", "").lower().split():
                return _absolute(attributes.get("href", "").strip(), url)
    return None


def _absolute(candidate: str, url: str | None) -> str | None:
    if len(candidate) > MAX_URL_CHARS or any(char.isspace() for char in candidate):
        return None
    try:
        absolute = urljoin(url or "", candidate)
        parts = urlsplit(absolute)
        usable = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        return None
    return absolute if usable else None


def _title(document: Document, metas: dict[str, str], site: str) -> str:
    tags = document.tags
    heads = [heading for place in tags.places("h1") if (heading := clean(tags.inner_text(place)))][:8]
    declared = [metas[key] for key in _TITLE_KEYS if key in metas]
    names = [metas[key] for key in ("og:site_name", "application-name") if key in metas]
    for title in (*declared, document.title):
        if title := clean(title)[:MAX_TITLE_CHARS]:
            first = _SEPARATOR.split(title, maxsplit=1)[0]
            if first != title and not _is_host(first, site) and _is_lesser_heading(first, document):
                return first  # the main heading names the site
            return cut_site_name(title, names=names, headings=heads, site=site)
    return heads[0][:MAX_TITLE_CHARS] if heads else ""


def _is_lesser_heading(text: str, document: Document) -> bool:
    nodes = document.nodes
    return len(text) >= _MIN_SEGMENT_CHARS and any(
        block.text == text and block.node >= 0 and nodes[block.node].tag in ("h2", "h3")
        for block in document.blocks
    )


def cut_site_name(title: str, *, names: Sequence[str], headings: Sequence[str], site: str = "") -> str:
    """Cut the site's name, section names and slogans off a title.

    Args:
        title: as declared by the page.
        names: names the site gives itself; may be empty.
        headings: texts of the page's main headings; one that equals a segment of the title is the title.
        site: host of the page; what is spelled like a part of it names the site.

    Returns:
        The title itself when nothing says which part is the site.
    """
    segments = [segment for segment in _SEPARATOR.split(title) if segment]
    if len(segments) <= 1:
        return title
    for heading in headings:
        if (
            len(heading) >= _MIN_SEGMENT_CHARS
            and heading in title
            and any(segment in heading for segment in segments)
            and not _is_host(heading, site)
        ):
            return heading
    known = {name.casefold() for name in names}
    left = [
        s for s in segments if s.casefold() not in known and not any(s.casefold() in name for name in known)
    ]
    while len(left) > 1 and (_is_site(left[-1], left[0]) or _is_host(left[-1], site)):
        left.pop()
    if len(left) > 1 and _is_host(left[0], site) and len(left[0]) <= len("".join(left[1:])):
        left.pop(0)
    if not left or left == segments:
        return title
    start, end = title.find(left[0]), title.rfind(left[-1]) + len(left[-1])
    return title[start:end]


def _is_host(segment: str, site: str) -> bool:
    """A part of a title has the letters of a part of the page's host, or they have its."""
    letters = "".join(char for char in segment.casefold() if char.isalnum())
    return len(letters) >= _MIN_HOST_CHARS and any(
        len(part) >= _MIN_HOST_CHARS
        and (letters in part or (part in letters and len(part) >= _HOST_SHARE * len(letters)))
        for part in site.split(".")[:-1]
    )


def _is_site(last: str, first: str) -> bool:
    """The last part of a title looks like a site or a section: it says so, or is much too short for a headline."""
    if _SITE_WORD.search(last):
        return len(last) <= max(len(first), _MAX_SITE_CHARS)
    return len(last) <= _MIN_SEGMENT_CHARS < len(first)


def _published(document: Document, metas: dict[str, str], url: str | None) -> datetime | None:
    for text in _declared_dates(document, metas):
        if moment := parse_moment(text):
            return moment
    lines = [block.text for block in document.blocks if block.chars <= MAX_DATE_LINE_CHARS]
    whole = "\n".join(lines)
    if any(label in whole for label in LABELS):
        for line in lines:
            if moment := labelled_moment(line):
                return moment
    return (url_moment(url) if url else None) or _date_line(lines) or _below_title(document)


def _date_line(lines: Sequence[str]) -> datetime | None:
    """A short line near the head of the page that is little else than a full date with time."""
    for line in lines[:150]:
        if len(line) <= _MAX_DATELINE_CHARS and ("20" in line or "19" in line) and _FULL_DATE.search(line):
            return parse_moment(line)
    return None


def _below_title(document: Document) -> datetime | None:
    """A day in one of the short lines right below the first heading that has the page's title."""
    blocks, nodes = document.blocks, document.nodes
    for place, block in enumerate(blocks):
        if block.node >= 0 and nodes[block.node].tag in ("h1", "h2") and block.text in document.title:
            near = (line.text for line in blocks[place + 1 : place + 1 + _NEAR] if line.chars <= _NEAR_CHARS)
            return next((moment for text in near if (moment := parse_moment(text))), None)
    return None


def _declared_dates(document: Document, metas: dict[str, str]) -> Iterator[str]:
    yield from (metas[key] for key in _DATE_KEYS[:4] if key in metas)
    yield from document.structured.dates
    yield from (metas[key] for key in _DATE_KEYS[4:] if key in metas)
    tags = document.tags
    if b"datePublished" in tags.markup:
        for place, written in enumerate(tags.attributes):
            if written.find(b"datePublished") >= 0:
                attributes = tags.attributes_at(place)
                if attributes.get("itemprop") == "datePublished":
                    yield (
                        attributes.get("content")
                        or attributes.get("datetime")
                        or clean(tags.inner_text(place))
                    )
    for place in tags.places("time"):
        if stamp := tags.attributes_at(place).get("datetime"):
            yield stamp


def _site_name(document: Document, metas: dict[str, str]) -> str:
    names = (*(metas[key] for key in _SITE_KEYS if key in metas), *document.structured.publishers)
    return next((name for text in names if (name := clean(text)) and len(name) <= MAX_NAME_CHARS), "")
