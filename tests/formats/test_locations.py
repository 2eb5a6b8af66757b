"""Patterns, addresses of storage, and paths into records: what they stand for, and one line for what cannot be read."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from es_dedup.errors import MissingExtra
from es_dedup.model import Page
from es_dedup.readers import Fields, InputFailure, ReadOptions, read_pages
from es_dedup.readers.estimate import estimated_pages

HTML = b"<html><body><p>A ferry runs again.</p></body></html>"
LINE = b'{"id": "line", "text": "A ferry runs again."}\n'


def read(*paths: Path | str, **options: Any) -> tuple[list[str], list[str]]:
    """Ids and failures."""
    items = list(read_pages(paths, ReadOptions(**options)))
    ids = [item.id for item in items if isinstance(item, Page)]
    return ids, [str(item) for item in items if isinstance(item, InputFailure)]


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


class TestPatterns:
    def test_of_files(self, crawl: Path) -> None:
        assert read(str(crawl / "*" / "*.jsonl")) == (["21", "22"], [])

    def test_ids_of_page_files_are_relative_to_the_folder_before_the_pattern(self, crawl: Path) -> None:
        ids, failures = read(str(crawl / "2026-11-21*" / "*.html"))
        assert (ids, failures) == (["2026-11-21/a.html"], [])

    def test_at_any_depth(self, crawl: Path) -> None:
        ids, _ = read(str(crawl / "**" / "*.html"))
        assert ids == [f"2026-11-{day}/{name}" for day in ("21", "22") for name in ("a.html", "deep/b.html")]

    def test_all_files_at_any_depth_once_and_other_kinds_counted(self, crawl: Path) -> None:
        pages = read_pages([str(crawl / "**")])
        ids = sorted(item.id for item in pages if isinstance(item, Page))
        files = [f"2026-11-{day}/{name}" for day in (21, 22) for name in ("a.html", "deep/b.html")]
        assert ids == [*files, "21", "22"]
        assert dict(pages.ignored) == {".png": 2}

    def test_of_folders(self, crawl: Path) -> None:
        ids, _ = read(str(crawl / "*-2[1]"))
        assert sorted(ids) == ["2026-11-21/a.html", "2026-11-21/deep/b.html", "21"]

    def test_nothing_matches(self, crawl: Path) -> None:
        pattern = str(crawl / "*.csv")
        assert read(pattern) == ([], [f"{pattern}: no file matches"])

    def test_a_file_of_that_very_name_comes_first(self, tmp_path: Path) -> None:
        (tmp_path / "[1].jsonl").write_bytes(LINE)
        assert read(tmp_path / "[1].jsonl") == (["line"], [])

    def test_are_counted_in_the_estimate(self, crawl: Path) -> None:
        assert estimated_pages([str(crawl / "**" / "*.html")]) == 4


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

    def test_of_a_file(self) -> None:
        assert read("memory://bucket/day/dump.jsonl") == (["line"], [])
        assert estimated_pages(["memory://bucket/day/dump.jsonl"]) is None

    @pytest.mark.parametrize("address", ["memory://bucket", "memory://bucket/", "memory://bucket/day"])
    def test_of_a_folder(self, address: str) -> None:
        pages = read_pages([address])
        ids = [item.id for item in pages if isinstance(item, Page)]
        assert ids == ["memory://bucket/day/a.html", "line"]
        assert dict(pages.ignored) == {".json": 1, ".png": 1}
        assert pages.roots.roots == ()

    def test_of_a_pattern(self) -> None:
        assert read("memory://bucket/*/*.html") == (["memory://bucket/day/a.html"], [])

    def test_of_a_parquet_file(self) -> None:
        with fsspec.open("memory://bucket/t.parquet", "wb") as stream:
            pq.write_table(pa.table({"id": ["row"], "text": ["A ferry runs again."]}), stream)
        assert read("memory://bucket/t.parquet") == (["row"], [])

    def test_of_a_warc_file(self) -> None:
        body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + HTML
        head = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: http://a.example/\r\n"
        kind = b"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n" % len(body)
        fsspec.filesystem("memory").pipe("/bucket/x.warc", head + kind + body + b"\r\n\r\n")
        assert read("memory://bucket/x.warc") == (["http://a.example/"], [])

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

    def test_without_the_package_of_its_storage(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "gcsfs", None)
        with pytest.raises(MissingExtra, match=r"needs gcsfs: install the extra gcs"):
            read("gs://bucket/a.html")

    def test_without_fsspec(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
        with pytest.raises(MissingExtra, match=r"needs fsspec: install the extra remote"):
            read("memory://bucket")


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

    def test_of_objects_and_lists(self, tmp_path: Path) -> None:
        page = self.page(tmp_path, self.RECORD)
        assert page == Page(id="1", text="A ferry.", title="Ferry", url="http://a.example/")

    def test_a_field_of_the_very_name_comes_first(self, tmp_path: Path) -> None:
        page = self.page(tmp_path, self.RECORD | {"_source.body": "A bridge."})
        assert isinstance(page, Page)
        assert page.text == "A bridge."

    def test_at_each_step_the_whole_rest_comes_first(self, tmp_path: Path) -> None:
        source = {"link": {"href": "http://b.example/"}, "link.href": "http://c.example/", "body": "A."}
        page = self.page(tmp_path, self.RECORD | {"_source": source})
        assert isinstance(page, Page)
        assert page.url == "http://c.example/"

    def test_a_list_is_no_text_and_the_failure_says_how_to_name_its_first(self, tmp_path: Path) -> None:
        problem = self.page(tmp_path, self.RECORD, Fields(id="_id", text="fields.title"))
        assert (
            problem
            == "field 'fields.title' must be text, got a list; name one of its values: fields.title[0]"
        )

    def test_what_a_record_has_is_listed_by_paths(self, tmp_path: Path) -> None:
        problem = self.page(tmp_path, self.RECORD, Fields(id="_id", text="_source.text"))
        assert problem == (
            "no field '_source.text' (--text-field); it has: _id, _source.body, _source.link.href, fields.title"
        )

    @pytest.mark.parametrize(
        "path",
        [
            "_source..body",
            "_source.",
            ".body",
            "fields.title[9]",
            "fields.title[x]",
            "_source.body.x",
            "_id[0]",
            "[0]",
            "[",
        ],
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
