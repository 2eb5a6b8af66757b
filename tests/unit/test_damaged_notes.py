"""Notes that an index keeps, in a form that nothing of ours writes."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from es_dedup.batch.override_changes import DOCUMENTS_PENDING, documents_pending
from es_dedup.batch.overrides import OVERRIDES, load_overrides
from es_dedup.batch.refresh import REFRESHING, _Lease, refresh_is_due
from es_dedup.errors import DamagedData
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.index.port import ATTACHMENTS
from es_dedup.maintenance.context import load_attachments
from es_dedup.settings.recorded import decisions_in

DAMAGED = ["{", "1", '"x"', "[1]", "[[1]]", '[{"fields": {"a": 1}}]']


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_note_is_an_error_of_ours(text: str, tmp_path: Path) -> None:
    with pytest.raises(DamagedData):
        decisions_in(text)
    with EmbeddedIndex(tmp_path / "a.db", features={}) as index:
        index.set_note(ATTACHMENTS, text)
        with pytest.raises(DamagedData):
            load_attachments(index)
        index.set_note(OVERRIDES, text)
        with pytest.raises(DamagedData):
            load_overrides(index)
        index.set_note(DOCUMENTS_PENDING, text)
        with pytest.raises(DamagedData):
            documents_pending(index)


@pytest.mark.parametrize("text", [*DAMAGED, "[]", '["a", "b", "c"]', '["a", 4e9, ["b"]]', '["a", 1, [2]]'])
def test_a_note_of_a_refresh_in_another_form_keeps_nobody_from_the_next_one(
    text: str, tmp_path: Path
) -> None:
    with EmbeddedIndex(tmp_path / "a.db", features={}) as index:
        index.set_note(REFRESHING, text)
        assert not refresh_is_due(index)
        lease = _Lease(index, nullcontext)
        assert lease.take()
        assert lease.is_ours(None)
