"""Limits before and behind the parser: what would take it the square of a page's length is cut, shortened or flattened.

Ordinary pages pass unchanged.
"""

from __future__ import annotations

import re
import time
from itertools import islice
from typing import Final

MOST_ATTRIBUTES: Final = 500
"""Of one tag: parsers take the square of their number."""

KEPT_ATTRIBUTES: Final = 48
MAX_VALUE_BYTES: Final = 4_000
"""Of a tag with too many attributes those are kept, and such values."""

# an attribute by the letter of the HTML standard, as libxml2 reads since 2.14
_ATTRIBUTE: Final = (
    rb"""(?:=[^\s/>=]*+|[^\s/>=]++)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?+)?+[\s/]*+"""
)
# plain tags first, for the time; then any tag
_FEW_ATTRIBUTES: Final = re.compile(
    rb"""(?:[^<]*+<(?:/|(?![a-zA-Z])|[a-zA-Z][^\s/>]*+(?:>|(?:\s++[^\s/>"'=<]++="[^"]*+"){0,%d}+>|[\s/]*+(?:%b){0,%d}+(?:>|\Z))))*+[^<]*+"""
    % (MOST_ATTRIBUTES, _ATTRIBUTE, MOST_ATTRIBUTES)
)
_TAG: Final = re.compile(rb"(<[a-zA-Z][^\s/>]*+[\s/]*+)((?:%b)*+)" % _ATTRIBUTE)
_ATTRIBUTES: Final = re.compile(_ATTRIBUTE)
_START_TAG: Final = re.compile(rb"<[a-zA-Z]")
_FORMATTING: Final = (
    rb"</?(?:a|b|big|center|code|em|font|i|nobr|s|small|span|strike|strong|tt|u)(?=[\s/>])[^>]*+>?"
)
_CONTAINERS: Final = rb"</?(?!(?:br|hr|link|meta|p|script|style|title|textarea)[\s/>])[a-zA-Z][^>]*+>?"
FLATTENING: Final = (
    (re.compile(_FORMATTING, re.IGNORECASE), b""),
    (re.compile(_CONTAINERS, re.IGNORECASE), b"<br>"),
)
"""Tags that are taken out of a page that is nested too deeply, and what takes their place; each only where the one before was not enough."""

_MAGIC: Final = (
    (b"%PDF", "PDF"), (b"\x1f\x8b", "gzip"), (b"\x89PNG", "PNG"), (b"GIF8", "GIF"), (b"\xff\xd8\xff", "JPEG"),
    (b"PK\x03\x04", "ZIP"), (b"RIFF", "RIFF"), (b"\x7fELF", "ELF"), (b"BZh", "bzip2"), (b"7z\xbc\xaf", "7z"),
    (b"\xd0\xcf\x11\xe0", "OLE document"), (b"\xfd7zXZ", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"wOF", "font"),
    (b"ID3", "MP3"), (b"OggS", "Ogg"), (b"\x00\x00\x01\x00", "icon"), (b"Rar!", "RAR"), (b"SQLite format", "SQLite"),
)  # fmt: skip
_HIGH_BYTES: Final = bytes(range(128, 256))
_ENOUGH_BYTES: Final = 256  # of a shorter page one stray byte is a large share
_ZLIB_BYTES: Final = 32
_ZLIB_STARTS: Final = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")
_MOST_ASCII: Final = 0.7  # of random bytes half are
_MOST_CONTROLS: Final = 0.1  # of the first bytes; UTF-16 has some
_MOST_CONTROLS_IN_TEXT: Final = 0.03  # the same where no byte is zero; random bytes have a tenth
_CONTROL_BYTES: Final = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1b\x00"))


class DeadlineExceeded(Exception):
    """Raised inside the package when ``max_seconds`` have passed; never leaves it."""


class Deadline:
    """A point in time that our own loops check.

    Args:
        seconds: time from now, above 0.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise ``DeadlineExceeded`` when the time is up."""
        if time.monotonic() > self._end:
            raise DeadlineExceeded


def binary_kind(data: bytes) -> str | None:
    """What kind of binary file the bytes are, or None when they may be text.

    Looks at the magic number and at the share of control bytes in the first 4,096 bytes (zero bytes do not count:
    UTF-16 has many, and broken pages have some).
    """
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data[4:8] == b"ftyp":
        return "MP4"
    head = data[:4096]
    if _is_zlib(head):
        return "zlib"
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    most = _MOST_CONTROLS if 0 in head or len(head) < _ENOUGH_BYTES else _MOST_CONTROLS_IN_TEXT
    return "unknown binary" if head and controls > most * len(head) else None


def _is_zlib(head: bytes) -> bool:
    """The two bytes that such data begin with, and no more ASCII than chance has."""
    ascii_bytes = len(head.translate(None, _HIGH_BYTES))
    return (
        len(head) >= _ZLIB_BYTES and head.startswith(_ZLIB_STARTS) and ascii_bytes < _MOST_ASCII * len(head)
    )


def with_fewer_elements(data: bytes, most: int) -> bytes:
    """The page up to its ``most``-th start tag.

    Args:
        data: markup in UTF-8.
        most: so many elements.
    """
    if data.count(b"<") <= most:
        return data
    last = next(islice(_START_TAG.finditer(data), most, None), None)
    return data[: last.start()] if last else data


def with_fewer_attributes(data: bytes) -> bytes:
    """The page with at most ``KEPT_ATTRIBUTES`` short ones in each tag, where one has more than ``MOST_ATTRIBUTES``; linear in time.

    Args:
        data: markup in UTF-8.
    """
    ordinary = _FEW_ATTRIBUTES.match(data)
    return data if ordinary and ordinary.end() == len(data) else _TAG.sub(_shortened, data)


def _shortened(tag: re.Match[bytes]) -> bytes:
    attributes = islice(_ATTRIBUTES.finditer(tag[2]), KEPT_ATTRIBUTES)
    return tag[1] + b" ".join(found[0] for found in attributes if len(found[0]) <= MAX_VALUE_BYTES)
