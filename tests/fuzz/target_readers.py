"""Targets: every kind of input file, packed and not, and standard input."""

import atexit
import bz2
import csv
import gzip
import io
import lzma
import random
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from es_dedup.model import Page
from es_dedup.readers import Fields, InputFailure, ReadOptions, read_pages
from tests.fuzz.corpus import pages, texts
from tests.fuzz.harness import Target
from tests.fuzz.mutate import as_bytes, damaged, damaged_json, value_of, window

PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": partial(gzip.compress, compresslevel=1),
    ".bz2": partial(bz2.compress, compresslevel=1),
    ".xz": partial(lzma.compress, preset=0),
    ".zst": zstandard.ZstdCompressor(level=1).compress,
}
ENCODINGS: Final = ("utf-8", "utf-8", "utf-8", "gb18030", "utf-16", "utf-8-sig", "big5", "latin-1")
MOST_ITEMS: Final = 100_000
LIMIT: Final = 64 * 1024
"""``max_record_bytes`` and ``max_page_bytes`` of most inputs, so that they are met."""


class Given(NamedTuple):
    """A file: its name, what it holds, and how it is read."""

    name: str
    data: bytes
    options: ReadOptions


def record(rng: random.Random) -> dict[str, Any]:
    """A sound record."""
    made: dict[str, Any] = {
        rng.choice(("id", "_id", "url", "page_id")): f"p{rng.randrange(100)}",
        rng.choice(("text", "content", "body")): rng.choice(texts())[:400],
    }
    if rng.random() < 0.4:
        made[rng.choice(("html", "raw_html", "html_base64"))] = rng.choice(
            ("<p>页</p>", "PHA+eDwvcD4=", "", "PHA")
        )
    if rng.random() < 0.5:
        made[rng.choice(("published", "time", "date"))] = rng.choice(
            ("2026-03-04", 1_700_000_000, 1_700_000_000_123, 1.5, "gestern", None, 10**30, -1)
        )
    if rng.random() < 0.4:
        made |= {"title": "标题", "URL": "http://example.cn/"}
    return made


def options(rng: random.Random) -> ReadOptions:
    """How a file is read; now and then with fields that it does not have."""
    made = ReadOptions(max_page_bytes=LIMIT, max_record_bytes=LIMIT, encoding=rng.choice(ENCODINGS))
    if rng.random() < 0.2:
        made = replace(
            made, fields=Fields(id=rng.choice((None, "id", "x")), text=rng.choice((None, "text", "html")))
        )
    if rng.random() < 0.1:
        made = replace(
            made,
            warc_id="record",
            max_record_bytes=rng.choice((1, 50, 1000)),
            max_page_bytes=rng.choice((1, 50)),
        )
    return made


def jsonl(rng: random.Random) -> bytes:
    """JSON lines, some of them damaged."""
    rows: list[Any] = [record(rng) for _ in range(rng.randrange(1, 5))]
    rows = [damaged_json(rng, row) if rng.random() < 0.5 else row for row in rows]
    return rng.choice((b"\n", b"\n", b"\r\n", b"\r")).join(as_bytes(rng, row) for row in rows)


def json_array(rng: random.Random) -> bytes:
    """A JSON file."""
    rows: Any = [record(rng) for _ in range(rng.randrange(4))]
    return as_bytes(rng, damaged_json(rng, rows) if rng.random() < 0.6 else rows)


def table(rng: random.Random, delimiter: str = "") -> bytes:
    """A table with a header."""
    rows = [record(rng) for _ in range(rng.randrange(1, 4))]
    stream = io.StringIO()
    writer = csv.writer(
        stream,
        delimiter=delimiter or rng.choice(",;\t|"),
        quoting=rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)),
    )
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return stream.getvalue().encode(rng.choice(ENCODINGS), "replace")


def parquet(rng: random.Random) -> bytes:
    """A Parquet file whose columns have any types."""
    return rng.choice(_parquet_files())


@cache
def _parquet_files() -> tuple[bytes, ...]:
    rows = {"id": ["a", "b"], "text": [text[:200] for text in texts()[:2]], "time": [1_700_000_000, None]}
    columns: tuple[dict[str, Any], ...] = (
        rows,
        rows | {"id": [1, 2]},
        rows | {"text": [["x"], ["y", "z"]]},
        rows | {"html": [b"<p>x", b"\xff"], "text": [None, None]},
        rows | {"text": [{"a": 1}, {"a": 2}]},
        rows | {"time": pa.array([2**62, -(2**62)], pa.timestamp("us"))},
        rows | {"time": pa.array([2**30, -1], pa.date32())},
        rows | {"time": pa.array([2**40, 1], pa.timestamp("ns", "Asia/Shanghai"))},
        rows | {"id": pa.array(["a", "a"]).dictionary_encode()},
        rows | {"time": pa.array([1, 2], pa.duration("ms"))},
        rows | {"time": pa.array([2**40, -(2**40)], pa.timestamp("s"))},
    )
    files = []
    for each in columns:
        for compression in ("none", "zstd"):
            stream = io.BytesIO()
            pq.write_table(pa.table(each), stream, compression=compression)
            files.append(stream.getvalue())
    return tuple(files)


def warc(rng: random.Random) -> bytes:
    """WARC records with answers of any kind."""
    return b"".join(_warc_record(rng) for _ in range(rng.randrange(1, 4)))


def _warc_record(rng: random.Random) -> bytes:
    body = rng.choice((window(rng, rng.choice(pages()), 500), b"", b"plain text"))
    coding = rng.choice(("", "", "gzip", "deflate", "br", "identity", "GZIP"))
    if coding in ("gzip", "deflate"):
        body = gzip.compress(body) if coding == "gzip" else zlib.compress(body)
    chunked = rng.random() < 0.3
    if chunked:
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    kind = rng.choice(
        ("text/html", "text/plain", "text/html; charset=" + rng.choice(("gbk", "idna", "\0", "x", "base64")))
    )
    kind = rng.choice(
        (
            kind,
            kind,
            f"text/plain; charset={rng.choice(('punycode', 'utf-16', 'idna', 'unicode_escape', 'hex', 'zlib'))}",
        )
    )
    head = f"HTTP/1.1 {rng.choice(('200', '200', '301', '99999', 'x', ''))} OK\r\nContent-Type: {kind}\r\n"
    head += f"Content-Encoding: {coding}\r\n" if coding else ""
    head += "Transfer-Encoding: chunked\r\n" if chunked else ""
    answer = head.encode() + b"\r\n" + body
    length = rng.choice((len(answer), len(answer), len(answer) - 1, len(answer) + 9, 0, -1, 10**18, 2**64))
    about = f"WARC/1.0\r\nWARC-Type: {rng.choice(('response', 'response', 'request', 'warcinfo'))}\r\n"
    about += f"WARC-Target-URI: {rng.choice(('http://a/', '<http://b/>', '', 'x' * 600))}\r\nWARC-Record-ID: <urn:uuid:{rng.randrange(9)}>\r\n"
    made = (
        about.encode()
        + f"Content-Type: application/http; msgtype=response\r\nContent-Length: {length}\r\n\r\n".encode()
        + answer
    )
    made += b"\r\n\r\n"
    return gzip.compress(made) if rng.random() < 0.3 else made


def wacz(rng: random.Random) -> bytes:
    """A zip file of archives and of such files, some of them damaged."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as packed:
        for number in range(rng.randrange(3)):
            name = rng.choice(("archive/{}.warc", "archive/{}.warc.gz", "{}.wacz", "pages/{}.jsonl"))
            data = wacz(rng) if name.endswith(".wacz") else warc(rng)
            packed.writestr(name.format(number), data if rng.random() < 0.8 else damaged(rng, data))
    return content.getvalue()


def page_file(rng: random.Random) -> bytes:
    """A page or a text."""
    text = rng.choice(texts()).encode(rng.choice(("utf-8", "gb18030", "utf-16", "latin-1")), "replace")
    return window(rng, rng.choice(pages()), 3000) if rng.random() < 0.5 else text


def given(rng: random.Random, make: Callable[[random.Random], bytes], *suffixes: str) -> Given:
    """A file of a format, damaged more often than not."""
    data = make(rng)
    if rng.random() < 0.7:
        data = damaged(rng, data, most=rng.choice((3, 12)))
    return Given("f" + rng.choice(suffixes), data, options(rng))


def packed(rng: random.Random) -> Given:
    """A packed file, damaged before or after it was packed, or with the suffix of another packing."""
    make, suffix = rng.choice(
        (
            (jsonl, ".jsonl"),
            (json_array, ".json"),
            (table, ".csv"),
            (warc, ".warc"),
            (page_file, ".html"),
            (page_file, ".txt"),
        )
    )
    data = make(rng)
    packing = rng.choice(list(PACKERS))
    data = PACKERS[packing](damaged(rng, data) if rng.random() < 0.4 else data)
    if rng.random() < 0.2:
        data += PACKERS[rng.choice(list(PACKERS))](data)
    data = damaged(rng, data) if rng.random() < 0.6 else data
    return Given(
        f"f{suffix}{packing if rng.random() < 0.95 else rng.choice(list(PACKERS))}", data, options(rng)
    )


def bomb(rng: random.Random) -> Given:
    """A small file that is large unpacked."""
    inside = rng.choice((b"\n", b"a,b\n")) * 10**4 + rng.choice(
        (b" ", b"[", b'{"a":', b"<div>", b"\0")
    ) * rng.choice((10**6, 3 * 10**6))
    packing = rng.choice(list(PACKERS))
    suffix = rng.choice((".jsonl", ".json", ".csv", ".tsv", ".warc", ".html"))
    return Given(f"f{suffix}{packing}", PACKERS[packing](inside), options(rng))


@cache
def folder() -> Path:
    """Where the files lie."""
    memory = Path("/dev/shm")  # noqa: S108 - a name of its own is made in it
    made = tempfile.mkdtemp(prefix="es-dedup-fuzz-", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def read(file: Given) -> None:
    """Read a file; gives pages and failures, never raises."""
    path = folder() / file.name
    path.write_bytes(file.data)
    _taken(read_pages([path], file.options))


def read_folder(file: Given) -> None:
    """The same below a folder."""
    root = folder() / "below"
    (root / "deeper").mkdir(parents=True, exist_ok=True)
    (root / "deeper" / file.name).write_bytes(file.data)
    _taken(read_pages([root], file.options))
    (root / "deeper" / file.name).unlink()


def read_stdin(file: Given) -> None:
    """The same on standard input."""
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(file.data))
    try:
        _taken(read_pages(["-"], file.options))
    finally:
        sys.stdin = before


def _taken(items: Any) -> None:
    for number, item in enumerate(items):
        assert number < MOST_ITEMS
        if isinstance(item, InputFailure):
            str(item).encode()
            continue
        assert isinstance(item, Page)
        assert item.id
        assert item.html is not None or item.text is not None
        for text in (item.id, item.text, item.url, item.title):
            (text or "").encode()  # what is read can be stored


def _any_file(rng: random.Random) -> Given:
    make, suffix = rng.choice(
        (
            (jsonl, ".jsonl"),
            (jsonl, ".ndjson"),
            (json_array, ".json"),
            (table, ".csv"),
            (parquet, ".parquet"),
            (warc, ".warc"),
            (page_file, ".html"),
        )
    )
    return given(rng, make, suffix, suffix.upper(), ".txt", "")


def _stdin(rng: random.Random) -> Given:
    file = rng.choice(
        (lambda: packed(rng), lambda: given(rng, jsonl, ".jsonl"), lambda: given(rng, json_array, ".json"))
    )()
    return file if rng.random() < 0.9 else file._replace(data=as_bytes(rng, value_of(rng)))


TARGETS: Final = (
    Target("read-jsonl", lambda rng: given(rng, jsonl, ".jsonl", ".ndjson"), read, 70_000),
    Target("read-json", lambda rng: given(rng, json_array, ".json"), read, 50_000),
    Target("read-csv", lambda rng: given(rng, table, ".csv"), read, 60_000),
    Target("read-tsv", lambda rng: given(rng, partial(table, delimiter="\t"), ".tsv"), read, 30_000),
    Target("read-parquet", lambda rng: given(rng, parquet, ".parquet"), read, 40_000),
    Target("read-warc", lambda rng: given(rng, warc, ".warc", ".warc.gz"), read, 60_000),
    Target("read-wacz", lambda rng: given(rng, wacz, ".wacz"), read, 20_000),
    Target(
        "read-page", lambda rng: given(rng, page_file, ".html", ".htm", ".xhtml", ".txt", ".md"), read, 30_000
    ),
    Target("read-packed", packed, read, 40_000),
    Target("read-bomb", bomb, read, 300),
    Target("read-folder", _any_file, read_folder, 20_000),
    Target("read-stdin", _stdin, read_stdin, 40_000),
)
