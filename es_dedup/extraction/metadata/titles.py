"""The title of a page without its site's name."""

from __future__ import annotations

import re
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.white_space import clean, text_inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.reading.document import Document

MAX_TITLE_CHARS: Final = 500
_MAX_HEADS: Final = 8
_MAX_SITE_CHARS: Final = 16
_MIN_SEGMENT_CHARS: Final = 4  # a shorter part of a title is a section, not a headline
_MIN_HOST_CHARS: Final = 4
_HOST_SHARE: Final = 1 / 3  # of the letters of a site's name
_SEPARATOR: Final = re.compile(
    r"[|｜_»›·•丨:–—-](?:(?<=[|｜_»›·•丨])|(?<=:):|(?<=-)-+|(?<=—)—|(?<=\s[-–—])(?=\s)|"
    r"(?<=[\u3400-\u9fff）)】”！？][-–—])(?=[\u3400-\u9fffA-Za-z])|(?<=[-–—])(?=[\w.]{2,20}\.(?:com|cn|net|org)$))",
    re.IGNORECASE,
)
"""A sign first, for which is looked quickly, and then what must stand around it. White space beside it belongs to it."""

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


def title_of(document: Document, site: str) -> str:
    """The declared title without the site's name, of several the one that headings second; empty for a page without any.

    Args:
        document: the page.
        site: its host.
    """
    metas = document.metas
    found = (heading for element in document.tagged["h1"] if (heading := plain(text_inside(element))))
    heads = list(islice(found, _MAX_HEADS))
    declared = [metas[key] for key in _TITLE_KEYS if key in metas]
    names = [metas[key] for key in ("og:site_name", "application-name") if key in metas]
    titles = [title for text in (*declared, document.title) if (title := plain(text)[:MAX_TITLE_CHARS])]
    if not titles:
        return heads[0][:MAX_TITLE_CHARS] if heads else ""
    shorter: dict[str, str] = {}
    for title in dict.fromkeys(titles):
        first = _parts(title)[0]
        if first != title and not _is_host(first, site) and _is_lesser_heading(first, document):
            shorter[title] = first  # the main heading names the site
        else:
            shorter[title] = cut_site_name(title, names=names, headings=heads, site=site)
    cut = [shorter[title] for title in titles]
    if declared and document.title and cut[0] not in heads:
        seconded = {*heads, *map(plain, document.structured.headlines)}
        own = cut[-1]
        if own in seconded and own.startswith(cut[0]):
            return own  # the other is cut short, by quotation marks in an attribute for instance
        if own in seconded and 2 * len(own) > len(cut[0]) and _are_different(cut[0], own):
            return own  # the page's own title and its heading against one that is for sharing
    return cut[0]


def _parts(title: str) -> list[str]:
    """What stands between separators."""
    parts = _SEPARATOR.split(title)
    last = len(parts) - 1
    if last:
        parts[0], parts[last] = parts[0].rstrip(), parts[last].lstrip()
        parts[1:last] = map(str.strip, parts[1:last])
    return parts


def _are_different(one: str, other: str) -> bool:
    """Fewer than half of the words or ideographs of the shorter text are in the other too."""
    left, right = (set(_WORD.findall(text.casefold())) for text in (one, other))
    return 2 * len(left & right) < min(len(left), len(right))


def plain(text: str) -> str:
    """Cleaned, and with references to characters resolved where they were written twice (``&amp;amp;``)."""
    return clean(unescape(text) if "&" in text else text)


def _is_lesser_heading(text: str, document: Document) -> bool:
    return len(text) >= _MIN_SEGMENT_CHARS and any(
        clean(text_inside(element)) == text for element in (*document.tagged["h2"], *document.tagged["h3"])
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
    segments = [segment for segment in _parts(title) if segment]
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
    letters = "".join(filter(str.isalnum, segment.casefold()))
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
