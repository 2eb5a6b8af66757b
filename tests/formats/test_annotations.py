"""Annotations as they are stored in an index: what format 1 wrote is read, and written again the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from es_dedup import Deduplicator, Relation
from es_dedup.batch.annotations import ANNOTATIONS, FORMAT, load_annotations, note_of
from es_dedup.errors import DamagedData, SchemaMismatch
from es_dedup.model.annotations import Annotation, Label

if TYPE_CHECKING:
    from pathlib import Path

NOTE: Final = (
    '{"format": 1, "annotations": ['
    '{"id_a": "b", "id_b": "一", "label": "contain", "relation": "contained", "reader": "mz", "time": "2026-11-23T10:00:00Z"}, '
    '{"id_a": "b", "id_b": "c", "label": "diff", "reader": "al", "time": "2026-11-23T10:00:01Z"}]}'
)


def test_format_1_is_read_and_written_again(tmp_path: Path) -> None:
    assert FORMAT == 1, "keep a test of format 1 beside one of the new format"
    with Deduplicator.open(tmp_path / "pages.db") as dedup:
        dedup._index.set_note(ANNOTATIONS, NOTE)
        stored = dedup.annotations()
    assert stored == (
        Annotation("b", "一", Label.CONTAIN, "mz", "2026-11-23T10:00:00Z", Relation.CONTAINED),
        Annotation("b", "c", Label.DIFF, "al", "2026-11-23T10:00:01Z"),
    )
    assert note_of(stored) == NOTE


@pytest.mark.parametrize(
    "change", [("[", "{"), ('"b"', "3"), ("diff", "other"), ('"time"', '"at"'), ("contained", "x")]
)
def test_a_damaged_note_is_named(tmp_path: Path, change: tuple[str, str]) -> None:
    with Deduplicator.open(tmp_path / "pages.db") as dedup:
        dedup._index.set_note(ANNOTATIONS, NOTE.replace(*change))
        with pytest.raises(DamagedData, match="annotations"):
            load_annotations(dedup._index)
        dedup._index.set_note(ANNOTATIONS, NOTE.replace("1,", "2,", 1))
        with pytest.raises(SchemaMismatch):
            dedup.annotations()
