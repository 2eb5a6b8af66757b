"""Input that is easily lost without a word: each file and record is read, or named with its place and counted."""

import bz2
import codecs
import gzip
import json
import lzma
import os
import random
import socket
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import zstandard
from typer.testing import CliRunner

from es_dedup.cli.main import app
from es_dedup.model import Page
from es_dedup.readers import Fields, InputFailure, ReadOptions, Roots, read_pages

LINE = b'{"id": "1", "text": "t"}\n'
PACKERS: dict[str, Any] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.compress,
}
RANDOM = random.Random(3).randbytes(4000)
ROOT = Path(__file__).parents[2]


def read(*paths: Path | str, **options: Any) -> tuple[list[str], list[str]]:
    """Ids and failures."""
    items = list(read_pages(paths, ReadOptions(**options)))
    ids = [item.id for item in items if isinstance(item, Page)]
    return ids, [str(item) for item in items if isinstance(item, InputFailure)]


def scan_stdin(data: bytes, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """``es-dedup scan -`` with these bytes in a pipe."""
    code = "from es_dedup.cli.main import run; run()"
    return subprocess.run(
        [sys.executable, "-c", code, "--json", "scan", "-"],
        input=data,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=120,
        check=False,
    )


class TestFolders:
    def test_records_archives_and_compressed_files_are_read(self, tmp_path: Path) -> None:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub/a.jsonl").write_bytes(LINE)
        (tmp_path / "b.ndjson.xz").write_bytes(lzma.compress(b'{"id": "2", "text": "t"}'))
        (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"id,text\n3,t\n"))
        (tmp_path / "d.html.gz").write_bytes(gzip.compress(b"<p>page"))
        (tmp_path / "e.htm").write_bytes(gzip.compress(b"<p>as it was served"))
        (tmp_path / "f.txt.zst").write_bytes(zstandard.compress("网页".encode("gb18030")))
        pq.write_table(pa.table({"id": ["4"], "text": ["t"]}), tmp_path / "g.parquet")
        assert read(tmp_path) == (["2", "3", "d.html.gz", "e.htm", "f.txt.zst", "4", "1"], [])

    def test_warc_files_are_read(self, tmp_path: Path) -> None:
        pytest.importorskip("fastwarc")
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>"
        head = "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\n"
        head += f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
        (tmp_path / "a.warc.gz").write_bytes(gzip.compress(head.encode() + block + b"\r\n\r\n"))
        assert read(tmp_path) == (["http://a/"], [])

    def test_other_kinds_are_counted_by_suffix(self, tmp_path: Path) -> None:
        for name in ("a.html", "b.PNG", "c.png", "d.json", "Makefile", "e.html?page=2", "f.css.gz"):
            (tmp_path / name).write_bytes(b"<p>x")
        (tmp_path / "away").symlink_to(tmp_path)
        source = read_pages([tmp_path])
        assert len(list(source)) == 1
        assert source.ignored == {
            ".png": 2, ".json": 1, "without a suffix": 1, ".html?page=2": 1, ".gz": 1, "links to folders": 1,
        }  # fmt: skip

    def test_what_is_no_regular_file_is_named(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a.jsonl")
        (tmp_path / "b.html").symlink_to("b.html")
        (tmp_path / "c.html").symlink_to("/proc/self/mem")  # opens, but cannot be read
        (tmp_path / "d.html").mkdir()
        (tmp_path / "d.html/e.html").write_bytes(b"<p>in a folder with the name of a page")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.relpath(tmp_path / "f.html"))
            ids, failures = read(tmp_path)
        assert ids == ["d.html/e.html"]
        assert [failure.partition(": ")[0] for failure in failures] == [
            str(tmp_path / name) for name in ("a.jsonl", "b.html", "c.html", "f.html")
        ]

    def test_a_file_without_permission_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "a.html").write_bytes(b"<p>x")
        (tmp_path / "b.html").write_bytes(b"<p>y")
        (tmp_path / "c").mkdir()
        (tmp_path / "b.html").chmod(0)
        (tmp_path / "c").chmod(0)
        code = f"""
import os
if os.getuid() == 0:
    os.chmod({str(tmp_path)!r}, 0o755)
from es_dedup.readers import read_pages
list(read_pages([]))
if os.getuid() == 0:
    os.seteuid(65534)
os.chdir({str(tmp_path)!r})
for item in read_pages(["."]):
    print(getattr(item, "id", item))
"""
        above = [folder for folder in tmp_path.parents if not folder.stat().st_mode & 0o001]
        for folder in above:
            folder.chmod(0o711)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        (tmp_path / "c").chmod(0o700)
        assert done.stdout.splitlines() == [
            "a.html", "b.html: cannot be read: Permission denied", "./c: cannot be read: Permission denied",
        ], done.stderr  # fmt: skip


class TestCompression:
    def test_it_is_recognised_whatever_the_name(self, tmp_path: Path) -> None:
        for pack in PACKERS.values():
            (tmp_path / "a.jsonl").write_bytes(pack(LINE))
            assert read(tmp_path / "a.jsonl") == (["1"], [])
        done = scan_stdin(PACKERS["bz2"](LINE), tmp_path)
        assert (done.returncode, json.loads(done.stdout)["stored"]) == (0, 1), done.stderr

    @pytest.mark.parametrize(
        "name", ["a.jsonl", "a.json", "a.csv", "a.html", "a.warc", "a.txt", "no-suffix", "-"]
    )
    def test_what_is_compressed_twice_is_named(self, tmp_path: Path, name: str) -> None:
        for outer, inner in product(PACKERS, PACKERS):
            data = PACKERS[outer](PACKERS[inner](LINE))
            path = tmp_path / (name if name == "no-suffix" else f"{name}.{outer}")
            path.write_bytes(data)
            problem = f"{path}: cannot be read: it is compressed twice: unpack it once, then read that"
            if name != "-":
                assert read(path) == ([], [problem])
        if name == "-":
            done = scan_stdin(data, tmp_path)
            assert (done.returncode, b"compressed twice" in done.stderr) == (3, True), done.stderr
        elif name.endswith(("jsonl", "json", "csv", "warc")):
            filtered = CliRunner().invoke(app, ["filter", str(path)])
            assert filtered.exit_code, filtered.output
            assert "compressed twice" in filtered.output

    @pytest.mark.parametrize("suffix", PACKERS)
    def test_a_file_that_is_cut_short_is_named(self, tmp_path: Path, suffix: str) -> None:
        data = PACKERS[suffix](LINE * 3 + random.Random(1).randbytes(2000).hex().encode())
        for size in (5, len(data) // 2, len(data) - 3):
            (tmp_path / f"a.jsonl.{suffix}").write_bytes(data[:size])
            failures = read(tmp_path / f"a.jsonl.{suffix}")[1]
            assert any("cut short" in failure or "damaged" in failure for failure in failures), (
                size,
                failures,
            )

    def test_of_a_page_file_that_is_cut_short_nothing_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.html.gz").write_bytes(gzip.compress(random.Random(1).randbytes(2000))[:300])
        assert read(tmp_path / "a.html.gz") == (
            [],
            [f"{tmp_path}/a.html.gz: the file is cut short; the page was not read"],
        )

    def test_empty_standard_input_is_named(self, tmp_path: Path) -> None:
        done = scan_stdin(b"", tmp_path)
        assert (done.returncode, b"standard input is empty" in done.stderr) == (3, True)

    def test_a_pipe_of_lines_is_read_as_they_come(self, tmp_path: Path) -> None:
        code = "from es_dedup.readers import read_pages\nfor page in read_pages(['-']): print(page.id, flush=True)"
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for number in range(3):
                process.stdin.write(json.dumps({"id": f"p{number}", "text": "t"}).encode() + b"\n")
                process.stdin.flush()
                assert process.stdout.readline() == f"p{number}\n".encode()


class TestBinary:
    @pytest.mark.parametrize(
        ("data", "kind"),
        [
            (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "a PNG image"),
            (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG image"),
            (b"PK\x03\x04\x14\x00", "a ZIP archive"),
            (b"%PDF-1.7\n%\xe2\xe3", "a PDF document"),
            (RANDOM, "binary data"),
            (b"\0" * 500, "binary data"),
        ],
    )
    def test_it_is_no_page_under_the_name_of_one(self, tmp_path: Path, data: bytes, kind: str) -> None:
        (tmp_path / "a.html").write_bytes(data)
        (tmp_path / "b.txt").write_bytes(data)
        ids, failures = read(tmp_path)
        assert ids == []
        assert all(f"{kind}" in failure and failure.endswith(", not a page") for failure in failures)
        assert len(failures) == 2

    def test_nor_in_a_record(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text('{"id": "1", "html_base64": "iVBORw0KGgo="}', encoding="utf-8")
        assert read(tmp_path / "a.jsonl") == (
            [], [f"{tmp_path}/a.jsonl:1: field 'html_base64' holds a PNG image, not a page"]
        )  # fmt: skip

    @pytest.mark.parametrize(
        "encoding", ["utf-16", "utf-32", "iso2022_jp", "gb18030", "big5", "euc_kr", "shift_jis"]
    )
    def test_pages_in_any_charset_are_pages(self, tmp_path: Path, encoding: str) -> None:
        text = "<html><head><title>page</title></head><body><p>本文 text</p></body></html>" * 20
        (tmp_path / "a.html").write_bytes(text.encode(encoding))
        assert read(tmp_path) == (["a.html"], [])


class TestRecords:
    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
    @pytest.mark.parametrize("kind", ["jsonl", "json", "csv"])
    def test_a_byte_order_mark_tells_the_encoding(self, tmp_path: Path, kind: str, encoding: str) -> None:
        rows = [{"id": str(number), "text": "网页\u0a0a\u0d0d"} for number in range(3)]
        texts = {
            "jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
            "json": json.dumps(rows, ensure_ascii=False),
            "csv": "id,text\n" + "".join(f"{row['id']},{row['text']}\n" for row in rows),
        }
        path = tmp_path / f"a.{kind}"
        path.write_bytes(texts[kind].encode(encoding))
        pages = list(read_pages([path], ReadOptions(encoding="gbk")))
        assert pages == [Page(**row) for row in rows]
        path.write_bytes(texts[kind].encode("utf-16-le"))
        assert list(read_pages([path], ReadOptions(encoding="utf-16-le"))) == pages

    @pytest.mark.parametrize(
        ("kind", "data"), [("jsonl", LINE), ("json", b"[" + LINE + b"]"), ("csv", b"id,text\n1,t\n")]
    )
    def test_a_byte_order_mark_comes_before_a_wide_encoding(
        self, tmp_path: Path, kind: str, data: bytes
    ) -> None:
        (tmp_path / f"a.{kind}").write_bytes(codecs.BOM_UTF8 + data)
        assert read(tmp_path / f"a.{kind}", encoding="utf-16") == (["1"], [])

    def test_damaged_wide_text_is_named_with_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes((LINE * 20_000).decode().encode("utf-16") + b"\x00\xd8\x00")
        items = list(read_pages([path]))
        (failure,) = (str(item) for item in items if isinstance(item, InputFailure))
        assert failure.endswith(": not utf-16 text; the rest of the file was left out")
        assert len(items) == int(failure.split(":")[1]) > 10_000
        for kind in ("jsonl", "json"):
            (tmp_path / f"b.{kind}").write_bytes(LINE)
            failures = read(tmp_path / f"b.{kind}", encoding="utf-16")[1]
            assert [failure.partition("not ")[2] for failure in failures] == [
                "utf-16 text; the rest of the file was left out"
            ]

    def test_a_record_may_lack_an_optional_field(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(
            b'{"k": "1", "main": "t", "kopf": "T"}\n{"k": "2", "main": "t"}\n{"k": "3", "html": "<p>"}\n'
        )
        fields = Fields(id="k", text="main", title="kopf", url="link")
        ids, failures = read(path, fields=fields)
        assert ids == ["1", "2", "3"]
        assert failures == ["--url-field link: 0 of 3 records have this field; they have: k, main, kopf"]

    @pytest.mark.parametrize("data", [b"", b"\n\n", b"id,text\n", b"[]"])
    def test_a_file_without_records_is_named(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / f"a.{'json' if data == b'[]' else 'csv' if b',' in data else 'jsonl'}"
        path.write_bytes(data)
        assert read(path) == ([], [f"{path}: {'holds no page' if data else 'the file is empty'}"])


class TestArguments:
    @pytest.mark.parametrize("paths", ["folder", b"folder", Path("folder"), 5, None])
    def test_one_path_is_no_list(self, paths: Any) -> None:
        with pytest.raises(TypeError, match=r"paths must be a list of paths.*write \[path\]"):
            read_pages(paths)

    @pytest.mark.parametrize("path", [5, None, b"a", Page(id="1")])
    def test_a_path_is_text(self, path: Any) -> None:
        with pytest.raises(TypeError, match="must be a string or a Path"):
            read_pages([path])

    @pytest.mark.parametrize("options", [{"encoding": "utf-8"}, Fields(), "utf-8"])
    def test_options_are_an_object(self, options: Any) -> None:
        with pytest.raises(TypeError, match="ReadOptions"):
            read_pages([], options)

    def test_wrong_values_of_options_raise_at_once(self) -> None:
        wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
            ({"fields": {"id": "a"}}, TypeError, "takes a Fields object, got a dict"),
            ({"roots": "a"}, TypeError, "takes a Roots object"),
            ({"encoding": "nope"}, ValueError, "unknown encoding"),
            ({"encoding": None}, TypeError, "encoding"),
            ({"warc_id": "urls"}, ValueError, "'url' or 'record'"),
            ({"max_page_bytes": 0}, ValueError, "at least 1"),
        ]
        for options, error, words in wrong:
            with pytest.raises(error, match=words):
                ReadOptions(**options)
        with pytest.raises(TypeError, match="name of a field as a string, got 5"):
            Fields(text=5)  # type: ignore[arg-type]  # what is tested
        with pytest.raises(TypeError, match="a string or a Path"):
            Roots().covering([5])  # type: ignore[list-item]  # what is tested
