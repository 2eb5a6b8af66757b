"""Pages whose text stands where a browser would not show it, or not yet.

It is meant for those without scripts or frames, or stands in a frame of the page itself, in the open shadow of an element, or as
Markdown in a field from which a script draws it. Such pages are read a second time with these parts as ordinary elements.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final

MIN_CHARS: Final = 80
"""A shorter text for browsers without scripts asks to turn scripts on."""

_PLACES: Final = re.compile(
    rb"<(?:noscript|noframes)[\s>]|<template[^<>]{0,200}?shadowroot|<iframe[^<>]{0,2000}?srcdoc|"
    rb"<textarea[^<>]{0,2000}>[^<]{80}",
    re.IGNORECASE,
)
_SHADOW: Final = re.compile(rb"<template(?=[^<>]{0,200}?shadowroot)", re.IGNORECASE)
_SHADOW_END: Final = re.compile(rb"</template(?=[\s>])", re.IGNORECASE)
_FOR_OTHERS: Final = re.compile(rb"(</?)(?:noscript|noframes|frameset)(?=[\s>])", re.IGNORECASE)
_FRAMED: Final = re.compile(
    rb"""<iframe[^<>]{0,2000}?srcdoc\s*=\s*(?:"([^"]*+)"|'([^']*+)')[^<>]{0,2000}>""", re.IGNORECASE
)
_LINES: Final = 2  # of Markdown in a field
_FIELD: Final = re.compile(rb"<textarea[^<>]{0,2000}>((?:[^<]|<(?!/textarea))++)", re.IGNORECASE)
_REFERENCE: Final = re.compile(
    rb"&(?:lt|gt|amp|quot|apos|#0{0,9}(?:\d{1,2}|1[01]\d|12[0-7])(?!\d)|#[xX]0{0,9}[0-7]?[0-9a-fA-F](?![0-9a-fA-F]));?"
)
"""To ASCII characters, which are the same bytes in the page's charset: of these markup is made. All others stay references."""

_ASKS_FOR_SCRIPTS: Final = re.compile(r"java\s?script|浏览器|瀏覽器|your browser", re.IGNORECASE)


def opened_up(markup: bytes) -> bytes | None:
    """The page with such parts as ordinary elements; None where it has none.

    Args:
        markup: in a charset in which ASCII bytes stand for themselves.
    """
    if not _PLACES.search(markup):
        return None
    opened = _FRAMED.sub(_framed, _FIELD.sub(_drawn, _FOR_OTHERS.sub(rb"\1div", markup)))
    if _SHADOW.search(opened):
        opened = _SHADOW_END.sub(b"</div", _SHADOW.sub(b"<div", opened))
    return opened


def is_worth(text: str, before: str) -> bool:
    """The text found there is one, and longer by far than what was found before."""
    if len(text) < max(MIN_CHARS, 2 * len(before)):
        return False
    return len(text) > 4 * MIN_CHARS or not _ASKS_FOR_SCRIPTS.search(text)


def _framed(match: re.Match[bytes]) -> bytes:
    inner = match[1] if match[1] is not None else match[2] or b""
    return b"<div>" + _REFERENCE.sub(lambda found: unescape(found[0].decode()).encode(), inner) + b"</div>"


def _drawn(match: re.Match[bytes]) -> bytes:
    """A text of several lines as paragraphs; letters and terms to agree with are written in one."""
    lines = [stripped for line in match[1].split(b"\n") if (stripped := line.strip())]
    if len(lines) < _LINES:
        return match[0]
    return b"<div>" + b"".join(b"<p>" + line + b"</p>" for line in lines) + b"</div><textarea>"
