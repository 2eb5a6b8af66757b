"""Files as byte streams, decompressed as they are read, and their lines with a bound on length."""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import io
import lzma
import re
import shutil
import sys
import zlib
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from itertools import chain
from pathlib import Path, PurePath
from tempfile import NamedTemporaryFile, gettempdir
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, cast
from zipfile import BadZipFile

import zstandard

from es_dedup.readers.locations import STDIN, OtherFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from es_dedup.readers.locations import Named, Source

READ_ERRORS: Final = (
    *(OSError, EOFError, UnicodeError, BadZipFile),
    *(zlib.error, lzma.LZMAError, zstandard.ZstdError),
)
"""What reading, decompressing or recoding a damaged or vanished file may raise."""
_PIECE: Final = 2**18
_MAGIC_BYTES: Final = 10
_PACKED_HEAD: Final = 2**20  # bzip2 is unpacked by blocks of up to 900 kB
_LINES: Final = rb"(\xef\xbb\xbf)?\s*\{"
BEGINNINGS: Final = {
    ".warc": rb"WARC/",
    ".wet": rb"WARC/",
    ".wacz": rb"PK\x03\x04",
    ".parquet": rb"PAR1",
    ".jsonl": _LINES,
    ".ndjson": _LINES,
    ".json": rb"(\xef\xbb\xbf)?\s*[\[{]",
}
"""How files of some kinds begin, decompressed; the first that fits is the kind of a file whose name does not say it."""
_READ_TWICE: Final = frozenset({".warc", ".wet", ".wacz", ".parquet", ".json"})
BYTE_ORDER_MARKS: Final = (  # the four-byte marks first: UTF-32-LE starts with the mark of UTF-16-LE
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
"""Byte order marks, each with an encoding that takes it off."""
_PACKED_PIECE: Final = 2**10  # of Zstandard at most 32 MB: 4 bytes may stand for 128 kB; of gzip 1 MB
_MOST_BEGINNING: Final = 2**26


class _Pieces(io.RawIOBase):
    """A raw stream over pieces of bytes, none of which is empty."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._ready = self._ready or memoryview(next(self._pieces, b""))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def buffered(pieces: Iterable[bytes]) -> IO[bytes]:
    """A stream over pieces of bytes, none of which is empty."""
    return cast("IO[bytes]", io.BufferedReader(_Pieces(pieces), _PIECE))


def _unpacked(stream: IO[bytes], decompressor: Callable[[], Any]) -> Iterator[bytes]:
    """What a compressed stream holds: gzip members, Zstandard frames and the like, one after the other; zeros between them count for nothing.

    Raises:
        EOFError: the last one is cut short.
    """
    member: Any = None
    for piece in iter(partial(stream.read, _PACKED_PIECE), b""):
        rest = piece
        while rest := rest.lstrip(b"\0") if member is None or member.eof else rest:
            if member is None or member.eof:
                member = decompressor()
            # of bzip2 and XZ, a few bytes may stand for gigabytes
            limit = (_PIECE,) if hasattr(member, "needs_input") else ()
            while content := member.decompress(rest, *limit):
                yield content
                if member.eof or not limit:
                    break
                rest = b""
            rest = member.unused_data if member.eof else b""
    if member is not None and not member.eof:
        raise EOFError


class _Packing(NamedTuple):
    """A kind of compression.

    Attributes:
        begins: pattern of its first bytes.
        decompressor: makes what unpacks a member.
        packed: the stream that packs what is written to a stream.
    """

    begins: bytes
    decompressor: Callable[[], Any]
    packed: Callable[[IO[bytes]], Any]


def _gzip_writer(stream: IO[bytes]) -> IO[bytes]:
    """Packs what is written to it, without the time, so that equal content gives equal files."""
    return cast("IO[bytes]", gzip.GzipFile("", "wb", fileobj=stream, mtime=0))


def _zstd_writer(stream: IO[bytes]) -> Any:
    return zstandard.ZstdCompressor().stream_writer(stream, closefd=False)


_PACKINGS: Final[Mapping[str, _Packing]] = {
    ".gz": _Packing(rb"\x1f\x8b\x08", lambda: zlib.decompressobj(31), _gzip_writer),
    ".xz": _Packing(rb"\xfd7zXZ\0", lzma.LZMADecompressor, partial(lzma.open, mode="wb")),
    ".zst": _Packing(
        rb"\x28\xb5\x2f\xfd", lambda: zstandard.ZstdDecompressor().decompressobj(), _zstd_writer
    ),
    ".bz2": _Packing(rb"BZh[1-9]1AY&SY", bz2.BZ2Decompressor, partial(bz2.open, mode="wb")),
}
PACKED: Final = tuple(_PACKINGS)
"""Suffixes of compressed files."""


_QUERY: Final = re.compile(r"(\.(?:[sx]?html?|php|aspx?|jsp))[?@].*", re.IGNORECASE | re.DOTALL)
"""The query behind the suffix of a page's address, in the name that wget saves it under: behind a question mark, on Windows behind ``@``."""


def suffix_of(path: Source) -> str:
    """The suffix of the format, without that of the compression or the query of an address, in lower case: ``.jsonl`` for ``a.jsonl.gz``."""
    suffixes = [suffix.lower() for suffix in PurePath(_QUERY.sub(r"\1", path.name)).suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


@contextmanager
def open_unpacked(path: Source) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed where its first bytes or its suffix ask for it.

    Raises:
        OSError: the file cannot be opened, or is compressed twice.
        EOFError, zlib.error, lzma.LZMAError: nothing of it can be decompressed.
    """
    with ExitStack() as stack:
        head, stream = _with_head(stack.enter_context(path.open("rb")), _MAGIC_BYTES)
        packing = _packing(head, path)
        if packing and head:
            stream = buffered(_unpacked(stream, _PACKINGS[packing].decompressor))
            refuse_packed(stream.peek(_MAGIC_BYTES))  # type: ignore[attr-defined]  # it is a BufferedReader
        yield stream


def is_pipe(path: str | Path) -> bool:
    """Whether a name is that of standard input or of another pipe, which is read once."""
    return str(path) == STDIN or Path(path).is_fifo()


@contextmanager
def open_pipe(path: Path, suffix: str) -> Iterator[OtherFile | None]:
    """The content of a pipe, standard input, or a file without a suffix; None where there is nothing.

    Args:
        path: is opened once.
        suffix: of its kind; empty: by the first bytes. Where these say nothing, a pipe holds JSON lines, and a file is of no kind.

    Raises:
        OSError: it cannot be read.
    """
    with ExitStack() as stack:
        raw = sys.stdin.buffer if str(path) == STDIN else stack.enter_context(path.open("rb"))
        head, stream = _with_head(cast("IO[bytes]", raw), _MAGIC_BYTES)
        if not head:
            yield None
            return
        if _packing(head):
            head, stream = _with_head(stream, _PACKED_HEAD)
            head = unpacked_beginning(head)
            refuse_packed(head)
        default = ".jsonl" if is_pipe(path) else ""
        suffix = suffix or next((name for name, sign in BEGINNINGS.items() if re.match(sign, head)), default)
        open_content: Callable[[str], Any] = lambda _: stream  # noqa: E731 - one of two
        if suffix in _READ_TWICE:
            stored = stack.enter_context(NamedTemporaryFile())
            shutil.copyfileobj(stream, stored)
            stored.flush()
            open_content = Path(stored.name).open  # who asks for it closes it
        yield OtherFile(str(path), f"pipe{suffix}", open_content)


def unpacked_beginning(data: bytes) -> bytes:
    """What the beginning of a compressed file holds, or the data itself where it is not compressed.

    Raises:
        OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError: it is damaged.
    """
    packing, beginning = _packing(data), bytearray()
    if not packing:
        return data
    with suppress(EOFError):  # it is only the beginning
        for piece in _unpacked(io.BytesIO(data), _PACKINGS[packing].decompressor):
            beginning += piece
            if len(beginning) >= _MOST_BEGINNING:
                break
    return bytes(beginning)


def refuse_packed(unpacked: bytes) -> None:
    """Raise ``OSError`` where the beginning of what a compressed file holds is compressed, too."""
    if _packing(unpacked):
        raise OSError("it is compressed twice: unpack it once, then read that")


def packing_of(path: Source) -> str:
    """Suffix of the compression of a file (``.gz``), by its first bytes or its name; empty where there is none.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        return _packing(stream.read(_MAGIC_BYTES), path)


def packed(stream: IO[bytes], packing: str) -> AbstractContextManager[IO[bytes]]:
    """A stream that compresses what is written to it; the given one stays open, and is used itself for an unknown compression."""
    writer: AbstractContextManager[IO[bytes]]
    writer = _PACKINGS[packing].packed(stream) if packing in _PACKINGS else nullcontext(stream)
    return writer


def _packing(head: bytes, path: Source | None = None) -> str:
    by_suffix = PurePath(_QUERY.sub(r"\1", path.name)).suffix.lower() if path is not None else ""
    by_bytes = (suffix for suffix, packing in _PACKINGS.items() if re.match(packing.begins, head))
    return next(by_bytes, by_suffix if by_suffix in PACKED else "")


@contextmanager
def open_text(path: Source, encoding: str) -> Iterator[tuple[IO[bytes], str]]:
    """The bytes of a text file in an encoding where byte 10 ends a line, and the name of that encoding.

    A byte order mark comes before ``encoding`` and is taken off; UTF-16 and UTF-32 become UTF-8.

    Raises:
        OSError: the file cannot be opened.
    """
    with open_unpacked(path) as unpacked:
        head, stream = _with_head(unpacked, len(codecs.BOM_UTF32))
        marked = next((name for mark, name in BYTE_ORDER_MARKS if head.startswith(mark)), encoding)
        name = codecs.lookup(marked).name
        if name.startswith(("utf-16", "utf-32")):
            yield buffered(_recoded(stream, marked)), "utf-8"
            return
        if head.startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        yield stream, "utf-8" if name == "utf-8-sig" else encoding


def lines_of(stream: IO[bytes], max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines, from 1; None in place of a line longer than ``max_bytes``, which is skipped and never in memory."""
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        if len(line) <= max_bytes or line.endswith(b"\n"):
            yield number, line
            continue
        yield number, None
        while (rest := stream.readline(2**20)) and not rest.endswith(b"\n"):
            pass


def plain_problem(error: BaseException, outcome: str = "what came before was read") -> str:
    """What went wrong while reading, in plain words; ``outcome`` says what became of the part before the damage."""
    if isinstance(error, UnicodeDecodeError):
        return f"not {error.encoding} text; the rest of the file was left out"
    if isinstance(error, EOFError):
        return f"the file is cut short; {outcome}"
    if isinstance(error, (zlib.error, lzma.LZMAError, zstandard.ZstdError)):
        return f"the packed data is damaged ({error}); {outcome}"
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:  # which no read gives
            return f"no space is left for temporary files in {gettempdir()}: free some, or set TMPDIR to another folder"
        return f"cannot be read: {error.strerror or error}"
    return f"cannot be read: {error}"


def printable(path: Named | Source | str) -> str:
    """A path as it may be shown: bytes of its name that are no text become escapes."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _with_head(stream: IO[bytes], size: int) -> tuple[bytes, IO[bytes]]:
    """The first bytes of a stream, and the stream with them still to come."""
    head = stream.read(size)
    # read1, which buffered streams have: lines of a pipe are handed on as they come
    rest = iter(partial(stream.read1, _PIECE), b"")  # type: ignore[attr-defined]
    return head, buffered(chain(filter(None, [head]), rest))


def _recoded(stream: IO[bytes], encoding: str) -> Iterator[bytes]:
    """UTF-16 or UTF-32 as UTF-8."""
    pieces = iter(partial(stream.read, _PIECE), b"")
    try:
        for text in codecs.iterdecode(pieces, encoding):
            yield text.encode("utf-8", "surrogatepass")
    except UnicodeError as error:  # also for UTF-16 without a byte order mark
        raise UnicodeDecodeError(encoding, b"", 0, 0, str(error)) from error
