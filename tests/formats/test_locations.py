"""Patterns, addresses of storage, and paths into records: what they stand for, and one line for what cannot be read."""

import json
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from es_dedup.errors import MissingExtra
from es_dedup.model import Page
from es_dedup.readers import Fields, ReadOptions, read_pages
from tests.reading import read, warc

HTML = b"<html><body><p>A ferry runs again.</p></body></html>"
LINE = b'{"id": "line", "text": "A ferry runs again."}\n'


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """A folder of days with page files and dumps."""
    for day in ("21", "22"):
        (tmp_path / f"2026-11-{day}" / "deep").mkdir(parents=True)
        (tmp_path / f"2026-11-{day}" / "a.html").write_bytes(HTML)
        (tmp_path / f"2026-11-{day}" / "deep" / "b.html").write_bytes(HTML)
        (tmp_path / f"2026-11-{day}" / "dump.jsonl").write_bytes(LINE.replace(b"line", day.encode()))
        (tmp_path / f"2026-11-{day}" / "logo.png").write_bytes(b"\x89PNG")
    return tmp_path


def test_patterns(crawl: Path) -> None:
    files = [f"2026-11-{day}/{name}" for day in (21, 22) for name in ("a.html", "deep/b.html")]
    for pattern, ids in {
        "*/*.jsonl": ["21", "22"],
        "2026-11-21*/*.html": ["2026-11-21/a.html"],  # ids are relative to the folder before the pattern
        "**/*.html": files,
        "*-2[1]": [*files[:2], "21"],
        "**": [*files, "21", "22"],  # each file once
    }.items():
        source = read_pages([str(crawl / pattern)])
        assert sorted(item.id for item in source if isinstance(item, Page)) == sorted(ids), pattern
        assert dict(source.ignored) == ({} if "." in pattern else {".png": 1 if "1" in pattern else 2})
    assert read(str(crawl / "*.csv")) == ([], [f"{crawl}/*.csv: cannot be read: no file matches"])
    (crawl / "[1].jsonl").write_bytes(LINE)
    assert read(crawl / "[1].jsonl") == (["line"], []), "a file of that very name comes first"


class TestAddresses:
    @pytest.fixture(autouse=True)
    def bucket(self) -> Iterator[None]:
        """Files in fsspec's memory."""
        memory = fsspec.filesystem("memory")
        memory.pipe("/bucket/day/a.html", HTML)
        memory.pipe("/bucket/day/dump.jsonl", LINE)
        memory.pipe("/bucket/day/state.json", b"{}")
        memory.pipe("/bucket/day/logo.png", b"\x89PNG")
        yield
        memory.rm("/bucket", recursive=True)

    def test_of_files_and_patterns(self) -> None:
        memory = fsspec.filesystem("memory")
        with memory.open("/bucket/more/t.parquet", "wb") as stream:
            pq.write_table(pa.table({"id": ["row"], "text": ["A ferry runs again."]}), stream)
        memory.pipe("/bucket/more/x.warc", warc("http://a.example/", HTML))
        for name, page_id in {
            "day/dump.jsonl": "line",
            "*/*.html": "memory://bucket/day/a.html",
            "more/t.parquet": "row",
            "more/x.warc": "http://a.example/",
        }.items():
            assert read(f"memory://bucket/{name}") == ([page_id], [])

    @pytest.mark.parametrize("address", ["memory://bucket", "memory://bucket/", "memory://bucket/day"])
    def test_of_a_folder(self, address: str) -> None:
        pages = read_pages([address])
        ids = [item.id for item in pages if isinstance(item, Page)]
        assert ids == ["memory://bucket/day/a.html", "line"]
        assert dict(pages.ignored) == {".json": 1, ".png": 1}
        assert pages.root is None

    def test_of_files_in_an_archive(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("day/a.html", HTML)
            archive.writestr("day/dump.jsonl", LINE)
        inside = f"::{tmp_path}/a.zip"
        assert read(f"zip://day/dump.jsonl{inside}") == (["line"], [])
        assert read(f"zip://{inside}") == ([f"zip://day/a.html{inside}", "line"], [])
        assert read(f"zip://*/*.html{inside}") == ([f"zip://day/a.html{inside}"], [])

    def test_of_local_files_is_a_path(self, tmp_path: Path) -> None:
        (tmp_path / "a b.html").write_bytes(HTML)
        assert read(f"file://{tmp_path}/a%20b.html") == read(tmp_path / "a b.html") == (["a b.html"], [])

    @pytest.mark.parametrize(
        ("address", "problem"),
        [
            ("memory://bucket/none.jsonl", "cannot be read: No such file or directory"),
            ("memory://bucket/*.csv", "cannot be read: no file matches"),
            ("memory://bucket/day/logo.png", "unknown kind of file; known are"),
            (
                "https://site.example/a.html",
                "cannot be read: https:// is not read: save what a crawler fetched",
            ),
            ("s3://user:secret@bucket/a.html", "cannot be read: credentials belong into the environment"),
            ("nothing://bucket/a.html", "cannot be read: Protocol not known: nothing"),
        ],
    )
    def test_that_names_nothing(self, address: str, problem: str) -> None:
        ids, failures = read(address)
        assert ids == []
        assert failures[0].startswith(f"{address}: {problem}")
        assert "\n" not in failures[0]

    @pytest.mark.parametrize(
        ("module", "address", "words"),
        [
            ("gcsfs", "gs://bucket/a.html", "needs gcsfs: install the extra gcs"),
            ("fsspec.core", "memory://bucket", "needs fsspec: install the extra remote"),
        ],
    )
    def test_without_a_package(
        self, monkeypatch: pytest.MonkeyPatch, module: str, address: str, words: str
    ) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtra, match=words):
            read(address)


class TestPathsIntoRecords:
    FIELDS = Fields(id="_id", text="_source.body", title="fields.title[0]", url="_source.link.href")

    def page(self, tmp_path: Path, record: object, fields: Fields = FIELDS) -> Page | str:
        (tmp_path / "a.jsonl").write_text(json.dumps(record))
        item = next(iter(read_pages([tmp_path / "a.jsonl"], ReadOptions(fields=fields))))
        return item if isinstance(item, Page) else item.problem

    RECORD: ClassVar[dict[str, Any]] = {
        "_id": "1",
        "_source": {"body": "A ferry.", "link": {"href": "http://a.example/"}},
        "fields": {"title": ["Ferry", "Boat"]},
    }

    def test_fields_lists_and_names_with_dots(self, tmp_path: Path) -> None:
        page = Page(id="1", text="A ferry.", title="Ferry", url="http://a.example/")
        assert self.page(tmp_path, self.RECORD) == page
        named = self.RECORD | {"_source.body": "A bridge."}  # a field of the very name comes first
        assert self.page(tmp_path, named) == replace(page, text="A bridge.")
        source = self.RECORD["_source"] | {
            "link.href": "http://c.example/"
        }  # and so does the rest at each step
        assert self.page(tmp_path, self.RECORD | {"_source": source}) == replace(
            page, url="http://c.example/"
        )

    @pytest.mark.parametrize(
        ("path", "problem"),
        [
            (
                "_source.link",
                "field '_source.link' must be text, got an object; name one of its fields: _source.link.href",
            ),
            (
                "_source.text",
                "no field '_source.text' (--text-field); it has: _id, _source.body, _source.link.href, fields.title",
            ),
        ],
    )
    def test_a_failure_lists_what_can_be_named(self, tmp_path: Path, path: str, problem: str) -> None:
        assert self.page(tmp_path, self.RECORD, Fields(id="_id", text=path)) == problem

    @pytest.mark.parametrize(
        "path",
        "_source..body _source. .body fields.title[9] fields.title[x] _source.body.x _id[0] [0] [".split(),
    )
    def test_that_lead_nowhere(self, tmp_path: Path, path: str) -> None:
        assert str(self.page(tmp_path, self.RECORD, Fields(id="_id", text=path))).startswith(
            f"no field {path!r}"
        )

    def test_into_an_array_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text(json.dumps([self.RECORD, {**self.RECORD, "_id": "2"}]))
        assert read(tmp_path / "a.json", fields=self.FIELDS) == (["1", "2"], [])

    def test_into_structs_of_parquet_of_which_only_these_are_read(self, tmp_path: Path) -> None:
        rows = [{**self.RECORD, "other": "x" * 1000}]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
        (page,) = read_pages([tmp_path / "a.parquet"], ReadOptions(fields=self.FIELDS))
        assert page == Page(id="1", text="A ferry.", title="Ferry", url="http://a.example/")

    def test_a_path_that_no_record_has_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_bytes(LINE)
        _, failures = read(tmp_path / "a.jsonl", fields=Fields(title="meta.title"))
        assert failures == ["--title-field meta.title: 0 of 1 records have this field; they have: id, text"]
