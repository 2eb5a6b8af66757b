"""WARC archives: pages of answers, of resources, and of texts converted from pages (WET).

FastWARC reads the records. It reports damage (warcio 1.8.1 stops at the first damaged record without an error). Bodies are decoded here:
FastWARC 2.0.1 ends the file silently after the first chunked body that it decodes, and gives nothing of a body in br or zstd that is cut.
"""

from __future__ import annotations

import codecs
import os
import re
import zlib
from contextlib import contextmanager, suppress
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import zstandard

from es_dedup.errors import MissingExtra
from es_dedup.model import Page, fitted_id, id_problem
from es_dedup.readers.pagefiles import binary_kind
from es_dedup.readers.port import NO_PAGE, Problem, Record
from es_dedup.readers.streams import (
    PACKED,
    READ_ERRORS,
    open_unpacked,
    plain_problem,
    refuse_packed,
    unpacked_beginning,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from es_dedup.readers.locations import Source
    from es_dedup.readers.port import ReadOptions

    _Read = TypeVar("_Read")

TEXT_TYPE: Final = "text/plain"
PAGE_TYPES: Final = frozenset({"text/html", "application/xhtml+xml", TEXT_TYPE})
UNCLEAR_TYPES: Final = frozenset(
    {"application/octet-stream", "binary/octet-stream", "application/unknown", "unknown/unknown", "*/*"}
    | {"application/xml", "text/xml", ""}
)
"""Types of records that are pages where their body begins as HTML does; empty: a record without a type."""
RECORD_TYPES: Final = frozenset({"response", "resource", "conversion"})
"""Types of records that may hold a page."""
SUCCESS: Final = 2
"""First digit of the status of an answer that holds the page."""
_PAGE_SCHEMES: Final = frozenset({"http", "https", "ftp", "ftps", "file"})
"""Of records without an answer of a server; crawlers write logs and texts of their own under others."""
_SCAN_BYTES: Final = 2**20
_HEAD_BYTES: Final = 4096
_GZIP_MARK: Final = b"\x1f\x8b\x08"
_VERSION: Final = b"WARC/1."
_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"^content-length:\s*(\d{1,18})", re.IGNORECASE | re.MULTILINE)
_CUT: Final = "the file is cut short after byte {:,}; what came before was read"
_CHUNK_HEAD: Final = re.compile(rb"([0-9a-fA-F]+)[^\r\n]*\r?\n")
_TYPE: Final = re.compile(r"[\w.+*-]{1,60}/[\w.+*-]{1,80}", re.ASCII)
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:+-]+)", re.ASCII | re.IGNORECASE)
_MARKUP: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta|link|script|style|iframe"
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
        end: where it ends.
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
        MissingExtra: without the package fastwarc.
    """
    with open_by_record(source) as (stream, damage):
        yield from placed_records(stream, damage, options)


def placed_records(stream: IO[bytes], damage: str, options: ReadOptions) -> Iterator[Record]:
    """All whole records of an archive, each with a ``PlacedRecord``, numbered by those that may hold a page.

    Pages are responses with status 2xx, resources and conversions of type HTML or plain text. Records that hold no page are counted with
    the reason in ``options.tally``. A problem without a place is a damaged stretch or record; reading goes on at the next.

    Args:
        stream: the archive, and with ``damage`` what is wrong with it, as ``open_by_record`` gives them.
        options: how pages are read.
    """
    number = 0
    last: Record | None = None  # given when its end is known

    def read(record: Any) -> Record:
        nonlocal number
        number += _may_be_page(record)
        return Record(_placed(record), number, _page(record, options))

    try:
        for found in _records(stream, read):
            if isinstance(found, Record):
                if last is not None:
                    yield _ending(last, found.raw.start)
                last = found
                continue
            number += 1
            damaged = Record(None, number, Problem(found))
            if last is not None and (end := _record_end(stream, last.raw.start)) is not None:
                yield _ending(last, end)
            elif last is not None and isinstance(last.value, Problem) and last.value:
                damaged = last._replace(raw=None)
            last = None
            yield damaged
    except READ_ERRORS as error:
        yield Record(None, number or None, Problem(plain_problem(error)))
    if last is not None:
        yield _ending(last, stream.seek(0, os.SEEK_END))
    if damage:
        yield Record(None, None, Problem(damage))


def _ending(record: Record, end: int) -> Record:
    return record._replace(raw=record.raw._replace(end=end))


@contextmanager
def open_by_record(source: Source) -> Iterator[tuple[IO[bytes], str]]:
    """The file itself where its records can be read one by one, plain or each compressed by gzip; else an unpacked temporary file.

    The second value says what is wrong with a file that could be unpacked only in part; else it is empty.
    """
    with source.open("rb") as stream:
        head = stream.read(len(_VERSION))
        by_record = not head or head.startswith((_GZIP_MARK, _VERSION)) or source.suffix.lower() not in PACKED
        if head.startswith(_GZIP_MARK):
            first_two = islice(_records(stream, _placed), 2)
            starts = [found.start for found in first_two if not isinstance(found, str)]
            stream.seek(starts[-1] if starts else 0)
            head = stream.read(_SCAN_BYTES)
            by_record = head.startswith(_GZIP_MARK)
            if not starts:
                with suppress(zlib.error):  # damaged: reading goes on at the next record
                    refuse_packed(unpacked_beginning(head))
        if by_record:
            stream.seek(0)
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


def _record_end(stream: IO[bytes], start: int) -> int | None:
    """Where a record ends; None where the file is cut or damaged before that. The stream is moved."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(start)
    head = stream.read(_SCAN_BYTES)
    if head.startswith(_GZIP_MARK[:2]):
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            member.decompress(head)
            while not member.eof and (piece := stream.read(_SCAN_BYTES)):
                member.decompress(piece)
        except zlib.error:
            return None
        return stream.tell() - len(member.unused_data) if member.eof else None
    head, complete, _ = head.partition(_HEAD_END)
    length = _LENGTH.search(head)
    end = start + len(head) + len(_HEAD_END) + (int(length[1]) if length else 0)
    if not complete or end > size:
        return None
    stream.seek(end)
    after = stream.read(len(_HEAD_END))
    return end + len(after) - len(after.lstrip(_HEAD_END))


def _records(stream: IO[bytes], read: Callable[[Any], _Read]) -> Iterator[_Read | str]:
    """What ``read`` makes of each record of FastWARC, and words for each damaged stretch that was passed over."""
    try:
        from fastwarc.warc import ArchiveIterator
    except ImportError as error:
        raise MissingExtra("fastwarc", "warc", f"reading {getattr(stream, 'name', 'WARC files')}") from error
    start, last = 0, -1
    while True:
        stream.seek(start)
        try:
            for record in ArchiveIterator(stream):
                last = record.stream_pos  # of the file, not of where reading began
                yield read(record)
        except OSError as error:
            # the last record itself, or what follows it
            damaged = max(start, _record_end(stream, last) or last) if last >= start else start
            start = _next_record(stream, damaged + 1)
            after = f"reading went on at byte {start:,}" if start else "nothing readable follows"
            yield f"damaged at byte {damaged:,} ({error}); {after}"
            if not start:
                return
        else:
            if problem := _problem_at_end(stream, last):
                yield problem
            return


def _problem_at_end(stream: IO[bytes], last: int) -> str | None:
    """FastWARC ends without an error where a file is cut; so the end of the last record is looked for."""
    stream.seek(max(last, 0))
    if last < 0:
        start = stream.read(len(_VERSION))
        if start == _VERSION:
            return _CUT.format(0)
        return "no WARC records in this file" if start else None
    end = _record_end(stream, last)
    if end is not None:
        stream.seek(end)
    cut = end is None or stream.read(_SCAN_BYTES).lstrip(_HEAD_END)
    return _CUT.format(last if end is None else end) if cut else None


def _next_record(stream: IO[bytes], after: int) -> int:
    """Offset of the next start of a record, packed or plain; 0 when there is none."""
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
    return 0


def _header(record: Any, name: str) -> str:
    value: str = record.headers.get(name, "")
    return value.strip("<>")


def _may_be_page(record: Any) -> bool:
    return _header(record, "WARC-Type").lower() in RECORD_TYPES


def _placed(record: Any) -> PlacedRecord:
    """A record whose end is not known yet."""
    names = ("WARC-Record-ID", "WARC-Target-URI", "WARC-Concurrent-To")
    page_id, url, concurrent_to = (_header(record, name) for name in names)
    return PlacedRecord(record.stream_pos, 0, page_id, url, concurrent_to, _may_be_page(record))


def _page(record: Any, options: ReadOptions) -> Page | Problem:
    """The page of a record, or why it holds none, which the tally counts where nothing is wrong."""
    url = _header(record, "WARC-Target-URI")
    try:
        kind, charset = _media_type(record, url)
        body = _body(record, kind, options)
    except _NoPage as reason:
        options.tally.no_page[str(reason)] += 1
        return NO_PAGE
    except _BadBody as error:
        return Problem(f"{url}: {error}")
    page_id = fitted_id(record.record_id or "" if options.warc_id == "record" else url)
    if problem := id_problem(page_id):
        return Problem(problem)
    if kind == TEXT_TYPE:
        return Page(id=page_id, text=_plain(body, charset), url=url)
    return Page(id=page_id, html=body, url=url, http_charset=charset)


def _media_type(record: Any, url: str) -> tuple[str, str | None]:
    """Type, empty where it has none, and charset of what may be a page."""
    if not _may_be_page(record):
        raise _NoPage(f"{_header(record, 'WARC-Type')[:20].lower() or 'unknown'} record")
    http = record.http_headers
    if http is not None:
        if (http.status_code or 0) // 100 != SUCCESS:
            raise _NoPage(f"status {http.status_code or 'missing'}")
        lines = (http.status_line, *(value for _, value in http.items()))
        if not record.content_length and any(
            "\n" in line for line in lines
        ):  # FastWARC takes the body for header
            raise _BadBody("the lines of its HTTP header do not end with CR LF")
        kind, charset = (record.http_content_type or "").lower(), record.http_charset or None
    else:
        scheme = url.partition(":")[0].lower()
        if scheme not in _PAGE_SCHEMES:
            raise _NoPage(f"scheme {scheme[:20]}")
        content_type = record.headers.get("Content-Type", "")
        kind = content_type.partition(";")[0].strip().lower()
        charset = next(iter(_CHARSET.findall(content_type)), None)
    kind = kind if _TYPE.fullmatch(kind) else ""
    if kind not in PAGE_TYPES and kind not in UNCLEAR_TYPES:
        raise _NoPage(f"type {kind}")
    return kind, charset


def _body(record: Any, kind: str, options: ReadOptions) -> bytes:
    """The decoded body of a record.

    Raises:
        _NoPage, _BadBody: it is no page.
    """
    stored = min(record.content_length, options.max_record_bytes)
    body = record.reader.read(stored)
    if len(body) < stored:
        raise _BadBody("the record is cut short")
    body = _decoded(body, record.http_headers or {}, options)
    if kind in UNCLEAR_TYPES and not _MARKUP.match(body[:_HEAD_BYTES]):
        raise _NoPage(f"type {kind}" if kind else "no type")
    if binary := binary_kind(body):
        raise _BadBody(f"{binary}, not a page")
    return body


def _plain(body: bytes, charset: str | None) -> str:
    from es_dedup.extraction.reading.charset import normal_name  # slow to load

    wide = (charset or "").lower().startswith(("utf-16", "utf-32"))  # which no page of markup is declared in
    try:
        return body.decode((charset if wide else normal_name(charset)) or "utf-8")
    except (LookupError, ValueError):
        return body.decode("gb18030", "replace")


def _decoded(body: bytes, http: Any, options: ReadOptions) -> bytes:
    """The body with its transfer codings, then its content codings undone, the last applied first; cut after the most bytes of a page.

    Crawlers often store the body decoded but keep the header, so a body that is text is left as it is.
    """
    codings = [
        coding.strip().lower()
        for header in ("content-encoding", "transfer-encoding")
        for name, value in http.items()
        if name.lower() == header
        for coding in value.split(",")
    ]
    for before, coding in reversed(list(enumerate(codings))):
        try:
            body = _UNDO[coding](body, options.max_record_bytes if before else options.max_page_bytes + 1)
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
    import brotli  # which FastWARC needs, too

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
