"""WARC archives: which records become pages, how bodies are decoded, what damage costs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import zlib
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from es_dedup.model import Page
from es_dedup.readers import InputFailure, ReadOptions, read_pages

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("fastwarc")


def record(
    url: str, body: bytes, headers: str = "Content-Type: text/html", status: str = "200 OK", **kind: str
) -> bytes:
    """One WARC record."""
    block = f"HTTP/1.1 {status}\r\n{headers}\r\n\r\n".encode() + body
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind.get('kind', 'response')}\r\nWARC-Target-URI: {url}\r\n"
        f"WARC-Record-ID: <urn:uuid:{abs(hash(url)):032x}>\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def read(path: Path, options: ReadOptions | None = None) -> tuple[list[Page], list[InputFailure]]:
    """Pages and failures apart."""
    items = list(read_pages([path], options))
    pages = [item for item in items if isinstance(item, Page)]
    return pages, [item for item in items if isinstance(item, InputFailure)]


@pytest.mark.parametrize("packed", [True, False])
def test_only_pages_that_were_answered_are_taken(tmp_path: Path, packed: bool) -> None:
    records = [
        record("http://a/1", b"<p>one", "Content-Type: text/html; charset=GBK"),
        record("http://a/2", b"gone", status="404 Not Found"),
        record("http://a/3", b"\x89PNG", "Content-Type: image/png"),
        record("http://a/4", b"plain", "Content-Type: text/plain"),
        record("http://a/5", b"<p>five", kind="request"),
        record("http://a/6", b"<p>six", "Content-Type: application/xhtml+xml"),
    ]
    path = tmp_path / ("a.warc.gz" if packed else "a.warc")
    path.write_bytes(b"".join(gzip.compress(entry) if packed else entry for entry in records))
    pages, failures = read(path)
    assert failures == []
    assert pages == [
        Page(id="http://a/1", html=b"<p>one", url="http://a/1", http_charset="gbk"),
        Page(id="http://a/4", text="plain", url="http://a/4"),
        Page(id="http://a/6", html=b"<p>six", url="http://a/6"),
    ]


def test_the_record_id_may_be_the_page_id(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(record("http://a/1", b"<p>one"))
    page = read(tmp_path / "a.warc", ReadOptions(warc_id="record"))[0][0]
    assert page.id.startswith("<urn:uuid:")
    assert page.url == "http://a/1"


BODY = "<p>正文</p>".encode() * 50
CHUNKED = b"%x;ext\r\n" % 100 + BODY[:100] + b"\r\n%x\r\n" % (len(BODY) - 100) + BODY[100:] + b"\r\n0\r\n\r\n"
TEXT = b"<p>" + random.Random(1).randbytes(5000).hex().encode()  # hardly compressible
HTML = "Content-Type: text/html\r\n"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ("Transfer-Encoding: chunked", CHUNKED),
        ("Transfer-Encoding: chunked", BODY),
        ("Content-Encoding: gzip", gzip.compress(BODY, mtime=0)),
        ("Content-Encoding: gzip", BODY),
        ("Content-Encoding: deflate", zlib.compress(BODY)),
        ("Content-Encoding: deflate", zlib.compress(BODY)[2:-4]),
        ("Content-Encoding: identity", BODY),
    ],
)
def test_bodies_are_decoded_and_the_next_record_is_read(tmp_path: Path, headers: str, body: bytes) -> None:
    records = [record("http://a/1", body, HTML + headers), record("http://a/2", b"<p>two")]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(map(gzip.compress, records)))
    pages, failures = read(tmp_path / "a.warc.gz")
    assert failures == []
    assert [page.html for page in pages] == [BODY, b"<p>two"]


def test_a_packed_bomb_is_cut(tmp_path: Path) -> None:
    bomb = gzip.compress(b"<p>" + b"a" * 20_000_000)
    (tmp_path / "a.warc").write_bytes(record("http://a/1", bomb, HTML + "Content-Encoding: gzip"))
    pages, _ = read(tmp_path / "a.warc", ReadOptions(max_page_bytes=5000))
    assert len(pages[0].html or "") == 5001


@pytest.mark.parametrize("charset", ["punycode", "idna", "undefined", "rot13", "no-such"])
def test_an_unusable_charset_of_a_text_is_passed_over(tmp_path: Path, charset: str) -> None:
    headers = f"Content-Type: text/plain; charset={charset}"
    (tmp_path / "a.warc").write_bytes(record("http://a/1", "正文 -, ".encode("gb18030") * 9, headers))
    pages, failures = read(tmp_path / "a.warc")
    assert [page.text for page in pages] == ["正文 -, " * 9]
    assert failures == []


def test_an_unknown_coding_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(record("http://a/1", b"??", HTML + "Content-Encoding: br"))
    _, (failure,) = read(tmp_path / "a.warc")
    assert (failure.line, "'br'" in failure.problem) == (1, True)


def test_a_damaged_record_costs_only_itself(tmp_path: Path) -> None:
    packed = [bytearray(gzip.compress(record(f"http://a/{i}", TEXT))) for i in range(20)]
    packed[5][20:60] = b"\0" * 40
    (tmp_path / "a.warc.gz").write_bytes(b"".join(packed))
    pages, failures = read(tmp_path / "a.warc.gz")
    ids = [page.id for page in pages]
    assert len(ids) >= 18
    assert "http://a/5" not in ids
    assert {"http://a/4", "http://a/19"} <= set(ids)
    assert "damaged" in failures[0].problem


def test_a_cut_archive_keeps_what_came_before(tmp_path: Path) -> None:
    data = b"".join(gzip.compress(record(f"http://a/{i}", TEXT)) for i in range(20))
    (tmp_path / "a.warc.gz").write_bytes(data[: len(data) // 2 + 30])
    pages, failures = read(tmp_path / "a.warc.gz")
    assert len(pages) >= 9
    assert failures


def test_what_is_no_archive_is_a_failure_or_empty(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(b"no archive at all" * 100)
    pages, failures = read(tmp_path / "a.warc.gz")
    assert pages == []
    assert failures


def test_a_cut_plain_archive_is_noticed(tmp_path: Path) -> None:
    data = b"".join(record(f"http://a/{i}", b"<p>x" * 500) for i in range(4))
    (tmp_path / "a.warc").write_bytes(data[:-700])
    pages, failures = read(tmp_path / "a.warc")
    assert [page.id for page in pages] == ["http://a/0", "http://a/1", "http://a/2"]
    assert failures


def test_an_archive_without_pages_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(b"")
    (tmp_path / "b.warc").write_bytes(record("http://a/1", b"{}", "Content-Type: application/json"))
    for name, words in (("a.warc", "the file is empty"), ("b.warc", "holds no page: no response")):
        pages, (failure,) = read(tmp_path / name)
        assert pages == []
        assert words in failure.problem


def test_an_image_that_was_served_as_html_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(
        record("http://a/1", b"\x89PNG\r\n\x1a\n") + record("http://a/2", b"<p>")
    )
    (page,), (failure,) = read(tmp_path / "a.warc")
    assert page.id == "http://a/2"
    assert str(failure).endswith("a.warc:1: http://a/1: a PNG image, not a page")


@pytest.mark.parametrize("suffix", ["xz", "bz2", "zst"])
def test_an_archive_may_be_compressed_as_a_whole(tmp_path: Path, suffix: str) -> None:
    data = b"".join(record(f"http://a/{n}", TEXT) for n in range(30))
    known: dict[str, Any] = {"xz": lzma.compress, "bz2": bz2.compress}
    compress = known.get(suffix) or zstandard.compress
    path = tmp_path / f"a.warc.{suffix}"
    path.write_bytes(compress(data))
    assert (len(read(path)[0]), read(path)[1]) == (30, [])
    path.write_bytes(compress(data)[:-40])
    pages, failures = read(path)
    assert len(pages) < 30
    assert "cut short" in str(failures[-1])


@pytest.mark.parametrize("packed", [True, False])
def test_wherever_a_file_is_cut_it_is_said(tmp_path: Path, packed: bool) -> None:
    records = [record(f"http://a/{n}", b"<p>" + b"some words " * 20) for n in range(3)]
    parts = [gzip.compress(entry) if packed else entry for entry in records]
    ends = [sum(map(len, parts[:count])) for count in range(len(parts) + 1)]
    path = tmp_path / ("a.warc.gz" if packed else "a.warc")
    for size in range(1, ends[-1] + 1, 3):
        path.write_bytes(b"".join(parts)[:size])
        whole = sum(end <= size for end in ends[1:])
        done = size in ends or (
            not packed and size + 4 >= ends[whole + 1]
        )  # only the empty lines after it lack
        pages, failures = read(path)
        assert bool(failures) is not done, size
        assert whole <= len(pages) <= whole + 1


@pytest.mark.parametrize("charset", ["punycode", "idna", "unicode_escape", "hex", "utf-16", "x"])
def test_plain_text_in_any_charset_is_read(tmp_path: Path, charset: str) -> None:
    path = tmp_path / "a.warc"
    body = "ab\\n 中".encode(charset if charset == "utf-16" else "utf-8")
    path.write_bytes(record("http://a/1", body, f"Content-Type: text/plain; charset={charset}"))
    pages, failures = read(path)
    assert (pages, failures) == ([Page(id="http://a/1", text="ab\\n 中", url="http://a/1")], [])


def test_a_last_record_that_cannot_be_unpacked_to_its_end_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    whole = gzip.compress(record("http://a/1", b"<p>one" * 50, "Content-Type: text/html"))
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        pages, failures = read(path)
        assert len(pages) <= 1
        assert (
            pages or failures or place < 10
        )  # a damaged name or time in the head of the packing costs nothing
