"""What a filter takes for a record: what stands at its place, or, with an index, the page of its id."""

import csv
import io
import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest

from es_dedup import Deduplicator, Page, deduplicate
from es_dedup.errors import InputError
from es_dedup.readers import read_pages
from tests.formats.test_filter import FERRY, LIBRARY, LINES, filtered, json_line


@pytest.mark.parametrize("columns", [(), ("id",), ("url",), ("id", "url")])
@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet"])
def test_a_record_is_what_stands_at_its_place(tmp_path: Path, kind: str, columns: tuple[str, ...]) -> None:
    """Ids and addresses may be missing, repeat, or be no ids: they decide nothing."""
    other = FERRY.replace("ninety", "forty") + " Later it sank."
    texts = [FERRY, LIBRARY, "", other, "Other.", LIBRARY + "\r\n", " ", FERRY]
    ids = ["a", "a", "b", "a", "", "b", "b", "a" * 600]
    rows: list[dict[str, Any]] = []
    for place, (text, page_id) in enumerate(zip(texts, ids, strict=True)):
        named = {"id": page_id, "url": f"https://a.example/{page_id}"}
        rows.append({"body": text, "n": place} | {name: named[name] for name in columns})
    path = tmp_path / f"dump.{kind}"
    write_rows(path, rows)
    for empty in (False, True):
        kept, dropped, report = filtered(path, drop_empty=empty)
        places, left_out = (sorted(map(int, kept_numbers(part, kind))) for part in (kept, dropped))
        # of pages without a time the longest is canonical
        assert places == ([1, 3, 4] if empty else [1, 2, 3, 4, 6])
        assert sorted(places + left_out) == list(range(8))
        assert (report.kept, report.dropped) == (len(places), len(left_out))
        assert (report.empty, report.failed) == (2, 0)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """A file of these rows, of the kind that its suffix names."""
    if path.suffix == ".parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        text = json.dumps(rows) if path.suffix == ".json" else "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")


def kept_numbers(data: bytes, kind: str) -> list[str]:
    """The column ``n`` of a filtered file."""
    if kind == "parquet":
        return [
            str(number)
            for number in pytest.importorskip("pyarrow.parquet").read_table(io.BytesIO(data))["n"].to_pylist()
        ]
    if kind == "csv":
        return [row["n"] for row in csv.DictReader(io.StringIO(data.decode(), newline=""))]
    rows = json.loads(data) if kind == "json" else map(json.loads, data.splitlines())
    return [str(row["n"]) for row in rows]


def test_rows_that_share_an_id_of_an_index_are_kept_compared_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    texts = (FERRY, FERRY, "A new text of this page.", LIBRARY)
    rows = [*(json_line("a", text) for text in texts), json_line("b", LIBRARY)]
    path.write_bytes(b"".join(rows))
    with Deduplicator.open(tmp_path / "pages.db") as dedup:
        dedup.scan([Page(id="a", text=FERRY), Page(id="b", text=LIBRARY)])
        kept, dropped, report = filtered(path, index=dedup)
    assert kept == rows[0] + rows[2] + rows[4]
    assert dropped == rows[1] + rows[3]
    assert (report.kept, report.dropped, report.shared_ids, report.unknown) == (3, 2, 2, 0)


def test_a_dump_that_changes_meanwhile_is_not_decided_on(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_bytes(LINES[0])

    def progress(_: object) -> None:
        path.write_bytes(LINES[1])

    with pytest.raises(InputError, match=r"dump\.jsonl: b has changed since it was first read"):
        filtered(path, progress=progress)


@pytest.mark.parametrize("value", [None, math.nan, ""], ids=["null", "nan", "empty"])
@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet", "list"])
@pytest.mark.parametrize("role", ["id", "url", "title", "published", "html"])
def test_what_is_missing_counts_as_missing_whatever_the_format(
    tmp_path: Path, role: str, kind: str, value: Any
) -> None:
    there: Any = {"id": 1, "published": 1_714_521_600}.get(role, "https://a.example/1")
    if value == "" or kind == "list":
        there = {"id": "1", "published": "2024-05-01"}.get(role, there)
    elif kind == "parquet" and value is not None and isinstance(there, str):  # a column has one type
        there = value
    rows = [{"text": FERRY, role: there}, {"text": LIBRARY, role: value}, {"text": LIBRARY, role: value}]
    if kind == "list":
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert len(deduplicate(rows).canonical) == len(rows) - 1
        assert ["row 1 has no value" in str(each.message) for each in told] == [True] * (role == "id")
        return
    path = tmp_path / f"dump.{kind}"
    write_rows(
        path,
        [{key: "" if each is value and kind == "csv" else each for key, each in row.items()} for row in rows],
    )
    pages = [page for page in read_pages([path]) if isinstance(page, Page)]
    assert len(pages) == len(rows)
    assert [getattr(page, role) for page in pages[1:]] == [pages[1].id if role == "id" else None] * 2, pages
    assert pages[1].id == pages[2].id
    assert pages[1].id.startswith("content-")
    if role == "html":
        _, _, report = filtered(path)
        assert (report.kept, report.dropped, report.failed) == (2, 1, 0)
