"""Temporary folders that do not outlive their process for long: what a killed process leaves, a later one removes; files that are whole.

A folder holds a marker, which its process keeps locked. The system gives the lock free when the process ends, however that happens.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX: Final = "es-dedup-"
MARKER: Final = "es-dedup-temporary-folder"
_NEW: Final = "new"
_FILES: Final = "files"


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """A new folder inside the temporary folder of the system (``TMPDIR``), removed when the block ends.

    Folders that killed processes of the same user left there are removed first.

    Raises:
        OSError: the folder cannot be made.
    """
    folder, lock = _locked_folder(purpose)
    try:
        yield folder / _FILES
    finally:
        _remove(folder)
        os.close(lock)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A stream that becomes a file when the block ends without an error; one that is there is replaced, and its mode kept.

    Raises:
        OSError: it cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())  # some file systems notice only now that they are full
        if path.exists():
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def folder_of_process(purpose: str) -> Path:
    """As ``temporary_folder``, for as long as this process runs, also if it replaces itself by another program (``exec``).

    It is removed by a later process.
    """
    folder, lock = _locked_folder(purpose)
    os.set_inheritable(lock, True)  # noqa: FBT003 - takes no name
    return folder / _FILES


def _locked_folder(purpose: str) -> tuple[Path, int]:
    _remove_abandoned(gettempdir())
    folder = Path(mkdtemp(prefix=f"{PREFIX}{purpose}-"))
    (folder / _FILES).mkdir()
    new = folder / _NEW
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if _is_free(lock):
        new.rename(folder / MARKER)  # a marker is never there without its lock while the process runs
    return folder, lock


def _remove_abandoned(place: str) -> None:
    """Remove folders of this user in a place whose marker nobody has locked. Links are not followed."""
    with os.scandir(place) as entries:
        found = [each for each in entries if each.name.startswith(PREFIX)]
    for entry in found:
        with suppress(OSError, AttributeError):  # gone by now, without a marker, not readable; Windows
            if not entry.is_dir(follow_symlinks=False):
                continue
            if entry.stat(follow_symlinks=False).st_uid != os.geteuid():
                continue
            lock = os.open(Path(entry, MARKER), os.O_RDWR | os.O_NOFOLLOW)
            try:
                if _is_free(lock):
                    _remove(Path(entry))
            finally:
                os.close(lock)


def _is_free(file: int) -> bool:
    """Lock an open file for this process, if no other has; False also where the file system has no locks."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where folders of killed processes stay

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _remove(folder: Path) -> None:
    """The marker last, so that the rest can be removed later if this is interrupted."""
    shutil.rmtree(folder / _FILES, ignore_errors=True)
    if not (folder / _FILES).exists():
        shutil.rmtree(folder, ignore_errors=True)
