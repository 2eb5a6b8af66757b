"""WARC archives: pages of answers, of resources, and of texts converted from pages (WET).

Records are read one by one, each of its own gzip member where the archive is packed so. Damage costs the records that it hits and is
named with its place; reading goes on where the next record seems to begin.
"""

from __future__ import annotations

import codecs
import os
import re
import zlib
from contextlib import contextmanager, suppress
from operator import attrgetter
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from zipfile import BadZipFile, ZipFile

import zstandard

from es_dedup.errors import MissingExtra, needs_extra
from es_dedup.model import Page, fitted_id, id_problem
from es_dedup.readers.pagefiles import binary_kind
from es_dedup.readers.port import NO_PAGE, Problem, ReadOptions, Record
from es_dedup.readers.streams import (
    READ_ERRORS,
    buffered,
    open_unpacked,
    packing_of,
    plain_problem,
    refuse_packed,
)
from es_dedup.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from es_dedup.readers.locations import Source

    _Headers: TypeAlias = list[tuple[str, str]]
    """Names in lower case and values, in order."""

TEXT_TYPE: Final = "text/plain"
PAGE_TYPES: Final = frozenset({"text/html", "application/xhtml+xml", TEXT_TYPE})
UNCLEAR_TYPES: Final = frozenset(
    {"application/octet-stream", "binary/octet-stream", "application/unknown", "unknown/unknown", "*/*"}
    | {"application/xml", "text/xml", ""}
)
"""Types of records that are pages where their body begins as HTML does; empty: a record without a type."""
RECORD_TYPES: Final = frozenset({"response", "resource", "conversion"})
"""Types of records that may hold a page."""
_PAGE_SCHEMES: Final = frozenset({"http", "https", "ftp", "ftps", "file"})
"""Of records without an answer of a server; crawlers write logs and texts of their own under others."""
_TOO_DEEP: Final = "not read: it lies in a WACZ file that lies in one itself"
_IN_WACZ: Final = re.compile(r"archive/.*\.warc(\.gz)?|.*\.wacz", re.DOTALL)
_SCAN_BYTES: Final = 2**20
_HEAD_BYTES: Final = 4096
_HEADER_BYTES: Final = 2**16
_GZIP_MARK: Final = b"\x1f\x8b\x08"
_VERSION: Final = b"WARC/1."
_PACKED_PIECE: Final = 2**14  # most members are small, and what is read beyond one is read again
_LENGTH: Final = re.compile(r"\d{1,18}", re.ASCII)
_STATUS: Final = re.compile(rb"HTTP/\S+ +(\d{1,3})\b")
_BLANK_LINE: Final = re.compile(rb"\r?\n\r?\n")
_FOLD: Final = re.compile(rb"\r?\n[ \t]+")
_CHUNK_HEAD: Final = re.compile(rb"([0-9a-fA-F]+)[^\r\n]*\r?\n")
_TYPE: Final = re.compile(r"[\w.+*-]{1,60}/[\w.+*-]{1,80}", re.ASCII)
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:+-]+)", re.ASCII | re.IGNORECASE)
_MARKUP: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:(?><!--.*?-->)\s*)*+<(?:!doctype\s+html|html|head|body|title|meta|link|script|style|iframe"
    rb"|h1|div|font|table|center|a|b|br|p)[\s>/]",
    re.DOTALL | re.IGNORECASE,
)


class _NoPage(Exception):
    """A record that holds no page, with the reason."""


class _BadBody(Exception):
    """A body that is damaged, or no page although its record says so."""


class PlacedRecord(NamedTuple):
    """A record of an archive.

    Attributes:
        start: where the record begins.
        end: where it ends; ``start`` if it shares a gzip member with others, so that it cannot be copied by itself.
        id: its id.
        url: the URL that it is about.
        concurrent_to: the id that it names by ``WARC-Concurrent-To``.
        may_be_page: whether records of its type may hold a page.
    """

    start: int
    end: int
    id: str
    url: str
    concurrent_to: str
    may_be_page: bool


def warc_records(source: Source, options: ReadOptions) -> Iterator[Record]:
    """The records of ``placed_records`` of a WARC or WET file, packed by record or not.

    Raises:
        MissingExtra: without the package brotli, for a body in ``br``.
    """
    with open_by_record(source) as (stream, damage):
        yield from placed_records(stream, damage, options)


def wacz_records(source: Source, options: ReadOptions) -> Iterator[Record]:
    """The records of all archives in a WACZ file, numbered through, and of the WACZ files in it; of what is damaged a problem.

    A WACZ file is a zip file of archives; a large crawl may be packed as one of WACZ files. Each is unpacked into a temporary file: records
    are read back and forth, which inside a zip file takes long.

    Raises:
        OSError, BadZipFile: the file cannot be opened, or is no whole zip file that can be read.
        MissingExtra: as ``warc_records``.
    """
    number = 0
    with source.open("rb") as file, temporary_folder("wacz") as folder:
        refuse_packed(file.read(len(_VERSION)))
        for name, records in _archives(file, folder, options):
            before = number
            for raw, line, value in records:
                number = before + line if line else number
                said = Problem(f"{name}: {value}") if isinstance(value, Problem) and value else value
                yield Record(raw, line and number, said)


def _archives(
    file: IO[bytes], folder: Path, options: ReadOptions, inside: str = ""
) -> Iterator[tuple[str, Iterable[Record]]]:
    """The archives of a WACZ file, and of those in it, by name with their records; each is unpacked into the folder until the next one.

    Raises:
        BadZipFile: see ``wacz_records``.
    """
    try:
        packed = ZipFile(file)
    except NotImplementedError as error:  # of a later version of the format
        raise BadZipFile(str(error)) from error
    entries = packed.infolist()
    if entries and min(each.header_offset for each in entries) > 0:
        raise BadZipFile("its beginning is no part of it; is it cut short behind a zip file that it holds?")
    for each in sorted(entries, key=attrgetter("filename")):
        if not _IN_WACZ.fullmatch(each.filename):
            continue
        name, nested = inside + each.filename, each.filename.endswith(".wacz")
        if nested and inside:  # a file may hold itself
            yield name, [Record(None, None, Problem(_TOO_DEEP))]
            continue
        unpacked = folder / ("nested" if nested else "archive")
        try:
            with unpacked.open("wb") as copy, packed.open(each) as archive:
                copyfileobj(archive, copy)
            if nested:
                with unpacked.open("rb") as several:
                    yield from _archives(several, folder, options, f"{name}: ")
        # RuntimeError: it is encrypted, or packed by an unknown method.
        except (RuntimeError, *READ_ERRORS) as error:
            yield name, [Record(None, None, Problem(plain_problem(error)))]
        if not nested:
            yield name, warc_records(unpacked, options)


def placed_records(stream: IO[bytes], damage: str, options: ReadOptions) -> Iterator[Record]:
    """All whole records of an archive, each with a ``PlacedRecord``, numbered by those that may hold a page.

    Pages are responses with status 2xx, resources and conversions of type HTML or plain text. Records that hold no page are counted with
    the reason in ``options.tally``. A problem without a place is a damaged stretch or record.

    Args:
        stream: the archive, and with ``damage`` what is wrong with it, as ``open_by_record`` gives them.
        options: how pages are read.
    """
    number = 0
    try:
        for found in _archived(stream, options.max_record_bytes):
            if isinstance(found, str):
                number += 1
                yield Record(None, number, Problem(found))
                continue
            headers, block, start, end = found
            names = ("warc-record-id", "warc-target-uri", "warc-concurrent-to")
            page_id, url, concurrent_to = (headers.get(name, "").strip("<>") for name in names)
            may_be_page = headers.get("warc-type", "").lower() in RECORD_TYPES
            number += may_be_page
            placed = PlacedRecord(start, end, page_id, url, concurrent_to, may_be_page)
            yield Record(placed, number, _page(headers, block, url, options))
    except OSError as error:
        yield Record(None, number or None, Problem(plain_problem(error)))
    if damage:
        yield Record(None, None, Problem(damage))


@contextmanager
def open_by_record(source: Source) -> Iterator[tuple[IO[bytes], str]]:
    """The file itself where its records can be read one by one, plain or each compressed by gzip; else an unpacked temporary file.

    The second value says what is wrong with a file that could be unpacked only in part; else it is empty.
    """
    with source.open("rb") as stream:
        head = stream.read(len(_VERSION))
        by_record = not head or head.startswith((_GZIP_MARK, _VERSION)) or not packing_of(source)
        stream.seek(0)
        if head.startswith(_GZIP_MARK):
            content: Any = _member(stream)
            with suppress(EOFError, ValueError, zlib.error):  # damaged: reading goes on at the next record
                refuse_packed(content.peek())
                _read_record(content, 0)
                by_record = not content.peek()
            stream.seek(0)
        if by_record:
            yield stream, ""
            return
    with open_unpacked(source) as unpacked, TemporaryFile() as stream:
        damage, piece = "", b"-"
        while piece:
            try:
                piece = unpacked.read1(_SCAN_BYTES)  # type: ignore[attr-defined]  # read() drops what comes before damage
            except READ_ERRORS as error:
                piece, damage = b"", plain_problem(error)  # what came before can be read
            stream.write(piece)
        stream.seek(0)
        yield stream, damage


def _archived(stream: IO[bytes], most: int) -> Iterator[tuple[Mapping[str, str], bytes, int, int] | str]:
    """Headers, block, start and end of each record, see ``_read_record`` and ``PlacedRecord``; words for damage that was passed over."""
    start: int | None = 0
    while start is not None:
        stream.seek(start)
        mark = stream.read(len(_GZIP_MARK))
        stream.seek(start)
        if not mark:
            return
        content: Any = _member(stream) if mark == _GZIP_MARK else stream
        try:
            headers, block = _read_record(content, most)
            alone = content is stream or not content.peek()
            yield headers, block, start, stream.tell() if alone else start
            while not alone and content.peek():
                yield *_read_record(content, most), start, start
            start = stream.tell()
        except (EOFError, ValueError, zlib.error) as error:
            if isinstance(error, EOFError) and not stream.read(1):
                yield f"the file is cut short after byte {start:,}; what came before was read"
                return
            damaged, start = start, _next_record(stream, start + 1)
            after = "nothing readable follows" if start is None else f"reading went on at byte {start:,}"
            yield f"damaged at byte {damaged:,} ({str(error) or 'a record is cut short'}); {after}"


def _member(stream: IO[bytes]) -> IO[bytes]:
    """The content of the gzip member that begins here; once it is read to its end, the stream stands behind the member."""

    def pieces() -> Iterator[bytes]:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not member.eof:
            if not (packed := member.unconsumed_tail or stream.read(_PACKED_PIECE)):
                raise EOFError
            yield member.decompress(packed, _SCAN_BYTES)
        stream.seek(-len(member.unused_data), os.SEEK_CUR)

    return buffered(filter(None, pieces()))


def _read_record(content: Any, most: int) -> tuple[Mapping[str, str], bytes]:
    """Headers and block of the record that begins here, the block cut to ``most`` bytes; the content then stands where the next one begins.

    Raises:
        EOFError: the content ends before the record.
        ValueError: no record begins here.
    """
    head = bytearray(line := content.readline(_HEAD_BYTES))
    if not head.startswith(_VERSION[: len(head)]):
        raise ValueError("no record begins here")
    while line.strip():
        line = content.readline(_HEADER_BYTES)
        head += line
        if len(head) > _HEADER_BYTES:
            raise ValueError("the header of a record is too long")
    if not line:
        raise EOFError
    headers = dict(reversed(_headers(head)))
    length = headers.get("content-length", "")
    left = int(length) if _LENGTH.fullmatch(length) else 0
    block = content.read(min(left, most))
    left -= len(block)
    while left and (piece := content.read(min(left, _SCAN_BYTES))):
        left -= len(piece)
    if left:
        raise EOFError
    while ahead := content.peek():
        content.read(len(ahead) - len(rest := ahead.lstrip(b"\r\n")))
        if rest:
            break
    return headers, block


def _headers(head: bytes | bytearray) -> _Headers:
    """The headers of a record or of an answer; lines without a colon are passed over."""
    lines = _FOLD.sub(b" ", head).decode("utf-8", "replace").split("\n")
    parts = (line.partition(":") for line in lines)
    return [(name.strip().lower(), value.strip()) for name, colon, value in parts if colon]


def _next_record(stream: IO[bytes], after: int) -> int | None:
    """Offset of the next start of a record, packed or plain; None when there is none."""
    stream.seek(0)
    mark = _GZIP_MARK if stream.read(2) == _GZIP_MARK[:2] else _VERSION
    stream.seek(after)
    position, tail = after, b""
    while piece := stream.read(_SCAN_BYTES):
        offset = (tail + piece).find(mark)
        if offset >= 0:
            return position - len(tail) + offset
        position += len(piece)
        tail = (tail + piece)[-(len(mark) - 1) :]
    return None


def _page(headers: Mapping[str, str], block: bytes, url: str, options: ReadOptions) -> Page | Problem:
    """The page of a record, or why it holds none, which the tally counts where nothing is wrong."""
    try:
        kind, charset, body = _body(headers, block, url, options)
    except _NoPage as reason:
        options.tally.no_page[str(reason)] += 1
        return NO_PAGE
    except _BadBody as error:
        return Problem(f"{url}: {error}")
    page_id = fitted_id(headers.get("warc-record-id", "") if options.warc_id == "record" else url)
    if problem := id_problem(page_id):
        return Problem(problem)
    if kind == TEXT_TYPE:
        return Page(id=page_id, text=_plain(body, charset), url=url)
    return Page(id=page_id, html=body, url=url, http_charset=charset)


def _body(
    headers: Mapping[str, str], block: bytes, url: str, options: ReadOptions
) -> tuple[str, str | None, bytes]:
    """Type, charset and decoded body of what may be a page.

    Raises:
        _NoPage, _BadBody: it is no page.
    """
    kind, content_type = headers.get("warc-type", "").lower(), headers.get("content-type", "")
    http: _Headers = []
    if kind not in RECORD_TYPES:
        raise _NoPage(f"{kind[:20] or 'unknown'} record")
    if content_type.lower().startswith("application/http"):
        status = _STATUS.match(block)
        if status is None or not status[1].startswith(b"2"):
            raise _NoPage(f"status {status[1].decode() if status else 'missing'}")
        head, *parts = _BLANK_LINE.split(block, maxsplit=1)
        block, http = b"".join(parts), _headers(head[:_SCAN_BYTES])
        content_type = dict(reversed(http)).get("content-type", "")
    elif (scheme := url.partition(":")[0].lower()) not in _PAGE_SCHEMES:
        raise _NoPage(f"scheme {scheme[:20]}")
    kind = content_type.partition(";")[0].strip().lower()
    kind = kind if _TYPE.fullmatch(kind) else ""
    if kind not in PAGE_TYPES and kind not in UNCLEAR_TYPES:
        raise _NoPage(f"type {kind}")
    body = _decoded(block, http, options)
    if kind in UNCLEAR_TYPES and not _MARKUP.match(body[:_HEAD_BYTES]):
        raise _NoPage(f"type {kind}" if kind else "no type")
    if binary := binary_kind(body):
        raise _BadBody(f"{binary}, not a page")
    return kind, next(iter(_CHARSET.findall(content_type)), None), body


def _plain(body: bytes, charset: str | None) -> str:
    from es_dedup.extraction.reading.charset import decode  # slow to load

    if charset and charset.lower().startswith(("utf-16", "utf-32")):  # which no page of markup is declared in
        with suppress(LookupError, ValueError):
            return body.decode(charset)
    return decode(body, charset).text


def _decoded(body: bytes, http: _Headers, options: ReadOptions) -> bytes:
    """The body with its transfer codings, then its content codings undone, the last applied first; cut after the most bytes of a page.

    Crawlers often store the body decoded but keep the header, so a body that is text is left as it is.
    """
    codings = [
        coding.strip().lower()
        for header in ("content-encoding", "transfer-encoding")
        for name, value in http
        if name == header
        for coding in value.split(",")
    ]
    for before, coding in reversed(list(enumerate(codings))):
        try:
            body = _UNDO[coding](body, options.max_record_bytes if before else options.max_page_bytes + 1)
        except MissingExtra:
            if not _is_text(body):
                raise
        except (KeyError, ValueError, zlib.error, zstandard.ZstdError) as error:
            if not _is_text(body):
                known = coding in _UNDO
                problem = "cannot be undone, the body is damaged" if known else "is not supported"
                raise _BadBody(f"content coding {coding[:40]!r} {problem}") from error
    return body[: options.max_page_bytes + 1]


def _inflated(body: bytes, limit: int) -> bytes:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, limit)
    except zlib.error:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, limit)


def _unpacked_brotli(body: bytes, limit: int) -> bytes:
    with needs_extra("warc", "reading a body in br"):
        import brotli
    try:
        unpacked: bytes = brotli.Decompressor().process(body, output_buffer_limit=limit)
    except brotli.error as error:
        raise ValueError(str(error)) from error
    return unpacked


def _unpacked_zstd(body: bytes, limit: int) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
        return reader.read(limit)


def _is_text(body: bytes) -> bool:
    head = body[:_HEAD_BYTES]
    if head.lstrip()[:1] == b"<":
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return binary_kind(head) is None


def _joined_chunks(body: bytes) -> bytes:
    """The content of chunks; a body that has none is returned as it is."""
    parts: list[bytes] = []
    position = 0
    while head := _CHUNK_HEAD.match(body, position):
        size = int(head[1], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(body[head.end() : head.end() + size])
        position = head.end() + size + (2 if body[head.end() + size :][:2] == b"\r\n" else 1)
    return b"".join(parts) if parts and position >= len(body) else body


_UNDO: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    **dict.fromkeys(("", "identity", "none"), lambda body, _: body),
    **dict.fromkeys(("gzip", "x-gzip", "deflate"), _inflated),
    "chunked": lambda body, limit: _joined_chunks(body)[:limit],
    "br": _unpacked_brotli,
    "zstd": _unpacked_zstd,
}
"""Coding to what undoes it, up to so many bytes; of a body that is cut short, what there is."""
