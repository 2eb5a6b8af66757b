"""One SQLite connection: opening, checks, locks, transactions, and engine errors turned into ours."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexLocked, IndexUnavailable, NotAnIndex
from es_dedup.index.closing import on_error
from es_dedup.index.embedded import tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from filelock import BaseFileLock


MEMORY: Final = ":memory:"
CACHE_KIB: Final = 64 * 1024
"""Holds the postings of some 90,000 pages, so that a warm candidate query reads no file."""
CHECKPOINT_PAGES: Final = 4096  # 32 MiB: a large batch is copied into the file once, not every few megabytes
KEPT_LOG_BYTES: Final = 64 * 1024 * 1024
# SQLite's own short locks (opening, recovery, checkpoint), whatever the user's patience
MIN_BUSY_SECONDS: Final = 5.0
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_PROBLEMS: Final = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only",
    sqlite3.SQLITE_CANTOPEN: "the file or its folder cannot be opened",
    sqlite3.SQLITE_IOERR: "reading or writing the file failed",
}
_IS_THERE: Final = "{} is there: remove it first, or name another file"


class Connection:
    """The file, one connection to it, and two locks.

    ``_guard`` is held for the length of one statement group, so that several threads may share the object.
    ``_writer`` and the lock file are held for a write session: they keep other writers out, never readers.
    """

    def __init__(
        self, path: str | Path, *, features: Mapping[str, Any] | None, lock_seconds: float, read_only: bool
    ) -> None:
        """Open or make the file; see ``EmbeddedIndex``."""
        self.name = str(path)
        self.read_only = read_only
        self._lock_seconds = lock_seconds
        self._guard = threading.RLock()
        self._writer = threading.RLock()
        self._file_lock: BaseFileLock | None = None
        if not self.read_only and self.name != MEMORY:
            from filelock import FileLock  # noqa: PLC0415 - readers take no lock, and its import takes time

            # Not thread-local: ``_writer`` sees to it that one thread holds it, and another one may let go of the object.
            self._file_lock = FileLock(f"{Path(path).absolute()}.lock", thread_local=False)
        if self.name != MEMORY:
            _look_at_file(Path(path), read_only=read_only)
        with self._translated():
            self._sqlite = self._open()
        with on_error(self._sqlite.close), self._translated():
            self._prepare(features)

    def _open(self) -> sqlite3.Connection:
        target = self.name
        if self.name != MEMORY:
            file = Path(self.name).absolute()
            target = file.as_uri() + ("?mode=ro" if self.read_only else "?mode=rwc")
            if self.read_only and not os.access(file.parent, os.W_OK) and not Path(f"{file}-wal").exists():
                target += "&immutable=1"  # else SQLite wants to make its shared-memory file beside the index
        return sqlite3.connect(
            target,
            uri=True,
            timeout=max(self._lock_seconds, MIN_BUSY_SECONDS),
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )

    def _prepare(self, features: Mapping[str, Any] | None) -> None:
        connection = self._sqlite
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
        if tables.is_new(connection, self.name):
            if self.read_only:
                raise NotAnIndex(self.name, "an empty file")
            with self.writing():  # two processes may open the same new file at once
                if tables.is_new(connection, self.name):
                    tables.create(connection, features or {})
                connection.execute("PRAGMA journal_mode = WAL")
        self.features = tables.check(connection, self.name, features)
        if not self.read_only:
            # In WAL mode NORMAL writes the log on every commit and waits for the disk at checkpoints only:
            # the death of the process loses nothing that was committed. A power cut may lose the last
            # commits, never consistency.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            connection.execute(f"PRAGMA journal_size_limit = {KEPT_LOG_BYTES}")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """All statements inside see one state of the file; of nested blocks that of the outermost one."""
        with self._guard, self._translated():
            connection = self._sqlite
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:  # after an error, too: an index in memory stores postings when it is first read
                connection.commit()

    @contextmanager
    def writing(self, *, lock_seconds: float | None = None) -> Iterator[None]:
        """Keep other writers out, here and in other processes; may be nested within one thread.

        Args:
            lock_seconds: how long to wait; None: what the object was made with.

        Raises:
            IndexLocked: another writer did not finish in time.
            IndexUnavailable: opened for reading only, or the lock file cannot be written.
        """
        if self.read_only:
            raise IndexUnavailable(self.name, "it was opened for reading only")
        patience = self._lock_seconds if lock_seconds is None else lock_seconds
        if not self._writer.acquire(timeout=patience):
            raise IndexLocked(self.name, patience)
        try:
            with self._locked_file(patience):
                yield
        finally:
            self._writer.release()

    def _locked_file(self, patience: float) -> AbstractContextManager[object]:
        """Holds the lock file, which counts how often it was taken, until the end of the block."""
        if self._file_lock is None:
            return nullcontext()
        try:
            return self._file_lock.acquire(timeout=patience, poll_interval=0.02)
        except TimeoutError as error:
            raise IndexLocked(self.name, patience) from error
        except OSError as error:
            raise IndexUnavailable(
                self.name, f"the lock file cannot be written ({error.strerror})"
            ) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Keep all that is written inside, or nothing when an error leaves the block.

        Raises:
            IndexLocked: another writer did not finish in time.
            IndexUnavailable: storage failed.
        """
        with self.writing(), self._guard, self._translated():
            self._sqlite.execute("BEGIN IMMEDIATE")
            with self._sqlite as connection:
                yield connection

    @contextmanager
    def copy_to(self, place: str | Path) -> Iterator[Path]:
        """Write all that is committed to a new file; see ``EmbeddedIndex.copy_to``."""
        whole = Path(os.path.realpath(place))
        if not whole.parent.is_dir():
            raise IndexUnavailable(str(place), f"the folder {whole.parent} does not exist")
        _must_be_free(whole)
        part = whole.with_name(f"{whole.name}.{os.getpid()}.part")
        try:
            part.unlink(missing_ok=True)  # left by a killed process of the same number, as in a container
            with self._translated(str(part)):
                with self._guard:
                    # as bytes, since a name may be no UTF-8
                    self._sqlite.execute("VACUUM INTO CAST(? AS TEXT)", (os.fsencode(part),))
                with closing(sqlite3.connect(part)) as copy:
                    copy.execute("PRAGMA journal_mode = WAL")
            with part.open("rb+") as stream:
                os.fsync(stream.fileno())
            yield part
            _must_be_free(whole)
            part.replace(whole)
        except OSError as error:
            raise IndexUnavailable(str(place), error.strerror or str(error)) from error
        finally:
            part.unlink(missing_ok=True)

    def rewrite(self) -> bool:
        """Write the file anew without deleted data, and empty its log; False where a reader has kept the log in use.

        Raises:
            IndexLocked: another writer did not finish in time.
            IndexUnavailable: storage failed, most often as there is no room for a copy of the file.
        """
        if self.name == MEMORY:
            return True
        # another connection, whose temporary copy is a file, not memory
        with self.writing(), self._guard, self._translated(), closing(self._open()) as other:
            other.execute("VACUUM")
            (busy, _, _) = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        with self._guard:
            self._sqlite.close()

    @contextmanager
    def _translated(self, written: str = "") -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError as error:
            if "closed" not in str(error):
                raise
            raise IndexUnavailable(self.name, "it was closed before this call") from error
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            # values that no write of ours has stored
            raise NotAnIndex(self.name, f"a stored value is damaged: {error}") from error
        except sqlite3.Error as error:
            # without the extended part
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code in _DAMAGED:
                raise NotAnIndex(self.name, str(error)) from error
            if code in _BUSY:
                raise IndexLocked(self.name, self._lock_seconds) from error
            raise IndexUnavailable(written or self.name, _PROBLEMS.get(code, str(error))) from error


def _look_at_file(file: Path, *, read_only: bool) -> None:
    """Refuse with a clear reason what SQLite would refuse with a vague one, or would overwrite.

    Raises:
        NotAnIndex: a folder, another kind of file, missing, or not readable.
        IndexUnavailable: exists and must not be written.
    """
    name = str(file)
    if file.is_dir():
        raise NotAnIndex(name, "a folder")
    if not file.parent.is_dir():
        raise NotAnIndex(name, f"the folder {file.parent} does not exist")
    try:
        with file.open("rb") as stream:
            head = stream.read(len(tables.MAGIC))
    except FileNotFoundError as error:
        if read_only:
            raise NotAnIndex(name, "there is no such file") from error
        if not os.access(file.parent, os.W_OK):
            raise IndexUnavailable(name, f"the folder {file.parent} is read-only") from error
        return
    except OSError as error:
        raise NotAnIndex(name, error.strerror or str(error)) from error
    if head and head != tables.MAGIC:
        raise NotAnIndex(name, "not an SQLite file")
    if not read_only and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        raise IndexUnavailable(name, "the file or its folder is read-only: open it for reading only")


def _must_be_free(file: Path) -> None:
    """Refuse to write a file where one exists, or where the log of an earlier one exists, which SQLite would apply to the new file.

    Raises:
        IndexUnavailable: there is one.
    """
    for each in (file, *(Path(f"{file}-{log}") for log in ("wal", "shm", "journal"))):
        if each.exists():
            raise IndexUnavailable(str(file), _IS_THERE.format(each.name))
