"""Files that results are written to: replaced only when complete, and never in place of a pipe or a device."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
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
    try:
        there = path.stat()
    except FileNotFoundError:
        there = None
    if there is not None and (stream := _straight(path, there)) is not None:
        with stream:
            yield stream
        return
    real = Path(os.path.realpath(path))
    part = real.with_name(f"{real.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
        if there is not None:
            part.chmod(stat.S_IMODE(there.st_mode))
        part.replace(real)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _straight(path: Path, there: os.stat_result) -> IO[bytes] | None:
    for number in _STANDARD:
        try:
            same = os.path.samestat(os.fstat(number), there)
        except OSError:
            continue
        if same:
            return os.fdopen(os.dup(number), "wb")
    return None if stat.S_ISREG(there.st_mode) else path.open("wb")
