"""Each input format: what it gives, and what it says about input that gives nothing."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import os
import re
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard

from es_dedup.model import Page
from es_dedup.readers import Fields, InputFailure, ReadOptions, read_pages


def read(*paths: Path | str, options: ReadOptions | None = None) -> tuple[list[Page], list[InputFailure]]:
    """Everything that the paths give, pages and failures apart."""
    items = list(read_pages(paths, options))
    return (
        [item for item in items if isinstance(item, Page)],
        [item for item in items if isinstance(item, InputFailure)],
    )


def write_lines(path: Path, *records: Any) -> Path:
    """A JSONL file; strings and bytes are written as they are."""
    lines = [
        r if isinstance(r, bytes) else (r if isinstance(r, str) else json.dumps(r)).encode() for r in records
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


class TestFolders:
    def test_page_files_are_found_below_the_root_in_order_of_path(self, tmp_path: Path) -> None:
        for name in ("b/x.HTML", "b/a.txt", "a.md", "c/d/e.htm", "z.xhtml", "note.pdf"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(b"<p>one</p>")
        pages, failures = read(tmp_path)
        assert [page.id for page in pages] == ["a.md", "b/a.txt", "b/x.HTML", "c/d/e.htm", "z.xhtml"]
        assert [page.html is None for page in pages] == [True, True, False, False, False]
        assert failures == []

    def test_text_files_are_decoded_by_mark_utf8_or_gb18030(self, tmp_path: Path) -> None:
        samples = {
            "u.txt": "utf-8",
            "g.txt": "gb18030",
            "m.txt": "utf-16",
            "n.txt": "utf-32",
            "s.txt": "utf-8-sig",
        }
        for name, encoding in samples.items():
            (tmp_path / name).write_bytes("中文网页".encode(encoding))
        pages, _ = read(tmp_path)
        assert {page.id: page.text for page in pages} == dict.fromkeys(samples, "中文网页")

    def test_text_in_no_known_encoding_is_a_failure(self, tmp_path: Path) -> None:
        (tmp_path / "bad.txt").write_bytes(b"abc \xff\xff\xff \xff")
        pages, (failure,) = read(tmp_path)
        assert pages == []
        assert "encoding" in failure.problem
        assert failure.source.endswith("bad.txt")

    def test_a_folder_without_pages_is_named(self, tmp_path: Path) -> None:
        assert "no files of a known kind" in read(tmp_path)[1][0].problem

    def test_links_to_folders_are_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "a.html").write_text("x", encoding="utf-8")
        (tmp_path / "loop").symlink_to(tmp_path)
        assert len(read(tmp_path)[0]) == 1

    def test_a_dangling_link_is_a_failure_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        (tmp_path / "a.html").symlink_to(tmp_path / "gone.html")
        (tmp_path / "b.html").write_text("x", encoding="utf-8")
        pages, failures = read(tmp_path)
        assert ([page.id for page in pages], len(failures)) == (["b.html"], 1)

    def test_an_unreadable_file_is_a_failure(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a.html").write_text("x", encoding="utf-8")

        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("pathlib.Path.open", refuse)
        assert "Permission denied" in read(tmp_path)[1][0].problem

    def test_a_name_that_is_no_text_is_a_failure(self, tmp_path: Path) -> None:
        (tmp_path / os.fsdecode(b"\xff.html")).write_text("x", encoding="utf-8")
        _, (failure,) = read(tmp_path)
        assert "no text" in failure.problem
        failure.source.encode()

    def test_very_deep_folders_are_walked(self, tmp_path: Path) -> None:
        here = os.open(tmp_path, os.O_RDONLY)
        for _ in range(200):
            os.mkdir("d", dir_fd=here)
            here = os.open("d", os.O_RDONLY, dir_fd=here)
        with os.fdopen(os.open("a.html", os.O_WRONLY | os.O_CREAT, dir_fd=here), "w") as stream:
            stream.write("x")
        assert len(read(tmp_path)[0]) == 1

    def test_only_the_head_of_a_huge_page_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.html").write_bytes(b"x" * 5000)
        (tmp_path / "b.txt").write_bytes("中".encode() * 5000)
        pages, failures = read(tmp_path, options=ReadOptions(max_page_bytes=1000))
        assert len(pages[0].html or "") == 1001
        assert pages[1].text == "中" * 333
        assert failures == []

    def test_a_single_file_is_named_below_its_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "a.html").write_text("x", encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        assert read("./sub/a.html")[0][0].id == "a.html"
        assert read("./sub/a.html", options=ReadOptions(root="."))[0][0].id == "sub/a.html"


class TestJsonLines:
    def test_usual_field_names_are_found(self, tmp_path: Path) -> None:
        html = base64.b64encode(b"<p>\xc4\xe3</p>").decode()
        path = write_lines(
            tmp_path / "a.jsonl",
            {"id": "1", "title": "T", "content": "text", "url": "http://a/1", "date": "2024-05-01"},
            {"_id": 2, "HTML": "<p>x</p>"},
            {"page_id": "3", "text": None, "html_base64": html},
            {"url": "http://a/4", "body": "x", "time": 1_700_000_000},
        )
        pages, failures = read(path)
        assert failures == []
        assert pages[0] == Page(id="1", text="text", url="http://a/1", title="T", published="2024-05-01")
        assert (pages[1].id, pages[1].html) == ("2", "<p>x</p>")
        assert (pages[2].html, pages[2].text) == (b"<p>\xc4\xe3</p>", None)
        assert (pages[3].id, pages[3].published) == ("http://a/4", datetime.fromtimestamp(1_700_000_000, UTC))

    def test_named_fields_win(self, tmp_path: Path) -> None:
        record = {"id": "a", "key": "k", "text": "t", "main": "m", "kopf": "h", "when": "2020", "src": "u"}
        fields = Fields(id="key", text="main", title="kopf", time="when", url="src")
        pages, _ = read(write_lines(tmp_path / "a.jsonl", record), options=ReadOptions(fields=fields))
        assert pages == [Page(id="k", text="m", title="h", published="2020", url="u")]

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            (b'{"id": "x", ', "not valid JSON"),
            (b'{"id": "x", "text": "\xff\xfe"}', "not utf-8 text (byte 22"),
            (b"[" * 100_000, "not valid JSON|nested too deeply"),
            ('"text"', "must be an object"),
            (
                {"id": "x", "foo": "t"},
                "article, html, raw_html, html_base64); there are: id, foo; name one with --text-field or --html-field",
            ),
            ({"id": "x", "text": 5}, "field 'text' must be text, got a number"),
            ({"id": "x", "text": ["a"]}, "field 'text' must be text, got a list"),
            ({"id": True, "text": "t"}, "must be text or a whole number, got true or false"),
            ({"id": 1.5, "text": "t"}, "must be text or a whole number, got a number"),
            ({"id": "a\0b", "text": "t"}, "no text"),
            ({"id": "x", "html_base64": "***"}, "not valid base64"),
            ({"id": "x", "text": "t", "title": {}}, "field 'title' must be text, got an object"),
            ({"id": "x", "text": "t", "time": 12}, "must be a time"),
            ({"id": "x", "text": "t", "time": float("inf")}, "must be a time"),
            ({"id": "x", "text": "t", "time": 10**400}, "must be a time"),
            (b'{"id": "x", "text": "' + b"a" * 3000 + b'"}', "longer than 2,000 bytes"),
        ],
    )
    def test_a_bad_line_is_named_and_the_rest_goes_on(self, tmp_path: Path, line: Any, words: str) -> None:
        path = tmp_path / "a.jsonl"
        write_lines(path, {"id": "1", "text": "t"}, line, "", {"id": "2", "text": "t"})
        limit = ReadOptions(max_record_bytes=200_000 if line == b"[" * 100_000 else 2000)
        pages, (failure,) = read(path, options=limit)
        assert [page.id for page in pages] == ["1", "2"]
        assert (failure.source, failure.line) == (str(path), 2)
        assert any(word in failure.problem for word in words.split("|")), failure.problem
        assert str(failure).startswith(f"{path}:2: ")

    def test_a_field_that_was_named_but_is_missing_is_a_failure(self, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "a.jsonl", {"id": "1", "text": "t"})
        _, (failure, whole) = read(path, options=ReadOptions(fields=Fields(text="main")))
        assert "no field 'main' (--text-field); it has: id, text" in failure.problem
        assert str(whole) == "--text-field main: 0 of 1 records have this field; they have: id, text"

    def test_an_empty_text_is_a_page(self, tmp_path: Path) -> None:
        for text in ("", None):
            path = write_lines(tmp_path / "a.jsonl", {"id": 1.0, "text": text})
            assert read(path)[0] == [Page(id="1", text="")]

    def test_lone_surrogates_do_not_reach_the_page(self, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "a.jsonl", '{"id": "1", "text": "a\\ud83d\\ude00b\\ud800c"}')
        text = read(path)[0][0].text
        assert text == "a😀b\ufffdc"

    @pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, "zst"])
    def test_packed_files_are_unpacked(self, tmp_path: Path, pack: Any) -> None:
        suffix = {gzip.compress: "gz", lzma.compress: "xz", bz2.compress: "bz2"}.get(pack, "zst")
        compress = zstandard.compress if pack == "zst" else pack
        path = tmp_path / f"a.jsonl.{suffix}"
        path.write_bytes(
            compress(b'{"id": "1", "text": "t"}\n' * 1) + compress(b'{"id": "2", "text": "t"}\n')
        )
        assert [page.id for page in read(path)[0]] == ["1", "2"]

    @pytest.mark.parametrize("suffix", ["gz", "xz", "zst"])
    def test_a_damaged_packed_file_keeps_what_came_before(self, tmp_path: Path, suffix: str) -> None:
        lines = b"".join(
            json.dumps({"id": str(i), "text": os.urandom(500).hex()}).encode() + b"\n" for i in range(2000)
        )
        known: dict[str, Any] = {"gz": gzip.compress, "xz": lzma.compress}
        compress = known.get(suffix) or zstandard.compress
        data = compress(lines)
        path = tmp_path / f"a.jsonl.{suffix}"
        path.write_bytes(data[: len(data) // 2])
        pages, failures = read(path)
        assert len(pages) > 500
        assert 1 <= len(failures) <= 2

    def test_another_encoding_may_be_named(self, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "a.jsonl", '{"id": "1", "text": "网页"}'.encode("gbk"))
        assert read(path, options=ReadOptions(encoding="gbk"))[0][0].text == "网页"

    def test_standard_input_is_json_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.TextIOWrapper(io.BytesIO(b'{"id": "1", "text": "t"}\nno\n'))
        monkeypatch.setattr(sys, "stdin", stream)
        pages, failures = read("-")
        assert (len(pages), str(failures[0])[:4]) == (1, "-:2:")

    @pytest.mark.parametrize("size", [10, 300_000])
    def test_a_json_file_may_be_one_array(self, tmp_path: Path, size: int) -> None:
        records = [{"id": str(i), "text": "字" * size, "n": [1, {"a": 2.5}]} for i in range(7)]
        path = tmp_path / "a.json"
        path.write_text(json.dumps(records, indent=1, ensure_ascii=False), encoding="utf-8")
        pages, failures = read(path)
        assert ([page.id for page in pages], failures) == ([r["id"] for r in records], [])

    def test_a_broken_array_keeps_what_came_before(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_text('[{"id": "1", "text": "t"}, {"id": "2", "te', encoding="utf-8")
        pages, (failure,) = read(path)
        assert (len(pages), failure.line) == (1, 2)
        assert "the rest of the file was left out" in failure.problem

    def test_a_json_file_may_hold_json_lines(self, tmp_path: Path) -> None:
        assert (
            len(read(write_lines(tmp_path / "a.json", {"id": "1", "text": "t"}, {"id": "2", "text": "t"}))[0])
            == 2
        )


class TestTables:
    def test_csv_with_quotes_and_line_breaks(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text('\ufeffid,title,text\n1,"T, U","a\nb"\n2,,x\n', encoding="utf-8")
        pages, failures = read(path)
        assert pages == [Page(id="1", title="T, U", text="a\nb"), Page(id="2", text="x")]
        assert failures == []

    @pytest.mark.parametrize(("name", "mark"), [("a.tsv", "\t"), ("a.csv", ";"), ("a.csv.gz", ",")])
    def test_delimiters(self, tmp_path: Path, name: str, mark: str) -> None:
        data = f"id{mark}text\n1{mark}x\n".encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        assert read(tmp_path / name)[0] == [Page(id="1", text="x")]

    def test_bad_rows_are_named_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_bytes(b"id,text\n1,x\n2\n3,\xc4\xe3\n4,y,z\n5,ok\n")
        pages, failures = read(path)
        assert [page.id for page in pages] == ["1", "5"]
        assert [failure.line for failure in failures] == [3, 4, 5]
        assert "--encoding" in failures[1].problem

    def test_an_empty_file_has_no_header(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_bytes(b"")
        assert "no header" in read(tmp_path / "a.csv")[1][0].problem

    def test_parquet(self, tmp_path: Path) -> None:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        table = pa.table(
            {
                "id": [str(i) for i in range(1000)],
                "html": [b"<p>x</p>"] * 1000,
                "date": [date(2024, 1, 2)] * 1000,
                "other": [[1]] * 1000,
            }
        )
        pq.write_table(table, tmp_path / "a.parquet")
        pages, failures = read(tmp_path / "a.parquet")
        assert (len(pages), failures) == (1000, [])
        assert pages[0] == Page(id="0", html=b"<p>x</p>", published="2024-01-02")

    def test_what_is_no_parquet_is_a_failure(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
        assert "not readable as Parquet" in read(tmp_path / "a.parquet")[1][0].problem

    def test_a_missing_column_names_the_others(self, tmp_path: Path) -> None:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"id": ["1"], "x": ["y"]}), tmp_path / "a.parquet")
        _, (failure, whole) = read(tmp_path / "a.parquet", options=ReadOptions(fields=Fields(text="t")))
        assert "it has: id, x" in failure.problem
        assert "0 of 1 records have this field; they have: id, x" in whole.problem
        assert failure.line == 1


class TestIds:
    def test_rows_without_one_have_a_digest_of_their_content_wherever_they_stand(
        self, tmp_path: Path
    ) -> None:
        rows = [
            {"text": "Caf\u00e9"},
            {"body": " Cafe\u0301\r\n", "id": None},
            {"text": "Caf\u00e9", "title": "T"},
            {"text": "-5"},
        ]
        pages, failures = read(write_lines(tmp_path / "a.jsonl", *rows))
        later, _ = read(write_lines(tmp_path / "b.jsonl", {"text": "5"}, *rows))
        assert not failures
        ids = [page.id for page in pages]
        assert ids == [page.id for page in later[1:]]
        assert [ids.index(each) for each in [*ids, later[0].id] if each in ids] == [0, 0, 2, 3]
        assert all(re.fullmatch("content-[0-9a-f]{32}", each) for each in ids)

    def test_the_place_may_be_the_id(self, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "a.jsonl", {"id": "x", "text": "t"}, {"text": "t"})
        assert [page.id for page in read(path, options=ReadOptions(id_from="place"))[0]] == [
            f"{path}#1",
            f"{path}#2",
        ]
        with pytest.raises(ValueError, match="id_from is 'field' or 'place' or 'either'"):
            ReadOptions(id_from="row")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "words"), [("gone.jsonl", "No such file"), ("a.pdf", "unknown kind"), ("a\0b", "")]
)
def test_paths_that_give_nothing_are_failures(tmp_path: Path, name: str, words: str) -> None:
    if name == "a.pdf":
        (tmp_path / name).write_bytes(b"x")
    _, (failure,) = read(tmp_path / name)
    assert words in failure.problem


def test_a_table_without_line_ends_is_never_held(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,text\n" + b"x" * 50_000 + b"\nb,some words\n" + b"y" * 50_000)
    held: list[int] = []

    class Measured(io.TextIOWrapper):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
            line = super().readline(-1 if size is None else size)
            held.append(len(line))
            return line

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("es_dedup.readers.tables.io.TextIOWrapper", Measured)
        items = list(read_pages([path], ReadOptions(max_record_bytes=2000)))
    assert [getattr(item, "id", None) for item in items] == [None, "b", None]
    assert [item.problem for item in items if isinstance(item, InputFailure)] == [
        "not a valid row: longer than 2,000 characters"
    ] * 2
    assert max(held) < 2**20


def test_a_header_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,text," * 5_000)
    (item,) = read_pages([path], ReadOptions(max_record_bytes=2000))
    assert isinstance(item, InputFailure)
    assert "the header is longer" in item.problem
