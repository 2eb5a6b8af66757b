"""Kinds of files by suffix, each with its reader."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import MissingExtra
from es_dedup.readers.jsonl import json_records, jsonl_records
from es_dedup.readers.pagefiles import PAGE_SUFFIXES, page_record
from es_dedup.readers.port import InputFailure, kind_of
from es_dedup.readers.records import item_of
from es_dedup.readers.streams import READ_ERRORS, plain_problem, printable, suffix_of
from es_dedup.readers.tables import csv_records, parquet_records
from es_dedup.readers.warc import warc_records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from es_dedup.readers.locations import Named, Source
    from es_dedup.readers.port import Item, Items, Reader, ReadOptions

    Records = Iterator[tuple[Any, Item | None]]
    """Of each record of a file what is copied of it, as ``Record.raw``, and its page or failure; None: it is no page."""

READERS: Final[dict[str, Reader]] = {
    **dict.fromkeys(PAGE_SUFFIXES, page_record),
    **dict.fromkeys((".jsonl", ".ndjson"), jsonl_records),
    ".json": json_records,
    ".csv": csv_records,
    ".tsv": csv_records,
    ".parquet": parquet_records,
    **dict.fromkeys((".warc", ".wet"), warc_records),
}
"""Reader by suffix; compressed files have a further suffix (``.gz .xz .zst .bz2``)."""
FOLDER_KINDS: Final = tuple(suffix for suffix in READERS if suffix != ".json")
"""Kinds that are read in a folder: of saved pages ``.json`` files are mostly data of scripts; they are read when named."""
_SUFFIX_CHARS: Final = 12  # a longer one is part of a name, such as an address with a query


def is_page_file(path: Path) -> bool:
    """Whether a file is one page, whose id is made of its path."""
    return suffix_of(path) in PAGE_SUFFIXES


def failure_of(source: Named | Source | str, problem: str | BaseException) -> InputFailure:
    """The failure of a whole file or name: what is wrong, or the error that says so."""
    words = problem if isinstance(problem, str) else plain_problem(problem)
    return InputFailure(printable(source), None, words)


def records_of(source: Source, options: ReadOptions, reader: Reader | None = None) -> Records:
    """What is copied of each record of a file of a known kind, and its page or failure; a file that gives neither is a failure.

    Args:
        source: the file.
        options: how it is read.
        reader: gives its records; None: that of its kind.

    Raises:
        KeyError: the kind is unknown.
        MissingExtra: its reader needs a package that is not installed.
    """
    read, name, empty = reader or READERS[kind_of(source, options)], printable(source), True
    try:
        for raw, line, value in read(source, options):
            item = item_of(value, name, line, options)
            empty = empty and item is None
            yield raw, item
    except READ_ERRORS as error:
        yield None, failure_of(source, error)
        return
    if empty:
        yield None, failure_of(source, _why_nothing(source, options))


def read_file(source: Source, options: ReadOptions) -> Items:
    """Pages and failures of ``records_of``."""
    return (item for _, item in records_of(source, options) if item is not None)


def read_some(files: Iterable[Source | InputFailure], options: ReadOptions, kinds: Collection[str]) -> Items:
    """Pages and failures of files that were not named one by one.

    Files of other kinds are counted in the tally by suffix. What is no regular file, or needs a package that is not installed, is a
    failure.
    """
    leave = os.path.realpath(options.leave) if options.leave is not None else None
    for file in files:
        if isinstance(file, InputFailure):
            yield file
        elif options.format is None and suffix_of(file) not in kinds:
            suffix = "".join(Path(str(file)).suffixes[-1:]).lower()
            known_by = printable(suffix) if 0 < len(suffix) <= _SUFFIX_CHARS else "without a suffix"
            options.tally.ignored[known_by] += 1
        elif leave is None or os.path.realpath(str(file)) != leave:
            try:
                if isinstance(file, Path) and not stat.S_ISREG(file.stat().st_mode):
                    yield failure_of(file, "no regular file")
                else:
                    yield from read_file(file, options)
            except MissingExtra as error:
                yield failure_of(file, str(error))
            except OSError as error:
                yield failure_of(file, error)


def read_below(files: Iterable[Source | InputFailure], options: ReadOptions) -> Items:
    """Pages and failures of files in a folder, which are of the kinds that their suffixes say, whatever ``options.format``."""
    return read_some(files, replace(options, format=None), FOLDER_KINDS)


def _why_nothing(source: Source, options: ReadOptions) -> str:
    """What is said of a file that gave neither pages nor failures."""
    with suppress(OSError):
        if (source.stat().st_size if isinstance(source, Path) else source.size()) == 0:
            return "the file is empty"
    if READERS[kind_of(source, options)] is warc_records:
        return "holds no page: no response with status 2xx, resource or conversion of type HTML or plain text"
    return "holds no page"
