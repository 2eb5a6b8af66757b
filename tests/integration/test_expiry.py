"""Pages past their time to live: removed by the command and by the periodic task, and kept where indices are attached."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from es_dedup_tasks.app import make_app, schedule

from es_dedup import Deduplicator, Page
from es_dedup.deduplicator import deduplicator
from es_dedup.maintenance.context import MaintenanceContext, open_context
from es_dedup.maintenance.forget import expire, first_day_kept
from es_dedup.settings import load_settings
from tests.commands import ran
from tests.servers import fresh_name, remove, url_of
from tests.source_indices import attached, documents, settings, source_index
from tests.texts import article
from tests.traffic import run
from tests.workers import broker, environment, until, worker

DATABASE = 7


def aged(count: int) -> Iterator[Page]:
    """Triples of copies that are 100, 10 and 0 days old, and a page without a time."""
    today = datetime.now(UTC)
    for number in range(count):
        for days in (100, 10, 0):
            published = (today - timedelta(days)).isoformat()
            yield Page(id=f"{number:03}-{days}", text=article(number), published=published)
    yield Page(id="no time", text=article(count))


@contextmanager
def site_of(count: int, **maintenance: object) -> Iterator[MaintenanceContext]:
    """An index on Elasticsearch with aged pages, to which nothing is attached."""
    place = f"{url_of('es8')}/{fresh_name()}"
    try:
        with open_context(place, settings(**maintenance)) as context:
            context.dedup.scan(aged(count))
            yield context
    finally:
        remove(place)


def stored(context: MaintenanceContext) -> list[str]:
    """Page ids."""
    return sorted(each.page_id for each in context.dedup.records())


def test_old_pages_are_removed_with_their_relations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deduplicator, "REMOVED_AT_A_TIME", 4)
    with site_of(6, keep_days=90, step_seconds=1e-6) as context:
        assert context.dedup.cluster("003-100").size == 3
        assert [expire(context) for _ in range(3)] == [True, True, False]  # its time is up after each batch
        left = [f"{number:03}-{days}" for number in range(6) for days in (0, 10)]
        assert stored(context) == sorted([*left, "no time"])
        assert not context.index.edges_of([f"{number:03}-100" for number in range(6)])
        clusters = {cluster.canonical: cluster.size for cluster in context.dedup.clusters(min_size=2)}
        assert clusters == {f"{number:03}-10": 2 for number in range(6)}


def test_a_page_that_was_stored_anew_meanwhile_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deduplicator, "REMOVED_AT_A_TIME", 1)
    with site_of(2, keep_days=90) as context:
        day = first_day_kept(90)
        assert list(context.dedup.pages_before(day)) == ["000-100", "001-100"]
        removals = context.dedup.remove_before(day)
        assert next(removals).removed == 1
        context.dedup.add(Page(id="001-100", text=article(1), published=day))
        assert [each.removed for each in removals] == [0]
        assert "000-100" not in stored(context)
        assert "001-100" in stored(context)


def test_without_the_setting_nothing_expires() -> None:
    with site_of(1) as context:
        assert not expire(context)
        assert len(stored(context)) == 4
        assert "expiry" not in schedule(context.settings)
        assert "expiry" in schedule(settings(keep_days=1))


def test_pages_of_attached_indices_follow_their_documents(caplog: pytest.LogCaptureFixture) -> None:
    few = {key: each for key, each in documents(made_up=6).items() if key.startswith("made-")}
    with source_index(few) as (_, name), attached(name, settings(keep_days=1)) as site:
        run(site, "backfill")
        with caplog.at_level(logging.WARNING):
            assert not expire(site)
        assert "keep_days is ignored" in caplog.text
        assert len(stored(site)) == len(few)
        command = ("--db", site.place, "index", "remove", "--expired")
        done = ran(*command, code=2, ES_DEDUP_MAINTENANCE__KEEP_DAYS="1")
        assert "audit --repair" in done.output.replace("\n", " ")


def test_the_command_removes_what_is_older_than_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "pages.db")
    with Deduplicator.open(place) as dedup:
        dedup.scan(aged(2))
    command = ("--db", place, "index", "remove", "--expired")
    assert "maintenance.keep_days" in ran(*command, code=2).output
    monkeypatch.setenv("ES_DEDUP_MAINTENANCE__KEEP_DAYS", "5")
    ran(*command, "--older-than", "5d", code=2)
    assert "4" in ran(*command, "--dry-run").stdout
    ran(*command)
    with Deduplicator.open(place, read_only=True) as dedup:
        assert [each.page_id for each in dedup.records()] == ["000-0", "001-0", "no time"]


@pytest.mark.slow
def test_a_worker_goes_on_until_nothing_is_too_old(tmp_path: Path) -> None:
    maintenance: dict[str, Any] = {"keep_days": 90, "step_seconds": 0.5, "broker": broker(DATABASE)}
    with (
        site_of(40) as context,
        (tmp_path / "log").open("wb") as log,
        worker(context.place, log, **maintenance),
        make_app(context.place, load_settings(environ=environment(**maintenance))) as sender,
    ):
        sender.send_task("es_dedup.expiry")
        until(lambda: not any("-100" in name for name in stored(context)))
        assert len(stored(context)) == 81
