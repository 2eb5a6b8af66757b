"""Index now, decide later: the hook with real Celery workers, and messages that are lost on the way."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from elasticsearch import Elasticsearch
from es_dedup_tasks.dispatch import CeleryDispatcher

from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import MaintenanceContext, open_context
from es_dedup.maintenance.runner import Runner
from es_dedup.settings import load_settings
from tests.hooked import FIELDS, STORIES, action_of, clusters, dedup_fields, five
from tests.samples import story
from tests.servers import client_of, fresh_name, remove, url_of
from tests.source_indices import settings
from tests.workers import broker, environment, until, worker

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def empty_broker() -> Iterator[redis.Redis]:
    with redis.Redis.from_url(broker()) as client:
        client.flushdb()
        yield client
        client.flushdb()


@pytest.fixture(params=["es8", "es9"])
def site(request: pytest.FixtureRequest) -> Iterator[MaintenanceContext]:
    url, name = url_of(request.param), fresh_name()
    with client_of(url) as client, open_context(f"{url}/{name}", settings()) as site:
        client.indices.create(index=name)
        attach(site, name, FIELDS)
        try:
            yield site
        finally:
            detach(site, name, force=True)
            client.indices.delete(index=name, ignore_unavailable=True)
            remove(site.place)


@pytest.fixture
def client(site: MaintenanceContext) -> Iterator[Elasticsearch]:
    with client_of(site.place.rpartition("/")[0]) as client:
        yield client


@pytest.fixture
def name(site: MaintenanceContext) -> str:
    return site.place.rpartition("/")[2]


@contextmanager
def deferring(site: MaintenanceContext, url: str | None = None) -> Iterator[DedupHook]:
    """A hook that leaves its decisions to workers."""
    given = load_settings(environ=environment(broker=url or broker()))
    dispatcher = CeleryDispatcher(site.place, given)
    try:
        with DedupHook.open(site.place, FIELDS, dispatcher=dispatcher) as hook:
            yield hook
    finally:
        dispatcher.close()


def relations(client: Elasticsearch, name: str) -> set[str]:
    return {each["relation"] for each in dedup_fields(client, name).values()}


def swept(site: MaintenanceContext) -> dict[str, int]:
    """Counts of reclustering in this process."""
    runner = Runner(site)
    job = runner.run(runner.start("recluster", {}).id)
    assert job.state is JobState.DONE
    return dict(job.counts)


@pytest.mark.slow
def test_workers_decide_on_what_the_hook_has_indexed(
    site: MaintenanceContext, client: Elasticsearch, name: str, tmp_path: Path
) -> None:
    with (
        deferring(site) as hook,
        (tmp_path / "log").open("wb") as log,
        worker(site.place, log, "--processes", "2", "--queues", "ingest"),
    ):
        assert dedup_bulk(client, five(name), hook=hook)[0] == 5
        until(lambda: "pending" not in relations(client, name) and not site.source_index.count_waiting(name))
        assert clusters(client, name) == STORIES
        dedup_bulk(client, [{"_op_type": "delete", "_index": name, "_id": "story-0"}], hook=hook)
        until(
            lambda: (
                dedup_fields(client, name)["copy-0"]["canonical"]
                and not site.source_index.count_waiting(name)
            )
        )
        assert frozenset({"copy-0", "copy-1"}) in clusters(client, name)
    assert audit(site).as_dict()["found"] == {}


def test_a_recluster_finishes_what_a_flushed_redis_has_lost(
    site: MaintenanceContext, client: Elasticsearch, name: str, empty_broker: redis.Redis
) -> None:
    with deferring(site) as hook:
        dedup_bulk(client, five(name), hook=hook)
    assert empty_broker.dbsize() > 0
    empty_broker.flushdb()
    assert relations(client, name) == {"pending"}
    assert not audit(site).clean
    assert swept(site)["waited"] == 5
    assert clusters(client, name) == STORIES
    assert audit(site).as_dict()["found"] == {}
    assert "waited" not in swept(site)  # nothing waits any more


def test_an_update_or_a_delete_of_which_nobody_was_told_is_found_by_a_recluster(
    site: MaintenanceContext, client: Elasticsearch, name: str, empty_broker: redis.Redis
) -> None:
    with DedupHook.open(site.place, FIELDS) as hook:
        dedup_bulk(client, five(name), hook=hook)
    changed = {"text": story(1).text, "title": story(1).title}
    with deferring(site) as hook:
        update = {"_op_type": "update", "_index": name, "_id": "copy-1", "doc": changed}
        dedup_bulk(client, [update, {"_op_type": "delete", "_index": name, "_id": "story-0"}], hook=hook)
    empty_broker.flushdb()
    assert dedup_fields(client, name)["copy-1"]["waiting"]
    swept(site)
    expected = {frozenset({"copy-0"}), frozenset({"story-1", "copy-1"}), frozenset({"story-2"})}
    assert clusters(client, name) == expected
    assert audit(site).as_dict()["found"] == {}


@pytest.mark.slow
def test_beat_sends_again_what_a_flushed_redis_has_lost(
    site: MaintenanceContext, client: Elasticsearch, name: str, empty_broker: redis.Redis, tmp_path: Path
) -> None:
    with deferring(site) as hook:
        dedup_bulk(client, five(name), hook=hook)
    empty_broker.flushdb()
    with (tmp_path / "log").open("wb") as log, worker(site.place, log, "--beat", recheck_seconds=1):
        until(lambda: "pending" not in relations(client, name) and not site.source_index.count_waiting(name))
    assert clusters(client, name) == STORIES
    assert audit(site).as_dict()["found"] == {}


def test_without_a_broker_documents_are_indexed_and_found_by_a_recluster(
    site: MaintenanceContext, client: Elasticsearch, name: str
) -> None:
    begun = time.monotonic()
    with deferring(site, "redis://127.0.0.1:1/0") as hook:
        report = dedup_bulk(client, [action_of(story(n), name) for n in range(3)], hook=hook).report
    assert time.monotonic() - begun < 30
    assert len(report.inconclusive) == report.written == 3
    assert all("could not be queued" in reason for reason in report.inconclusive.values())
    assert relations(client, name) == {"pending"}
    swept(site)
    assert relations(client, name) == {"unique"}
    assert audit(site).as_dict()["found"] == {}


@pytest.mark.slow
def test_what_the_how_to_shows_works(
    site: MaintenanceContext,
    client: Elasticsearch,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (ROOT / "docs/how-to/put-the-hook-before-the-bulk-writer.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[2].split("```")[0].replace("http://localhost:9200/pages", site.place)
    monkeypatch.setenv("ES_DEDUP_MAINTENANCE__BROKER", broker())
    given = {
        "client": client,
        "fields": FIELDS,
        "actions": five(name),
        "dedup_bulk": dedup_bulk,
        "DedupHook": DedupHook,
    }
    exec(code, given)  # noqa: S102 - our own document
    given["dispatcher"].close()  # type: ignore[attr-defined]
    assert relations(client, name) == {"pending"}
    with (tmp_path / "log").open("wb") as log, worker(site.place, log, "--beat"):
        until(lambda: "pending" not in relations(client, name))
    assert clusters(client, name) == STORIES
