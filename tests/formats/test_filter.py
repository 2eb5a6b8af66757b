"""Dumps without their duplicates: records keep their bytes and order, whatever the format."""

import bz2
import gzip
import io
import json
import lzma
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from es_dedup import Deduplicator, Page
from es_dedup.dumps import DumpCopy, FilterReport, filter_dumps
from es_dedup.errors import InputError
from es_dedup.readers import Fields, ReadOptions, read_pages
from tests.commands import ran, rows

FERRY = (
    "The ferry ran aground on a sandbank shortly before six on Tuesday morning, the coast guard said. "
    "None of the ninety passengers was hurt, and all of them reached the shore in two lifeboats. "
    "The captain told reporters that a buoy had drifted during the storm."
)
LIBRARY = (
    "本周末全市图书馆延长开放时间。读者可以凭身份证免费办理借书证，每次最多借阅十本。"
    "馆方还准备了六场讲座，主题包括古籍修复和儿童阅读。讲座需要提前三天在网站上预约。"
)
ROWS = [("a", FERRY), ("b", LIBRARY), ("c", FERRY), ("d", "Short."), ("e", LIBRARY)]
KEPT = ["a", "b", "d"]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
UNPACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read(),
}


def filtered(path: Path, **options: Any) -> tuple[bytes, bytes, FilterReport]:
    """What is kept and what is dropped of one dump."""
    kept, dropped = io.BytesIO(), io.BytesIO()
    report = filter_dumps([DumpCopy(path, kept, dropped)], **options)
    return kept.getvalue(), dropped.getvalue(), report


def json_line(page_id: str, text: str) -> bytes:
    """A line whose number and spaces a JSON library would write otherwise."""
    said = json.dumps(text, ensure_ascii=page_id == "a")
    return f'{{ "id":"{page_id}",  "text": {said}, "price": 1.50000000000000000000001 }}\n'.encode()


LINES = [json_line(*row) for row in ROWS]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A dump of lines."""
    path = tmp_path / "dump.jsonl"
    path.write_bytes(b"".join(LINES))
    return path


@pytest.mark.parametrize("packing", PACKERS)
def test_lines_keep_their_bytes_and_the_file_its_compression(tmp_path: Path, packing: str) -> None:
    path = tmp_path / f"dump.jsonl{packing}"
    path.write_bytes(PACKERS[packing](b"".join([LINES[0], b"\n", *LINES[1:]])))
    kept, dropped, report = filtered(path)
    assert UNPACKERS[packing](kept) == LINES[0] + b"\n" + LINES[1] + LINES[3]
    assert UNPACKERS[packing](dropped) == LINES[2] + LINES[4]
    assert (report.kept, report.dropped, report.failed) == (3, 2, 0)


def test_a_line_that_cannot_be_read_stays_and_is_named(path: Path) -> None:
    broken = b'{"id": "x", "text": \n'
    path.write_bytes(b"".join([LINES[0], broken, LINES[2]]))
    kept, dropped, report = filtered(path)
    assert (kept, dropped) == (LINES[0] + broken, LINES[2])
    assert (report.kept, report.dropped, report.failed) == (1, 1, 1)
    assert [failure.line for failure in report.failures] == [2]


def test_a_line_that_is_too_long_is_in_no_output(path: Path) -> None:
    path.write_bytes(LINES[0] + b'"' + b"x" * 5000 + b'"\n' + LINES[1])
    kept, dropped, report = filtered(path, options=ReadOptions(max_record_bytes=2000))
    assert (kept, dropped) == (LINES[0] + LINES[1], b"")
    assert "longer than" in report.failures[0].problem


def test_a_row_with_a_line_that_is_too_long_is_in_no_output(tmp_path: Path) -> None:
    path = tmp_path / "dump.csv"
    head, *rows = (f'{page_id},"{text}"\n'.encode() for page_id, text in [("id", "text"), *ROWS[:2]])
    path.write_bytes(head + rows[0] + b'x,"a line\n' + b"y" * 5000 + b'"\n' + rows[1])
    kept, dropped, report = filtered(path, options=ReadOptions(max_record_bytes=2000))
    assert (kept, dropped, report.failed) == (head + b"".join(rows), head, 1)


def test_elements_of_an_array_make_an_array(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    rows = [line.decode().strip() for line in LINES]
    path.write_text("[" + " , ".join(rows) + "]", encoding="utf-8")
    kept, dropped, _ = filtered(path)
    assert kept.decode() == "[\n" + ",\n".join([rows[0], rows[1], rows[3]]) + "\n]\n"
    assert [row["id"] for row in json.loads(dropped)] == ["c", "e"]
    path.write_text(f"[{rows[0]}]", encoding="utf-8")
    assert filtered(path)[1] == b"[]\n"


@pytest.mark.parametrize(
    ("suffix", "encoding"),
    [(".csv", "utf-8"), (".csv", "gb18030"), (".csv", "utf-8-sig"), (".tsv", "gb18030")],
)
def test_rows_of_several_lines_keep_their_bytes(tmp_path: Path, suffix: str, encoding: str) -> None:
    comma = "\t" if suffix == ".tsv" else ";"
    rows = [f'{page_id}{comma}"{text}\r\n""quoted"" line"{comma}\r\n' for page_id, text in ROWS]
    head = comma.join(["id", "text", "note"]) + "\r\n"
    path = tmp_path / f"dump{suffix}"
    path.write_bytes((head + "".join(rows)).encode(encoding.removesuffix("-sig")))
    kept, dropped, report = filtered(path, options=ReadOptions(encoding=encoding))
    encoding = encoding.removesuffix("-sig")  # without a mark in the file there is none in a row
    assert kept.decode(encoding) == head + rows[0] + rows[1] + rows[3]
    assert dropped.decode(encoding) == head + rows[2] + rows[4]
    assert report.failed == 0


def test_a_row_with_too_few_values_stays(tmp_path: Path) -> None:
    path = tmp_path / "dump.csv"
    lines = ["id,text", f"a,{FERRY!r}", "lonely", f'b,"{LIBRARY}"', ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    kept, _, report = filtered(path)
    assert kept.decode() == "\n".join(lines)
    assert report.failed == 2  # the ferry's text has commas


def test_rows_of_parquet_keep_all_columns_schema_and_metadata(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    fields = [("id", pa.string()), ("text", pa.large_string()), ("tags", pa.list_(pa.int32()))]
    if hasattr(pa, "string_view"):  # of which pyarrow can select no rows itself
        fields += [("seen", pa.string_view()), ("by", pa.list_(pa.string_view()))]
    schema = pa.schema(fields, metadata={"owner": "archive"})
    named = {"tags": [1, 2], "seen": "yesterday", "by": ["a", "b"]}
    rows = [
        {"id": page_id, "text": text} | {name: named[name] for name, _ in fields[2:]}
        for page_id, text in ROWS
    ]
    path = tmp_path / "dump.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema), path, compression="zstd")
    kept, dropped, _ = filtered(path)
    table = pq.read_table(io.BytesIO(kept))
    assert table.schema.equals(pq.read_table(path).schema, check_metadata=True)
    assert table.to_pylist() == [rows[0], rows[1], rows[3]]
    assert pq.read_table(io.BytesIO(dropped)).column("id").to_pylist() == ["c", "e"]
    assert pq.ParquetFile(io.BytesIO(kept)).metadata.row_group(0).column(0).compression == "ZSTD"


def warc_record(number: int, kind: str, url: str, text: str = "", concurrent: int | None = None) -> bytes:
    """One record of an archive."""
    head = [f"WARC-Type: {kind}", f"WARC-Record-ID: <urn:uuid:{number}>"]
    head += [f"WARC-Target-URI: {url}"] if url else []
    head += [f"WARC-Concurrent-To: <urn:uuid:{concurrent}>"] if concurrent is not None else []
    block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body><p>{text}</p>".encode()
    if kind != "response":
        block = b"GET / HTTP/1.1\r\n\r\n" if kind == "request" else b"software: a crawler\r\n"
    head += ["Content-Type: application/http"] if kind in ("request", "response") else []
    head += [f"Content-Length: {len(block)}"]
    return ("WARC/1.1\r\n" + "\r\n".join(head) + "\r\n\r\n").encode() + block + b"\r\n\r\n"


def archive() -> list[bytes]:
    """A description, then for each page a request, a response and metadata; ``c`` and ``e`` are copies."""
    records = [warc_record(0, "warcinfo", "")]
    for number, (page_id, text) in enumerate(ROWS, 1):
        url = f"http://site.example/{page_id}"
        records += [
            warc_record(10 * number, "request", url),
            warc_record(10 * number + 1, "response", url, text, concurrent=10 * number),
            warc_record(10 * number + 2, "metadata", url, concurrent=10 * number + 1),
        ]
    return records


def chosen(records: list[bytes], pages: Iterable[int]) -> bytes:
    """The description and the records of some pages."""
    return b"".join(
        [records[0], *(record for page in pages for record in records[1 + 3 * page : 4 + 3 * page])]
    )


@pytest.mark.parametrize("packing", ["", ".gz", "one member", ".xz"])
def test_archive_records_go_with_their_response(tmp_path: Path, packing: str) -> None:
    records = archive()
    pack = (
        (lambda data: gzip.compress(data, mtime=0)) if packing in (".gz", "one member") else PACKERS[packing]
    )
    whole = b"".join(map(pack, records)) if packing == ".gz" else pack(b"".join(records))
    path = tmp_path / ("dump.warc" + (".gz" if packing == "one member" else packing))
    path.write_bytes(whole)
    kept, dropped, report = filtered(path)
    if packing == ".gz":
        assert kept == b"".join(pack(record) for record in [*records[:7], *records[10:13]])
    unpack = gzip.decompress if path.suffix == ".gz" else UNPACKERS[packing]
    assert unpack(kept) == chosen(records, (0, 1, 3))
    assert unpack(dropped) == chosen(records, (2, 4))
    assert (report.kept, report.dropped, report.failed) == (3, 2, 0)


def test_a_request_stays_while_one_of_its_responses_stays(tmp_path: Path) -> None:
    first, both = "http://site.example/first", "http://site.example/both"
    records = [
        warc_record(1, "response", first, FERRY),
        warc_record(10, "request", both),
        warc_record(11, "response", both, FERRY, concurrent=10),
        warc_record(12, "response", both, LIBRARY, concurrent=10),
    ]
    path = tmp_path / "dump.warc"
    path.write_bytes(b"".join(records))
    kept, dropped, _ = filtered(path)
    assert records[1] in kept
    assert dropped in (records[0], records[2])


@pytest.mark.parametrize("packing", ["one member", ".xz"])
def test_of_a_truncated_archive_what_can_be_read_is_copied(tmp_path: Path, packing: str) -> None:
    records = [
        wet_record(n, "conversion", "".join(f"{n} tells {n * at} of {at}. " for at in range(90)))
        for n in range(40)
    ]
    plain = [gzip.decompress(record) for record in records]
    pack = PACKERS[".xz"] if packing == ".xz" else (lambda data: gzip.compress(data, mtime=0))
    whole = pack(b"".join(plain))
    path = tmp_path / ("dump.warc.wet" + (".gz" if packing == "one member" else packing))
    path.write_bytes(whole[: len(whole) * 2 // 3])
    kept, _, report = filtered(path)
    unpack = UNPACKERS[".xz"] if packing == ".xz" else gzip.decompress
    assert unpack(kept).startswith(b"".join(plain[:10]))
    assert report.failed


def wet_record(number: int, kind: str, text: str) -> bytes:
    """A member of a WET file as Common Crawl publishes them: a description, or the text of a page."""
    target = f"WARC-Target-URI: http://site.example/{number}\r\n" if kind == "conversion" else ""
    form = "text/plain" if kind == "conversion" else "application/warc-fields"
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\n{target}WARC-Date: 2024-02-20T21:04:06Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{number}>\r\nWARC-Refers-To: <urn:uuid:9{number}>\r\n"
        f"WARC-Identified-Content-Language: zho,eng\r\nContent-Type: {form}\r\nContent-Length: {len(text.encode())}\r\n\r\n"
    )
    return gzip.compress(f"{head}{text}\r\n\r\n".encode(), mtime=0)


def test_a_wet_file_is_compared_by_its_texts_and_copied_byte_by_byte(tmp_path: Path) -> None:
    records = [wet_record(number, "conversion", f"{text}\n") for number, (_, text) in enumerate(ROWS)]
    description = wet_record(9, "warcinfo", "Software-Info: ia-web-commons\r\n")
    path, kept = tmp_path / "CC-MAIN-1.warc.wet.gz", tmp_path / "kept.warc.wet.gz"
    path.write_bytes(description + b"".join(records))
    (said,) = rows("filter", path, "--output", kept)
    assert (said["kept"], said["dropped"], said["no_page"]) == (3, 2, {"warcinfo record": 1})
    assert kept.read_bytes() == b"".join([description, records[0], records[1], records[3]])
    with Deduplicator.open(tmp_path / "pages.db") as dedup:
        scanned = dedup.scan(page for page in read_pages([path]) if isinstance(page, Page))
        assert (scanned.stored, scanned.outcomes) == (5, {"duplicate": 2, "unique": 3})


def test_a_dump_without_a_page_is_named(tmp_path: Path) -> None:
    path = tmp_path / "dump.wat.warc.gz"
    path.write_bytes(wet_record(1, "metadata", "{}"))
    kept, _, report = filtered(path)
    assert (kept, report.no_page) == (path.read_bytes(), {"metadata record": 1})
    assert (report.failed, report.failures[0].problem[:14]) == (1, "holds no page:")


def test_a_damaged_place_of_an_archive_is_named_and_the_rest_is_copied(tmp_path: Path) -> None:
    records = [gzip.compress(record) for record in archive()]
    path = tmp_path / "dump.warc.gz"
    path.write_bytes(b"".join(records[:7]) + b"\0" * 100 + b"".join(records[7:]))
    kept, dropped, report = filtered(path)
    assert report.failed >= 1
    assert gzip.decompress(kept) == chosen(archive(), (0, 1, 3))
    assert gzip.decompress(dropped) == chosen(archive(), (2, 4))


def test_dumps_of_several_formats_are_compared_with_each_other(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_bytes(LINES[0])
    (tmp_path / "two.csv").write_text(f'id,text\nc,"{FERRY}"\nb,{LIBRARY}\n', encoding="utf-8")
    first, second = io.BytesIO(), io.BytesIO()
    copies = [DumpCopy(tmp_path / "one.jsonl", first), DumpCopy(tmp_path / "two.csv", second)]
    report = filter_dumps(copies)
    assert (report.kept, report.dropped) == (2, 1)
    assert second.getvalue().decode() == f"id,text\nb,{LIBRARY}\n"


def test_an_index_decides_by_its_clusters_and_keeps_what_it_does_not_hold(path: Path, tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path / "pages.db") as dedup:
        dedup.scan([Page(id="older", text=LIBRARY, published="2020-01-01"), Page(id="b", text=LIBRARY)])
        kept, dropped, report = filtered(path, index=dedup)
    assert dropped == LINES[1]
    assert kept == LINES[0] + LINES[2] + LINES[3] + LINES[4]
    assert (report.unknown, report.dropped) == (4, 1)


def test_contained_pages_may_be_left_out(path: Path) -> None:
    long = json_line("long", f"{FERRY} {LIBRARY} " + "Divers will inspect the hull on Wednesday. " * 3)
    short = json_line("short", LIBRARY)
    path.write_bytes(long + short)
    assert filtered(path)[0] == long + short
    assert filtered(path, contained=True)[0] == long


def test_standard_input_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").write_bytes(gzip.compress(b"".join([*LINES, b"no JSON\n"])))
    kept = io.BytesIO()
    with (tmp_path / "in").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        report = filter_dumps([DumpCopy("-", kept)])
    assert gzip.decompress(kept.getvalue()) == LINES[0] + LINES[1] + LINES[3] + b"no JSON\n"
    assert str(report.failures[0]).startswith("-:6: not valid JSON")


def test_a_named_field_is_the_text(path: Path) -> None:
    rows = [json.dumps({"key": page_id, "said": text}).encode() + b"\n" for page_id, text in ROWS]
    path.write_bytes(b"".join(rows))
    kept, _, report = filtered(path, options=ReadOptions(Fields(id="key", text="said")))
    assert kept == rows[0] + rows[1] + rows[3]
    assert report.failed == 0


@pytest.mark.parametrize(
    ("name", "problem"), [("gone.jsonl", "No such file"), ("page.html", "not a dump"), (".", "not a dump")]
)
def test_what_is_no_dump_is_refused_in_one_line(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "page.html").write_text("<p>page")
    with pytest.raises(InputError, match=problem):
        filter_dumps([DumpCopy(tmp_path / name)])


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "dump.parquet").write_bytes(b"PAR1 or not")
    with pytest.raises(InputError, match="not readable as Parquet"):
        filtered(tmp_path / "dump.parquet")


class TestTheCommand:
    """Patterns and addresses, read and written."""

    @pytest.fixture(autouse=True)
    def parts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Two dumps here and in fsspec's memory."""
        fsspec = pytest.importorskip("fsspec")
        monkeypatch.chdir(tmp_path)
        memory = fsspec.filesystem("memory")
        for name, part in (("part-1.jsonl.gz", LINES[:2]), ("part-2.jsonl", LINES[2:])):
            data = b"".join(part)
            data = gzip.compress(data) if name.endswith(".gz") else data
            (tmp_path / name).write_bytes(data)
            memory.pipe(f"/crawl/{name}", data)
        yield
        memory.rm("/crawl", recursive=True)

    def said(self, *arguments: str, code: int = 0) -> str:
        return " ".join(ran("filter", *arguments, code=code).output.replace("│", " ").split())

    @pytest.mark.parametrize("at", ["", "memory://crawl/"])
    @pytest.mark.parametrize("to", ["out", "memory://crawl/out"])
    def test_a_pattern_names_several_dumps(self, at: str, to: str) -> None:
        said = self.said(f"{at}part-*", "--output-dir", to, "--dropped", f"{to}/copies")
        assert said == "kept 3 dropped 2 preset balanced"
        with fsspec_open(f"{to}/part-1.jsonl.gz") as kept, fsspec_open(f"{to}/part-2.jsonl") as other:
            found = gzip.decompress(kept.read()) + other.read()
        assert found == LINES[0] + LINES[1] + LINES[3]
        with fsspec_open(f"{to}/copies/part-2.jsonl") as copies:
            assert copies.read() == LINES[2] + LINES[4]

    def test_failures_name_the_address(self) -> None:
        with fsspec_open("memory://crawl/broken.jsonl", "wb") as stream:
            stream.write(LINES[0] + b"no JSON\n")
        said = self.said("memory://crawl/broken.jsonl", "-o", "memory://crawl/out.jsonl", code=3)
        assert "not decided: memory://crawl/broken.jsonl:2: not valid JSON" in said
        with fsspec_open("memory://crawl/broken.parquet", "wb") as stream:
            stream.write(b"PAR1 or not")
        said = self.said("memory://crawl/broken.parquet", "-o", "memory://crawl/out.parquet", code=1)
        assert said.startswith("error: memory://crawl/broken.parquet: not readable as Parquet")
        with pytest.raises(FileNotFoundError):
            fsspec_open("memory://crawl/out.parquet").open()

    @pytest.mark.parametrize(
        ("arguments", "problem", "code"),
        [
            (["no-*.jsonl", "-o", "out"], "error: no-*.jsonl: cannot be read: no file matches", 1),
            (["memory://crawl/no-*", "-o", "out"], "memory://crawl/no-*: cannot be read: no file matches", 1),
            (["memory://crawl/part-2.jsonl", "-o", "memory://crawl/part-2.jsonl"], "is part of the input", 2),
            (["part-2.jsonl", "-o", "memory://crawl/out.csv"], "memory://crawl/out.csv would hold JSONL", 2),
            (["memory://crawl/part-1.jsonl.gz", "-o", "out.jsonl"], "compressed as the input is (.gz)", 2),
            (["part-2.jsonl", "-o", "https://crawl.example/out.jsonl"], "https:// is not", 2),
            (["part-2.jsonl", "-o", "."], ". is a folder: name a file", 2),
            (["part-2.jsonl", "-o", "out", "--dropped", "./out"], "each output needs a file of its own", 2),
            (
                ["part-2.jsonl", "-o", "memory://a/b", "--dropped", "memory://a/b"],
                "each output needs a file of its own",
                2,
            ),
            (
                ["part-2.jsonl", "--output-dir", "out", "--dropped", "out"],
                "each output needs a file of its own",
                2,
            ),
            (["part-*", "-o", "out"], "several dumps need --output-dir", 2),
            (["part-*", "--output-dir", "part-2.jsonl"], "part-2.jsonl is no folder", 2),
            (["part-*", "--output-dir", "."], "is part of the input", 2),
        ],
    )
    def test_what_cannot_be_is_one_line(self, arguments: list[str], problem: str, code: int) -> None:
        assert problem in self.said(*arguments, code=code)


def test_standard_output_that_is_the_dump_is_refused(path: Path) -> None:
    command = [sys.executable, "-m", "es_dedup", "filter", str(path)]
    with path.open("ab") as stream:
        done = subprocess.run(command, stdout=stream, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, path.read_bytes()) == (2, b"".join(LINES))
    assert "is standard output, too" in " ".join(done.stderr.replace("│", " ").split())


def fsspec_open(address: str, mode: str = "rb") -> Any:
    """A file of any storage."""
    return pytest.importorskip("fsspec").open(address, mode)
