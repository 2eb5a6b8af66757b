"""About how many pages an input holds, without reading it: for showing how far a scan is."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup.readers.locations import Address, is_pattern, located, matches
from es_dedup.readers.pagefiles import PAGE_SUFFIXES
from es_dedup.readers.streams import READ_ERRORS, suffix_of, unpacked_beginning

if TYPE_CHECKING:
    from collections.abc import Iterable

LINE_SUFFIXES: Final = frozenset({".jsonl", ".ndjson", ".csv", ".tsv"})
SAMPLE_BYTES: Final = 2**18  # of the file, from which the length of a line is taken
MOST_SECONDS: Final = 1.0  # for counting the files of folders


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
