"""All the input: what each name stands for, read by the reader of its kind; see ``es_dedup.readers``."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import MissingExtra
from es_dedup.readers.file_ids import common_folder
from es_dedup.readers.locations import Address, is_pattern, located, matches, pattern_folder
from es_dedup.readers.pagefiles import PAGE_SUFFIXES, page_record
from es_dedup.readers.port import InputFailure, ReadOptions, Tally, kind_of
from es_dedup.readers.records import fields_in_no_record, item_of
from es_dedup.readers.rows import csv_records, json_records, jsonl_records, parquet_records
from es_dedup.readers.streams import (
    READ_ERRORS,
    STDIN,
    open_pipe,
    plain_problem,
    printable,
    suffix_of,
    unpacked_beginning,
)
from es_dedup.readers.warc import warc_records

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from es_dedup.model import Page
    from es_dedup.readers.locations import Named, Source
    from es_dedup.readers.port import Item, Items, Reader

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
LINE_SUFFIXES: Final = frozenset({".jsonl", ".ndjson", ".csv", ".tsv"})
SAMPLE_BYTES: Final = 2**18  # of the file, from which the length of a line is taken
MOST_SECONDS: Final = 1.0  # for counting the files of folders


class InputPages:
    """Pages and failures of several sources, read lazily.

    Attributes:
        root: what the ids of page files are relative to, without symbolic links; None: there are none.
        ignored: suffix to the number of files met in folders so far that are not read, because their kind is unknown.
        no_page: why records of archives read so far hold no page, to the number of these.
    """

    def __init__(self, sources: Iterable[Items], root: str | None, tally: Tally) -> None:
        self.root = root
        self.ignored: Mapping[str, int] = tally.ignored
        self.no_page: Mapping[str, int] = tally.no_page
        self._sources = sources

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
    return InputPages(sources, root, options.tally)


def _with_path_ids(named: Iterable[Named]) -> list[Path]:
    """Local files and folders below which pages have ids made of their paths."""
    local = [path for path in named if not isinstance(path, Address) and str(path) != STDIN]
    return [
        pattern_folder(path) if is_pattern(path) else path
        for path in local
        if is_page_file(path) or path.is_dir() or (is_pattern(path) and suffix_of(path) not in READERS)
    ]


def _read(named: Named, options: ReadOptions) -> Items:
    """Pages and failures of what one name stands for."""
    try:
        if isinstance(named, Address):
            return _read_address(named, options)
        if str(named) != STDIN and is_pattern(named):
            return _read_matches(named, options)
        mode = stat.S_IFIFO if str(named) == STDIN else named.stat().st_mode
    except (OSError, ValueError) as error:
        return iter([failure_of(named, error)])
    if stat.S_ISDIR(mode):
        return _read_folder(named, options)
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return iter([failure_of(named, "no regular file")])
    is_pipe = stat.S_ISFIFO(mode) and not is_page_file(named)
    return (_read_pipe if is_pipe or not kind_of(named, options) else _read_known)(named, options)


def _read_address(address: Address, options: ReadOptions) -> Items:
    files, several = address.files()
    if not several:
        return _read_known(files[0], options)
    return read_some(files, options, READERS) if address.is_pattern else read_below(files, options)


def _read_matches(pattern: Path, options: ReadOptions) -> Items:
    empty = True
    for path in matches(pattern):
        empty = False
        yield from _read_folder(path, options) if path.is_dir() else read_some([path], options, READERS)
    if empty:
        yield failure_of(pattern, "no file matches")


def _read_pipe(path: Path, options: ReadOptions) -> Items:
    """The pages of a pipe, or of a file whose name does not say its kind."""
    try:
        with open_pipe(path, kind_of(path, options)) as pipe:
            if pipe is not None:
                yield from _read_known(pipe, options)
            else:
                what = "standard input" if str(path) == STDIN else "the file"
                yield failure_of(path, f"{what} is empty")
    except READ_ERRORS as error:
        yield failure_of(path, error)


def _read_known(source: Source, options: ReadOptions) -> Items:
    if kind_of(source, options) in READERS:
        return read_file(source, options)
    known = f"known are {' '.join(READERS)}, compressed too, and folders"
    return iter(
        [failure_of(source, f"unknown kind of file; {known}; name another file's kind with --format")]
    )


def _read_folder(path: Path, options: ReadOptions) -> Items:
    """All files of known kinds below a folder, in the order of their paths.

    Files of other kinds are counted in the tally, and so are links to folders, which are not followed.
    """
    empty = True
    for item in read_below(_files_below(str(path), options.tally.ignored), options):
        empty = False
        yield item
    if empty:
        yield failure_of(path, f"no files of a known kind in this folder ({' '.join(FOLDER_KINDS)})")


def _files_below(root: str, ignored: Counter[str]) -> Iterator[Path | InputFailure]:
    """All files, each folder's entries by name; a stack in place of recursion, for any depth."""
    stack = [iter([(root, True)])]
    while stack:
        path, is_folder = next(stack[-1], ("", False))
        if not path:
            stack.pop()
        elif not is_folder:
            yield Path(path)
        else:
            try:
                stack.append(iter(_entries(path, ignored)))
            except OSError as error:
                yield failure_of(path, error)


def _entries(folder: str, ignored: Counter[str]) -> list[tuple[str, bool]]:
    """Paths in a folder by name, and whether each is a folder."""
    entries: list[tuple[str, bool]] = []
    with os.scandir(folder) as listed:
        for entry in listed:
            if entry.is_symlink() and Path(entry.path).is_dir():  # the entry's own is_dir raises for a loop
                ignored["links to folders"] += 1
            else:
                entries.append((entry.path, entry.is_dir(follow_symlinks=False)))
    return sorted(entries)


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


def estimated_pages(paths: Iterable[str | Path]) -> int | None:
    """Pages in files and folders, from names, sizes and the first lines; None where that cannot be said.

    Args:
        paths: as for ``read_pages``.
    """
    end = time.monotonic() + MOST_SECONDS
    total = 0.0
    for path in located(paths):
        if isinstance(path, Address):
            return None
        files = _files_of(path) if path.is_dir() else matches(path) if is_pattern(path) else [path]
        for file in files:
            pages = _pages_of(file)
            if pages is None or time.monotonic() > end:
                return None
            total += pages
    return round(total)


def _files_of(folder: Path) -> Iterable[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if suffix_of(path) in {*PAGE_SUFFIXES, *LINE_SUFFIXES}:
                yield path


def _pages_of(path: Path) -> float | None:
    suffix = suffix_of(path)
    if suffix in PAGE_SUFFIXES:
        return 1
    if suffix not in LINE_SUFFIXES or not path.is_file():
        return None
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            sample = stream.read(SAMPLE_BYTES)
        lines = unpacked_beginning(sample).count(b"\n")
    except READ_ERRORS:
        return None
    return lines * size / len(sample) if sample else 0
