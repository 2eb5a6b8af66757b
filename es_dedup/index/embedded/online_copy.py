"""A copy of an index file, made while others read and write it; it replaces nothing but an earlier copy that nobody has changed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup.errors import IndexLocked, IndexUnavailable
from es_dedup.index.embedded import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.index.embedded.connection import Connection

_LOG: Final = ("-wal", "-shm", "-journal")
"""Ends of the names of files that SQLite has beside one that is open."""
_IS_IN_USE: Final = "another process has it open: repeat the command when that has ended"
_IS_NO_COPY: Final = "it is there and is no earlier, unchanged copy of this index: name another file"


@contextmanager
def online_copy(source: Connection, place: str | Path) -> Iterator[Path]:
    """A copy of a file, which takes its place when the block ends without an error; see ``EmbeddedIndex.copy_to``."""
    whole = Path(os.path.realpath(place))
    part = whole.with_name(f"{whole.name}.{os.getpid()}.part")
    if not whole.parent.is_dir():
        raise IndexUnavailable(str(place), f"the folder {whole.parent} does not exist")
    with ExitStack() as stack:
        _take_lock(whole, stack)
        _check(whole, source)
        try:
            source.copy_to(part)
            yield part
            with part.open("rb+") as stream:
                os.fsync(stream.fileno())
            _check(whole, source)
            part.replace(whole)
        except OSError as error:
            raise IndexUnavailable(str(place), error.strerror or str(error)) from error
        finally:
            for end in ("", *_LOG):
                Path(f"{part}{end}").unlink(missing_ok=True)


def _take_lock(file: Path, stack: ExitStack) -> None:
    """Keep writers of an index out that is there."""
    from filelock import FileLock  # noqa: PLC0415 - few commands make copies

    lock = Path(f"{file}.lock")
    try:
        if lock.exists():
            stack.enter_context(FileLock(lock, timeout=0))
    except TimeoutError as error:
        raise IndexLocked(str(file), 0) from error


def _check(file: Path, source: Connection) -> None:
    """Refuse to replace what is not an earlier, unchanged copy of the index, or is in use.

    Raises:
        IndexUnavailable: it must not be replaced.
    """
    if file.exists() and not file.is_file():  # a device would be replaced, not written to
        raise IndexUnavailable(str(file), _IS_NO_COPY)
    if not file.exists() or not file.stat().st_size:
        if _is_open(file) or (file.exists() and Path(f"{file}.lock").exists()):
            raise IndexUnavailable(str(file), _IS_IN_USE)
        return
    way = "mode=ro" if _is_open(file) else "immutable=1"  # which makes no file beside it
    with source.reading() as own:
        try:
            with closing(sqlite3.connect(f"{file.as_uri()}?{way}", uri=True)) as copy:
                earlier = schema.is_copy_of(copy, own)
        except sqlite3.Error:
            earlier = False
    if not earlier:
        raise IndexUnavailable(str(file), _IS_NO_COPY)
    if _is_open(file):
        # A reader or a killed process leaves these files, too: the last connection that is closed removes them.
        with suppress(sqlite3.Error), closing(sqlite3.connect(file, timeout=0)) as copy:
            copy.execute("SELECT count(*) FROM meta").fetchone()
        if _is_open(file):
            raise IndexUnavailable(str(file), _IS_IN_USE)


def _is_open(file: Path) -> bool:
    return any(Path(f"{file}{end}").exists() for end in _LOG)
