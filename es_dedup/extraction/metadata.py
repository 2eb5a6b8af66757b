"""Title, canonical URL, site and time of publication, from what a page declares and from its headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from es_dedup.extraction.byline import MAX_NAME_CHARS, author_of
from es_dedup.extraction.document import clean
from es_dedup.extraction.published import published_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from es_dedup.extraction.document import Document
    from es_dedup.extraction.markup import Tags

MAX_TITLE_CHARS: Final = 500
MAX_URL_CHARS: Final = 2_000

_MAX_HEADS: Final = 8
_MAX_SITE_CHARS: Final = 16
_MIN_SEGMENT_CHARS: Final = 4  # a shorter part of a title is a section, not a headline
_MIN_HOST_CHARS: Final = 4
_MIN_NAME_CHARS: Final = 2
_IDEOGRAPH: Final = re.compile("[\u3400-\u9fff]")
_MAX_SECTION_WORDS: Final = 3
_HOST_SHARE: Final = 1 / 3  # of the letters of a site's name
_SEPARATOR: Final = re.compile(
    r"\s*(?:[|｜_»›·•丨]|::|(?<=\s)[-–—](?=\s)|--+|——|(?<=[\u3400-\u9fff）)】”！？])[-–—](?=[\u3400-\u9fffA-Za-z])|[-–—](?=[\w.]{2,20}\.(?:com|cn|net|org)$))\s*",
    re.IGNORECASE,
)
_SITE_WORD: Final = re.compile(
    r"(?:网|網|网站|網站|官网|频道|中心|新闻|日报|晚报|在线|论坛|社区|博客|门户|电视台|客户端|Online|News|Blog|\.com|\.cn|\.net|\.org)$",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[\u3400-\u9fff]|[^\W_]+")
_TITLE_KEYS: Final = (
    "og:title",
    "twitter:title",
    "weibo:article:title",
    "parsely-title",
    "dc.title",
    "dc:title",
)
_SITE_KEYS: Final = ("og:site_name", "application-name", "apple-mobile-web-app-title")
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


def read_metadata(document: Document, url: str | None, *, is_list: bool = False) -> Metadata:
    """Read a page's metadata; whatever is missing or malformed is left out.

    Args:
        document: the page.
        url: where it was found, if known.
        is_list: the page leads elsewhere; names and days in its text are those of other pages.
    """
    metas = document.metas
    address = _canonical(document.tags, metas, url) or url
    site = site_of(address)
    title = _title(document, metas, site)
    site_name = _site_name(document, metas) or _name_beside(title, _plain(document.title))
    return Metadata(
        title=title,
        url=address,
        site=site,
        published=published_of(document, metas, address, title, is_list=is_list),
        author=author_of(document, metas, site_name, is_list=is_list),
        site_name=site_name,
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
    if len(candidate) > MAX_URL_CHARS or len(candidate.split()) > 1:
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
    found = (heading for place in tags.places("h1") if (heading := _plain(tags.inner_text(place))))
    heads = list(islice(found, _MAX_HEADS))
    declared = [metas[key] for key in _TITLE_KEYS if key in metas]
    names = [metas[key] for key in ("og:site_name", "application-name") if key in metas]
    titles = [title for text in (*declared, document.title) if (title := _plain(text)[:MAX_TITLE_CHARS])]
    if not titles:
        return heads[0][:MAX_TITLE_CHARS] if heads else ""
    shorter: dict[str, str] = {}
    for title in dict.fromkeys(titles):
        first = _SEPARATOR.split(title, maxsplit=1)[0]
        if first != title and not _is_host(first, site) and _is_lesser_heading(first, document):
            shorter[title] = first  # the main heading names the site
        else:
            shorter[title] = cut_site_name(title, names=names, headings=heads, site=site)
    cut = [shorter[title] for title in titles]
    if declared and document.title and cut[0] not in heads:
        seconded = {*heads, *map(_plain, document.structured.headlines)}
        own = cut[-1]
        if own in seconded and own.startswith(cut[0]):
            return own  # the other is cut short, by quotation marks in an attribute for instance
        if own in seconded and 2 * len(own) > len(cut[0]) and _are_different(cut[0], own):
            return own  # the page's own title and its heading against one that is for sharing
    return cut[0]


def _are_different(one: str, other: str) -> bool:
    """Fewer than half of the words or ideographs of the shorter text are in the other too."""
    left, right = (set(_WORD.findall(text.casefold())) for text in (one, other))
    return 2 * len(left & right) < min(len(left), len(right))


def _plain(text: str) -> str:
    """Cleaned, and with references to characters resolved where they were written twice (``&amp;amp;``)."""
    return clean(unescape(text) if "&" in text else text)


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
    known = {name.casefold() for name in names}
    for heading in headings:
        if (
            len(heading) >= _MIN_SEGMENT_CHARS
            and heading in title
            and heading.casefold() not in known
            and any(segment in heading for segment in segments)
            and not _is_host(heading, site)
        ):
            return heading
    left = [
        s for s in segments if s.casefold() not in known and not any(s.casefold() in name for name in known)
    ]
    while len(left) > 1 and (
        _is_site(left[-1], left[0])
        or _is_host(left[-1], site)
        or _opens_with_name(left[-1], (*known, *site.split(".")[:-1]))
    ):
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


def _opens_with_name(segment: str, names: Iterable[str]) -> bool:
    """A few words of which the first is a name of the site: "CNN Politics"."""
    words = segment.casefold().split()
    return 1 <= len(words) <= _MAX_SECTION_WORDS and len(words[0]) > 1 and words[0] in names


def _is_site(last: str, first: str) -> bool:
    """The last part of a title looks like a site or a section: it says so, or is much too short for a headline."""
    if _SITE_WORD.search(last):
        return len(last) <= max(len(first), _MAX_SITE_CHARS)
    return len(last) <= _MIN_SEGMENT_CHARS < len(first)


def _site_name(document: Document, metas: dict[str, str]) -> str:
    names = [
        name
        for text in (*(metas[key] for key in _SITE_KEYS if key in metas), *document.structured.publishers)
        if (name := _plain(text)) and len(name) <= MAX_NAME_CHARS
    ]
    if not names:
        return ""
    parts = _SEPARATOR.split(names[0])
    return next((part for part in parts if part in names), names[0])  # without a slogan


def _name_beside(title: str, written: str) -> str:
    """The last part of what a title is written with, or the first where the title is the last: sites put their names there."""
    place = written.find(title) if title else -1
    if place < 0 or len(title) == len(written):
        return ""
    behind = [part for part in _SEPARATOR.split(written[place + len(title) :]) if part]
    before = [part for part in _SEPARATOR.split(written[:place]) if part]
    name = behind[-1] if behind else before[0] if before else ""
    longest = _MAX_SITE_CHARS if _IDEOGRAPH.search(name) else 2 * _MAX_SITE_CHARS
    name = name.strip(" -–—【】[]")
    return name if _MIN_NAME_CHARS <= len(name) <= longest else ""
