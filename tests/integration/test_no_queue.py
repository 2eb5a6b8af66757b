"""Commands that need Redis, while it is down, stalls, or takes no more messages."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
import redis

from es_dedup.index.jobs import DeadLetter, JobState
from es_dedup.maintenance.context import MaintenanceContext
from es_dedup.maintenance.runner import Runner
from scripts.serversupport.running import free_ports
from tests.processes import PROGRAM, ended
from tests.proxy import Proxy
from tests.source_indices import attached, ids_of, made_up_documents, source_index
from tests.workers import broker, environment

DATABASE = 5
CLOSED = f"redis://127.0.0.1:{free_ports(19908, 1, (0,))}/0"
FEW = made_up_documents(30)


def command(site: MaintenanceContext, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    return ended(PROGRAM, "--db", site.place, "--json", *words, env=environment(broker=url))


def refused(site: MaintenanceContext, url: str, *words: str) -> str:
    """The one line that a command says on standard error when it fails."""
    done = command(site, url, *words)
    assert done.returncode == 1, done
    assert done.stdout == ""
    (line,) = (
        said for said in done.stderr.splitlines() if not said.startswith("waiting for ")
    )  # a slow machine
    said = json.loads(line)
    assert said["retryable"]
    assert said["error"].startswith("redis://127.0.0.1:")
    assert "Redis does not answer" in said["error"]
    return str(said["error"])


@contextmanager
def site_with(given: dict[str, dict[str, object]]) -> Iterator[tuple[MaintenanceContext, str]]:
    with source_index(given) as (_, name), attached(name) as site:
        yield site, name


def letters(name: str) -> list[DeadLetter]:
    return [DeadLetter(page, "ingest", "it failed", 3, 1) for page in ids_of(FEW, name)]


@pytest.mark.slow
def test_a_dead_letter_outlives_a_replay_without_redis() -> None:
    with site_with(FEW) as (site, name):
        site.jobs.put_dead_letters(letters(name))
        before = site.jobs.dead()
        assert "--inline" in refused(site, CLOSED, "elastic", "dead", "replay")
        refused(site, CLOSED, "elastic", "dead", "replay", before[0].page_id)
        assert site.jobs.dead() == before
        done = command(site, CLOSED, "elastic", "dead", "replay", "--inline")
        assert json.loads(done.stdout) == {"command": "elastic dead replay", "replayed": len(FEW), "dead": 0}
        site.index.refresh()  # the last ones were written a moment ago
        assert site.index.count() == len(FEW)


def test_a_replay_that_is_cut_off_removes_the_letters_that_were_sent_and_keeps_the_others() -> None:
    with site_with({}) as (site, name):
        many = [DeadLetter(f"{name}/{number:03}", "ingest", "it failed", 3, 1) for number in range(250)]
        site.jobs.put_dead_letters(many)
        sent: list[str] = []

        def send(page_ids: Sequence[str]) -> None:
            if sent:
                raise ConnectionError
            sent.extend(page_ids)

        with pytest.raises(ConnectionError):
            site.replay(send=send)
        assert {letter.page_id for letter in site.jobs.dead()} == {each.page_id for each in many} - set(sent)
        assert len(sent) == 100


def test_a_letter_that_a_worker_has_written_again_stays() -> None:
    """A worker may fail with a page before the sender has removed the old letter."""
    with site_with({}) as (site, name):
        old = DeadLetter(f"{name}/a", "ingest", "it failed", 3, 1)
        new = DeadLetter(f"{name}/a", "ingest", "it failed again", 3, 2)
        site.jobs.put_dead_letters([old])
        assert site.replay(send=lambda _: site.jobs.put_dead_letters([new])) == 1
        assert site.jobs.dead() == [new]


@pytest.mark.slow
def test_without_redis_no_job_is_begun_or_resumed() -> None:
    with site_with(FEW) as (site, name):
        refused(site, CLOSED, "elastic", "backfill")
        assert "--inline" not in refused(site, CLOSED, "elastic", "worker"), "it has no such option"
        refused(site, CLOSED, "elastic", "recluster")
        assert site.jobs.jobs() == []
        job = Runner(site).start("backfill", {"target": name})
        Runner(site).set_state(job.id, JobState.PAUSED)
        refused(site, CLOSED, "elastic", "jobs", job.id, "--resume")
        assert [each.state for each in site.jobs.jobs()] == [JobState.PAUSED]
        done = command(site, CLOSED, "elastic", "jobs", job.id, "--resume", "--inline")
        assert done.returncode == 0, done
        assert [each.state for each in site.jobs.jobs()] == [JobState.DONE]


@contextmanager
def mute_user(name: str) -> Iterator[str]:
    """Address of the broker for a user who may read and return messages and send none."""
    with redis.Redis.from_url(broker(DATABASE)) as client:
        rights = {"commands": ["+@all", "-lpush"], "keys": ["*"], "channels": ["*"]}
        client.acl_setuser(name, enabled=True, passwords=["+secret"], **rights)
        try:
            yield broker(DATABASE).replace("://", f"://{name}:secret@")
        finally:
            client.acl_deluser(name)
            client.flushdb()


def test_a_job_whose_parts_cannot_be_sent_is_paused() -> None:
    with site_with(FEW) as (site, name), mute_user(name) as url:
        line = refused(site, url, "elastic", "backfill")
        assert "secret" not in line
        (job,) = site.jobs.jobs()
        assert job.state is JobState.PAUSED
        assert f"jobs {job.id} --resume" in line


@pytest.mark.slow
def test_a_silent_redis_is_given_up_after_some_seconds() -> None:
    server = urlsplit(broker(DATABASE))
    with site_with(FEW) as (site, name), Proxy(str(server.hostname), int(server.port or 0)) as proxy:
        proxy.stalled = True
        site.jobs.put_dead_letters(letters(name))
        started = time.monotonic()
        refused(site, proxy.url.replace("http://", "redis://") + f"/{DATABASE}", "elastic", "dead", "replay")
        assert time.monotonic() - started < 40
        assert site.jobs.count_dead() == len(FEW)
