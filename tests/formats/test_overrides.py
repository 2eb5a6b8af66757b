"""Overrides as they are stored in an index and exported: what format 2 wrote is read, and written again the same."""

import json
from pathlib import Path
from typing import Final

import pytest

from es_dedup import Deduplicator, Override, OverrideKind
from es_dedup.batch.overrides import FORMAT, JOURNAL, OVERRIDES, load_overrides, read_jsonl
from es_dedup.errors import InputError

LINES: Final = (
    '{"id": "a1", "kind": "different", "pages": ["b", "一"], "reason": "r", "author": "ed", "time": "2026-11-23T10:00:00Z"}',
    '{"id": "a2", "kind": "same", "pages": ["b", "c"], "reason": "r", "author": "ed", "time": "2026-11-23T10:00:01Z"}'.replace(
        "}", ', "undone": "2026-11-23T10:00:02Z", "undone_by": "al", "undone_reason": "wrong"}'
    ),
    '{"id": "a3", "kind": "canonical", "pages": ["b"], "reason": "r", "author": "ed", "time": "2026-11-23T10:00:03Z"}',
    '{"id": "a4", "kind": "ignore", "pages": [], "reason": "r", "author": "ed", "time": "2026-11-23T10:00:04Z", "site": "s", "text": "一"}',
)
HEAD: Final = '{"format": 2, "journal": "j", "rows": 2, "mark": "n"}'
ROWS: Final = (
    f'{{"mark": "m", "overrides": [{LINES[0]}, {LINES[1]}]}}',
    f'{{"mark": "n", "overrides": [{", ".join(LINES[2:])}]}}',
)


def test_format_2_is_read_and_written_again(tmp_path: Path) -> None:
    assert FORMAT == 2, "keep a test of format 2 beside one of the new format"
    with Deduplicator.open(tmp_path / "pages.db") as dedup, Deduplicator.open(":memory:") as other:
        for number, row in enumerate(ROWS, 1):
            dedup._index.set_note(JOURNAL.row(number), row)
        dedup._index.set_note(OVERRIDES, HEAD)
        stored = load_overrides(dedup._index)
        JOURNAL.record(other._index, list(stored.values()))
        head = json.loads(other._index.note(OVERRIDES) or "")
        assert head.keys() == json.loads(HEAD).keys()
        rewritten = {"mark": head["mark"], "overrides": [json.loads(line) for line in LINES]}
        assert other._index.note(JOURNAL.row(1)) == json.dumps(rewritten, ensure_ascii=False)
    assert stored["a2"] == Override(
        "a2",
        OverrideKind.SAME,
        ("b", "c"),
        "r",
        "ed",
        "2026-11-23T10:00:01Z",
        "2026-11-23T10:00:02Z",
        "al",
        "wrong",
    )
    assert list(read_jsonl(LINES, "x")) == list(stored.values())
    assert [json.dumps(each.as_dict(), ensure_ascii=False) for each in stored.values()] == list(LINES)


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "{",
        "3",
        '{"kind": "same"}',
        LINES[0].replace("different", "unlike"),
        LINES[0].replace('"b"', '"一"'),
        LINES[2].replace('["b"]', '["b", "c"]'),
        LINES[2].replace('["b"]', "3"),
        LINES[2].replace('["b"]', "[3]"),
        LINES[2].replace('["b"]', '"b"'),
        LINES[2].replace('"ed"', "3"),
        LINES[2].replace('"id"', '"number"'),
        LINES[2].replace('"ed"', '"ed", "site": "s"'),
        LINES[3].replace('"s"', '""'),
        LINES[3].replace('"一"', '" "'),
        LINES[3].replace("[]", '["b"]'),
    ],
)
def test_a_line_that_is_no_override_is_named(line: str) -> None:
    with pytest.raises(InputError, match=r"x:2: "):
        list(read_jsonl([LINES[0], line], "x"))
