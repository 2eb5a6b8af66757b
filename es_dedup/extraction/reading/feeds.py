"""Feeds as pages: titles and texts of their items. Sitemaps are told from them: they have addresses and no text."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ITEMS: Final = 1_000

_HEAD_BYTES: Final = 1_000
_FEED: Final = re.compile(rb"<(?:rss|feed|rdf:RDF)[\s>]")
_SITEMAP: Final = re.compile(rb"<(?:urlset|sitemapindex)[\s>]")
_PAGE: Final = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_ITEMS: Final = frozenset({"item", "entry"})
_TEXTS: Final = frozenset({"encoded", "content", "description", "summary"})


def is_sitemap(data: bytes) -> bool:
    """The bytes are a sitemap or an index of sitemaps."""
    head = data[:_HEAD_BYTES]
    return b"<" in head and _SITEMAP.search(head) is not None and not _PAGE.search(head)


def feed_markup(data: bytes) -> bytes | None:
    """A feed (RSS, RDF, Atom) as the markup of a page; None for anything else.

    Args:
        data: in UTF-8, whatever its declaration says.

    Returns:
        The feed's title, and of each of its first ``MAX_ITEMS`` items the title as a heading and its longest text; None without items,
        too: pages have such elements in comments and for machines.
    """
    head = data[:_HEAD_BYTES]
    if not _FEED.search(head) or _PAGE.search(head):
        return None
    parser = etree.XMLParser(
        encoding="utf-8", recover=True, resolve_entities=False, no_network=True, remove_comments=True
    )
    try:
        root = etree.fromstring(data.lstrip(), parser)
    except etree.XMLSyntaxError:
        return None
    parts = [] if root is None else list(_parts(root))
    return "".join(parts).encode("utf-8", "replace") if len(parts) > 1 else None


def _parts(root: etree._Element) -> Iterator[str]:
    """The head of a page, and the markup of each item."""
    items = 0
    title = ""
    bodies: list[str] = []
    for element in root.iter(etree.Element):
        name = etree.QName(element).localname
        if name in _ITEMS:
            items += 1
            if items > MAX_ITEMS:
                break
            bodies.append(_item(element))
        elif name == "title" and not items and not title:
            title = _text(element)
    yield f"<html><head><title>{escape(title)}</title></head><body>"
    yield from bodies


def _item(item: etree._Element) -> str:
    heading, body = "", ""
    for child in item.iterchildren(etree.Element):
        name = etree.QName(child).localname
        if name == "title":
            heading = heading or _text(child)
        elif name in _TEXTS:
            body = max(body, _markup(child), key=len)
    return f"<div class=item><h2>{escape(heading)}</h2><div>{body}</div></div>"


def _text(element: etree._Element) -> str:
    return "".join(map(str, element.itertext()))


def _markup(element: etree._Element) -> str:
    """Markup in a CDATA section, with references, or as elements (Atom's ``type="xhtml"``)."""
    if len(element):
        return "".join(etree.tostring(child, encoding="unicode", method="html") for child in element)
    return element.text or ""
