"""A server whose queue of writes is too short for a bulk request: single documents of it are turned away with status 429."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import pytest
from elasticsearch.helpers import bulk

from es_dedup.hook import DedupHook, HookReport, dedup_bulk
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.runner import Runner
from tests.servers import url_of
from tests.source_indices import FIELDS, attached, documents, settings, source_index
from tests.traffic import all_is_well, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elasticsearch import Elasticsearch

    from es_dedup.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.other_servers]
SHARDS: Final = 8
"""Of the source index: each takes its part of a bulk request by itself, and more are waiting than the queue holds."""
PATIENT: Final[dict[str, Any]] = {"max_retries": 30, "initial_backoff": 0.02, "max_backoff": 0.2}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ES_DEDUP_ES_URL", url_of("narrow"))


def small() -> Settings:
    more = {"elastic": {"retry_seconds": 60}, "index": {"lock_seconds": 60}}
    return settings().model_validate({**settings(part_documents=100).model_dump(), **more})


def refused(client: Elasticsearch) -> int:
    """Writes that the server has turned away since it was started."""
    nodes = client.nodes.stats(metric="thread_pool")["nodes"].values()
    return sum(int(node["thread_pool"]["write"]["rejected"]) for node in nodes)


def actions(name: str, given: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return ({"_index": name, "_id": key, "_source": source} for key, source in given.items())


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


def test_what_stays_refused_is_told_and_leaves_nothing_behind() -> None:
    given = documents(made_up=60)
    with source_index({}, shards=SHARDS) as (client, name), attached(name, small()) as site:
        with DedupHook.open(site.place, FIELDS, settings=small()) as hook:
            done, errors = dedup_bulk(
                client, actions(name, given), hook=hook, chunk_size=50, raise_on_error=False
            )
            told = {item["_id"]: item["status"] for each in errors for item in each.values()}
            assert set(told.values()) == {429}
            assert (done, len(told)) == (len(given) - len(errors), len(errors))
        kept = {key: source for key, source in given.items() if key not in told}
        assert kept
        run(site, "recluster")
        all_is_well(site, client, name, kept)


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

        helpers = [threading.Thread(target=work) for _ in range(3)]
        for helper in helpers:
            helper.start()
        for helper in helpers:
            helper.join()
        assert Runner(site).run(job.id).state is JobState.DONE
        assert refused(client) > before
        assert site.jobs.dead(limit=10) == []
        all_is_well(site, client, name, given)
