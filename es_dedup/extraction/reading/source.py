"""From a page as served to markup in UTF-8 that holds nothing but tags and text.

Scripts go before the charset is looked for: they are most of the bytes of many pages, and say nothing about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from es_dedup.extraction.reading.charset import META_BYTES, decode, stands_for_itself
from es_dedup.extraction.reading.feeds import feed_markup
from es_dedup.extraction.reading.structured import parsed
from es_dedup.extraction.reading.trim import Trimmed, trim

_TAG: Final = re.compile(rb"</?[a-zA-Z]|<!")
_UTF8: Final = "utf-8"
_HEAD_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Source:
    """A page that can be read.

    Attributes:
        trimmed: its markup, in UTF-8; scripts are as served.
        charset: of the page as served; None for text.
        script_charset: in which the scripts are to be read.
        notes: what was odd.
    """

    trimmed: Trimmed
    charset: str | None
    script_charset: str = _UTF8
    notes: tuple[str, ...] = ()


def read_source(html: bytes | str, http_charset: str | None) -> Source:
    """Decode and trim; text without any tag is taken as it is.

    Args:
        html: as served, or decoded.
        http_charset: of the HTTP header, if known.
    """
    if isinstance(html, str):
        return Source(_trimmed(html.encode(_UTF8, "replace")), None)
    if not stands_for_itself(html, http_charset):
        whole = decode(html, http_charset)
        return Source(_trimmed(whole.text.encode(_UTF8, "replace")), whole.charset, notes=whole.notes)
    trimmed = _trimmed(html)
    decoded = decode(trimmed.markup, http_charset, head=html[:META_BYTES])
    if decoded.charset != _UTF8 or decoded.mended:
        trimmed.markup = decoded.text.encode(_UTF8, "replace")
        title = trimmed.title or b""
        text = decode(title).text if decoded.mended else title.decode(decoded.charset, "replace")
        trimmed.title = text.encode(_UTF8, "replace")
    return Source(trimmed, decoded.charset, decoded.charset, decoded.notes)


def _trimmed(data: bytes) -> Trimmed:
    if b"\x00" in data:
        data = data.replace(b"\x00", b"")
    if (first := data[:_HEAD_BYTES].lstrip()[:1]) in (b"{", b"[") and (value := _as_data(data)):
        return value
    if first == b"<" and (feed := feed_markup(data)):
        data = feed
    if not _TAG.search(data):
        data = b"<body><pre>" + data.replace(b"<", b"&lt;") + b"</pre>"
    return trim(data)


def _as_data(data: bytes) -> Trimmed | None:
    """A JSON document, as the data of a page without markup."""
    if not isinstance(parsed(data.decode(_UTF8, "replace")), dict | list):
        return None
    return Trimmed(b"", [(b"type=json", data)], b"")
