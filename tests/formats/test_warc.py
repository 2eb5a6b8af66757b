"""WARC archives: which records become pages, how bodies are decoded, what damage costs."""

import bz2
import gzip
import io
import lzma
import random
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from es_dedup.dumps import DumpCopy, filter_dumps
from es_dedup.errors import InputError
from es_dedup.model import Page
from es_dedup.readers import InputFailure, ReadOptions, read_pages

brotli = pytest.importorskip("brotli")


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


PLAIN = "text/plain; charset=utf-8"


def other_record(kind: str, url: str, content_type: str, block: bytes) -> bytes:
    """A record whose block is no answer of a server."""
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{abs(hash(url)):032x}>\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
    head += f"WARC-Target-URI: {url}\r\n" if url else ""
    head += f"Content-Type: {content_type}\r\n" if content_type else ""
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


BODY = "<p>正文</p>".encode() * 50
NEWS = "一篇新闻\n第一段。".encode()
CHUNKED = b"%x;ext\r\n" % 100 + BODY[:100] + b"\r\n%x\r\n" % (len(BODY) - 100) + BODY[100:] + b"\r\n0\r\n\r\n"
HTML = "Content-Type: text/html\r\n"
TYPE = "Content-Type: "
CODED = "Content-Encoding: "
XHTML = b'<?xml version="1.0"?>\n<!-- made\n --><html xmlns="http://www.w3.org/1999/xhtml"><p>'


def chunked(data: bytes) -> bytes:
    """Data in one chunk."""
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)


URL = "http://a/1"
RECORDS: dict[str, tuple[bytes, dict[str, Any] | str]] = {
    # What it is: the record, and the page of it, why it holds none, or (with !) the failure.
    "html": (record(URL, b"<p>", TYPE + "text/html; charset=GBK"), {"html": b"<p>", "http_charset": "GBK"}),
    "xhtml": (record(URL, b"<p>", TYPE + "application/xhtml+xml"), {"html": b"<p>"}),
    "text": (record(URL, NEWS, TYPE + PLAIN), {"text": NEWS.decode()}),
    "json": (record(URL, b"{}", TYPE + "application/json"), "type application/json"),
    "image": (record(URL, b"\x89PNG", TYPE + "image/png"), "type image/png"),
    "image as html": (
        record(URL, b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
        "!http://a/1: binary data, not a page",
    ),
    "lines without CR": (
        record(URL, b"", status="200 OK\nContent-Type: text/html\n\n<p>page"),
        {"html": b"<p>page\r\nContent-Type: text/html\r\n\r\n"},
    ),
    "a line without CR": (
        record(URL, b"", headers="Content-Type: text/html\n\n<p>page"),
        {"html": b"<p>page\r\n\r\n"},
    ),
    "folded header": (record(URL, b"<p>", HTML + "X: a\r\n b"), {"html": b"<p>"}),
    "not found": (record(URL, b"gone", status="404 Not Found"), "status 404"),
    "moved": (record(URL, b"", status="301 Moved"), "status 301"),
    "no type, html": (record(URL, b" <!DOCTYPE html><p>", "Server: x"), {"html": b" <!DOCTYPE html><p>"}),
    "no type, fragment": (record(URL, b"<DIV id=a>", "Server: x"), {"html": b"<DIV id=a>"}),
    "no type, text": (record(URL, b"var a = 1 <b", "Server: x"), "no type"),
    "broken type, html": (record(URL, b"<html>", TYPE + "html"), {"html": b"<html>"}),
    "octets, html": (record(URL, b"<html>", TYPE + "application/octet-stream"), {"html": b"<html>"}),
    "octets, packed html": (
        record(URL, gzip.compress(b"<html>"), TYPE + "application/octet-stream\r\n" + CODED + "gzip"),
        {"html": b"<html>"},
    ),
    "octets, image": (
        record(URL, b"\x89PNG", TYPE + "application/octet-stream"),
        "type application/octet-stream",
    ),
    "xml, xhtml": (record(URL, XHTML, TYPE + "text/xml"), {"html": XHTML}),
    "xml, feed": (record(URL, b"<?xml version='1.0'?><rss><a>", TYPE + "text/xml"), "type text/xml"),
    "chunked": (record(URL, CHUNKED, HTML + "Transfer-Encoding: chunked"), {"html": BODY}),
    "chunked, not really": (record(URL, BODY, HTML + "Transfer-Encoding: chunked"), {"html": BODY}),
    "gzip": (record(URL, gzip.compress(BODY), HTML + CODED + "gzip"), {"html": BODY}),
    "x-gzip, chunked": (
        record(URL, chunked(gzip.compress(BODY)), HTML + "Transfer-Encoding: Chunked\r\n" + CODED + "X-GZIP"),
        {"html": BODY},
    ),
    "gzip, not really": (record(URL, BODY, HTML + CODED + "gzip"), {"html": BODY}),
    "gzip, not really, of text": (
        record(URL, NEWS, f"{TYPE}{PLAIN}\r\n{CODED}gzip"),
        {"text": NEWS.decode()},
    ),
    "gzip as transfer coding": (
        record(URL, chunked(gzip.compress(BODY)), HTML + "Transfer-Encoding: gzip, chunked"),
        {"html": BODY},
    ),
    "deflate": (record(URL, zlib.compress(BODY), HTML + CODED + "deflate"), {"html": BODY}),
    "raw deflate": (record(URL, zlib.compress(BODY)[2:-4], HTML + CODED + "deflate"), {"html": BODY}),
    "identity": (record(URL, BODY, HTML + CODED + "identity"), {"html": BODY}),
    "br": (record(URL, brotli.compress(BODY), HTML + CODED + "br"), {"html": BODY}),
    "br, not really": (record(URL, BODY, HTML + CODED + "br"), {"html": BODY}),
    "br of text": (
        record(URL, brotli.compress(NEWS), f"{TYPE}{PLAIN}\r\n{CODED}br"),
        {"text": NEWS.decode()},
    ),
    "br, damaged": (
        record(URL, b"\xff\xfe\x80" * 9, HTML + CODED + "br"),
        "!http://a/1: content coding 'br' cannot be undone, the body is damaged",
    ),
    "zstd": (record(URL, zstandard.compress(BODY), HTML + CODED + "zstd"), {"html": BODY}),
    "zstd, not really": (record(URL, BODY, HTML + CODED + "zstd"), {"html": BODY}),
    "zstd, damaged": (
        record(URL, zstandard.compress(BODY)[:20] + b"\xff" * 40, HTML + CODED + "zstd"),
        "!http://a/1: content coding 'zstd' cannot be undone, the body is damaged",
    ),
    "stacked": (record(URL, brotli.compress(gzip.compress(BODY)), HTML + CODED + "gzip, br"), {"html": BODY}),
    "stacked headers": (
        record(URL, zstandard.compress(brotli.compress(BODY)), f"{HTML}{CODED}br\r\n{CODED}zstd"),
        {"html": BODY},
    ),
    "stacked, not really": (record(URL, BODY, HTML + CODED + "gzip, br"), {"html": BODY}),
    "twice": (record(URL, gzip.compress(gzip.compress(BODY)), HTML + CODED + "gzip, gzip"), {"html": BODY}),
    "unknown coding": (
        record(URL, b"\xff\xfe\x80" * 9, HTML + CODED + "sdch"),
        "!http://a/1: content coding 'sdch' is not supported",
    ),
    "unknown coding, not really": (record(URL, BODY, HTML + CODED + "sdch"), {"html": BODY}),
    "conversion": (other_record("conversion", URL, "text/plain", NEWS), {"text": NEWS.decode()}),
    "conversion to html": (other_record("conversion", URL, "text/html", BODY), {"html": BODY}),
    "conversion to pdf": (
        other_record("conversion", URL, "application/pdf", b"%PDF"),
        "type application/pdf",
    ),
    "resource": (
        other_record("resource", URL, 'text/html; charset="Big5"', b"<p>"),
        {"html": b"<p>", "http_charset": "Big5"},
    ),
    "resource, text": (other_record("resource", URL, PLAIN, NEWS), {"text": NEWS.decode()}),
    "resource, no type": (other_record("resource", URL, "", b"<html>"), {"html": b"<html>"}),
    "resource, image": (other_record("resource", URL, "image/png", b"\x89PNG"), "type image/png"),
    "log of a crawler": (
        other_record("resource", "metadata://wget/log", "text/plain", b"a log"),
        "scheme metadata",
    ),
    "domain name": (other_record("response", "dns:a", "text/dns", b"20240101\r\n"), "scheme dns"),
    "request": (record(URL, b"", kind="request"), "request record"),
    "revisit": (record(URL, b"", kind="revisit"), "revisit record"),
    "metadata": (other_record("metadata", URL, "application/warc-fields", b"a: b"), "metadata record"),
    "warcinfo": (other_record("warcinfo", "", "application/warc-fields", b"a: b"), "warcinfo record"),
    "unknown": (other_record("else", URL, "text/html", b"<p>"), "else record"),
}
PACKINGS: dict[str, Callable[[list[bytes]], bytes]] = {
    "a.warc": b"".join,
    "a.warc.gz": lambda records: b"".join(map(gzip.compress, records)),
    "one-member.wet.gz": lambda records: gzip.compress(b"".join(records)),
    "a.wet.zst": lambda records: zstandard.compress(b"".join(records)),
}


@pytest.mark.parametrize("name", PACKINGS)
def test_each_record_is_a_page_or_counted_with_the_reason(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for what, (given, expected) in RECORDS.items():
        path.write_bytes(PACKINGS[name]([given, record("http://a/2", b"<p>two")]))
        pages = read_pages([path])
        *items, after = pages
        assert after == Page(id="http://a/2", html=b"<p>two", url="http://a/2"), what
        if isinstance(expected, dict):
            assert (items, pages.no_page) == ([Page(id=URL, url=URL, **expected)], {}), what
        elif expected.startswith("!"):
            assert items == [InputFailure(str(path), 1, expected[1:])], what
        else:
            assert (items, pages.no_page) == ([], {expected: 1}), what


@pytest.mark.parametrize("cut", [0, 3])
def test_an_archive_in_one_gzip_member_is_whole_or_said_to_be_cut(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.warc.gz"
    data = gzip.compress(b"".join(record(f"http://a/{n}", TEXT) for n in range(200)))
    path.write_bytes(data[: len(data) - cut])
    pages, failures = read(path)
    assert len(pages) == 200
    assert ["cut short" in failure.problem for failure in failures] == [True] * bool(cut)


def test_the_record_id_may_be_the_page_id(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(record("http://a/1", b"<p>one"))
    page = read(tmp_path / "a.warc", ReadOptions(warc_id="record"))[0][0]
    assert page.id.startswith("<urn:uuid:")
    assert page.url == "http://a/1"


TEXT = b"<p>" + random.Random(1).randbytes(5000).hex().encode()  # hardly compressible


@pytest.mark.parametrize(
    ("coding", "compress"), [("gzip", gzip.compress), ("br", brotli.compress), ("zstd", zstandard.compress)]
)
def test_a_packed_bomb_is_cut(tmp_path: Path, coding: str, compress: Callable[[bytes], bytes]) -> None:
    bomb = compress(b"<p>" + b"a" * 20_000_000)
    (tmp_path / "a.warc").write_bytes(record("http://a/1", bomb, HTML + CODED + coding))
    tracemalloc.start()
    try:
        pages, _ = read(tmp_path / "a.warc", ReadOptions(max_page_bytes=5000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(pages[0].html or "") == 5001
    assert peak < 10_000_000


@pytest.mark.parametrize("coding", [b"br", b"zstd", b"gzip", b"deflate"])
def test_of_a_packed_body_that_is_cut_what_there_is_is_read(tmp_path: Path, coding: bytes) -> None:
    pack = {
        b"br": brotli.compress,
        b"zstd": zstandard.compress,
        b"gzip": gzip.compress,
        b"deflate": zlib.compress,
    }[coding]
    pages_text = TEXT * 40  # zstandard gives whole blocks
    (tmp_path / "a.warc").write_bytes(record(URL, pack(pages_text)[:-9], HTML + CODED + coding.decode()))
    (page,), failures = read(tmp_path / "a.warc")
    assert isinstance(page.html, bytes)
    assert len(page.html) > 1000
    assert (pages_text.startswith(page.html), failures) == (True, [])


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        *((charset, "gb18030") for charset in ("punycode", "idna", "undefined", "rot13", "no-such")),
        *((charset, "utf-8") for charset in ("punycode", "idna", "unicode_escape", "hex", "x")),
        ("utf-16", "utf-16"),
    ],
)
def test_plain_text_is_read_whatever_its_charset_is_said_to_be(
    tmp_path: Path, charset: str, encoding: str
) -> None:
    text = "ab\\n 正文 -, " * 9
    headers = f"Content-Type: text/plain; charset={charset}"
    (tmp_path / "a.warc").write_bytes(record(URL, text.encode(encoding), headers))
    assert read(tmp_path / "a.warc") == ([Page(id=URL, text=text, url=URL)], [])


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


def test_an_archive_without_pages_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(b"")
    (tmp_path / "b.warc").write_bytes(record("http://a/1", b"{}", "Content-Type: application/json"))
    (tmp_path / "c.warc.gz").write_bytes(b"no archive at all" * 100)
    for name, words in (
        ("a.warc", "is empty"),
        ("b.warc", "holds no page: no response"),
        ("c.warc.gz", "the packed data is damaged"),
    ):
        pages, (failure,) = read(tmp_path / name)
        assert pages == []
        assert words in failure.problem


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


def test_gzip_members_may_hold_several_records_which_cannot_be_copied_apart(tmp_path: Path) -> None:
    path, kept = tmp_path / "a.warc.gz", tmp_path / "kept.warc.gz"
    parts = [[record("http://a/0", TEXT)], [record(f"http://a/{n}", TEXT) for n in (1, 2)]]
    path.write_bytes(b"".join(gzip.compress(b"".join(part)) for part in parts))
    pages, failures = read(path)
    assert ([page.id for page in pages], failures) == ([f"http://a/{n}" for n in range(3)], [])
    with kept.open("wb") as stream, pytest.raises(InputError, match="share a gzip member"):
        filter_dumps([DumpCopy(path, stream)])


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


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives_of_a_wacz_file_are_read(tmp_path: Path, packing: int) -> None:
    """All of them, in the order of names, whatever else the file holds; what is no zip file is a failure."""
    path = tmp_path / "crawl.wacz"
    with zipfile.ZipFile(path, "w", packing) as packed:
        packed.writestr("archive/rec-2.warc", record("http://a/3", b"<p>three"))
        packed.writestr(
            "archive/rec-1.warc.gz",
            gzip.compress(record("http://a/1", b"<p>one")) + gzip.compress(record("http://a/2", b"<p>two")),
        )
        packed.writestr("pages/pages.jsonl", '{"text": "no page of the crawl"}')
    pages, failures = read(tmp_path)
    assert [page.id for page in pages] == ["http://a/1", "http://a/2", "http://a/3"]
    assert not failures
    whole = path.read_bytes()
    path.write_bytes(whole[:200])
    assert [str(each) for each in read(path)[1]] == [f"{path}: cannot be read: File is not a zip file"]
    path.write_bytes(gzip.compress(whole))
    assert [str(each) for each in read(path)[1]] == [
        f"{path}: cannot be read: it is compressed twice: unpack it once, then read that"
    ]


def test_files_of_a_wacz_file_are_read_one_level_deep_with_their_records_in_one_count(tmp_path: Path) -> None:
    """Crawlers pack the files of a large crawl into one more; a file that holds itself ends."""
    path = tmp_path / "crawl.wacz"
    broken = record("http://a/broken", b"\xff", "Content-Type: text/html\r\nContent-Encoding: snappy")

    def packed(archives: dict[str, bytes]) -> bytes:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as made:
            for name, archive in archives.items():
                made.writestr(name, archive)
        return content.getvalue()

    inner = packed({
        "archive/1.warc": record("http://a/1", b"<p>one") + broken,
        "archive/2.warc": record("http://a/2", b"<p>two") + broken,
        "third.wacz": packed({"archive/1.warc": record("http://a/3", b"<p>three")}),
    })  # fmt: skip
    path.write_bytes(packed({"a.wacz": inner, "archive/0.warc": broken, "b.wacz": inner[:300]}))
    pages, failures = read(path)
    assert [page.id for page in pages] == ["http://a/1", "http://a/2"]
    assert [(each.line, each.problem.partition(": http")[0]) for each in failures] == [
        (2, "a.wacz: archive/1.warc"),
        (4, "a.wacz: archive/2.warc"),
        (None, "a.wacz: third.wacz: not read: it lies in a WACZ file that lies in one itself"),
        (5, "archive/0.warc"),
        (None, "b.wacz: cannot be read: File is not a zip file"),
    ]
    short = packed({"a.wacz": packed({}), "b.wacz": inner})[:-30]
    path.write_bytes(packed({"c.wacz": short}))
    damaged = (
        "cannot be read: its beginning is no part of it; is it cut short behind a zip file that it holds?"
    )
    assert [each.problem for each in read(path)[1]] == [f"c.wacz: {damaged}"]
    path.write_bytes(short)
    pages, failures = read(path)
    assert not pages
    assert [each.problem for each in failures] == [damaged]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_damaged_archive_of_a_wacz_file_costs_itself_alone(tmp_path: Path) -> None:
    """Whatever the names are; a file that cannot be read at all is one failure."""
    path = tmp_path / "crawl.wacz"
    names = ["archive/1.warc", "archive/2.warc", "archive/2.warc", f"archive/{'3' * 300}.warc.gz"]
    with zipfile.ZipFile(path, "w") as packed:
        for number, name in enumerate(names):
            packed.writestr(name, record(f"http://a/{number}", b"<p>%d" % number))
    whole = path.read_bytes()
    every = [f"http://a/{number}" for number in range(4)]
    assert [page.id for page in read(path)[0]] == every
    entry = whole.index(b"PK\x01\x02")
    for place, value, lost in (
        (whole.index(b"<p>1") + 3, ord("x"), [every[1]]),
        (entry + 8, whole[entry + 8] | 1, [every[0]]),  # encrypted
        (entry + 10, 77, [every[0]]),  # packed by an unknown method
        (entry + 6, 99, every),  # of a later version of the format
    ):
        path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
        pages, failures = read(path)
        assert [page.id for page in pages] == [name for name in every if name not in lost]
        assert len(failures) == 1
