"""Jobs that a command works on itself: progress on a terminal, and Ctrl-C."""

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import Mock

import pytest

from es_dedup.errors import UnknownJob
from es_dedup.index.jobs import DeadLetter, JobState
from es_dedup.index.source_index import SourceDocument
from es_dedup.maintenance.context import MaintenanceContext
from es_dedup.maintenance.runner import Runner, start_follow, start_ingest, start_recheck
from es_dedup.maintenance.status import BEAT, job_status
from tests.commands import ran
from tests.servers import url_of
from tests.source_indices import attached, ids_of, made_up_documents, settings, source_index
from tests.terminal import CTRL_C, Terminal

SMALL_BATCHES: Final = {"ES_DEDUP_MAINTENANCE__BATCH": "16", "ES_DEDUP_MAINTENANCE__PART_DOCUMENTS": "1000"}


@pytest.mark.parametrize("command", [("backfill", "--inline"), ("follow", "--once", "--inline")])
def test_without_an_attached_index_there_is_nothing_to_do(command: tuple[str, ...]) -> None:
    with source_index(made_up_documents(3), shards=1) as (_, name):
        said = ran("--db", f"{url_of('es8')}/{name}", "elastic", *command, code=1).output
        assert "no index is attached: `es-dedup elastic attach INDEX --content-field …` attaches one" in said


@pytest.mark.parametrize("command", ["detach", "purge"])
def test_of_an_index_that_is_not_attached_it_is_said_what_is(command: str) -> None:
    with source_index(made_up_documents(3), shards=1) as (_, name), attached(name, settings()):
        said = ran("--db", f"{url_of('es8')}/{name}", "elastic", command, f"{name}-1", code=1).output
        assert f"{name}-1 is not attached; attached are: {name}" in said
        assert "elastic attach" not in said


def test_the_audit_says_that_a_job_is_not_done() -> None:
    with source_index(made_up_documents(3), shards=1) as (_, name), attached(name, settings()) as site:
        command = ("--db", f"{url_of('es8')}/{name}", "elastic", "audit")
        assert "audit --repair` repairs it" in ran(*command, code=1).output
        runner = Runner(site)
        job = runner.start("backfill", {})
        said = ran(*command, code=1).output
        assert f"backfill {job.id} is running: audit again when it is done" in said
        assert "--repair" not in said
        time.sleep(1.1)
        said = ran(*command, code=1, ES_DEDUP_MAINTENANCE__LEASE_SECONDS="1").output
        go_on = f"`es-dedup elastic jobs {job.id} --resume` goes on with it, `--cancel` ends it"
        assert f"backfill {job.id} is abandoned: {go_on}" in said
        assert "audit --repair` repairs it" in said
        runner.set_state(job.id, JobState.PAUSED)
        said = ran(*command, code=1).output
        assert f"backfill {job.id} is paused: {go_on}" in said
        assert "audit --repair` repairs it" in said
        runner.set_state(job.id, JobState.CANCELLED)
        assert job.id not in ran(*command, code=1).output


@pytest.mark.slow
def test_an_interrupted_backfill_is_paused_and_goes_on(tmp_path: Path) -> None:
    with source_index(made_up_documents(300), shards=1) as (_, name), attached(name, settings()) as site:
        place = f"{url_of('es8')}/{name}"
        with Terminal(
            "--db",
            place,
            "elastic",
            "backfill",
            "--inline",
            "--rate",
            "60",
            folder=tmp_path,
            environment=SMALL_BATCHES,
        ) as terminal:
            terminal.until(r"[1-9]\d* of [\d,]+ \([\d,]+/s, [\d,]+ s left\)")
            terminal.press(CTRL_C)
            assert terminal.finish() == 130
        (line,) = [line for line in terminal.text.splitlines() if "interrupted" in line]
        said = re.search(r"job (\S+) is paused and keeps what it has done. To go on: es-dedup (.+)", line)
        assert said, line
        (job,) = site.jobs.jobs()
        assert (job.id, job.state) == (said[1], JobState.PAUSED)
        done = sum(part.done for part, _ in site.jobs.parts(job.id, job.plans[-1], range(job.parts[-1])))
        assert 0 < done < 300
        # without the pace of the first run; the part is free at once, its lease of a minute notwithstanding
        with Terminal(*said[2].split(), folder=tmp_path, environment=SMALL_BATCHES) as terminal:
            assert terminal.finish(200) == 0, terminal.text
        assert site.jobs.jobs()[0].state is JobState.DONE


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [True, False], ids=["at-once", "later"])
def test_the_same_command_goes_on_with_a_job_whose_process_was_killed(tmp_path: Path, at_once: bool) -> None:
    """It says what it waits for while the parts of the killed process are held; until then nothing is at fault."""
    lease = 20 if at_once else 2
    short = SMALL_BATCHES | {"ES_DEDUP_MAINTENANCE__LEASE_SECONDS": f"{lease}"}
    limits = settings(lease_seconds=lease)
    with source_index(made_up_documents(300), shards=1) as (_, name), attached(name, limits) as site:
        command = ("--db", f"{url_of('es8')}/{name}", "elastic", "backfill", "--inline")
        with Terminal(*command, "--rate", "60", folder=tmp_path, environment=short) as terminal:
            terminal.until(r"[1-9]\d* of [\d,]+ \([\d,]+/s, [\d,]+ s left\)")
            (job,) = site.jobs.jobs()
            assert job_status(site, job).state == "running"
        # the block has killed it
        if at_once:
            with Terminal(*command[:2], "index", "doctor", folder=tmp_path, environment=short) as terminal:
                assert terminal.finish(60) == 0, terminal.text
        end = time.monotonic() + 20
        while not at_once and job_status(site, job).state != "abandoned":
            assert time.monotonic() < end
            time.sleep(0.2)
        for asked in () if at_once else ("elastic jobs", "index doctor", "index stats"):
            with Terminal(*command[:2], *asked.split(), folder=tmp_path, environment=short) as terminal:
                terminal.finish(60)
                assert re.search(rf"{job.id}.*abandoned", re.sub(r"\s+", " ", terminal.text)), terminal.text
        with Terminal(*command, folder=tmp_path, environment=short) as terminal:
            assert terminal.finish(200) == 0, terminal.text
            assert f"job {job.id} goes on" in terminal.text
            said = re.sub(r"\s+", " ", terminal.text)
            assert (
                f"1 of its parts are held by another process; if that was killed, they are free {lease} s"
                in said
            ) is at_once
        (over,) = site.jobs.jobs()
        assert (over.id, over.state) == (job.id, JobState.DONE)


def test_a_job_is_begun_once_until_it_is_over() -> None:
    with (
        source_index(made_up_documents(60), shards=1) as (_, name),
        attached(name, settings(lease_seconds=1)) as site,
    ):
        runner = Runner(site)
        job, begun = runner.begin("backfill", {"target": None, "force": False})
        assert begun
        runner.set_state(job.id, JobState.PAUSED, "interrupted")
        again, begun = runner.begin("backfill", {"rate": 100.0})
        assert (again.id, again.state, again.note, begun) == (job.id, JobState.RUNNING, "", False)
        assert again.options["rate"] == 100.0
        other, begun = runner.begin("backfill", {"target": name})
        assert begun
        assert other.id != job.id
        time.sleep(1.1)
        assert job_status(site, again).state == "abandoned"
        site.jobs.set_time(BEAT)  # workers look for what nobody works on
        assert job_status(site, again).state == "running"
        assert runner.run(job.id).state is JobState.DONE
        assert runner.begin("backfill", {})[1]


def test_late_duplicate_and_lost_messages_do_no_harm() -> None:
    """A message names a job and says when it was sent; the job's documents say what is to be done."""
    given = made_up_documents(6)
    with source_index(given, shards=1) as (_, name), attached(name, settings(step_seconds=0.001)) as site:
        runner = Runner(site)
        job, _ = start_follow(site)
        sent = int(time.time() * 1000)
        assert runner.turn(job.id, sent) == (True, 1)
        assert runner.turn(job.id, sent) == (False, 0), "delivered twice: another message was sent since"
        assert runner.due(job.id) == 1, "that one is lost"
        assert [(each.id, due) for each, due in runner.orphans(brief=False)] == [(job.id, 1)]
        assert runner.turn(job.id, int(time.time() * 1000)) == (True, 1)
        runner.set_state(job.id, JobState.CANCELLED)
        assert runner.turn(job.id) == (False, 0), "late"
        with pytest.raises(UnknownJob):
            runner.turn("gone")


def test_pages_that_are_named_are_decided_on_once_and_the_job_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = made_up_documents(12)
    with source_index(given) as (_, name), attached(name, settings(max_attempts=3, batch=8)) as site:
        ids = [f"{name}/{key}" for key in given]
        bad = ids[5]
        decide = MaintenanceContext.ingest_documents

        def failing(context: Any, fields: Any, found: Sequence[SourceDocument], *, again: bool) -> Any:
            if any(each.key.page_id == bad for each in found):
                raise RuntimeError("it cannot be read")
            return decide(context, fields, found, again=again)

        monkeypatch.setattr(MaintenanceContext, "ingest_documents", failing)
        monkeypatch.setattr("es_dedup.maintenance.backfill.NAMED_PAGES", 10)
        runner = Runner(site)
        job = start_ingest(site.jobs, [*ids, "another-index/1"])
        assert start_recheck(site) is None
        while site.jobs.job(job.id) is not None:
            with suppress(RuntimeError):
                runner.run(job.id)
        assert [(each.page_id, each.attempts) for each in site.jobs.dead()] == [(bad, 3)]
        assert site.index.count() == len(given) - 1
        assert site.jobs.jobs() == []
        assert site.jobs.parts(job.id, job.plans[0], range(job.parts[0])) == []


def test_dead_letters_are_left_alone_however_many_there_are() -> None:
    given = made_up_documents(4)
    with source_index(given, shards=1) as (_, name), attached(name, settings()) as site:
        keys = ids_of(given, name)
        letters = [*(f"!{number}" for number in range(10_001)), keys[0]]
        site.jobs.put_dead_letters(DeadLetter(page_id, "features", "too large", 3, 1) for page_id in letters)
        assert len(site.jobs.dead(5)) == 5
        assert {letter.page_id for letter in site.jobs.dead()} == {*letters}
        runner = Runner(site)
        assert runner.run(runner.start("update", {}).id).state is JobState.DONE
        assert sorted(site.index.get_many(keys)) == keys[1:]


def test_who_only_waits_for_a_job_does_not_pause_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with source_index(made_up_documents(12), shards=1) as (_, name), attached(name, settings()) as site:
        job, _ = start_follow(site)
        beat = int(time.time() * 1000)
        monkeypatch.setattr(Runner, "turn", Mock(side_effect=KeyboardInterrupt))
        command = ("--db", f"{url_of('es8')}/{name}", "elastic", "jobs", job.id, "--resume", "--inline")
        for owner, state in (("another", JobState.RUNNING), ("", JobState.PAUSED)):
            ((part, version),) = site.jobs.parts(job.id, job.plans[-1], range(1))
            assert site.jobs.change_partition(replace(part, owner=owner, beat=beat), version)
            said = ran(*command, code=130).output
            assert ("held by another process" in said) is bool(owner), said
            assert site.jobs.jobs()[0].state is state
