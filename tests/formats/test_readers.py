"""Each input format: what it gives, and what it says about input that gives nothing."""

import base64
import codecs
import gzip
import io
import json
import lzma
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from es_dedup.model import Page
from es_dedup.readers import Fields, InputFailure, ReadOptions, read_pages
from es_dedup.text.content import content_id
from tests.reading import LINE, PACKERS, RANDOM, lines_of, read, warc


def parquet_of(columns: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


@dataclass(frozen=True)
class Case:
    """Files, and what they give.

    Attributes:
        files: contents by name; a single file is read as such, several are read as a folder.
        pages: ids, or whole pages where more is looked at.
        problems: words of each failure.
        options: how the files are read.
    """

    files: dict[str, bytes]
    pages: Sequence[str | Page]
    problems: Sequence[str] = ()
    options: ReadOptions | None = None


HTML = b"<p>\xc4\xe3</p>"
NAMED = {"id": "a", "key": "k", "text": "t", "main": "m", "kopf": "h", "when": "2020", "src": "u"}
RECORDS: list[dict[str, Any]] = [
    {"id": str(at), "text": "字" * 300_000, "n": [1, {"a": 2.5}]} for at in range(7)
]
TAIPEI = "繁體中文測試文章，今天下午三點在臺北市政府舉行記者會。"
DANUBE = "Der Bürgermeister eröffnete die Brücke über die Donau; 3 000 Gäste kamen."
TOKYO = "日本語のテキストです。"
CASES = {
    "page files in order of path": Case(
        dict.fromkeys(("b/x.HTML", "b/a.txt", "a.md", "c/d/e.htm", "z.xhtml", "note.pdf"), b"<p>one</p>"),
        [
            *(Page(name, text="<p>one</p>") for name in ("a.md", "b/a.txt")),
            *(Page(name, html=b"<p>one</p>") for name in ("b/x.HTML", "c/d/e.htm", "z.xhtml")),
        ],
    ),
    "encodings of text": Case(
        {f"{name}.txt": "中文网页".encode(name) for name in ("gb18030", "utf-16", "utf-32", "utf-8", "utf-8-sig")},
        [Page(f"{name}.txt", text="中文网页") for name in ("gb18030", "utf-16", "utf-32", "utf-8-sig", "utf-8")],
    ),
    "text in a likely charset": Case(
        {"big5.txt": TAIPEI.encode("big5"), "latin.txt": DANUBE.encode("latin-1")},
        [Page("big5.txt", text=TAIPEI), Page("latin.txt", text=DANUBE)],
    ),
    "text in a named encoding": Case(
        {"sjis.txt": TOKYO.encode("cp932"), "utf-8.txt": TOKYO.encode()},
        [Page("sjis.txt", text=TOKYO), Page("utf-8.txt", text=TOKYO)],
        options=ReadOptions(encoding="cp932"),
    ),
    "no known encoding": Case({"bad.txt": b"abc \x81 \x8d \x9d"}, [], ["bad.txt: text in an unknown encoding"]),
    "nothing in a folder": Case({}, [], ["no files of a known kind"]),
    "the head of a huge page": Case(
        {"a.html": b"x" * 5000, "b.txt": "中".encode() * 5000},
        [Page("a.html", html=b"x" * 1001), Page("b.txt", text="中" * 333)],
        options=ReadOptions(max_page_bytes=1000),
    ),
    "records and packed files in a folder": Case(
        {
            "sub/a.jsonl": LINE,
            "b.ndjson.xz": lzma.compress(b'{"id": "2", "text": "t"}'),
            "c.csv.gz": gzip.compress(b"id,text\n3,t\n"),
            "d.html.gz": gzip.compress(b"<p>page"),
            "e.htm": gzip.compress(b"<p>as it was served"),
            "f.txt.zst": zstandard.compress("网页".encode("gb18030")),
            "g.parquet": parquet_of({"id": ["4"], "text": ["t"]}),
            "h.warc.gz": gzip.compress(warc("http://a/", b"<p>")),
        },
        ["2", "3", "d.html.gz", "e.htm", "f.txt.zst", "4", "http://a/", "1"],
    ),
    "usual names of fields": Case(
        {
            "a.jsonl": lines_of(
                {"id": "1", "title": "T", "content": "text", "url": "http://a/1", "date": "2024-05-01"},
                {"_id": 2, "HTML": "<p>x</p>"},
                {"page_id": "3", "text": None, "html_base64": base64.b64encode(HTML).decode()},
                {"url": "http://a/4", "body": "x", "time": 1_700_000_000},
                {"id": "5", "text": "t", "timestamp": 0},
            )
        },
        [
            Page("1", text="text", url="http://a/1", title="T", published="2024-05-01"),
            Page("2", html="<p>x</p>"),
            Page("3", html=HTML),
            Page("http://a/4", text="x", url="http://a/4", published=datetime.fromtimestamp(1_700_000_000, UTC)),
            Page("5", text="t", published="0"),
        ],
    ),
    "values as other tools wrap them": Case(
        {
            "a.jsonl": lines_of(
                {"_id": {"$oid": "65a"}, "id": 7, "content": "t", "date": {"$date": {"$numberLong": "1700000000000"}}},
                {"id": 2, "title": {"rendered": "T"}, "content": {"rendered": "<p>t", "protected": False}},
                {"id": [3], "title": ["T"], "url": ["u"], "text": ["one", None, "two"], "time": []},
                {"_index": "i", "_id": "4", "_source": {"id": 7, "title": 1984, "body": "t"}},
                {"_id": "5", "fields": {"title": ["T"], "article": ["t"]}},
            )
        },
        [
            Page("65a", text="t", published=datetime.fromtimestamp(1_700_000_000, UTC)),
            Page("2", text="<p>t", title="T"),
            Page("3", text="one\ntwo", title="T", url="u"),
            Page("4", text="t", title="1984"),
            Page("5", text="t", title="T"),
        ],
    ),
    "named fields win": Case(
        {"a.jsonl": lines_of(NAMED)},
        [Page("k", text="m", title="h", published="2020", url="u")],
        options=ReadOptions(fields=Fields(id="key", text="main", title="kopf", time="when", url="src")),
    ),
    "a named field is missing": Case(
        {"a.jsonl": lines_of({"id": "1", "text": "t"})},
        [],
        [
            "no field 'main' (--text-field); it has: id, text",
            "--text-field main: 0 of 1 records have this field; they have: id, text",
        ],
        ReadOptions(fields=Fields(text="main")),
    ),
    "an optional field is missing": Case(
        {"a.jsonl": lines_of({"k": "1", "main": "t", "kopf": "T"}, {"k": "2", "main": "t"}, {"k": "3", "html": "<p>"})},
        ["1", "2", "3"],
        ["--url-field link: 0 of 3 records have this field; they have: k, main, kopf"],
        ReadOptions(fields=Fields(id="k", text="main", title="kopf", url="link")),
    ),
    "an empty text": Case(
        {"a.jsonl": lines_of({"id": 1.0, "text": ""}, {"id": 2, "text": None})}, [Page("1", text=""), Page("2", text="")]
    ),
    "lone surrogates": Case(
        {"a.jsonl": b'{"id": "1", "text": "a\\ud83d\\ude00b\\ud800c"}'}, [Page("1", text="a😀b\ufffdc")]
    ),
    "another encoding": Case(
        {"a.jsonl": '{"id": "1", "text": "网页"}'.encode("gbk")},
        [Page("1", text="网页")],
        options=ReadOptions(encoding="gbk"),
    ),
    "a place as the id": Case(
        {"a.jsonl": lines_of({"id": "x", "text": "t"}, {"text": "t"})},
        ["./a.jsonl#1", "./a.jsonl#2"],
        options=ReadOptions(id_from="place"),
    ),
    "an array": Case(
        {"a.json": json.dumps(RECORDS, indent=1, ensure_ascii=False).encode()}, [each["id"] for each in RECORDS]
    ),
    "a broken array": Case(
        {"a.json": b'[{"id": "1", "text": "t"}, {"id": "2", "te'}, ["1"], ["a.json:2: |the rest of the file was left out"]
    ),
    "objects over several lines": Case(
        {"a.json": json.dumps(RECORDS[0], indent=1).encode() + json.dumps(RECORDS[1], indent=1).encode() + b"\n"}, ["0", "1"]
    ),
    "a bulk request": Case(
        {
            "a.jl": lines_of({"index": {"_index": "i", "_id": "1"}}, {"id": 7, "body": "t"}, {"create": {}}, {"id": 2, "text": "t"}),
            "b.jsonlines": lines_of({"index": {"_id": "3"}}, b"no", {"id": "4", "text": "t"}, {"index": {}}),
        },
        ["1", "2", "4"],
        ["b.jsonlines:2: not valid JSON", "b.jsonlines:4: an action of a bulk request without its document"],
    ),
    "lines under the name of an array": Case({"a.json": LINE * 2}, ["1", "1"]),
    "csv with quotes and line breaks": Case(
        {"a.csv": '\ufeffid,title,text\n1,"T, U","a\nb"\n2,,x\n'.encode()},
        [Page("1", title="T, U", text="a\nb"), Page("2", text="x")],
    ),
    "a quote that is not closed": Case(
        {"a.csv": b'id,text\n1,"a\n2,b\n3,"c ""d"""\n4,"e\nf" ,x\n5,"g\nh" \n6,i\n7,"j'},
        [
            Page("1", text='"a'),
            Page("2", text="b"),
            Page("3", text='c "d"'),
            Page("5", text="g\nh "),
            Page("6", text="i"),
            Page("7", text='"j'),
        ],
        ["a.csv:6: 3 values"],
    ),
    "quotes where nothing is quoted": Case(
        {"a.tsv": b'id\ttext\n1\t"We won.\n2\tt\n3\tShe said "yes" twice\n4\t"No" she said\n'},
        [
            Page("1", text='"We won.'),
            Page("2", text="t"),
            Page("3", text='She said "yes" twice'),
            Page("4", text="No she said"),
        ],
    ),
    "tabs": Case(
        {"a.tsv": b"id\ttext\ttime\n1\tx\t1700000000\n"},
        [Page("1", text="x", published=datetime.fromtimestamp(1_700_000_000, UTC))],
    ),
    "columns without values, or alike": Case(
        {"a.csv": b" id, title,text,text,\n1,T,a,b,\n\\N,NULL,c,d,\nNaN,N/A,None,e,\n"},
        [
            Page("1", title="T", text="a"),
            Page(content_id("c", None), text="c"),
            Page(content_id("", None), text=""),
        ],
    ),
    "a named delimiter": Case({"a.csv": b"sep=;\r\nid;text\r\n1;x, y, z\r\n"}, [Page("1", text="x, y, z")]),
    "quotes escaped by backslashes": Case(
        {"a.csv": b'id,text,title\n1,"She said \\"no, never\\",\nand \\"left\\"",T\n2,b\\\\c,\n'},
        [Page("1", text='She said "no, never",\nand "left"', title="T"), Page("2", text="b\\c")],
    ),
    "line ends escaped by backslashes": Case(
        {"a.tsv": b"id\ttext\n1\tone\\ntwo\\tthree \\\\n\n2\t\\N\n"}, [Page("1", text="one\ntwo\tthree \\n"), Page("2", text="")]
    ),
    "semicolons": Case({"a.csv": b"id;text\n1;x\n"}, [Page("1", text="x")]),
    "a packed table": Case({"a.csv.gz": gzip.compress(b"id,text\n1,x\n")}, [Page("1", text="x")]),
    "bad rows": Case(
        {"a.csv": b"id,text\n1,x\n2\n3,\xc4\xe3\n4,y,z\n5,ok\n"}, ["1", "5"], [":3: ", ":4: |--encoding", ":5: "]
    ),
    "rows that end with delimiters": Case(
        {"a.csv": b"id,text\n1,x,\n2,y,,\n3,z\n4,u,v\n"}, ["1", "2", "3"], [":5: 3 values, but"]
    ),
    "an empty table": Case({"a.csv": b""}, [], ["no header"]),
    "a header without an end": Case(
        {"a.csv": b"id,text," * 5_000}, [], ["the header is longer"], ReadOptions(max_record_bytes=2000)
    ),
    "parquet": Case(
        {
            "a.parquet": parquet_of(
                {"id": ["0", "1"], "html": [b"<p>x</p>"] * 2, "date": [date(2024, 1, 2)] * 2, "other": [[1]] * 2}
            )
        },
        [Page(name, html=b"<p>x</p>", published="2024-01-02") for name in "01"],
    ),
    "bytes and decimals in parquet": Case(
        {"a.parquet": parquet_of({"id": [Decimal(1), Decimal(2)], "text": ["中".encode(), b"t"], "url": [b"u", None]})},
        [Page("1", text="中", url="u"), Page("2", text="t")],
    ),
    "no parquet": Case({"a.parquet": b"PAR1 no"}, [], ["not readable as Parquet"]),
    "a missing column": Case(
        {"a.parquet": parquet_of({"id": ["1"], "x": ["y"]})},
        [],
        ["a.parquet:1: |it has: id, x", "0 of 1 records have this field; they have: id, x"],
        ReadOptions(fields=Fields(text="t")),
    ),
    "a page file that is cut short": Case(
        {"a.html.gz": gzip.compress(RANDOM)[:300]}, [], ["a.html.gz: the file is cut short; the page was not read"]
    ),
    "an image in a record": Case(
        {"a.jsonl": lines_of({"id": "1", "html_base64": "iVBORw0KGgoAAAANSUhEUg=="})},
        [],
        ["a.jsonl:1: field 'html_base64' holds binary data, not a page"],
    ),
    "a path that is missing": Case({"gone.jsonl": b""}, [], ["No such file"]),
    "an unknown kind": Case({"a.pdf": b"x"}, [], ["unknown kind"]),
    **{
        f"no records in {data!r}": Case({name: data}, [], [f"{name}: holds no page"])
        for name, data in (("a.jsonl", b"\n\n"), ("a.csv", b"id,text\n"), ("a.json", b"[]"))
    },
    "an empty file": Case({"a.jsonl": b""}, [], ["a.jsonl: the file is empty"]),
    **{
        f"{kind} with a mark before {encoding}": Case({f"a.{kind}": codecs.BOM_UTF8 + data}, ["1"], options=ReadOptions(encoding=encoding))
        for encoding, (kind, data) in product(
            ("utf-16",), (("jsonl", LINE), ("json", b"[" + LINE + b"]"), ("csv", b"id,text\n1,t\n"))
        )
    },
    **{
        f"packed by {kind} under any name": Case({name: pack(LINE) + pack(LINE)}, ["1", "1"])
        for kind, pack in PACKERS.items()
        for name in ("a.jsonl", f"a.jsonl.{kind}")
    },
    **{
        f"{kind} under the name of a page": Case({"a.html": data, "b.txt": data}, [], [f"{kind}|, not a page"] * 2)
        for kind, data in {
            "a PDF document": b"%PDF-1.7\n%\xe2\xe3",
            "binary data": RANDOM,
        }.items()
    },
    "zeros under the name of a page": Case({"a.html": b"\0" * 500}, [], ["binary data"]),
    "pages in any charset": Case(
        {
            f"{charset}.html": ("<html><head><title>page</title></head><body><p>本文 text</p></body></html>" * 20).encode(charset)
            for charset in ("big5", "euc_kr", "gb18030", "iso2022_jp", "shift_jis", "utf-16", "utf-32")
        },
        [f"{charset}.html" for charset in ("big5", "euc_kr", "gb18030", "iso2022_jp", "shift_jis", "utf-16", "utf-32")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_files_give(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    for file, data in case.files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True, parents=True)
        if file != "gone.jsonl":
            (tmp_path / file).write_bytes(data)
    path = tmp_path / next(iter(case.files)) if len(case.files) == 1 else tmp_path
    items = list(read_pages([path], case.options))
    pages = [item for item in items if isinstance(item, Page)]
    assert len(pages) == len(case.pages)
    for page, expected in zip(pages, case.pages, strict=True):
        if isinstance(expected, Page):
            assert page == expected
        else:
            assert page.id.replace(str(tmp_path), ".") == expected
    failures = [str(item) for item in items if isinstance(item, InputFailure)]
    assert len(failures) == len(case.problems), failures
    for failure, problem in zip(failures, case.problems, strict=True):
        assert all(part in failure for part in problem.split("|")), failure


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"id": "x", ', "not valid JSON"),
        (b'{"id": "x", "text": "\xff\xfe"}', "not utf-8 text (byte 22"),
        (b"[" * 100_000, "not valid JSON|nested too deeply"),
        (b'"text"', "must be an object"),
        (b'""', "must be an object"),
        (
            {"id": "x", "foo": "t"},
            "article, content_text, html, raw_html, html_base64, content_html, body_html); there are: id, foo; name one with --text-field or --html-field",
        ),
        ({"id": "x", "text": 5}, "field 'text' must be text, got a number"),
        ({"id": "x", "text": ["a", 5]}, "field 'text' must be text, got a list of values that are no texts"),
        (
            {"id": "x", "text": {"a": {"b": 1}}},
            "field 'text' must be text, got an object; name one of its fields: text.a.b",
        ),
        ({"id": True, "text": "t"}, "must be text or a whole number, got true or false"),
        ({"id": ["a", "b"], "text": "t"}, "field 'id' has several values"),
        ({"took": 1, "hits": {"hits": [{"text": "a"}]}}, "`jq -c '.hits.hits[]'` makes records of"),
        ({"id": 1.5, "text": "t"}, "must be text or a whole number, got a number"),
        ({"id": "a\0b", "text": "t"}, "no text"),
        ({"id": "x", "html_base64": "***"}, "not valid base64"),
        ({"id": "x", "text": "t", "title": {}}, "field 'title' must be text, got an object"),
        (b'{"id": "x", "text": "' + b"a" * 3000 + b'"}', "longer than 2,000 bytes"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_goes_on(tmp_path: Path, line: Any, words: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of({"id": "1", "text": "t"}, line, b"", {"id": "2", "text": "t"}))
    ids, (failure,) = read(path, max_record_bytes=200_000 if line == b"[" * 100_000 else 2000)
    assert ids == ["1", "2"]
    assert failure.startswith(f"{path}:2: ")
    assert any(word in failure for word in words.split("|")), failure


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path: Path, encoding: str) -> None:
    rows = [{"id": str(number), "text": "网页\u0a0a\u0d0d"} for number in range(3)]
    for kind, text in {
        "jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
        "json": json.dumps(rows, ensure_ascii=False),
        "csv": "id,text\n" + "".join(f"{row['id']},{row['text']}\n" for row in rows),
    }.items():
        path = tmp_path / f"a.{kind}"
        path.write_bytes(text.encode(encoding))
        pages = list(read_pages([path], ReadOptions(encoding="gbk")))
        assert pages == [Page(**row) for row in rows]
        path.write_bytes(text.encode("utf-16-le"))
        assert list(read_pages([path], ReadOptions(encoding="utf-16-le"))) == pages


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_file_that_is_cut_short_is_named_and_keeps_what_came_before(tmp_path: Path, suffix: str) -> None:
    rows = lines_of(*({"id": str(at), "text": os.urandom(500).hex()} for at in range(2000)))
    data = PACKERS[suffix](rows)
    path = tmp_path / f"a.jsonl.{suffix}"
    for size in (5, len(data) // 2, len(data) - 3):
        path.write_bytes(data[:size])
        ids, failures = read(path)
        assert any("cut short" in failure or "damaged" in failure for failure in failures), failures
        assert len(failures) <= 2
        assert len(ids) > (500 if size > 5 and suffix != "bz2" else -1)


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_parts_follow_each_other_and_what_is_none_is_named(tmp_path: Path, suffix: str) -> None:
    first, second = (PACKERS[suffix](lines_of({"id": name, "text": "t"})) for name in "ab")
    path = tmp_path / f"a.jsonl.{suffix}"
    for behind, problems in ((b"", 0), (b"\0" * 3000, 0), (b"no packed data", 1)):
        path.write_bytes(first + b"\0" * 8 + second + behind)
        ids, failures = read(path)
        assert (ids, len(failures)) == (["a", "b"], problems), (behind, failures)


def test_a_table_without_line_ends_is_never_held(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,text\n" + b"x" * 50_000 + b"\nb,some words\n" + b"y" * 50_000)
    lengths: list[int] = []

    class Measured(io.TextIOWrapper):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
            line = super().readline(-1 if size is None else size)
            lengths.append(len(line))
            return line

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("es_dedup.readers.rows.io.TextIOWrapper", Measured)
        ids, failures = read(path, max_record_bytes=2000)
    assert ids == ["b"]
    assert [failure.partition(": ")[2] for failure in failures] == [
        "not a valid row: longer than 2,000 characters"
    ] * 2
    assert max(lengths) < 2**20


def test_standard_input_is_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINE + b"no\n")))
    ids, (failure,) = read("-")
    assert (ids, failure[:4]) == (["1"], "-:2:")
