"""Hostile input: whatever the bytes, a reader gives pages and failures, and never raises."""

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_dedup.model import Page
from es_dedup.readers import InputFailure, ReadOptions, read_pages

SUFFIXES = "jsonl json csv tsv txt html jsonl.gz jsonl.xz jsonl.bz2 jsonl.zst csv.gz".split()
SUFFIXES += ["parquet", "warc", "warc.gz"]
WARC = "WARC/1.0\r\nWARC-Type: response\r\n"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    ["id", "_id", "text", "html", "html_base64", "title", "url", "time", "published", "other", "ID"]
)


def read(name: str, data: bytes) -> list[Page | InputFailure]:
    """Everything a file of these bytes gives; pages are checked to be storable."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        items = list(read_pages([path], ReadOptions(max_record_bytes=5000)))
    for item in items:
        if isinstance(item, Page):
            for value in (item.id, item.text, item.title, item.url):
                (value or "").encode()
            assert 1 <= len(item.id.encode()) <= 512
    return items


@settings(max_examples=300)
@given(suffix=st.sampled_from(SUFFIXES), data=st.binary(max_size=400))
@example(suffix="jsonl", data=b"[" * 300)
@example(suffix="json", data=b'[{"id":1,"text":"\xff"}]')
@example(suffix="csv", data=b'id,text\n"\x00,\n')
@example(suffix="warc", data=f"{WARC}Content-Length: 99999999999\r\n\r\nHTTP/1.1 200 OK\r\n\r\n".encode())
@example(suffix="warc", data=f"{WARC}Content-Length: -5\r\n\r\nHTTP/1.1 200 OK\r\n\r\n".encode())
@example(suffix="warc.gz", data=gzip.compress(b"WARC/1.0\r\n"))
@example(suffix="parquet", data=b"PAR1" + b"\xff" * 20 + b"PAR1")
def test_any_bytes(suffix: str, data: bytes) -> None:
    read(f"a.{suffix}", data)


@settings(max_examples=150)
@given(records=st.lists(st.dictionaries(NAMES, VALUES, max_size=5) | VALUES, max_size=5))
def test_any_json(records: list[object]) -> None:
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()
    array = json.dumps(records).encode()
    one, other = read("a.jsonl", lines), read("a.json", array)
    assert [type(item) for item in one] == [type(item) for item in other]
    assert [item for item in one if isinstance(item, Page)] == [
        item for item in other if isinstance(item, Page)
    ]


@pytest.mark.parametrize(
    "data", [b"id,text\n1,abc\n", "id,text\n1,中文\n".encode("utf-16")[:-1], b"\xff\xfe\x00\xd8\n\0"]
)
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_table_that_is_not_in_the_named_wide_encoding_is_a_failure(
    tmp_path: Path, data: bytes, suffix: str
) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(data)
    *_, last = read_pages([path], ReadOptions(encoding="utf-16"))
    assert isinstance(last, InputFailure)
    assert "not utf-16 text" in last.problem


def test_failures_can_be_printed_whatever_the_names_of_the_fields(tmp_path: Path) -> None:
    for name, data in (
        ("a.csv", b"\xa6a,b\n1,2\n"),
        ("a.jsonl", b'{"\\ud800": 1}\n'),
        ("a.json", b'[{"id": 1, "\\udfff": 2}]'),
    ):
        (tmp_path / name).write_bytes(data)
        (failure,) = read_pages([tmp_path / name])
        assert isinstance(failure, InputFailure)
        str(failure).encode()


def test_values_that_python_cannot_hold_cost_only_their_row_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    text = pa.array([b"one", b"\x81", b"three", b"four"]).cast(pa.binary()).view(pa.string())
    times = pa.array([1_700_000_000, 1_700_000_000, 10**15, 1_700_000_000], pa.timestamp("s"))
    pq.write_table(pa.table({"id": ["1", "2", "3", "4"], "text": text, "time": times}), path)
    first, second, third, fourth = read_pages([path])
    assert isinstance(first, Page)
    assert isinstance(second, InputFailure)
    assert (second.line, "cannot be read" in second.problem) == (2, True)
    assert isinstance(third, InputFailure)
    assert third.line == 3
    assert isinstance(fourth, Page)


def test_times_in_nanoseconds_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    times = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns", "UTC"))
    pq.write_table(pa.table({"id": ["1"], "text": ["x"], "time": times}), path)
    (page,) = read_pages([path])
    assert isinstance(page, Page)
    assert str(page.published).startswith("2023-11-14 22:13:20.123456")


def test_a_parquet_file_whose_columns_have_names_that_are_no_text_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": ["1"], "textcolumn": ["x"]}), path)
    path.write_bytes(path.read_bytes().replace(b"textcolumn", b"text\xe9olumn"))
    (failure,) = read_pages([path])
    assert isinstance(failure, InputFailure)
    assert "not readable as Parquet" in failure.problem
