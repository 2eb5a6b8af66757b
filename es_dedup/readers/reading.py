"""All the input: what each name stands for, read by the reader of its kind; see ``es_dedup.readers``."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import MissingExtra
from es_dedup.readers.file_ids import common_folder
from es_dedup.readers.locations import STDIN, Address, files_of, is_pattern, located, pattern_folder
from es_dedup.readers.pagefiles import PAGE_SUFFIXES, page_record
from es_dedup.readers.port import JSON_LINES, InputFailure, ReadOptions, Tally, kind_of
from es_dedup.readers.records import fields_in_no_record, item_of
from es_dedup.readers.rows import csv_records, json_records, jsonl_records, parquet_records
from es_dedup.readers.streams import READ_ERRORS, open_pipe, plain_problem, printable, suffix_of
from es_dedup.readers.warc import wacz_records, warc_records

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Mapping

    from es_dedup.model import Page
    from es_dedup.readers.locations import Named, Source
    from es_dedup.readers.port import Item, Items, Reader

    Records = Iterator[tuple[Any, Item | None]]
    """Of each record of a file what is copied of it, as ``Record.raw``, and its page or failure; None: it is no page."""

READERS: Final[dict[str, Reader]] = {
    **dict.fromkeys(PAGE_SUFFIXES, page_record),
    **dict.fromkeys(JSON_LINES, jsonl_records),
    ".json": json_records,
    ".csv": csv_records,
    ".tsv": csv_records,
    ".parquet": parquet_records,
    **dict.fromkeys((".warc", ".wet"), warc_records),
    ".wacz": wacz_records,
}
"""Reader by suffix; compressed files have a further suffix (``.gz .xz .zst .bz2``)."""
FOLDER_KINDS: Final = tuple(suffix for suffix in READERS if suffix != ".json")
"""Kinds that are read in a folder: of saved pages ``.json`` files are mostly data of scripts; they are read when named."""
_SUFFIX_CHARS: Final = 12  # a longer one is part of a name, such as an address with a query


class _Found(Enum):
    """How a file was found: of a pattern or a folder, files of other kinds are counted; in a folder ``ReadOptions.format`` does not hold."""

    BY_NAME, BY_PATTERN, IN_FOLDER = range(3)


@dataclass(frozen=True)
class InputPages:
    """Pages and failures of several sources, read lazily.

    Attributes:
        root: what the ids of page files are relative to, without symbolic links; None: there are none.
        ignored: suffix to the number of files met in folders so far that are not read, because their kind is unknown.
        no_page: why records of archives read so far hold no page, to the number of these.
    """

    root: str | None
    ignored: Mapping[str, int]
    no_page: Mapping[str, int]
    _sources: Iterable[Items] = field(repr=False)

    def __iter__(self) -> Iterator[Page | InputFailure]:
        return chain.from_iterable(self._sources)


def read_pages(paths: Iterable[str | Path], options: ReadOptions | None = None) -> InputPages:
    """Pages and failures of all the input, in the order named.

    Args:
        paths: folders, files, patterns (``crawl/**/*.jsonl.gz``), addresses of object storage (``s3://bucket/folder``, with the extra
            ``remote``), pipes, ``-`` for standard input; the kind of the last two is that of ``options.format`` or of their content.
        options: field names, format, encoding, limits.

    Returns:
        A lazy iterator; its ``ignored`` counts files of folders that are of no known kind, and ``root`` is what the ids are relative to.

    Raises:
        TypeError: ``paths`` is not a list of paths, or ``options`` no ``ReadOptions``.
    """
    named = located(paths)
    options = ReadOptions() if options is None else options
    if not isinstance(options, ReadOptions):
        raise TypeError(f"options must be a ReadOptions object, got a {type(options).__name__}")
    root = common_folder(_with_path_ids(named)) if options.root is None else os.path.realpath(options.root)
    options = replace(options, root=root, tally=Tally())
    sources = chain((_read(each, options) for each in named), [fields_in_no_record(options)])
    return InputPages(root, options.tally.ignored, options.tally.no_page, sources)


def _with_path_ids(named: Iterable[Named]) -> list[Path]:
    """Local files and folders below which pages have ids made of their paths."""
    local = [path for path in named if not isinstance(path, Address) and str(path) != STDIN]
    return [
        pattern_folder(path) if is_pattern(path) else path
        for path in local
        if is_page_file(path) or path.is_dir() or (is_pattern(path) and suffix_of(path) not in READERS)
    ]


def _read(named: Named, options: ReadOptions) -> Items:
    """Pages and failures of what one name stands for; a pattern or a folder that gives neither is a failure."""
    in_folder, empty = replace(options, format=None), True
    for source, found in _sources(named, options.tally.ignored):
        for item in _read_source(source, found, in_folder if found is _Found.IN_FOLDER else options):
            empty = False
            yield item
    if empty:
        yield failure_of(named, f"no files of a known kind ({' '.join(FOLDER_KINDS)})")


def _sources(named: Named, ignored: Counter[str]) -> Iterator[tuple[Source | InputFailure, _Found]]:
    """The files that a name stands for, those below folders in the order of their paths.

    Links to folders are not followed; they are counted as ignored.
    """
    try:
        files, several = files_of(named)
    except (OSError, ValueError) as error:
        yield failure_of(named, error), _Found.BY_NAME
        return
    found = _Found.BY_PATTERN if several else _Found.BY_NAME
    if several and isinstance(named, Address) and not named.is_pattern:
        found = _Found.IN_FOLDER
    for file in files:
        if isinstance(file, Path) and file.is_dir():
            yield from ((each, _Found.IN_FOLDER) for each in _files_below(str(file), ignored))
        else:
            yield file, found


def _read_source(source: Source | InputFailure, found: _Found, options: ReadOptions) -> Items:
    if isinstance(source, InputFailure):
        yield source
        return
    kind, by_name = kind_of(source, options), found is _Found.BY_NAME
    read = FOLDER_KINDS if found is _Found.IN_FOLDER else READERS
    if not by_name and options.format is None and kind not in read:
        suffix = "".join(Path(str(source)).suffixes[-1:]).lower()
        known_by = printable(suffix) if 0 < len(suffix) <= _SUFFIX_CHARS else "without a suffix"
        options.tally.ignored[known_by] += 1
        return
    if not by_name and options.leave and os.path.realpath(str(source)) == os.path.realpath(options.leave):
        return
    try:
        mode = source.stat().st_mode if isinstance(source, Path) and str(source) != STDIN else 0
        is_pipe = str(source) == STDIN or (stat.S_ISFIFO(mode) and kind not in PAGE_SUFFIXES)
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or not (by_name or stat.S_ISREG(mode or stat.S_IFREG)):
            yield failure_of(source, "no regular file")
        elif isinstance(source, Path) and by_name and (is_pipe or not kind):
            yield from _read_pipe(source, options)
        elif kind in READERS:
            yield from (item for _, item in records_of(source, options) if item is not None)
        else:
            known = f"known are {' '.join(READERS)}, compressed too, and folders"
            problem = f"unknown kind of file; {known}; name another file's kind with --format"
            yield failure_of(source, problem)
    except MissingExtra as error:
        if by_name:
            raise
        yield failure_of(source, str(error))
    except READ_ERRORS as error:
        yield failure_of(source, error)


def _read_pipe(path: Path, options: ReadOptions) -> Items:
    """The pages of a pipe, or of a file whose name does not say its kind."""
    with open_pipe(path, kind_of(path, options)) as pipe:
        if pipe is None:
            yield failure_of(path, f"{'standard input' if str(path) == STDIN else 'the file'} is empty")
        else:
            yield from _read_source(pipe, _Found.BY_NAME, options)


def _files_below(root: str, ignored: Counter[str]) -> Iterator[Path | InputFailure]:
    """All files, each folder's entries by name; a stack in place of recursion, for any depth."""
    stack = [(root, True)]
    while stack:
        path, is_folder = stack.pop()
        if not is_folder:
            yield Path(path)
            continue
        try:
            with os.scandir(path) as listed:
                entries = sorted(listed, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            yield failure_of(path, error)
            continue
        for entry in entries:
            if entry.is_symlink() and Path(entry.path).is_dir():  # the entry's own is_dir raises for a loop
                ignored["links to folders"] += 1
            else:
                stack.append((entry.path, entry.is_dir(follow_symlinks=False)))


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


def _why_nothing(source: Source, options: ReadOptions) -> str:
    """What is said of a file that gave neither pages nor failures."""
    with suppress(OSError, ValueError), source.open("rb") as stream:  # a pipe was closed
        if not stream.read(1):
            return "the file is empty"
    if READERS[kind_of(source, options)] is warc_records:
        return "holds no page: no response with status 2xx, resource or conversion of type HTML or plain text"
    return "holds no page"
