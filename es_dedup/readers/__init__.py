"""Input → pages: folders, page files, JSON lines, tables, Parquet, WARC, WET, pipes, object storage.

``read_pages`` is all a caller needs; each item is a ``Page``, or an ``InputFailure`` that names file and line.

Traps:
- a reader never raises for bad input, only for a missing optional package (``MissingExtra``);
- nothing is read ahead: a file is open while its pages are taken, so pages should not be kept in a list;
- ids may repeat: who stores pages keeps the last page of an id, who copies rows tells them apart by their place;
- ids of page files are relative to a root, see ``Roots``. Who reads into an index more than once gives the roots that it has
  recorded, and records those of the call: ``pages = read_pages(paths, ReadOptions(roots=dedup.roots()))``, then
  ``dedup.record_roots(pages.roots)``.
"""

from __future__ import annotations

import stat
from dataclasses import replace
from typing import TYPE_CHECKING

from es_dedup.readers.folders import SUFFIXES, read_folder, read_some
from es_dedup.readers.input_pages import InputPages
from es_dedup.readers.kinds import READERS, is_page_file, read_file
from es_dedup.readers.locations import Address, is_pattern, located, matches, pattern_folder
from es_dedup.readers.port import Fields, InputFailure, ReadOptions, Tally, kind_of
from es_dedup.readers.records import fields_in_no_record
from es_dedup.readers.roots import Root, Roots
from es_dedup.readers.streams import (
    READ_ERRORS,
    STDIN,
    open_pipe,
    plain_problem,
    printable,
    suffix_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from es_dedup.readers.locations import Named, Source
    from es_dedup.readers.port import Items

__all__ = ["Fields", "InputFailure", "InputPages", "ReadOptions", "Root", "Roots", "read_pages"]


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
    return InputPages(_sources(named, options), roots, options.tally)


def _with_path_ids(named: Iterable[Named]) -> list[Path]:
    """Local files and folders below which pages have ids made of their paths."""
    local = [path for path in named if not isinstance(path, Address) and str(path) != STDIN]
    return [
        pattern_folder(path) if is_pattern(path) else path
        for path in local
        if is_page_file(path) or path.is_dir() or (is_pattern(path) and suffix_of(path) not in READERS)
    ]


def _sources(named: list[Named], options: ReadOptions) -> Iterator[Items]:
    for each in named:
        if isinstance(each, Address):
            yield _read_address(each, options)
        elif str(each) != STDIN and is_pattern(each):
            yield _read_matches(each, options)
        else:
            yield _read(each, options)
    yield fields_in_no_record(options)


def _read_matches(pattern: Path, options: ReadOptions) -> Items:
    given = False
    for path in matches(pattern):
        given = True
        yield from (
            read_folder(path, replace(options, format=None)) if path.is_dir() else read_some([path], options)
        )
    if not given:
        yield InputFailure(printable(pattern), None, "no file matches")


def _read_address(address: Address, options: ReadOptions) -> Items:
    try:
        files, several = address.files()
    except OSError as error:
        yield InputFailure(printable(address), None, plain_problem(error))
        return
    if several:
        if address.is_pattern:
            yield from read_some(files, options)
        else:
            yield from read_some(files, replace(options, format=None), SUFFIXES)
    else:
        yield from _read_known(files[0], options)


def _read(path: Path, options: ReadOptions) -> Items:
    if str(path) == STDIN:
        yield from _read_pipe(path, options)
        return
    source = printable(path)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        yield InputFailure(source, None, plain_problem(error))
        return
    if stat.S_ISDIR(mode):
        yield from read_folder(path, replace(options, format=None))
    elif stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        yield InputFailure(source, None, "no regular file")
    elif not kind_of(path, options) or (stat.S_ISFIFO(mode) and not is_page_file(path)):
        yield from _read_pipe(path, options)
    else:
        yield from _read_known(path, options)


def _read_pipe(path: Path, options: ReadOptions) -> Items:
    """The pages of a pipe, or of a file whose name does not say its kind."""
    source = printable(path)
    try:
        with open_pipe(path, kind_of(path, options)) as pipe:
            if pipe is None:
                yield InputFailure(
                    source, None, f"{'standard input' if source == STDIN else 'the file'} is empty"
                )
                return
            yield from _read_known(pipe, options)
    except READ_ERRORS as error:
        yield InputFailure(source, None, plain_problem(error))


def _read_known(path: Source, options: ReadOptions) -> Items:
    if kind_of(path, options) in READERS:
        yield from read_file(path, options)
    else:
        known = " ".join(READERS)
        problem = f"unknown kind of file; known are {known}, compressed too, and folders; name another file's kind with --format"
        yield InputFailure(printable(path), None, problem)
