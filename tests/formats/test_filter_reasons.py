"""What ``filter --reasons`` says of each record that it leaves out."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import ran
from tests.formats.test_filter import FERRY, LIBRARY, json_line, warc_record

WHY = [("a", FERRY), ("b", LIBRARY), ("c", FERRY), ("d", ""), ("e", FERRY.replace("ninety", "forty"))]
WHY += [
    (
        "f",
        f"{FERRY} {' '.join(f'On day {n} the harbour master of pier {n} wrote to the {n}th owner.' for n in range(20, 32))}",
    )
]
WHY_DROPPED = {
    "c": ("a", "exact", 1.0, "content and metadata are equal"),
    "d": (None, None, None, "its text is empty"),
    "e": ("a", "duplicate", 0.9, "9"),
}


def why_archive() -> list[bytes]:
    """Each page of ``WHY`` with its request."""
    return [warc_record(0, "warcinfo", "")] + [
        warc_record(2 * number + kind, ("request", "response")[kind], f"http://site.example/{page_id}", text)
        for number, (page_id, text) in enumerate(WHY, 1)
        for kind in (0, 1)
    ]


def parquet_of(rows: list[tuple[str, str]]) -> bytes:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([{"id": page_id, "text": text} for page_id, text in rows]), stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "number", "prefix"),
    [
        ("dump.jsonl", lambda: b"".join(json_line(*row) for row in WHY), lambda row: row, ""),
        ("dump.parquet", lambda: parquet_of(WHY), lambda row: row, ""),
        ("dump.warc", lambda: b"".join(why_archive()), lambda row: 2 * row + 1, "http://site.example/"),
    ],
    ids=["lines", "parquet", "archive"],
)
@pytest.mark.parametrize("stored", [False, True])
def test_each_record_that_is_left_out_is_given_a_reason(
    tmp_path: Path,
    name: str,
    data: Callable[[], bytes],
    number: Callable[[int], int],
    prefix: str,
    stored: bool,
) -> None:
    archive = name.endswith("warc")
    path, ids = tmp_path / name, [page_id for page_id, _ in WHY]
    path.write_bytes(data())
    kept, dropped, why = (tmp_path / f"{out}{path.suffix}" for out in ("kept", "dropped", "why"))
    index = ("--db", str(tmp_path / "pages.db"))
    if stored:
        ran(*index, "scan", path)

    def said(*options: str) -> dict[str, dict[str, Any]]:
        options = (*options, "--drop-empty", *(["--stored"] * stored))
        copies = []
        for more in ((), ("--reasons", str(why))):
            ran(*index, "filter", path, "-o", kept, "--dropped", dropped, *options, *more)
            copies.append((kept.read_bytes(), dropped.read_bytes()))
        assert copies[0] == copies[1]
        lines = [json.loads(line) for line in why.read_text(encoding="utf-8").splitlines()]
        return {each["id"].removeprefix(prefix): each for each in lines}

    def place(page_id: str) -> dict[str, Any]:
        return {"file": str(path), "record": number(ids.index(page_id) + 1), "id": prefix + page_id}

    expected = {page_id: why for page_id, why in WHY_DROPPED.items() if not (archive and page_id == "d")}
    found = said()
    assert list(found) == list(expected)
    for page_id, (stays, relation, score, reason) in expected.items():
        each = found[page_id]
        assert {name: each[name] for name in ("file", "record", "id")} == place(page_id)
        assert each["kept"] == (stays and place(stays))
        assert (each["relation"], each["score"]) == (relation, score and pytest.approx(score, abs=0.1))
        # another id, or another URL, of the same text
        merged = page_id == "c" and (stored or archive)
        assert each["reason"].startswith(
            "all of the dropped record stands in the kept one" if merged else reason
        )
    found = said("--drop-contained")
    assert {page_id: each["kept"] for page_id, each in found.items()} == {
        page_id: None if page_id == "d" else place("f") for page_id in ids if page_id in {*expected, "a"}
    }
    assert "not merged, the dropped record is contained in the kept one; " in found["a"]["reason"]
    assert found["c"]["shared_of_dropped"] == 1 > found["c"]["shared_of_kept"]
