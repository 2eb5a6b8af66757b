"""``copy``: all of an index at another place, equal to the original, also after an interruption."""

from __future__ import annotations

import resource
import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from es_dedup.cli.main import app
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import ConfigError, SettingsMismatch
from es_dedup.index import factory
from es_dedup.maintenance import index_copy
from es_dedup.maintenance.index_copy import copy_index
from es_dedup.model import Page
from es_dedup.model.annotations import Label
from es_dedup.settings import Settings, load_settings
from tests.commands import ran, rows
from tests.samples import story
from tests.servers import fresh_name, remove, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from es_dedup.index.port import Index

KINDS = ("file", "server")
PAGES = [
    *(story(number % 7, f"page-{number:02}", day=1 + number) for number in range(20)),
    story(8, 'with " 引号 and é'),
    Page("empty", text=" "),
]


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Any]:
    """Gives fresh places of a kind."""
    made: list[str] = []

    def place(kind: str) -> str:
        name = fresh_name()
        made.append(str(tmp_path / f"{name}.db") if kind == "file" else f"{url_of('es8')}/{name}")
        return made[-1]

    yield place
    for each in made:
        if factory.is_remote(each):
            remove(each)


def fill(place: str, settings: Settings | None = None) -> None:
    """Pages with clusters, statistics, overrides, annotations and a passage that never counts."""
    with Deduplicator.open(place, settings=settings) as dedup:
        dedup.scan(PAGES)
        dedup.override_different("page-00", "page-07", reason="two events", author="Li")
        dedup.override_ignore("ignored.example", "Subscribe now", reason="advertisement", author="Li")
        dedup.annotate("page-01", "page-08", Label.DUP, reader="anna")
        dedup.remove(["page-19"])
        dedup.recluster()


def everything(place: str) -> dict[str, Any]:
    """All that can be asked for by the ports."""
    with factory.open_index(place, Settings(), read_only=True) as index:
        records = [each for some in index.scan() for each in some]
        ids = [each.page_id for each in records]
        names = set(index.note_names()) - index_copy.OF_THE_PLACE
        return {
            "records": [
                (each.page_id, each.content_hash, each.payload, each.title, each.published)
                for each in records
            ],
            "texts": index.texts(ids),
            "edges": index.edges_of(ids),
            "assignments": index.assignments(ids),
            "statistics": index.load_statistics(),
            "notes": index.notes(sorted(names)),
        }


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("origin", KINDS)
def test_all_of_it(places: Any, origin: str, target: str) -> None:
    first, second = places(origin), places(target)
    fill(first)
    report = copy_index(first, second, Settings())
    assert (report.pages, report.copied, report.texts) == (21, 21, 21)
    assert everything(first) == everything(second)
    with Deduplicator.open(first) as one, Deduplicator.open(second) as other:
        assert not other.recluster(dry_run=True).changed
        assert list(one.clusters(min_size=2)) == list(other.clusters(min_size=2))
        assert [each.reason for each in other.overrides()] == [each.reason for each in one.overrides()]
        assert other.annotations() == one.annotations()
        # candidates are found by the same terms
        for page in (story(3, "new", day=30), story(8, "another")):
            assert other.check(page).as_dict() == one.check(page).as_dict()
        assert [hit.page_id for hit in other.search(PAGES[0].title or "").hits]
        other.add_many([story(5, "later", day=31)])
        assert other.cluster("later").size == one.cluster("page-05").size + 1


def test_without_texts(places: Any) -> None:
    origin = places("file")
    fill(origin, load_settings(overrides={"index.keep_text": False}))
    with pytest.raises(ConfigError, match=r"elastic\.named_fields = false"):
        copy_index(origin, places("server"), Settings())
    second = places("server")
    copy_index(origin, second, load_settings(overrides={"elastic.named_fields": False}))
    assert everything(origin) == everything(second)
    with Deduplicator.open(second) as dedup:
        assert dedup.check(story(3, "new", day=30)).duplicate_of == "page-03"


@pytest.mark.parametrize("target", KINDS)
def test_an_interrupted_copy_goes_on(places: Any, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = places("server" if target == "file" else "file"), places(target)
    fill(first)
    monkeypatch.setattr(index_copy, "BATCH", 5)

    def stop(progress: Any) -> None:
        if progress.done > 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_index(first, second, Settings(), report_progress=stop)
    with Deduplicator.open(first) as dedup:  # changed in between
        dedup.remove(["page-01", "page-12"])
        dedup.add_many([story(4, "page-02", day=3), story(6, "page-99", day=28)])
    assert copy_index(first, second, Settings()).copied < 21
    assert everything(first) == everything(second)
    with pytest.raises(ConfigError, match="holds pages that are not of an unfinished copy"):
        copy_index(first, second, Settings())


def test_the_original_is_written_to_meanwhile(places: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = places("file"), places("server")
    fill(first)
    monkeypatch.setattr(index_copy, "BATCH", 5)
    later = iter([story(1, "page-001", day=29), story(2, "zzz", day=29)])

    def write(_progress: Any) -> None:
        if (page := next(later, None)) is not None:
            with Deduplicator.open(first) as dedup:
                dedup.add_many([page])

    report = copy_index(first, second, Settings(), report_progress=write)
    assert report.pages == 23
    assert everything(first) == everything(second)


def test_other_feature_settings_are_refused(places: Any) -> None:
    first, second = places("server"), places("file")
    fill(first)
    with Deduplicator.open(second, settings=load_settings(overrides={"ccdet.window": 8})):
        pass
    with pytest.raises(SettingsMismatch, match=r"ccdet\.window"):
        copy_index(first, second, Settings())
    with pytest.raises(ConfigError, match="cannot be copied to itself"):
        copy_index(first, first, Settings())


class TestFileToFile:
    """The online copy, which replaces nothing."""

    def test_while_a_writer_runs(self, tmp_path: Path) -> None:
        place, target = tmp_path / "pages.db", tmp_path / "copy.db"
        fill(str(place))
        stop = threading.Event()

        def write() -> None:
            number = 0
            with Deduplicator.open(str(place)) as dedup:
                while not stop.is_set():
                    number += 1
                    dedup.add_many([story(number % 7, f"more-{number}")])

        writer = threading.Thread(target=write)
        writer.start()
        try:
            (said,) = rows("index", "copy", place, target)
        finally:
            stop.set()
            writer.join()
        assert sorted(each.name for each in tmp_path.glob("copy*")) == ["copy.db"]
        with sqlite3.connect(target) as copy:
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        with Deduplicator.open(str(target)) as dedup:
            assert int(str(dedup.stats()["pages"])) == said["pages"] >= 21
            assert not dedup.recluster().changed

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        fill(str(tmp_path / "pages.db"))
        return tmp_path / "pages.db"

    def copy(self, origin: Path, to: Path) -> int:
        done = CliRunner().invoke(app, ["index", "copy", str(origin), str(to)])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        assert not list(origin.parent.glob("*.part*"))
        return done.exit_code

    def refused(self, origin: Path, to: Path) -> bool:
        before = to.read_bytes() if to.is_file() else b""
        return self.copy(origin, to) in (1, 2) and (to.read_bytes() if to.is_file() else b"") == before

    def test_what_is_there_stays(self, place: Path) -> None:
        target, foreign, empty, logged, hard, same, fresh = (
            place.with_name(f"{name}.db")
            for name in ("copy", "foreign", "empty", "logged", "hard", "same", "fresh")
        )
        assert self.copy(place, target) == 0
        foreign.write_bytes(b"Notes of mine.")
        empty.touch()
        logged.with_name("logged.db-wal").write_bytes(b"a log that would be played back")
        hard.hardlink_to(place)
        same.symlink_to(place)
        for to in (
            target,
            foreign,
            empty,
            logged,
            place,
            hard,
            same,
            place.parent,
            place.parent / "nowhere" / "copy.db",
        ):
            assert self.refused(place, to), to
        assert self.refused(place.with_name("none.db"), fresh)
        allowed = resource.getrlimit(resource.RLIMIT_FSIZE)  # less than a copy takes is as a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (place.stat().st_size // 2, allowed[1]))
        try:
            assert self.copy(place, fresh) == 1
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
        assert not fresh.exists()
        ran("index", "copy", place, code=2)

    def test_a_copy_that_cannot_be_read_does_not_take_its_place(self, place: Path) -> None:
        with closing(sqlite3.connect(place)) as damaged, damaged:
            damaged.execute("UPDATE texts SET body = substr(body, 1, 20) WHERE doc = 3")
        assert self.copy(place, place.with_name("copy.db")) == 1
        assert not place.with_name("copy.db").exists()


def test_through_the_ports_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any adapter will do: the copy is an index in dictionaries."""
    from tests.plain_index import PlainIndex  # noqa: PLC0415

    first = str(tmp_path / "pages.db")
    fill(first)
    plain: Index = PlainIndex()
    source = factory.open_index(first, Settings(), read_only=True)
    monkeypatch.setattr(factory, "open_to_copy", lambda *_: (source, plain, Settings()))
    assert copy_index(first, "http://localhost:9200/plain", Settings()).pages == plain.count() == 21
