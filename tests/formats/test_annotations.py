"""Annotations as they are stored in an index and exported: what format 2 wrote is read, and written again the same."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from es_dedup import Deduplicator, Relation
from es_dedup.batch.annotations import ANNOTATIONS, FORMAT, JOURNAL, from_dict, read_jsonl
from es_dedup.batch.journal import CACHED_JOURNALS
from es_dedup.errors import DamagedData, InputError, SchemaMismatch
from es_dedup.model.annotations import Annotation, Label

LINES: Final = (
    '{"id_a": "b", "id_b": "一", "label": "contain", "relation": "contained", "reader": "mz", "time": "2026-11-23T10:00:00Z"}',
    '{"id_a": "b", "id_b": "c", "label": "diff", "reader": "al", "time": "2026-11-23T10:00:01Z", "removed": "2026-11-23T10:00:02Z", "override": "o1"}',
)
HEAD: Final = '{"format": 2, "journal": "j", "rows": 2, "mark": "n"}'
ROWS: Final = tuple(
    f'{{"mark": "{mark}", "annotations": [{line}]}}' for mark, line in zip("mn", LINES, strict=True)
)
STORED: Final = (
    Annotation("b", "一", Label.CONTAIN, "mz", "2026-11-23T10:00:00Z", Relation.CONTAINED),
    Annotation(
        "b", "c", Label.DIFF, "al", "2026-11-23T10:00:01Z", removed="2026-11-23T10:00:02Z", override="o1"
    ),
)


def test_format_2_is_read_and_written_again(tmp_path: Path) -> None:
    assert FORMAT == 2, "keep a test of format 2 beside one of the new format"
    JOURNAL.cached.clear()
    with Deduplicator.open(tmp_path / "pages.db") as dedup, Deduplicator.open(":memory:") as other:
        for number, row in enumerate(ROWS, 1):
            dedup._index.set_note(JOURNAL.row(number), row)
        dedup._index.set_note(ANNOTATIONS, HEAD)
        assert dedup.annotations(removed=True) == STORED
        assert dedup.annotations() == STORED[:1]
        assert other.import_annotations(STORED) == 2
        head = json.loads(other._index.note(ANNOTATIONS) or "")
        rewritten = {"mark": head["mark"], "annotations": [json.loads(line) for line in LINES]}
        assert other._index.note(JOURNAL.row(1)) == json.dumps(rewritten, ensure_ascii=False)
    assert tuple(read_jsonl(LINES, "x")) == STORED
    assert [json.dumps(each.as_dict(), ensure_ascii=False) for each in STORED] == list(LINES)


def test_the_order_of_the_two_pages_does_not_matter() -> None:
    turned = {**STORED[0].as_dict(), "id_a": "一", "id_b": "b", "relation": "contains"}
    assert from_dict(turned) == STORED[0]


def test_what_is_erased_is_in_no_row(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path / "pages.db") as dedup, Deduplicator.open(tmp_path / "pages.db") as other:
        dedup.import_annotations(STORED[:1])
        dedup.import_annotations(STORED[1:])
        assert other.annotations(removed=True) == STORED
        for kept in (STORED[1:], ()):
            JOURNAL.erase(dedup._index, kept)
            assert dedup.annotations(removed=True) == other.annotations(removed=True) == kept
            JOURNAL.cached.clear()
            assert dedup.annotations(removed=True) == kept
        notes = dedup._index.notes(JOURNAL.row(number) for number in range(9))
        assert "mz" not in "".join(filter(None, notes.values()))
        dedup.import_annotations(STORED[:1])
        assert other.annotations(removed=True) == dedup.annotations(removed=True) == STORED[:1]


@pytest.mark.parametrize(
    "change", [("[", "{"), ('"b"', "3"), ("diff", "other"), ('"time"', '"at"'), ('"al"', '" "')]
)
def test_what_is_damaged_is_named(tmp_path: Path, change: tuple[str, str]) -> None:
    JOURNAL.cached.clear()
    with Deduplicator.open(tmp_path / "pages.db") as dedup:
        dedup._index.set_note(JOURNAL.row(1), ROWS[0])
        dedup._index.set_note(JOURNAL.row(2), ROWS[1].replace(*change))
        dedup._index.set_note(ANNOTATIONS, HEAD)
        with pytest.raises(DamagedData, match="annotations"):
            dedup.annotations()
        dedup._index.set_note(ANNOTATIONS, HEAD.replace("2,", "1,", 1))
        with pytest.raises(SchemaMismatch):
            dedup.annotations()


@pytest.mark.parametrize(
    "line",
    [
        "{",
        LINES[1].replace('"b"', "3"),
        LINES[1].replace("diff", "other"),
        LINES[1].replace('"time"', '"at"'),
        LINES[1].replace('"al"', '" "'),
        "[]",
        "3",
        LINES[0].replace('"relation": "contained", ', ""),
        LINES[0].replace('"contained"', '"exact"'),
        LINES[1].replace('"id_b": "c"', '"id_b": "b"'),
        LINES[1].replace('"removed"', '"remove"'),
    ],
)
def test_a_line_that_is_no_label_is_named(line: str) -> None:
    with pytest.raises(InputError, match=r"x:2: no label"):
        list(read_jsonl([LINES[0], line], "x"))


def test_a_process_keeps_the_labels_of_as_many_indices_as_it_says() -> None:
    JOURNAL.cached.clear()
    with ExitStack() as opened:
        indices = [opened.enter_context(Deduplicator.open(":memory:"))._index for _ in range(CACHED_JOURNALS)]
        for index in (*indices, indices[0]):
            JOURNAL.record(index, STORED)
        assert len(JOURNAL.cached) == CACHED_JOURNALS
    JOURNAL.cached.clear()
