"""Real Celery workers on a real Redis and Elasticsearch, and what may befall them."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import redis
from elasticsearch import Elasticsearch
from es_dedup_tasks.dispatch import CeleryDispatcher

from es_dedup.index.jobs import JobState
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import MaintenanceContext
from es_dedup.maintenance.runner import Runner, start_recluster
from es_dedup.maintenance.status import follow_status
from es_dedup.settings import load_settings
from scripts.serversupport.running import free_ports
from tests.processes import PROGRAM, ended
from tests.servers import restart
from tests.source_indices import (
    attached,
    canonical_counts,
    count_with_dedup_field,
    made_up_documents,
    put,
    source_index,
)
from tests.workers import broker, environment, until, worker

PORT: Final = free_ports(19808, 1, (0,))
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def empty_broker() -> Iterator[redis.Redis]:
    with redis.Redis.from_url(broker()) as client:
        client.flushdb()
        yield client
        client.flushdb()


def over(site: MaintenanceContext, job_id: str) -> bool:
    found = site.jobs.job(job_id)
    assert found is not None
    return found[0].state.over


def all_is_well(site: MaintenanceContext, client: Elasticsearch, name: str, count: int) -> None:
    """No page lost, one canonical document per cluster, nothing for an audit to find."""
    assert count_with_dedup_field(client, name) == count
    assert set(canonical_counts(client, name).values()) == {1}
    assert audit(site).as_dict()["found"] == {}


def test_workers_do_a_backfill(tmp_path: Path) -> None:
    given = made_up_documents(300)
    with (
        source_index(given) as (client, name),
        attached(name) as site,
        (tmp_path / "log").open("wb") as log,
        worker(site.place, log, "--beat", "--processes", "2", "--metrics-port", str(PORT)),
    ):
        assert '"backfill"' in command(site, "elastic", "backfill")
        (job,) = site.jobs.jobs()
        until(lambda: over(site, job.id))
        found = site.jobs.job(job.id)
        assert found is not None
        assert found[0].state is JobState.DONE
        all_is_well(site, client, name, len(given))
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics") as answer:
            figures = answer.read().decode()
        assert f'es_dedup_documents_total{{outcome="stored",stage="features"}} {len(given)}.0' in figures
        assert 'es_dedup_up{server="redis"} 1.0' in figures
        assert "es_dedup_dead_letters 0.0" in figures
        assert 'es_dedup_elasticsearch_answers_total{kind="request",status="200"}' in figures
        assert 'es_dedup_stage_seconds_count{stage="cluster"} 1.0' in figures
        checked = command(site, "index", "doctor")
        assert '"faults": 0' in checked
        assert "1 answer" in checked
        assert f'"with dedup field": {len(given)}' in command(site, "index", "stats")


def test_celery_s_own_commands_find_the_application(tmp_path: Path) -> None:
    given = made_up_documents(60)
    with source_index(given) as (client, name), attached(name) as site, (tmp_path / "log").open("wb") as log:
        variables = environment() | {"ES_DEDUP_DB": site.place}
        commands = [
            [sys.executable, "-m", "celery", "--app", "es_dedup_tasks", *rest]
            for rest in (["worker", "--concurrency", "1"], ["beat", "--schedule", str(tmp_path / "beat")])
        ]
        running = [subprocess.Popen(each, env=variables, stdout=log, stderr=log) for each in commands]
        try:
            command(site, "elastic", "backfill")
            (job,) = site.jobs.jobs()
            until(lambda: over(site, job.id))
            all_is_well(site, client, name, len(given))
        finally:
            for each in running:
                each.terminate()
            for each in running:
                each.wait(60)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "error: ES_DEDUP_DB is not set"),
        ({"ES_DEDUP_DB": "pages.db"}, "the address must be http://host:9200/name"),
        ({"ES_DEDUP_DB": "http://localhost:9200/x", "ES_DEDUP_INDEX__LIMIT": "z"}, "ES_DEDUP_INDEX__LIMIT"),
    ],
)
def test_celery_without_an_index_says_so(variables: dict[str, str], said: str) -> None:
    rest = {name: value for name, value in os.environ.items() if name != "ES_DEDUP_DB"}
    command = (sys.executable, "-m", "celery", "--app", "es_dedup_tasks", "report")
    done = ended(*command, env=rest | variables)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_recluster_comes_by_itself_when_it_is_due(tmp_path: Path) -> None:
    """When the last one ended is read from Elasticsearch, so that a worker restarted each hour reclusters each day."""
    given = made_up_documents(30)
    hours = 8 / 3600
    with source_index(given) as (_, name), attached(name) as site, (tmp_path / "log").open("wb") as log:
        with worker(site.place, log, "--beat", recluster_hours=hours, recheck_seconds=0):
            until(lambda: bool(site.jobs.jobs()) and site.jobs.jobs()[0].state.over)
        (first,) = site.jobs.jobs()
        assert (first.what, first.state) == ("recluster", JobState.DONE)
        assert start_recluster(site, hours=1) is None
        with worker(site.place, log, "--beat", recluster_hours=hours, recheck_seconds=0):
            until(lambda: len(site.jobs.jobs()) == 2)
        second = site.jobs.jobs()[0]
        assert second.created >= first.changed + 8_000


def begun(site: MaintenanceContext, options: dict[str, object] | None = None) -> str:
    """A backfill whose parts have been sent."""
    job = Runner(site).start("backfill", {"target": None, **(options or {})})
    with sending(site) as dispatcher:
        dispatcher.work(job.id, Runner(site).due(job.id))
    return job.id


@contextmanager
def sending(site: MaintenanceContext) -> Iterator[CeleryDispatcher]:
    dispatcher = CeleryDispatcher(site.place, load_settings(environ=environment()))
    try:
        yield dispatcher
    finally:
        dispatcher.close()


def test_workers_that_are_killed_before_they_acknowledge_lose_nothing(tmp_path: Path) -> None:
    given = made_up_documents(300)
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    for number in range(4):
        (deaths / str(number)).touch()
    with (
        source_index(given) as (client, name),
        attached(name) as site,
        (tmp_path / "log").open("wb") as log,
        worker(site.place, log, faults={"FAULTY_KILLS": str(deaths)}),
    ):
        job = begun(site)
        until(lambda: over(site, job))
        assert not list(deaths.iterdir())
        all_is_well(site, client, name, len(given))


def test_a_worker_killed_in_the_middle_and_a_flushed_redis_lose_no_page(
    tmp_path: Path, empty_broker: redis.Redis
) -> None:
    given = made_up_documents(300)
    with source_index(given) as (client, name), attached(name) as site, (tmp_path / "log").open("wb") as log:
        job = begun(site)
        with worker(site.place, log, "--beat", "--processes", "2", batch=8) as first:
            until(lambda: 0 < site.index.count() < len(given))
            first.kill()
        assert site.index.count() < len(given)
        empty_broker.flushdb()
        with worker(site.place, log, "--beat", "--processes", "2"):
            until(lambda: over(site, job))
        all_is_well(site, client, name, len(given))


def test_each_task_delivered_twice_changes_nothing_twice(tmp_path: Path) -> None:
    given = made_up_documents(60)
    with (
        source_index(given) as (client, name),
        attached(name) as site,
        (tmp_path / "log").open("wb") as log,
        worker(site.place, log, "--processes", "2"),
        sending(site) as dispatcher,
    ):
        ids = [f"{name}/{key}" for key in given]
        for _ in range(2):
            dispatcher.ingest(ids)
        until(
            lambda: (
                count_with_dedup_field(client, name) == len(given) and not any(dispatcher.depths().values())
            ),
            150,
        )
        all_is_well(site, client, name, len(given))
        job = begun(site)
        with sending(site) as again:
            again.work(job, Runner(site).due(job) * 2)
        until(lambda: over(site, job) and not any(dispatcher.depths().values()), 150)
        all_is_well(site, client, name, len(given))


def test_following_goes_on_through_deaths_and_lost_messages_with_one_message_at_a_time(
    tmp_path: Path, empty_broker: redis.Redis
) -> None:
    """A job without an end, on one process, so that looks for work left lying come between its turns."""
    given = made_up_documents(40)
    parts = [dict(list(given.items())[at::4]) for at in range(4)]
    with (
        source_index(parts[0]) as (client, name),
        attached(name) as site,
        (tmp_path / "log").open("wb") as log,
    ):

        def caught_up(count: int) -> bool:
            status = follow_status(site)
            return status is not None and not status.documents and site.index.count() == count

        more = {"follow_seconds": 0.1, "deletions_seconds": 1, "step_seconds": 0.5}
        with worker(site.place, log, "--beat", "--processes", "1", **more) as first:
            assert '"follow"' in command(site, "elastic", "follow")
            (job,) = site.jobs.jobs()
            until(lambda: caught_up(len(parts[0])))
            put(client, name, parts[1])
            until(first.kill_child)
            until(lambda: caught_up(len(parts[0]) + len(parts[1])))
            empty_broker.flushdb()
            put(client, name, parts[2])
            until(lambda: caught_up(len(given) - len(parts[3])))
            time.sleep(15)
            with sending(site) as dispatcher:
                # the next turn, a look for work left lying and what an earlier one has sent
                until(lambda: dispatcher.depths()["maintenance"] <= 3, 1)
            command(site, "elastic", "jobs", job.id, "--pause")
            put(client, name, parts[3])
            first.stop()
        with worker(site.place, log, "--beat", "--processes", "1", **more):
            command(site, "elastic", "jobs", job.id, "--resume")
            until(lambda: caught_up(len(given)))
            client.delete(index=name, id=min(given))
            until(lambda: caught_up(len(given) - 1))
            command(site, "elastic", "jobs", job.id, "--cancel")
            until(lambda: over(site, job.id))
        all_is_well(site, client, name, len(given) - 1)


def test_elasticsearch_restarted_during_a_backfill_loses_no_page(tmp_path: Path) -> None:
    given = made_up_documents(600)
    with source_index(given) as (client, name), attached(name) as site, (tmp_path / "log").open("wb") as log:
        job = begun(site)
        with worker(site.place, log, "--beat", "--processes", "2", batch=8):
            until(lambda: 0 < site.index.count() < len(given) // 2)
            restart("es8")
            until(lambda: over(site, job))
        all_is_well(site, client, name, len(given))


def test_a_page_that_kills_its_worker_goes_to_the_dead_list_and_comes_back(tmp_path: Path) -> None:
    given = made_up_documents(60)
    given["poison"] = {"html": "<p>arsenic " + "and a text of its own. " * 30 + "</p>"}
    with source_index(given) as (client, name), attached(name) as site, (tmp_path / "log").open("wb") as log:
        job = begun(site)
        with worker(site.place, log, faults={"FAULTY_POISON": "arsenic"}, max_attempts=3, lease_seconds=2):
            until(lambda: over(site, job))
        (letter,) = site.jobs.dead()
        assert letter.page_id == f"{name}/poison"
        assert letter.attempts == 3
        assert count_with_dedup_field(client, name) == len(given) - 1
        assert audit(site).as_dict()["found"] == {}
        with worker(site.place, log, "--beat"):
            done = command(site, "elastic", "dead", "replay")
            assert '"replayed": 1' in done
            until(lambda: count_with_dedup_field(client, name) == len(given))
        assert site.jobs.count_dead() == 0
        all_is_well(site, client, name, len(given))


def command(site: MaintenanceContext, *words: str) -> str:
    """What ``es-dedup --json`` says."""
    done = ended(PROGRAM, "--json", "--db", site.place, *words, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout
