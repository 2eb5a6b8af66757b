"""Input → pages: folders, page files, JSON lines, tables, Parquet, WARC, standard input.

``read_pages`` is all a caller needs; each item is a ``Page``, or an ``InputFailure`` that names file and line.

Traps:
- a reader never raises for bad input, only for a missing optional package (``MissingExtra``);
- nothing is read ahead: a file is open while its pages are taken, so pages should not be kept in a list;
- ids must be unique over all the input of one call; a repeated id is dropped when the page is identical, and is a
  failure when it is not.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup.readers.jsonl import read_json, read_jsonl
from es_dedup.readers.pagefiles import PAGE_SUFFIXES, read_folder, read_page_file
from es_dedup.readers.port import Fields, InputFailure, ReadOptions
from es_dedup.readers.streams import STDIN, plain_problem, suffix_of
from es_dedup.readers.tables import read_csv, read_parquet
from es_dedup.readers.unique import UniquePages
from es_dedup.readers.warc import read_warc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.readers.port import Items, Reader

__all__ = ["Fields", "InputFailure", "ReadOptions", "UniquePages", "read_pages"]

READERS: Final[dict[str, Reader]] = {
    **dict.fromkeys(PAGE_SUFFIXES, read_page_file),
    **dict.fromkeys((".jsonl", ".ndjson"), read_jsonl),
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".warc": read_warc,
}
"""Reader by suffix; a suffix of packing (``.gz .xz .zst .bz2``) is looked through."""


def read_pages(paths: Iterable[str | Path], options: ReadOptions | None = None) -> UniquePages:
    """Pages and failures of all the input, in the order named.

    Args:
        paths: folders, files, ``-`` for JSON lines on standard input.
        options: field names, encoding, limits.

    Returns:
        A lazy iterator; its ``repeats`` counts identical pages that were named twice.
    """
    return UniquePages(_read(Path(path), options or ReadOptions()) for path in paths)


def _read(path: Path, options: ReadOptions) -> Items:
    if str(path) == STDIN:
        yield from read_jsonl(path, options)
        return
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        yield InputFailure(str(path), None, plain_problem(error))
        return
    if stat.S_ISDIR(mode):
        yield from read_folder(path, options)
    elif stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        yield InputFailure(str(path), None, "no regular file")
    elif (reader := READERS.get(suffix_of(path))) is None:
        known = " ".join(READERS)
        yield InputFailure(
            str(path), None, f"unknown kind of file; known are {known}, packed too, and folders"
        )
    else:
        yield from reader(path, options)
