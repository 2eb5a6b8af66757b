"""Folders: every file of a known kind below them, one open at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup.readers.kinds import NOT_IN_FOLDERS, READERS, read_file_in_folder
from es_dedup.readers.port import InputFailure
from es_dedup.readers.streams import plain_problem, printable, suffix_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterable, Iterator

    from es_dedup.readers.locations import Source
    from es_dedup.readers.port import Items, ReadOptions

SUFFIXES: Final = tuple(suffix for suffix in READERS if suffix not in NOT_IN_FOLDERS)
"""Kinds that are read in a folder, compressed or not."""
_NO_SUFFIX: Final = "without a suffix"
_FOLDER_LINK: Final = "links to folders"
_SUFFIX_CHARS: Final = 12  # a longer one is part of a name, such as an address with a query


def read_folder(path: Path, options: ReadOptions) -> Items:
    """All files of known kinds below a folder, in the order of their paths; others are counted in the tally by suffix.

    Links to folders are not followed, but counted too.
    """
    given = False
    leave = os.path.realpath(options.leave) if options.leave is not None else None
    for entry in _walk(str(path), options.tally.ignored):
        if isinstance(entry, InputFailure):
            given = True
            yield entry
        elif leave is None or os.path.realpath(entry) != leave:
            given = True
            yield from read_file_in_folder(Path(entry), options)
    if not given:
        yield InputFailure(
            printable(path), None, f"no files of a known kind in this folder ({' '.join(SUFFIXES)})"
        )


def read_some(
    files: Iterable[Source], options: ReadOptions, kinds: Collection[str] = tuple(READERS)
) -> Items:
    """Files that were not named one by one: those of other kinds are counted in the tally by suffix."""
    leave = os.path.realpath(options.leave) if options.leave is not None else None
    for file in files:
        if options.format is None and suffix_of(file) not in kinds:
            options.tally.ignored[_kind_of(str(file))] += 1
        elif leave is None or os.path.realpath(str(file)) != leave:
            yield from read_file_in_folder(file, options)


def _walk(root: str, ignored: Counter[str]) -> Iterator[str | InputFailure]:
    """Paths of files, each folder's entries by name; a stack in place of recursion, for any depth."""
    stack = [iter([(root, True)])]
    while stack:
        path, is_folder = next(stack[-1], ("", False))
        if not path:
            stack.pop()
        elif not is_folder:
            yield path
        else:
            try:
                stack.append(iter(_entries(path, ignored)))
            except OSError as error:
                yield InputFailure(printable(path), None, plain_problem(error))


def _entries(folder: str, ignored: Counter[str]) -> list[tuple[str, bool]]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found.append((entry.path, True))
            elif entry.is_symlink() and Path(entry.path).is_dir():  # the entry's own is_dir raises for a loop
                ignored[_FOLDER_LINK] += 1
            elif suffix_of(Path(entry.name)) in SUFFIXES:
                found.append((entry.path, False))
            else:
                ignored[_kind_of(entry.name)] += 1
    return sorted(found)


def _kind_of(name: str) -> str:
    suffix = "".join(Path(name).suffixes[-1:]).lower()
    return printable(suffix) if 0 < len(suffix) <= _SUFFIX_CHARS else _NO_SUFFIX
