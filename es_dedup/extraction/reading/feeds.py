"""Feeds as pages: titles and texts of their items. Sitemaps are told from them: they have addresses and no text."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

MAX_ITEMS: Final = 1_000

_HEAD_BYTES: Final = 1_000
_FEED: Final = re.compile(rb"<(?:rss|feed|rdf:RDF)[\s>]")
_SITEMAP: Final = re.compile(rb"<(?:urlset|sitemapindex)[\s>]")
_PAGE: Final = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_ITEM: Final = re.compile(rb"<(?:item|entry)(?=[\s>])")
_FIELD: Final = {
    name: re.compile(rb"<" + name + rb"(?:\s[^<>]{0,500})?>")
    for name in (b"title", b"content:encoded", b"content", b"description", b"summary")
}
_TEXTS: Final = (b"content:encoded", b"content", b"description", b"summary")
_CDATA: Final = re.compile(rb"^\s*<!\[CDATA\[(.*?)\]\]>\s*$", re.DOTALL)


def is_sitemap(data: bytes) -> bool:
    """The bytes are a sitemap or an index of sitemaps."""
    head = data[:_HEAD_BYTES]
    return b"<" in head and _SITEMAP.search(head) is not None and not _PAGE.search(head)


def feed_markup(data: bytes) -> bytes | None:
    """A feed (RSS, RDF, Atom) as the markup of a page; None for anything else.

    Args:
        data: in a charset in which ASCII bytes stand for themselves.

    Returns:
        The feed's title, and of each of its first ``MAX_ITEMS`` items the title as a heading and its longest text. Linear in time.
    """
    head = data[:_HEAD_BYTES]
    if not _FEED.search(head) or _PAGE.search(head):
        return None
    declaration = data[: data.find(b"?>") + 2] if data.lstrip().startswith(b"<?xml") else b""
    starts = [found.start() for found in _ITEM.finditer(data)][: MAX_ITEMS + 1]
    parts = [
        declaration,
        b"<html><title>",
        _field(data[: starts[0] if starts else None], b"title"),
        b"</title><body>",
    ]
    for start, end in zip(starts[:MAX_ITEMS], [*starts[1:], len(data)], strict=False):
        item = data[start:end]
        texts = [_field(item, name) for name in _TEXTS]
        parts += [
            b"<div class=item><h2>",
            _field(item, b"title"),
            b"</h2><div>",
            max(texts, key=len),
            b"</div></div>",
        ]
    return b"".join(parts)


def _field(item: bytes, name: bytes) -> bytes:
    found = _FIELD[name].search(item)
    end = item.find(b"</" + name, found.end()) if found else -1
    if not found or end < 0:
        return b""
    text = item[found.end() : end]
    if whole := _CDATA.match(text):
        return whole[1]
    return (
        unescape(text.decode("latin-1")).encode("latin-1", "xmlcharrefreplace") if b"&lt;" in text else text
    )
