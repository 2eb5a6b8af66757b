"""A server with too much to do: its queue of writes is too short for a bulk request, or it refuses requests for want of memory.

Single documents of a request are then turned away with status 429, or all of it.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import redis
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk
from es_dedup_tasks.dispatch import CeleryDispatcher

from es_dedup.hook import DedupHook, HookReport, dedup_bulk
from es_dedup.index.elastic.server import watch as watch_answers
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.runner import Runner
from es_dedup.settings import Settings, load_settings
from tests.servers import url_of
from tests.source_indices import FIELDS, attached, documents, settings, source_index
from tests.traffic import all_is_well, run
from tests.workers import broker, environment, until, worker

pytestmark = [pytest.mark.slow, pytest.mark.other_servers]
SHARDS: Final = 8
"""Of the source index: each takes its part of a bulk request by itself, and more are waiting than the queue holds."""
OUTAGE_SECONDS: Final = 3.0
MOST_IN_OUTAGE: Final = 12
"""Requests: with pauses of at least 0.05, 0.1, 0.2, 0.4, 0.8 and 1.6 seconds one thread sends 7, and one that prefetches some more."""
PATIENT: Final[dict[str, Any]] = {"max_retries": 30, "initial_backoff": 0.02, "max_backoff": 0.2}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ES_DEDUP_ES_URL", url_of("narrow"))


def small(retry_seconds: float = 60) -> Settings:
    more = {"elastic": {"retry_seconds": retry_seconds}, "index": {"lock_seconds": 60}}
    return settings().model_validate({**settings(part_documents=100).model_dump(), **more})


def made_up(count: int) -> dict[str, dict[str, Any]]:
    """Documents of which every third is a copy of the one before."""
    return {key: source for key, source in documents(count).items() if key.startswith("made-")}


def refused(client: Elasticsearch) -> int:
    """Writes that the server has turned away since it was started."""
    nodes = client.nodes.stats(metric="thread_pool")["nodes"].values()
    return sum(int(node["thread_pool"]["write"]["rejected"]) for node in nodes)


def actions(name: str, given: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return ({"_index": name, "_id": key, "_source": source} for key, source in given.items())


def at_once(work: Sequence[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def short_of_memory(client: Elasticsearch, breaker: str, limit: str) -> Iterator[None]:
    """A circuit breaker with so low a limit that what a batch needs is refused with status 429."""
    client.cluster.put_settings(persistent={breaker: limit})
    try:
        yield
    finally:
        client.cluster.put_settings(persistent={breaker: None})


@contextmanager
def answers() -> Iterator[list[int]]:
    """Statuses of all requests of ours."""
    found: list[int] = []

    def watch(kind: str, status: int) -> None:
        found.append(status)

    end = watch_answers(watch)
    try:
        yield found
    finally:
        end()


def test_the_hook_writes_again_what_was_turned_away() -> None:
    given = documents(made_up=60)
    with source_index({}, shards=SHARDS) as (client, name), attached(name, small()) as site:
        before, report = refused(client), HookReport()
        with DedupHook.open(site.place, FIELDS, settings=small()) as hook:
            done, errors = dedup_bulk(
                client, actions(name, given), hook=hook, report=report, chunk_size=50, **PATIENT
            )
        assert refused(client) > before
        assert (done, errors) == (len(given), [])
        run(site, "recluster")  # dedup fields of others that were turned away
        all_is_well(site, client, name, given)


def test_a_backfill_by_several_workers_gets_through() -> None:
    given = documents(made_up=90)
    with source_index({}, shards=SHARDS) as (client, name), attached(name, small()) as site:
        bulk(client, actions(name, given), refresh=True, **PATIENT, raise_on_error=False)
        assert client.count(index=name)["count"] == len(given)
        before = refused(client)
        job = Runner(site).start("backfill", {"target": None})

        def work() -> None:
            with open_context(site.place, small()) as other:
                Runner(other).run(job.id)

        at_once([work] * 3)
        assert Runner(site).run(job.id).state is JobState.DONE
        assert refused(client) > before
        assert site.jobs.dead(limit=10) == []
        all_is_well(site, client, name, given)


def test_workers_decide_on_all_that_is_left_to_them(tmp_path: Path) -> None:
    given = made_up(60)
    with redis.Redis.from_url(broker()) as messages:
        messages.flushdb()
    with (
        source_index({}, shards=SHARDS) as (client, name),
        attached(name, small()) as site,
        (tmp_path / "log").open("wb") as log,
        worker(site.place, log, "--processes", "2"),
    ):
        before = refused(client)
        dispatcher = CeleryDispatcher(site.place, load_settings(environ=environment()))
        with DedupHook.open(site.place, FIELDS, settings=small(), dispatcher=dispatcher) as hook:
            dedup_bulk(client, actions(name, given), hook=hook, chunk_size=20, **PATIENT)
        with short_of_memory(client, "network.breaker.inflight_requests.limit", "2kb"):
            time.sleep(OUTAGE_SECONDS)
        until(lambda: not site.source_index.count_waiting(name))
        dispatcher.close()
        assert refused(client) > before
        assert site.jobs.dead(limit=10) == []
        all_is_well(site, client, name, given)


def test_requests_that_are_refused_are_sent_again_at_growing_intervals() -> None:
    given = made_up(9)
    with source_index({}) as (client, name), attached(name, small()) as site, answers() as statuses:
        report = HookReport()
        with DedupHook.open(site.place, FIELDS, settings=small()) as hook:
            with short_of_memory(client, "network.breaker.inflight_requests.limit", "2kb"):
                writing = threading.Thread(
                    target=dedup_bulk,
                    args=(client, actions(name, given)),
                    kwargs={"hook": hook, "report": report, **PATIENT},
                )
                writing.start()
                time.sleep(OUTAGE_SECONDS)
                sent = statuses.count(429)
            writing.join()
        assert 2 <= sent <= MOST_IN_OUTAGE
        assert (report.written, report.inconclusive) == (len(given), {})
        all_is_well(site, client, name, given)


def test_what_could_not_be_decided_in_time_is_written_and_decided_later() -> None:
    given = made_up(12)
    with source_index({}) as (client, name), attached(name, small()) as site:
        report = HookReport()
        with DedupHook.open(site.place, FIELDS, settings=small(retry_seconds=1)) as hook:
            # room for each document by itself, and not for the features of all
            with short_of_memory(client, "network.breaker.inflight_requests.limit", "10kb"):
                batch = hook.process(actions(name, given), report=report)
                for item in batch:
                    client.index(index=name, id=item.key.id, document=item.document)
                hook.written(batch, report=report)
            assert report.inconclusive.keys() == {item.page_id for item in batch}
            assert hook.recheck(name).inconclusive == {}
        all_is_well(site, client, name, given)
