"""The full-text index of a file: filled by scans, kept up by additions, and never waited for by those who only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup import Deduplicator, Page, Settings
from es_dedup.console import views
from es_dedup.index.embedded import EmbeddedIndex, fulltext
from es_dedup.model import Progress
from tests.texts import article

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ALONE = Settings(workers=1)


def test_writes_keep_it_up_and_readers_do_not_fill_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "TEXTS_PER_STEP", 20)
    path, told = tmp_path / "pages.db", list[Progress]()
    with Deduplicator.open(path, settings=ALONE) as dedup:
        dedup.scan((Page(f"p{n}", text=f"zebra{n} {article(n)}") for n in range(60)), progress=told.append)
        assert {each.done for each in told if each.stage == "search"} == {20, 40, 60}
        dedup.add(Page("new", text=f"zebra60 {article(60)}"))
        with dedup._index._connection.reading() as connection:  # type: ignore[attr-defined]  # of the file
            assert fulltext.missing(connection) == 0
        with monkeypatch.context() as stopped:  # as if the process had been killed before
            stopped.setattr(EmbeddedIndex, "prepare_search", lambda *_: None)
            dedup.add_many(Page(f"later{n}", text=f"yak{n} zebra60 {article(100 + n)}") for n in range(30))
        dedup.add(Page("last", text=f"zebra61 {article(61)}"))  # one page does not bring 30 others
        with dedup._index._connection.reading() as connection:  # type: ignore[attr-defined]
            assert fulltext.missing(connection) == 31
    with Deduplicator.open(path, settings=ALONE, read_only=True) as reader:
        found = reader.search("zebra60")
        assert ([hit.page_id for hit in found.hits], found.not_indexed) == (["new"], 31)
        assert "31 pages are still to be added" in views.search(reader, "en", "zebra60", 0).decode()
    with Deduplicator.open(path, settings=ALONE) as dedup:  # who may write brings them all
        found = dedup.search("zebra60", limit=50)
        assert (len(found.hits), found.not_indexed) == (31, 0)
    with Deduplicator.open(path, settings=ALONE, read_only=True) as reader:
        assert reader.search("yak7").not_indexed == 0
        assert "still to be added" not in views.search(reader, "en", "yak7", 0).decode()
