"""The full-text index of a file: not filled by writes, brought up to date by searches of writers, and never waited for by readers."""

import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from es_dedup import Deduplicator, Page, SearchResult, Settings
from es_dedup.index.embedded import EmbeddedIndex, fulltext
from es_dedup.model import Progress
from es_dedup.views import search
from es_dedup.views.frame import Visitor
from tests.texts import article

ALONE = Settings(workers=1)


class Killed(BaseException):
    """Stands for the end of a process."""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with 60 pages, of which none is in the full-text index yet."""
    monkeypatch.setattr(fulltext, "TEXTS_PER_STEP", 20)
    path = tmp_path / "pages.db"
    with Deduplicator.open(path, settings=ALONE) as dedup:
        told = list[Progress]()
        dedup.scan((Page(f"p{n}", text=f"zebra {article(n)}") for n in range(60)), progress=told.append)
        assert "search" not in {each.stage for each in told}
    return path


def found(dedup: Deduplicator, query: str = "zebra") -> tuple[int, int]:
    """Pages found, and pages not searched."""
    result: SearchResult = dedup.search(query)
    return result.total_documents, result.not_indexed


def test_readers_answer_at_once_and_say_what_is_missing(path: Path) -> None:
    with Deduplicator.open(path, settings=ALONE, read_only=True) as reader:
        assert found(reader) == (0, 60)
        assert "0 / 60 pages are searchable so far" in search.search(reader, Visitor(), "zebra", 0).decode()
        told = list[Progress]()
        with Deduplicator.open(path, settings=ALONE) as dedup:

            def stop(progress: Progress) -> None:
                told.append(progress)
                if progress.done == 40:
                    raise Killed

            with pytest.raises(Killed):
                dedup.prepare_search(stop)
            assert [(each.stage, each.done, each.total) for each in told] == [
                ("search", 20, 60),
                ("search", 40, 60),
            ]
            assert found(reader) == (60, 0)  # few are missing: the reader adds them for itself
            dedup.add_many(Page(f"later{n}", text=f"zebra {article(100 + n)}") for n in range(30))
            assert found(reader) == (60, 30)
            assert found(dedup) == (90, 0)  # who may write brings them all
        assert found(reader) == (90, 0)
        assert "searchable so far" not in search.search(reader, Visitor(), "zebra", 0).decode()


def test_a_reader_can_be_complete_where_nobody_may_write(path: Path) -> None:
    path.chmod(stat.S_IREAD)
    before = path.read_bytes()
    with Deduplicator.open(path, settings=ALONE, read_only=True) as reader:
        assert found(reader) == (0, 60)
        reader.prepare_search()
        assert found(reader) == (60, 0)
        reader.prepare_search()
        assert found(reader) == (60, 0)
    assert path.read_bytes() == before


@pytest.mark.parametrize("before", [0, 2])
def test_a_readers_own_texts_follow_the_file(path: Path, before: int) -> None:
    """It is filled in part, then beyond what the reader has added, and emptied."""
    with (
        EmbeddedIndex(path, features=None) as writer,
        EmbeddedIndex(path, features=None, read_only=True) as reader,
    ):
        for step in range(5):
            if step < 3:
                with writer._connection.transaction() as connection:
                    writer._add_some(connection, aside=False)
            if step >= before:
                reader.prepare_search()
                assert (reader.matches("zebra"), reader.unsearchable()) == (60, 0), step
        writer.erase(["p0"])
        writer.delete_many(["p0"])
        reader.prepare_search()
        assert (reader.matches("zebra"), reader.unsearchable()) == (59, 0)


def test_a_writer_who_has_to_wait_answers_like_a_reader(path: Path) -> None:
    with Deduplicator.open(path, settings=ALONE) as first, Deduplicator.open(path, settings=ALONE) as second:
        with first._index.writing():
            assert found(second) == (0, 60)
            with ThreadPoolExecutor(1) as other_thread:
                began = time.monotonic()
                assert other_thread.submit(found, first).result() == (0, 60)
                assert time.monotonic() - began < ALONE.index.lock_seconds / 2
        assert found(second) == (60, 0)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("茶", ["tea", "green"]),  # also in words of several characters
        ("喝茶", ["tea"]),
        ("绿茶", ["green"]),
        ("綠茶", ["green"]),
        ("北京大学生", ["tea"]),
        ("大学", ["tea"]),
        ("京大", ["tea"]),
        ("Ferry", ["ferry"]),
        ("ferr", []),
        ("ＦＥＲＲＹ", ["ferry"]),
        ("COVID-19", ["ferry"]),
        ("Привет", ["russian"]),
        ("тевирп", []),
        ("uber", ["ferry"]),
        ("검색", ["korean"]),
        ("ไทย", ["thai"]),
        ("、“”", []),
    ],
)
def test_words_of_all_scripts(tmp_path: Path, query: str, expected: list[str]) -> None:
    texts = {
        "tea": "北京大学的学生喝茶看书。北京大学生",
        "green": "杯中是绿茶 2026",
        "ferry": "The ferry über the COVID-19 sea",
        "russian": "Привет, мир",
        "korean": "한국어를 검색합니다",
        "thai": "ภาษาไทยง่าย",
    }
    with Deduplicator.open(tmp_path / "pages.db", settings=ALONE) as dedup:
        dedup.add_many(Page(name, text=text) for name, text in texts.items())
        hits = dedup.search(query, collapse=False).hits
    assert sorted(hit.page_id for hit in hits) == sorted(expected)
