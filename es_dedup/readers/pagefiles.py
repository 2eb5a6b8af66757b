"""Single page files (HTML, text) and folders of them."""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup.model import Page
from es_dedup.readers.port import Found, InputFailure
from es_dedup.readers.records import problem_of_id
from es_dedup.readers.streams import plain_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def read_page_file(path: Path, options: ReadOptions) -> Items:
    """One HTML or text file; the page id is the path as named, with forward slashes."""
    yield _page(path, path.as_posix(), options)


def read_folder(path: Path, options: ReadOptions) -> Items:
    """All page files below a folder, in the order of their paths, one open at a time.

    The page id is the path below ``path``, with forward slashes. Links to folders are not followed.
    """
    found = False
    leave = os.path.realpath(options.leave) if options.leave is not None else None
    for entry in _walk(str(path)):
        if leave is not None and isinstance(entry, str) and os.path.realpath(entry) == leave:
            continue
        found = True
        if isinstance(entry, InputFailure):
            yield entry
        else:
            yield _page(Path(entry), Path(entry).relative_to(path).as_posix(), options)
    if not found:
        yield InputFailure(
            str(path),
            None,
            f"no page files in this folder ({' '.join(PAGE_SUFFIXES)}); name record files one by one",
        )


def _walk(root: str) -> Iterator[str | InputFailure]:
    """Paths of page files, each folder's entries by name; a stack in place of recursion, for any depth."""
    stack = [iter([(root, True)])]
    while stack:
        path, is_folder = next(stack[-1], ("", False))
        if not path:
            stack.pop()
        elif not is_folder:
            yield path
        else:
            try:
                stack.append(iter(_entries(path)))
            except OSError as error:
                yield InputFailure(path, None, plain_problem(error))


def _entries(folder: str) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        found = ((entry.path, entry.is_dir(follow_symlinks=False), entry.name) for entry in entries)
        return sorted(
            (path, is_dir) for path, is_dir, name in found if is_dir or name.lower().endswith(PAGE_SUFFIXES)
        )


def _page(path: Path, page_id: str, options: ReadOptions) -> Item:
    source = str(path)
    if problem := problem_of_id(page_id):
        return InputFailure(_printable(source), None, problem)
    try:
        if not path.is_file():
            return InputFailure(source, None, "no regular file")
        with path.open("rb") as stream:
            # One byte more than the limit, so that extraction sees (and says) that the page was cut.
            data = stream.read(options.max_page_bytes + 1)
    except OSError as error:
        return InputFailure(source, None, plain_problem(error))
    if path.suffix.lower() in HTML_SUFFIXES:
        return Found(Page(id=page_id, html=data), source, None)
    text = decode_text(data, cut=len(data) > options.max_page_bytes)
    if text is None:
        return InputFailure(
            source, None, "text in an unknown encoding (neither UTF-8, UTF-16 with mark, nor GB18030)"
        )
    return Found(Page(id=page_id, text=text), source, None)


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


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
