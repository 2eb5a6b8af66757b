"""Single page files: HTML and plain text."""

from __future__ import annotations

import codecs
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup.model import Page, fitted_id, id_problem
from es_dedup.readers.file_ids import file_id
from es_dedup.readers.port import Problem, ReadOptions, Record
from es_dedup.readers.streams import (
    BYTE_ORDER_MARKS,
    READ_ERRORS,
    open_unpacked,
    plain_problem,
    printable,
    suffix_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.readers.locations import Source


HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml", ".shtml", ".php", ".asp", ".aspx", ".jsp")
"""Of saved pages, which crawlers name by their addresses."""
TEXT_SUFFIXES: Final = (".txt", ".md")
PAGE_SUFFIXES: Final = HTML_SUFFIXES + TEXT_SUFFIXES
_HEAD_BYTES: Final = 4096
_PDF: Final = b"%PDF-"  # whose first bytes may all be text
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\v\f\r\x0e\x0f\x1b")) + b"\x7f"
"""Control characters that no text holds; charsets of seven bits shift with 0e, 0f and 1b."""
_MOST_CONTROLS: Final = 0.02  # of the bytes: random bytes have 10 %, damaged pages single ones
_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_FEW_CONTROLS: Final = 2  # are no sign however short the page is


def page_record(source: Source, options: ReadOptions) -> Iterator[Record]:
    """One HTML or text file; its page id is that of ``file_id``, with escapes for bytes that are no text."""
    yield Record(None, None, _page(source, options))


def _page(source: Source, options: ReadOptions) -> Page | Problem:
    root = None if options.root is None else str(options.root)
    page_id = fitted_id(printable(file_id(source, root) if isinstance(source, Path) else str(source)))
    problem = id_problem(page_id)
    if not problem:
        try:
            with open_unpacked(source) as stream:
                # One byte more than the limit, so that extraction sees (and says) that the page was cut.
                data = stream.read(options.max_page_bytes + 1)
        except READ_ERRORS as error:
            problem = plain_problem(error, "the page was not read")
    if problem:
        return Problem(problem)
    if kind := binary_kind(data):
        return Problem(f"{kind}, not a page")
    if suffix_of(source) in HTML_SUFFIXES:
        return Page(id=page_id, html=data)
    if (text := _decoded(data, options.encoding, cut=len(data) > options.max_page_bytes)) is not None:
        return Page(id=page_id, text=text)
    return Problem("text in an unknown encoding; name it with --encoding")


def _decoded(data: bytes, encoding: str, *, cut: bool) -> str | None:
    """Text of a plain text file: by its byte order mark, else UTF-8 where it is, else as named, else in the likeliest charset; None when none fits."""
    for mark, marked in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(marked, "replace")
    for name in ("utf-8", encoding):
        with suppress(UnicodeError):
            return codecs.getincrementaldecoder(name)().decode(data, final=not cut)
    from es_dedup.extraction.reading.charset import decode  # slow to load

    text = decode(data).text
    text = text.rstrip("\ufffd") if cut else text
    return None if "\ufffd" in text else text


def binary_kind(data: bytes) -> str | None:
    """What bytes are that cannot be a page in any encoding, ``a PDF document`` or ``binary data``; None for what may be one.

    Args:
        data: a page as served, or its beginning.
    """
    head = data[:_HEAD_BYTES]
    if head.startswith(_PDF):
        return "a PDF document"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    may_be_text = controls <= max(_FEW_CONTROLS, _MOST_CONTROLS * len(head)) or head.startswith(_WIDE_MARKS)
    return None if may_be_text else "binary data"
