"""Real Celery workers on a real Redis and Elasticsearch, and what may befall them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis

from es_dedup.index.jobs import JobState
from es_dedup.maintenance.audit import audit
from tests.hosts import attached, canonical_counts, documents, host_index, marked
from tests.workers import broker, environment, until, worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elasticsearch import Elasticsearch

    from es_dedup.maintenance.site import Site


@pytest.fixture(autouse=True)
def empty_broker() -> Iterator[redis.Redis]:
    with redis.Redis.from_url(broker()) as client:
        client.flushdb()
        yield client
        client.flushdb()


def over(site: Site, job_id: str) -> bool:
    found = site.jobs.job(job_id)
    assert found is not None
    return found[0].state.over


def all_is_well(site: Site, client: Elasticsearch, name: str, count: int) -> None:
    """No page lost, one canonical document per cluster, nothing for an audit to find."""
    assert marked(client, name) == count
    assert set(canonical_counts(client, name).values()) == {1}
    assert audit(site).as_dict()["found"] == {}


def test_workers_do_a_backfill(tmp_path: Path) -> None:
    given = documents(made_up=300)
    with (
        host_index(given) as (client, name),
        attached(name) as site,
        (tmp_path / "log").open("wb") as log,
        worker(site.place, log, "--beat", "--processes", "2"),
    ):
        program = Path(sys.executable).with_name("es-dedup")
        done = subprocess.run(
            [program, "--db", site.place, "backfill"],
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        assert "backfill" in done.stdout
        (job,) = site.jobs.jobs()
        until(lambda: over(site, job.id))
        found = site.jobs.job(job.id)
        assert found is not None
        assert found[0].state is JobState.DONE
        all_is_well(site, client, name, len(given))
