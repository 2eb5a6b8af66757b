"""Single page files: HTML and plain text."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup.model import Page, fitted_id, id_problem
from es_dedup.readers.binary import binary_kind
from es_dedup.readers.port import InputFailure
from es_dedup.readers.streams import READ_ERRORS, open_unpacked, plain_problem, printable, suffix_of

if TYPE_CHECKING:
    from es_dedup.readers.locations import Source
    from es_dedup.readers.port import Item, Items, ReadOptions

HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml")
TEXT_SUFFIXES: Final = (".txt", ".md")
PAGE_SUFFIXES: Final = HTML_SUFFIXES + TEXT_SUFFIXES
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_TEXT_ENCODINGS: Final = ("utf-8", "gb18030")


def read_page_file(path: Source, options: ReadOptions) -> Items:
    """One HTML or text file; the page id is its path below a root, see ``Roots``."""
    yield _page(path, options)


def _page(path: Source, options: ReadOptions) -> Item:
    source = printable(path)
    page_id = fitted_id(options.roots.id_of(path) or "" if isinstance(path, Path) else str(path))
    if problem := id_problem(page_id) if page_id else "appeared, or was moved, while the input was read":
        return InputFailure(source, None, problem)
    try:
        with open_unpacked(path) as stream:
            # One byte more than the limit, so that extraction sees (and says) that the page was cut.
            data = stream.read(options.max_page_bytes + 1)
    except READ_ERRORS as error:
        return InputFailure(source, None, plain_problem(error, "the page was not read"))
    if kind := binary_kind(data):
        return InputFailure(source, None, f"{kind}, not a page")
    if suffix_of(path) in HTML_SUFFIXES:
        return Page(id=page_id, html=data)
    if (text := decode_text(data, cut=len(data) > options.max_page_bytes)) is not None:
        return Page(id=page_id, text=text)
    return InputFailure(
        source, None, "text in an unknown encoding (neither UTF-8, UTF-16 with mark, nor GB18030)"
    )


def decode_text(data: bytes, *, cut: bool = False) -> str | None:
    """Text of a plain text file: by its byte order mark, else UTF-8, else GB18030; None when none of them fits.

    Args:
        data: the file's bytes.
        cut: the bytes may end inside a character.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    for encoding in _TEXT_ENCODINGS:
        try:
            return codecs.getincrementaldecoder(encoding)().decode(data, final=not cut)
        except UnicodeDecodeError:
            continue
    return None
