"""The hook while servers fail: after each fault no page is lost, each cluster has one canonical page, and an audit finds nothing."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import redis
from elasticsearch import Elasticsearch
from es_dedup_tasks.dispatch import CeleryDispatcher

from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.runner import Runner
from es_dedup.settings import load_settings
from scripts.serversupport.running import free_ports
from tests.servers import fresh_name, kill, restart, revive, server_of
from tests.source_indices import FIELDS, attached, documents, put, settings, source_index
from tests.traffic import Traffic, all_is_well, run
from tests.workers import Worker, environment, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from es_dedup.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.traffic]


def patient(**elastic: Any) -> Settings:
    """Writers that wait for others, and repeat requests for a short while only."""
    more = {"elastic": {"retry_seconds": 2, **elastic}, "index": {"lock_seconds": 20}}
    return settings().model_validate({**settings().model_dump(), **more})


def test_elasticsearch_restarted_during_hook_traffic() -> None:
    given = documents()
    with source_index(given) as (client, name), attached(name, patient()) as site:
        run(site, "backfill")
        first, second = Traffic(site.place, patient()), Traffic(site.place, patient(), seed=8)
        with first.running(), second.running():
            until(lambda: min(first.batches, second.batches) >= 2)
            restart("es8")
            both_go_on(first, second)
        assert first.failures or second.failures or first.report.inconclusive or second.report.inconclusive
        run(site, "recluster")
        all_is_well(site, client, name, given | first.expected | second.expected)


@pytest.mark.other_servers
def test_one_of_three_nodes_killed_under_load() -> None:
    server = server_of("three")
    nodes, name = ",".join(server.urls), fresh_name()
    given = documents()
    with Elasticsearch(server.urls, request_timeout=60) as client:
        try:
            client.indices.create(
                index=name,
                settings={
                    "number_of_shards": 2,
                    "number_of_replicas": 1,
                    "unassigned.node_left.delayed_timeout": "1s",
                },
                mappings={
                    "properties": {"html": {"type": "text", "index": False}, "at": {"type": "keyword"}}
                },
            )
            put(client, name, given)
            with open_context(f"{nodes}/{name}", patient(retry_seconds=30)) as site:
                attach(site, name, FIELDS)
                run(site, "backfill")
                client.cluster.health(wait_for_status="green", timeout="60s")
                traffic = Traffic(site.place, patient(retry_seconds=30))
                try:
                    with traffic.running():
                        until(lambda: traffic.batches >= 2)
                        kill("three", 1)
                        before = traffic.batches
                        until(lambda: traffic.batches >= before + 4, 120)
                finally:
                    revive("three")
                client.cluster.health(wait_for_status="green", timeout="120s")
                run(site, "recluster")
                all_is_well(site, client, name, given | traffic.expected)
                detach(site, name, force=True)
        finally:
            client.indices.delete(index=name, ignore_unavailable=True)
            client.indices.delete(index=f"{name}-dedup-*", expand_wildcards="all", ignore_unavailable=True)


@contextmanager
def own_redis(folder: Path) -> Iterator[OwnRedis]:
    """A Redis of the test's own, that it may stop."""
    server = OwnRedis(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class OwnRedis:
    """Keeps its data in a folder, as ``docker-compose.yml`` and ``scripts/servers`` have it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_ports(17391, 1)
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        """Start it with what was kept."""
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        if program is None:
            pytest.skip("redis-server is not installed")
        command = [program, "--port", str(self._port), "--dir", str(self._folder), "--appendonly", "yes"]
        self._process = subprocess.Popen([*command, "--save", ""], stdout=subprocess.DEVNULL)
        until(self._answers, 20)

    def stop(self) -> None:
        """Kill it without a warning."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def flush(self) -> None:
        """Let it forget everything."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def _answers(self) -> bool:
        with redis.Redis.from_url(self.url) as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False


def test_redis_stopped_restarted_and_flushed_under_deferred_traffic(tmp_path: Path) -> None:
    given = documents()
    with (
        own_redis(tmp_path) as broker,
        source_index(given) as (client, name),
        attached(name, patient()) as site,
        (tmp_path / "log").open("wb") as log,
    ):
        run(site, "backfill")
        environ = environment(broker=broker.url, recheck_seconds=2)
        dispatcher = CeleryDispatcher(site.place, load_settings(environ=environ))
        worker = Worker(site.place, log, "--beat", "--processes", "2", broker=broker.url, recheck_seconds=2)
        traffic = Traffic(site.place, patient(), dispatcher=dispatcher)
        try:
            with traffic.running():
                until(lambda: traffic.batches >= 2)
                broker.stop()
                before = traffic.batches
                until(lambda: traffic.batches >= before + 2)  # documents are indexed without Redis
                broker.start()
                until(lambda: traffic.batches >= before + 5)
                broker.flush()
                until(lambda: traffic.batches >= before + 7)
            assert any(
                "the decision could not be queued" in reason
                for reason in traffic.report.inconclusive.values()
            )
            # nobody asks for it: beat sends again what was lost
            until(
                lambda: not site.source_index.count_waiting(name) and not any(dispatcher.depths().values()),
                90,
            )
        finally:
            worker.kill()
            dispatcher.close()
        run(site, "recluster")
        all_is_well(site, client, name, given | traffic.expected)


def test_two_writers_of_the_same_documents_at_the_same_time() -> None:
    with source_index(documents()) as (client, name), attached(name, patient()) as site:
        run(site, "backfill")
        first, second = (Traffic(site.place, patient()) for _ in range(2))
        with first.running(), second.running():
            until(lambda: min(first.batches, second.batches) >= 5, 120)
        run(site, "recluster")
        client.indices.refresh(index=name)
        assert audit(site).as_dict()["found"] == {}


def both_go_on(first: Traffic, second: Traffic) -> None:
    """Wait until each has sent a batch that was begun after this call."""
    before = first.batches, second.batches
    until(lambda: first.batches > before[0] + 1 and second.batches > before[1] + 1, 120)


def test_a_full_disk_below_the_features_then_below_the_documents() -> None:
    given = documents()
    with source_index(given) as (client, name), attached(name, patient()) as site:
        run(site, "backfill")
        traffic = Traffic(site.place, patient())
        with traffic.running():
            until(lambda: traffic.batches >= 1)
            with read_only(client, f"{name}-dedup-*"):
                before = traffic.batches
                until(lambda: traffic.batches >= before + 2)  # indexed, undecided
            assert traffic.report.inconclusive
            with read_only(client, name):
                before = len(traffic.failures)
                until(lambda: len(traffic.failures) >= before + 2)
            before = traffic.batches
            until(lambda: traffic.batches >= before + 2)
        run(site, "recluster")
        all_is_well(site, client, name, given | traffic.expected)


@contextmanager
def read_only(client: Elasticsearch, pattern: str) -> Iterator[None]:
    """The block that the server sets when its disk is nearly full."""

    def block(value: bool | None) -> None:
        client.indices.put_settings(
            index=pattern, settings={"index.blocks.read_only_allow_delete": value}, expand_wildcards="all"
        )

    block(True)
    try:
        yield
    finally:
        block(None)


def test_a_circuit_breaker_that_trips_under_traffic() -> None:
    given = documents()
    with source_index(given) as (client, name), attached(name, patient()) as site:
        run(site, "backfill")
        traffic = Traffic(site.place, patient())
        with traffic.running():
            until(lambda: traffic.batches >= 1)
            # what a batch sends is refused with status 429, the settings that end it are small enough
            client.cluster.put_settings(persistent={"network.breaker.inflight_requests.limit": "2kb"})
            try:
                until(lambda: bool(traffic.report.inconclusive or traffic.failures))
            finally:
                client.cluster.put_settings(persistent={"network.breaker.inflight_requests.limit": None})
            before = traffic.batches
            until(lambda: traffic.batches >= before + 3)
        run(site, "recluster")
        all_is_well(site, client, name, given | traffic.expected)


def test_an_old_version_of_a_page_after_the_new_one() -> None:
    given = documents(made_up=4)
    old, new = given["made-00000"], given["made-00003"]
    with source_index({}) as (client, name), attached(name, patient()) as site:
        put(client, name, {"other": new})
        page = {"_index": name, "_id": "page"}
        with DedupHook.open(site.place, FIELDS) as hook:
            dedup_bulk(client, [{**page, "_source": new}], hook=hook)
            late = {**page, "if_seq_no": 0, "if_primary_term": 1, "_source": old}
            _, errors = dedup_bulk(client, [late], hook=hook, raise_on_error=False)
            assert [each["index"]["status"] for each in errors] == [409]
            # a task that was sent for the old version comes after one for the new
            hook.decide([f"{name}/page"])
            dedup_bulk(client, [{"_index": name, "_id": "copy", "_source": old}], hook=hook)
        run(site, "backfill")
        expected = {"page": new, "other": new, "copy": old}
        all_is_well(site, client, name, expected)
        clusters = {each.page_id: each.cluster_id for group in site.index.clusters() for each in group}
        assert clusters[f"{name}/page"] == clusters[f"{name}/other"] != clusters[f"{name}/copy"]


def test_clocks_that_are_minutes_apart(tmp_path: Path) -> None:
    given = documents(made_up=90)
    with (
        source_index(given) as (client, name),
        attached(name, patient()) as site,
        (tmp_path / "log").open("wb") as log,
    ):
        with redis.Redis.from_url(environment()["ES_DEDUP_MAINTENANCE__BROKER"]) as broker:
            broker.flushdb()
        workers = [
            Worker(site.place, log, faults={"FAULTY_CLOCK": clock}, batch=8) for clock in ("-300", "300")
        ]
        try:
            traffic = Traffic(site.place, patient())
            dispatcher = CeleryDispatcher(site.place, load_settings(environ=environment()))
            runner = Runner(site)
            job = runner.start("backfill", {"target": None})
            dispatcher.work(job.id, runner.due(job.id))
            with traffic.running():
                until(lambda: job_over(site, job.id), 120)
            dispatcher.close()
        finally:
            for worker in workers:
                worker.kill()
        run(site, "recluster")
        all_is_well(site, client, name, given | traffic.expected)


def job_over(site: Any, job_id: str) -> bool:
    found = site.jobs.job(job_id)
    assert found is not None
    return bool(found[0].state.over)
