"""Input → pages: folders, page files, JSON lines, tables, Parquet, WARC, standard input.

``read_pages`` is all a caller needs; each item is a ``Page``, or an ``InputFailure`` that names file and line.

Traps:
- a reader never raises for bad input, only for a missing optional package (``MissingExtra``);
- nothing is read ahead: a file is open while its pages are taken, so pages should not be kept in a list;
- ids must be unique over all the input of one call; a repeated id is dropped when the page is identical, and is a
  failure when it is not;
- ids of page files are relative to a root, see ``Roots``. Who reads into an index more than once gives the roots that it has
  recorded, and records those of the call: ``pages = read_pages(paths, ReadOptions(roots=dedup.roots()))``, then
  ``dedup.record_roots(pages.roots)``.
"""

from __future__ import annotations

import stat
from dataclasses import replace
from typing import TYPE_CHECKING

from es_dedup.readers.folders import read_folder
from es_dedup.readers.jsonl import read_jsonl
from es_dedup.readers.kinds import READERS, is_page_file, read_file
from es_dedup.readers.port import Fields, InputFailure, ReadOptions, Tally
from es_dedup.readers.records import fields_in_no_record
from es_dedup.readers.roots import Root, Roots, path_list
from es_dedup.readers.streams import STDIN, plain_problem, printable, suffix_of
from es_dedup.readers.unique import UniquePages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from es_dedup.readers.port import Items

__all__ = ["Fields", "InputFailure", "ReadOptions", "Root", "Roots", "UniquePages", "read_pages"]


def read_pages(paths: Iterable[str | Path], options: ReadOptions | None = None) -> UniquePages:
    """Pages and failures of all the input, in the order named.

    Args:
        paths: folders, files, ``-`` for JSON lines on standard input.
        options: field names, encoding, limits.

    Returns:
        A lazy iterator; its ``repeats`` counts identical pages that were named twice, ``ignored`` files of folders that are of no
        known kind, and ``roots`` has the roots that the ids are relative to.

    Raises:
        TypeError: ``paths`` is not a list of paths, or ``options`` no ``ReadOptions``.
        ValueError: ``options.root`` or ``options.namespace`` cannot be used, see ``Roots.covering``.
    """
    named = path_list(paths)
    options = ReadOptions() if options is None else options
    if not isinstance(options, ReadOptions):
        raise TypeError(f"options must be a ReadOptions object, got a {type(options).__name__}")
    rooted = [path for path in named if str(path) != STDIN and (is_page_file(path) or path.is_dir())]
    roots = options.roots.covering(rooted, root=options.root, namespace=options.namespace)
    options = replace(options, roots=roots, tally=Tally())
    return UniquePages(_sources(named, options), roots, options.tally)


def _sources(paths: list[Path], options: ReadOptions) -> Iterator[Items]:
    for path in paths:
        yield _read(path, options)
    yield fields_in_no_record(options)


def _read(path: Path, options: ReadOptions) -> Items:
    source = printable(path)
    if str(path) == STDIN:
        given = False
        for item in read_jsonl(path, options):
            given = True
            yield item
        if not given:
            yield InputFailure(source, None, "standard input is empty")
        return
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        yield InputFailure(source, None, plain_problem(error))
        return
    if stat.S_ISDIR(mode):
        yield from read_folder(path, options)
    elif stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        yield InputFailure(source, None, "no regular file")
    elif suffix_of(path) not in READERS:
        known = " ".join(READERS)
        yield InputFailure(
            source, None, f"unknown kind of file; known are {known}, compressed too, and folders"
        )
    else:
        yield from read_file(path, options)
