"""Hostile input: whatever the bytes, a reader gives pages and failures, and never raises."""

import gzip
import json
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_dedup import Page, deduplicate
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


@pytest.mark.parametrize(
    ("times", "read"),
    [
        (pa.array([10**15, 1_700_000_000], pa.timestamp("s")), "2023-11-14 22:13:20"),
        (pa.array([1_700_000_000_123_456_789] * 2, pa.timestamp("ns", "UTC")), "2023-11-14 22:13:20.123456"),
        (pa.array([2_932_897, 19_675], pa.int32()).cast(pa.date32()), "2023-11-14"),
        (pa.array([-(10**15), 0], pa.int64()).cast(pa.duration("s")), "0:00:00"),
        (pa.array([3600, 3600], pa.int32()).cast(pa.time32("s")), "01:00:00"),
        (pa.array([b"\xff", b"2023-11-14"], pa.binary()), "2023-11-14"),
        (pa.array([Decimal(10**30), Decimal(1_700_000_000)], pa.decimal128(38)), "2023-11-14 22:13:20"),
        (
            pa.array([{"$date": 2_932_897}, {"$date": 19_675}], pa.struct({"$date": pa.date32()})),
            "2023-11-14",
        ),
        (
            pa.array(
                [{"$date": 2_932_897, "zone": 8}, {"$date": 19_675, "zone": 8}],
                pa.struct({"$date": pa.date32(), "zone": pa.int64()}),
            ),
            "2023-11-14",
        ),
        (pa.array([[10**15], [1_700_000_000]], pa.list_(pa.timestamp("s"), 1)), "2023-11-14 22:13:20"),
        (pa.array([[10**15], [1_700_000_000]], pa.large_list(pa.timestamp("s"))), "2023-11-14 22:13:20"),
    ],
    ids=lambda given: str(getattr(given, "type", "")),
)
def test_a_time_that_python_cannot_hold_costs_no_row_of_a_table(
    tmp_path: Path, times: pa.Array, read: str
) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"id": ["1", "2"], "text": ["one ferry", "two lighthouses"], "time": times})
    pq.write_table(table, path)
    first, second = read_pages([path])
    assert isinstance(first, Page)
    assert isinstance(second, Page)
    assert str(second.published).startswith(read)
    assert len(deduplicate(table).canonical) == 2


def test_text_that_is_not_utf_8_costs_only_its_row_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    text = pa.array([b"one", b"\x81", b"three"]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": ["1", "2", "3"], "text": text}), path)
    first, second, third = read_pages([path])
    assert isinstance(first, Page)
    assert isinstance(second, InputFailure)
    assert (second.line, "must be text" in second.problem) == (2, True)
    assert isinstance(third, Page)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_number_that_python_cannot_read_costs_no_page(tmp_path: Path, name: str) -> None:
    rows = ",\n".join(f'{{"id": "{at}", "n": {"7" * 5_000}, "text": "a ferry"}}' for at in "12")
    (tmp_path / name).write_text(f"[{rows}]" if name == "a.json" else rows.replace("},", "}"), "utf-8")
    assert [type(each) for each in read_pages([tmp_path / name])] == [Page, Page]


def test_a_parquet_file_whose_columns_have_names_that_are_no_text_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": ["1"], "textcolumn": ["x"]}), path)
    path.write_bytes(path.read_bytes().replace(b"textcolumn", b"text\xe9olumn"))
    (failure,) = read_pages([path])
    assert isinstance(failure, InputFailure)
    assert "not readable as Parquet" in failure.problem
