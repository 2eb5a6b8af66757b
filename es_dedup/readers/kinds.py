"""Kinds of files by suffix, each with its reader."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup.errors import MissingExtra
from es_dedup.readers.jsonl import read_json, read_jsonl
from es_dedup.readers.locations import Pipe, RemoteFile
from es_dedup.readers.pagefiles import PAGE_SUFFIXES, read_page_file
from es_dedup.readers.port import InputFailure, kind_of
from es_dedup.readers.streams import plain_problem, printable, suffix_of
from es_dedup.readers.tables import read_csv, read_parquet
from es_dedup.readers.warc import read_warc

if TYPE_CHECKING:
    from es_dedup.readers.locations import Source
    from es_dedup.readers.port import Items, Reader, ReadOptions

READERS: Final[dict[str, Reader]] = {
    **dict.fromkeys(PAGE_SUFFIXES, read_page_file),
    **dict.fromkeys((".jsonl", ".ndjson"), read_jsonl),
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    **dict.fromkeys((".warc", ".wet"), read_warc),
}
"""Reader by suffix; compressed files have a further suffix (``.gz .xz .zst .bz2``)."""
NOT_IN_FOLDERS: Final = (".json",)
"""In folders of saved pages these are mostly data of scripts; they are read when named."""


def is_page_file(path: Path) -> bool:
    """Whether a file is one page, whose id is made of its path."""
    return suffix_of(path) in PAGE_SUFFIXES


def read_file(path: Source, options: ReadOptions) -> Items:
    """Pages and failures of one regular file of a known kind; one that gives neither is a failure.

    Raises:
        KeyError: the kind is unknown.
        MissingExtra: its reader needs a package that is not installed.
    """
    reader = READERS[kind_of(path, options)]
    given = False
    for item in reader(path, options):
        given = True
        yield item
    if not given:
        yield InputFailure(printable(path), None, why_nothing(path, options))


def read_file_in_folder(path: Source, options: ReadOptions) -> Items:
    """As ``read_file``, but what is no regular file, or needs a package that is not installed, is a failure too."""
    try:
        if isinstance(path, Path) and not stat.S_ISREG(path.stat().st_mode):
            yield InputFailure(printable(path), None, "no regular file")
            return
        yield from read_file(path, options)
    except MissingExtra as error:
        yield InputFailure(printable(path), None, str(error))
    except OSError as error:
        yield InputFailure(printable(path), None, plain_problem(error))


def why_nothing(path: Source, options: ReadOptions) -> str:
    """What is said of a file that gave neither pages nor failures."""
    try:
        empty = (
            not isinstance(path, Pipe)
            and (path.size if isinstance(path, RemoteFile) else path.stat().st_size) == 0
        )
    except OSError:
        empty = False
    if empty:
        return "the file is empty"
    if READERS[kind_of(path, options)] is read_warc:
        return "holds no page: no response with status 2xx, resource or conversion of type HTML or plain text"
    return "holds no page"
