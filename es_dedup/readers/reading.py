"""All the input: what each name stands for, read by the reader of its kind; see ``es_dedup.readers``."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from es_dedup.readers.kinds import (
    FOLDER_KINDS,
    READERS,
    failure_of,
    is_page_file,
    read_below,
    read_file,
    read_some,
)
from es_dedup.readers.locations import Address, is_pattern, located, matches, pattern_folder
from es_dedup.readers.port import InputFailure, ReadOptions, Tally, kind_of
from es_dedup.readers.records import fields_in_no_record
from es_dedup.readers.streams import READ_ERRORS, STDIN, open_pipe, suffix_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Mapping

    from es_dedup.model import Page
    from es_dedup.readers.locations import Named, Source
    from es_dedup.readers.port import Items
    from es_dedup.readers.roots import Roots


class InputPages:
    """Pages and failures of several sources, read lazily.

    Attributes:
        roots: what the ids of page files are relative to.
        ignored: suffix to the number of files met in folders so far that are not read, because their kind is unknown.
        no_page: why records of archives read so far hold no page, to the number of these.
    """

    def __init__(self, sources: Iterable[Items], roots: Roots, tally: Tally) -> None:
        self.roots = roots
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
        A lazy iterator; its ``ignored`` counts files of folders that are of no known kind, and ``roots`` has the roots that the ids are
        relative to.

    Raises:
        TypeError: ``paths`` is not a list of paths, or ``options`` no ``ReadOptions``.
        ValueError: ``options.root`` or ``options.namespace`` cannot be used, see ``Roots.covering``.
    """
    named = located(paths)
    options = ReadOptions() if options is None else options
    if not isinstance(options, ReadOptions):
        raise TypeError(f"options must be a ReadOptions object, got a {type(options).__name__}")
    roots = options.roots.covering(_with_path_ids(named), root=options.root, namespace=options.namespace)
    options = replace(options, roots=roots, tally=Tally())
    sources = chain((_read(each, options) for each in named), [fields_in_no_record(options)])
    return InputPages(sources, roots, options.tally)


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
