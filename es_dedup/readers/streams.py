"""Files as byte streams, unpacked on the way, and their lines with a bound on length."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final, cast

import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

PACKED: Final = (".gz", ".xz", ".zst", ".bz2")
STDIN: Final = "-"
READ_ERRORS: Final = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What reading or unpacking a damaged or vanished file may raise."""


def suffix_of(path: Path) -> str:
    """The suffix that tells the format, without that of the packing, in lower case: ``.jsonl`` for ``a.jsonl.gz``."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked by its suffix; ``-`` is standard input.

    Raises:
        OSError: the file cannot be opened.
    """
    if str(path) == STDIN:
        yield sys.stdin.buffer
        return
    with _OPENERS.get(path.suffix.lower(), _open_plain)(path) as stream:
        yield stream


def lines_of(stream: IO[bytes], max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines, from 1; None in place of a line longer than ``max_bytes``, which is skipped, never held."""
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        if len(line) <= max_bytes or line.endswith(b"\n"):
            yield number, line
            continue
        yield number, None
        while (rest := stream.readline(2**20)) and not rest.endswith(b"\n"):
            pass


def plain_problem(error: BaseException) -> str:
    """What went wrong while reading, in plain words."""
    if isinstance(error, EOFError):
        return "the file is cut short; what came before was read"
    if isinstance(error, (zlib.error, lzma.LZMAError, gzip.BadGzipFile)):
        return f"the packed data is damaged ({error}); what came before was read"
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    return f"cannot be read: {error}"


def _open_plain(path: Path) -> IO[bytes]:
    return path.open("rb")


def _open_zst(path: Path) -> IO[bytes]:
    class _Unpacked(io.RawIOBase):
        """Turns the library's own error into OSError, which readers expect."""

        def __init__(self) -> None:
            decompressor = zstandard.ZstdDecompressor()
            self._reader = decompressor.stream_reader(path.open("rb"), read_across_frames=True, closefd=True)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            try:
                return self._reader.readinto(buffer)
            except zstandard.ZstdError as error:
                raise OSError(f"the packed data is damaged ({error})") from error

        def close(self) -> None:
            self._reader.close()  # type: ignore[no-untyped-call]  # zstandard has no types here
            super().close()

    return cast("IO[bytes]", io.BufferedReader(_Unpacked(), 2**18))


_OPENERS: Final[Mapping[str, Callable[[Path], IO[bytes]]]] = {
    ".gz": lambda path: cast("IO[bytes]", gzip.open(path, "rb")),  # noqa: SIM115 - open_unpacked closes it
    ".xz": lambda path: cast("IO[bytes]", lzma.open(path, "rb")),  # noqa: SIM115 - open_unpacked closes it
    ".bz2": lambda path: cast("IO[bytes]", bz2.open(path, "rb")),  # noqa: SIM115 - open_unpacked closes it
    ".zst": _open_zst,
}
