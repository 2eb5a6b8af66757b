"""Which bytes are no page: images, archives, programs and other files that are no text in any encoding."""

from __future__ import annotations

import codecs
import re
from typing import Final

_HEAD_BYTES: Final = 4096
_KINDS: Final = (
    (re.compile(rb"\x89PNG\r\n"), "a PNG image"),
    (re.compile(rb"\xff\xd8\xff"), "a JPEG image"),
    (re.compile(rb"GIF8[79]a"), "a GIF image"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "a WebP image"),
    (re.compile(rb"\x00\x00\x01\x00.\x00", re.DOTALL), "an icon"),
    (re.compile(rb"II\*\x00|MM\x00\*"), "a TIFF image"),
    (re.compile(rb"%PDF-\d"), "a PDF document"),
    (re.compile(rb"PK(?:\x03\x04|\x05\x06)"), "a ZIP archive or an office document"),
    (re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "an office document"),
    (re.compile(rb"7z\xbc\xaf'\x1c"), "a 7z archive"),
    (re.compile(rb"Rar!\x1a\x07"), "a RAR archive"),
    (re.compile(rb"\x1f\x8b\x08|\xfd7zXZ\x00|\x28\xb5\x2f\xfd|BZh[1-9]1AY&SY"), "compressed data"),
    (re.compile(rb"\x7fELF|MZ.{56,62}\x00\x00", re.DOTALL), "a program"),
    (re.compile(rb"wOF[F2]"), "a font"),
    (re.compile(rb"....ftyp", re.DOTALL), "a video"),
    (re.compile(rb"\x1aE\xdf\xa3"), "a video"),
    (re.compile(rb"OggS\x00|ID3[\x02-\x04]|fLaC"), "an audio file"),
    (re.compile(rb"SQLite format 3\x00"), "a database"),
)
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\v\f\r\x0e\x0f\x1b")) + b"\x7f"
"""Control characters that no text holds; charsets of seven bits shift with 0e, 0f and 1b."""
_MOST_CONTROLS: Final = 0.02  # of the bytes: random bytes have 10 %, damaged pages single ones
_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_FEW_CONTROLS: Final = 2  # are no sign however short the page is


def binary_kind(data: bytes) -> str | None:
    """What bytes are that cannot be a page in any encoding, such as ``a PNG image``; None for what may be one.

    Args:
        data: a page as served, or its beginning.
    """
    head = data[:_HEAD_BYTES]
    for pattern, kind in _KINDS:
        if pattern.match(head):
            return kind
    controls = len(head) - len(head.translate(None, _CONTROLS))
    may_be_text = controls <= max(_FEW_CONTROLS, _MOST_CONTROLS * len(head)) or head.startswith(_WIDE_MARKS)
    return None if may_be_text else "binary data"
