"""Files that results are written to: replaced only when complete, and never in place of a pipe or a device."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from es_dedup.readers.locations import Address
from es_dedup.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_STANDARD = (1, 2)


@contextmanager
def open_target(path: Path | Address) -> Iterator[IO[bytes]]:
    """A stream that becomes the file ``path`` when the block ends without an error.

    What goes to an address is kept in a temporary file until then. Links are followed and the mode of a file that is there is kept. What
    is there and is no regular file (a pipe, a device), or is standard output itself, is written straight into.

    Raises:
        MissingExtra: the package of a storage is not installed.
        OSError: the file cannot be written.
    """
    if isinstance(path, Address):
        with temporary_folder("target") as folder:
            file = folder / "part"
            with file.open("wb") as part_stream:
                yield part_stream
            path.store(file)
        return
    if path.exists() and not is_replaced(path):
        number = _standard(path)
        with path.open("wb") if number is None else os.fdopen(os.dup(number), "wb") as stream:
            yield stream
        return
    real = Path(os.path.realpath(path))
    part = real.with_name(f"{real.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())  # some file systems notice only now that they are full
        if real.exists():
            part.chmod(stat.S_IMODE(real.stat().st_mode))
        part.replace(real)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def is_replaced(path: Path) -> bool:
    """Whether ``open_target`` replaces a file: one is there, and it is not standard output."""
    return path.is_file() and _standard(path) is None


def _standard(path: Path) -> int | None:
    """The standard stream that a path names."""
    for number in _STANDARD:
        with suppress(OSError):
            if os.path.samestat(os.fstat(number), path.stat()):
                return number
    return None
