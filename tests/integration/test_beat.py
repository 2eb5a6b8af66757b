"""The periodic tasks of a real worker; and what shows that they run, or do not."""

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import redis

from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import MaintenanceContext
from es_dedup.maintenance.status import last_times
from scripts.serversupport.running import free_ports
from tests.processes import PROGRAM, ended
from tests.source_indices import attached, made_up_documents, source_index
from tests.traffic import run
from tests.workers import broker, environment, until, worker

PORT: Final = free_ports(20008, 1, (0,))
DATABASE: Final = 6
FEW = made_up_documents(6)
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def empty_broker() -> Iterator[None]:
    with redis.Redis.from_url(broker(DATABASE)) as client:
        client.flushdb()
        yield
        client.flushdb()


def checks(site: MaintenanceContext) -> dict[str, Any]:
    """What ``doctor`` found, by name of the check."""
    command = (PROGRAM, "--db", site.place, "--json", "index", "doctor")
    done = ended(*command, env=environment(broker=broker(DATABASE)))
    return {each["name"]: each for each in json.loads(done.stdout)["checks"]}


def figures() -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics") as answer:
        lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_a_worker_sends_the_periodic_tasks_and_stops_in_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        source_index(FEW) as (_, name),
        attached(name) as site,
        log.open("wb") as file,
        worker(site.place, file, "--beat", "--metrics-port", str(PORT), broker=broker(DATABASE)) as started,
    ):
        until(lambda: last_times(site)["beat"] is not None)
        beat = figures()['es_dedup_last_timestamp_seconds{what="beat"}']
        assert beat == pytest.approx(time.time(), abs=30)
        first = last_times(site)["beat"] or 0
        until(lambda: (last_times(site)["beat"] or 0) > first)
        started.process.terminate()
        started.process.wait(30)
        lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
        assert any(each["logger"] == "celery.beat" and each["level"] == "info" for each in lines)


def test_the_doctor_names_periodic_work_that_is_overdue() -> None:
    with source_index(FEW) as (client, name), attached(name) as site:
        assert checks(site)["last beat"]["found"] == "never"
        run(site, "backfill")
        audit(site)
        site.jobs.set_time("beat")
        assert {checks(site)[f"last {what}"]["state"] for what in ("beat", "recluster", "audit")} == {"ok"}
        for what in ("beat", "audit"):
            long_ago = int(time.time() * 1000) - 3 * 86_400_000
            client.update(index=f"{name}-dedup-jobs", id=f"time:{what}", doc={"at": long_ago})
        found = checks(site)
        assert found["last beat"]["state"] == found["last audit"]["state"] == "note"
        assert "elastic worker --beat" in found["last beat"]["found"]
        client.update(
            index=name, id=min(FEW), doc={"dedup": {"waiting": True, "cluster_id": "a"}}, refresh=True
        )
        assert checks(site)["last beat"]["state"] == "fault"
