"""Input of a few bytes that stands for much: it is bounded, named, and does not end the reading of what is behind it."""

import bz2
import io
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from es_dedup.model import Page
from es_dedup.readers import InputFailure, read_pages
from es_dedup.readers.streams import _PACKINGS, _unpacked


@pytest.mark.parametrize(("kind", "pack"), [(".bz2", bz2.compress), (".xz", lzma.compress)])
def test_a_small_file_that_stands_for_much_is_unpacked_in_pieces(
    kind: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(bytes(100_000_000)) + pack(b"behind")
    tracemalloc.start()
    total = sum(map(len, _unpacked(io.BytesIO(packed), _PACKINGS[kind].decompressor)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 100_000_006
    assert peak < 20_000_000


@pytest.mark.parametrize("depth", [450, 600, 900, 5_000])
def test_values_nested_deeply_are_a_failure_of_their_record(depth: int, tmp_path: Path) -> None:
    file = tmp_path / "deep.jsonl"
    deep = f'{{"id": 1, "text": {"[" * depth}"x"{"]" * depth}}}'
    file.write_text(f'{deep}\n{{"id": 2, "text": "behind"}}\n', encoding="utf-8")
    *_, last = read_pages([file])
    assert isinstance(last, Page)
    assert last.text == "behind"


@pytest.mark.parametrize("first", ["sep=^", "sep=\\", "sep=", "sep=]", "sep=;"])
def test_a_line_that_names_a_delimiter_costs_no_row(first: str, tmp_path: Path) -> None:
    mark = first[4:].strip("\\") or ","
    rows = [f"id{mark}text", f"1{mark}one", f"2{mark}two", "3"]
    (tmp_path / "rows.csv").write_text("\n".join([first, *rows, ""]), encoding="utf-8")
    *found, short = read_pages([tmp_path / "rows.csv"])
    assert [page.text for page in found if isinstance(page, Page)] == ["one", "two"]
    assert isinstance(short, InputFailure)
    assert short.line == 5
