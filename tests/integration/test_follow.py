"""Source indices that others write to without a hook are followed: new, changed and deleted documents, new indices, deaths."""

import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup.batch.clusters import CLUSTERS_PENDING, write_session
from es_dedup.batch.overrides import load_constraints
from es_dedup.clustering.constraints import ClusterRules
from es_dedup.clustering.repair import update_clusters
from es_dedup.errors import IndexUnavailable, NotAttached
from es_dedup.index.jobs import Job, JobState
from es_dedup.index.source_index import DedupField
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import MaintenanceContext, open_context
from es_dedup.maintenance.follow import Positions, changes
from es_dedup.maintenance.runner import Runner, _Lease, start_follow, start_recluster
from es_dedup.maintenance.status import FOLLOW, follow_status, last_times, overdue, site_status
from es_dedup.settings.recorded import STATISTICS
from tests.processes import PROGRAM
from tests.servers import client_of, fresh_name, url_of
from tests.source_indices import FIELDS, attached, ids_of, made_up_documents, put, settings, source_index
from tests.traffic import run
from tests.workers import environment, until

SIGKILL = KeyboardInterrupt("and the part is not given back")


def pages(count: int, seed: int = 1) -> dict[str, dict[str, Any]]:
    """Made-up documents of which every third is a copy."""
    return {f"{seed}-{key}": each for key, each in made_up_documents(count, seed).items()}


def follow_once(site: MaintenanceContext) -> Job:
    job, _ = start_follow(site, once=True)
    job = Runner(site).run(job.id)
    assert job.state is JobState.DONE
    return job


def is_clean(site: MaintenanceContext) -> None:
    assert audit(site).as_dict()["found"] == {}


def decided(job: Job) -> int:
    outcomes = ("unique", "duplicate", "contains", "contained", "inconclusive")
    return sum(job.counts.get(each, 0) for each in outcomes)


def test_new_changed_and_deleted_documents_and_nothing_else() -> None:
    given = pages(15)
    names = list(given)
    with source_index(given) as (client, name), attached(name) as site:
        assert follow_status(site) is None
        assert decided(follow_once(site)) == len(given)
        is_clean(site)
        put(client, name, {names[0]: given[names[5]], "new": given[names[1]]})
        bulk(client, ({"_op_type": "delete", "_index": name, "_id": each} for each in names[10:14]))
        status = follow_status(site)
        assert status is not None
        assert status.documents == 6
        second = follow_once(site)
        assert decided(second) == 2  # its own writes of the dedup field are not decided on
        assert second.counts["gone"] == 4
        is_clean(site)
        third = follow_once(site)
        assert (decided(third), third.counts.get("compared", 0)) == (0, 0)
        assert follow_status(site).documents == 0  # type: ignore[union-attr]
        client.update(index=name, id=names[1], doc={"html": given[names[6]]["html"]})
        for place, dedup in ((2, None), (3, {"canonical": False, "duplicate_of": "another"}), (4, {})):
            client.update(index=name, id=names[place], doc={"dedup": dedup, "seen": 1})
        assert decided(follow_once(site)) == 1
        is_clean(site)


def test_documents_follow_statistics_that_follow_the_growth() -> None:
    given = pages(20)
    with source_index(given) as (client, name), attached(name) as site:
        follow_once(site)
        learned = site.index.note(STATISTICS)
        put(client, name, pages(20, seed=2))
        assert decided(follow_once(site)) == len(given)
        assert site.index.note(STATISTICS) != learned
        is_clean(site)


def test_documents_follow_the_clusters_that_are_made_after_a_death() -> None:
    given = pages(20)
    with source_index(given) as (client, name):
        with attached(name) as site:
            follow_once(site)
            ids = [each.page_id for group in site.index.clusters() for each in group]
            with write_session(site.index):  # as if nothing had been clustered before
                site.index.drop_edges(ids)
                rules = ClusterRules(site.settings.cluster, load_constraints(site.index))
                alone = update_clusters(site.index, ids, rules)
                site.index.assign_many(alone.assignments)
            assert sum(pages for _, pages, _ in site.update_all_dedup_fields()) == len(given)
            follow_once(site)  # these writes are nothing new any more
            is_clean(site)
            site.index.set_note(CLUSTERS_PENDING, "1")
        put(client, name, {"new": given[next(iter(given))]})
        with open_context(f"{url_of('es8')}/{name}", settings()) as site:
            follow_once(site)
            assert site.index.note(CLUSTERS_PENDING) is None
            assert max(map(len, site.index.clusters())) > 1
            is_clean(site)


def test_it_goes_on_where_a_backfill_ended() -> None:
    given = pages(15)
    with source_index(given) as (client, name), attached(name) as site:
        run(site, "backfill")
        assert decided(follow_once(site)) == 0
        put(client, name, pages(3, seed=2))
        assert decided(follow_once(site)) == 3
        is_clean(site)


def test_a_copy_written_past_the_hook_while_another_process_marks_its_cluster_is_not_missed() -> None:
    """The dedup field is written on top of a version that nobody has read."""
    given = pages(3)
    first, other = list(given)[:2]
    with source_index(given) as (client, name), attached(name) as site:
        follow_once(site)
        document = site.source_index.read(ids_of([first], name), ())[f"{name}/{first}"]
        site.source_index.remember([document])
        put(client, name, {first: given[other]})
        field = DedupField(f"{name}/{first}", canonical=True, relation="unique")
        assert site.source_index.write_dedup_fields({f"{name}/{first}": field}).changed
        now = site.source_index.read(ids_of([first], name), ())[f"{name}/{first}"]
        assert not site.source_index.knows(now)
        assert decided(follow_once(site)) == 1
        is_clean(site)


def test_nothing_is_read_above_the_global_checkpoint() -> None:
    """A refresh may show a write before another one with a lower sequence number; that one must not be passed over."""
    with source_index(pages(6), shards=1) as (client, name), attached(name) as site:
        indices, positions = site.indices(), Positions()
        ((number, shard),) = site.source_index.writes(indices)[name].items()
        assert (shard.complete, shard.last) == (5, 5)
        early = {name: {number: replace(shard, complete=3)}}
        (found,) = changes(site, indices, positions, early, batch=100)
        assert [each.seq_no for each in found.documents] == [0, 1, 2, 3]
        positions.advance(name, number, found.history, found.reached)
        assert positions.behind(early) == 2
        (found,) = changes(site, indices, positions, site.source_index.writes(indices), batch=100)
        assert [each.seq_no for each in found.documents] == [4, 5]
        # a deletion is passed, a batch at a time
        client.delete(index=name, id=found.documents[0].key.id)
        writes = site.source_index.writes(indices)
        *rest, last = changes(site, indices, positions, writes, batch=1)
        assert [each.seq_no for part in rest for each in part.documents] == [5]
        assert (len(last.documents), last.reached) == (0, 6)


@pytest.mark.slow
def test_no_write_is_passed_over_while_many_write_and_refresh_at_once() -> None:
    """Sequence numbers are given out before a search can find the write: what a search finds last is no position to go on from."""
    with source_index({}, shards=1) as (client, name), attached(name) as site:
        done = threading.Event()

        def write(thread: int) -> None:
            for number in range(300):
                client.index(index=name, id=f"{thread}-{number}", document={"html": "a"})

        def refresh() -> None:
            while not done.is_set():
                client.indices.refresh(index=name)

        threads = [threading.Thread(target=write, args=(at,)) for at in range(6)]
        refreshing = threading.Thread(target=refresh)
        for each in (*threads, refreshing):
            each.start()
        positions, met = Positions(), set()
        last = False
        while not last:
            last = not any(each.is_alive() for each in threads)
            writes = site.source_index.writes(site.indices())
            for found in changes(site, site.indices(), positions, writes, batch=50):
                met |= {each.key.id for each in found.documents}
                positions.advance(found.index, found.shard, found.history, found.reached)
        done.set()
        refreshing.join()
        assert len(met) == 6 * 300


def test_an_index_made_again_under_its_name_is_read_from_its_beginning() -> None:
    given = pages(9)
    with source_index(given) as (client, name), attached(name) as site:
        follow_once(site)
        mapping = client.indices.get_mapping(index=name)[name]["mappings"]
        client.indices.delete(index=name)
        client.indices.create(index=name, settings={"number_of_shards": 2}, mappings=mapping)
        later = {f"{key}-again": each for key, each in list(given.items())[:4]}
        put(client, name, later)
        job = follow_once(site)
        assert (decided(job), job.counts["gone"]) == (4, 9)
        is_clean(site)


def test_indices_behind_an_alias_come_are_closed_and_go() -> None:
    name = fresh_name()
    with client_of(url_of("es8")) as client:
        try:
            client.indices.create(index=f"{name}-000001", aliases={name: {"is_write_index": True}})
            put(client, name, pages(6))
            with open_context(f"{url_of('es8')}/{name}", settings()) as site:
                attach(site, name, FIELDS)
                follow_once(site)
                client.indices.rollover(alias=name)
                put(client, name, pages(6, seed=2) | pages(2))
                assert decided(follow_once(site)) == 8
                assert site.source_index.prepared(f"{name}-000002")
                is_clean(site)
                client.indices.close(index=f"{name}-000001")
                assert follow_once(site).counts.get("gone", 0) == 0
                client.indices.open(index=f"{name}-000001")
                client.cluster.health(index=f"{name}-000001", wait_for_status="yellow")
                # a primary that was started anew counts its deletions anew, and keeps its sequence numbers
                client.delete(index=f"{name}-000001", id="1-made-00000")
                client.indices.close(index=f"{name}-000001")
                client.indices.open(index=f"{name}-000001")
                client.cluster.health(index=f"{name}-000001", wait_for_status="yellow")
                put(client, f"{name}-000001", {"more": pages(1, seed=3)["3-made-00000"]})
                job = follow_once(site)
                assert (decided(job), job.counts["gone"]) == (1, 1)
                client.indices.delete(index=f"{name}-000001")
                assert follow_once(site).counts["gone"] == 6
                is_clean(site)
                detach(site, name, force=True)
                assert follow_status(site) is None
                attach(site, name, FIELDS)
                with pytest.raises(StopIteration):
                    next(iter(site.index.scan()))
        finally:
            client.indices.delete(index=f"{name}*", expand_wildcards="all", ignore_unavailable=True)


def test_a_page_that_always_fails_becomes_a_dead_letter_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = pages(12)
    bad = list(given)[7]
    decide = MaintenanceContext.ingest_documents

    def failing(context: Any, fields: Any, found: Any, *, again: bool) -> Mapping[str, int]:
        if any(each.key.id == bad for each in found):
            raise RuntimeError("it cannot be read")
        return decide(context, fields, found, again=again)

    monkeypatch.setattr(MaintenanceContext, "ingest_documents", failing)
    with source_index(given) as (client, name), attached(name, settings(max_attempts=3, batch=4)) as site:
        job, _ = start_follow(site, once=True)
        failures = 0
        while job.state is JobState.RUNNING:
            try:
                job = Runner(site).run(job.id)
            except RuntimeError:
                failures += 1
        assert 3 <= failures <= 5
        assert [each.page_id for each in site.jobs.dead()] == [f"{name}/{bad}"]
        assert site.index.count() == len(given) - 1
        monkeypatch.undo()
        put(client, name, {bad: given[bad] | {"at": "2026-02-02"}})  # written again, it is tried again
        assert decided(follow_once(site)) == 1


@pytest.mark.parametrize(
    ("after", "death"),
    [
        ("put_batch", SIGKILL),
        ("change_clusters", SIGKILL),
        ("write_dedup_fields", SIGKILL),
        ("decided", SIGKILL),
        ("change_clusters", KeyboardInterrupt()),
        ("put_batch", IndexUnavailable("es", "no answer")),
    ],
)
def test_what_was_stopped_after_any_write_is_done_again(
    after: str, death: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that were replaced and are not clustered yet look as they should, and so do clusters whose other documents do not follow yet."""
    given = pages(6)  # of which 1 and 2, 4 and 5 are copies
    zero, one, two, *_ = given
    with source_index(given) as (client, name), attached(name, settings(lease_seconds=1)) as site:
        follow_once(site)
        early = {
            "at": "2025-01-01"
        }  # both become canonical, which the other documents of their clusters have to say
        put(client, name, {two: given["1-made-00004"] | early, "new": given[zero] | early})
        job, _ = start_follow(site, once=True)
        owner = site.source_index if hasattr(site.source_index, after) else site.index
        with monkeypatch.context() as patched:
            patched.setattr(type(owner), after, stopping(getattr(type(owner), after), death))
            if death is SIGKILL:
                patched.setattr(_Lease, "release", lambda *_, **__: None)
            with pytest.raises((KeyboardInterrupt, IndexUnavailable)):
                Runner(site).run(job.id)
        until(lambda: Runner(site).run(job.id).state is JobState.DONE)
        is_clean(site)
        groups = {
            frozenset(each.page_id.partition("/")[2] for each in group) for group in site.index.clusters()
        }
        assert groups == {
            frozenset(each)
            for each in ({"new", zero}, {one}, {two, "1-made-00004", "1-made-00005"}, {"1-made-00003"})
        }


def stopping(method: Any, death: BaseException) -> Any:
    """The method that dies when it is done."""

    def call(*given: Any, **options: Any) -> Any:
        method(*given, **options)
        raise death

    return call


def test_it_says_until_when_all_is_processed_although_each_turn_ends_after_one_batch() -> None:
    """A worker gives a part back after ``step_seconds``; what it was at must not begin anew each time."""
    given = pages(12)
    with source_index(given) as (client, name), attached(name, settings(step_seconds=0.001, batch=4)) as site:
        job, _ = start_follow(site)
        before = None
        for turn in range(12):
            put(client, name, {f"more-{turn}": given["1-made-00000"]})  # writers that never cease
            Runner(site).turn(job.id)
            before = before or last_times(site)[FOLLOW]
        status = follow_status(site)
        assert status is not None
        assert status.deletions_seconds is not None
        assert before is not None


def test_what_it_says_and_what_it_does_not_get_in_the_way_of() -> None:
    with source_index(pages(3)) as (_, name):
        with open_context(f"{url_of('es8')}/{name}", settings()) as site, pytest.raises(NotAttached):
            start_follow(site)
        with attached(name) as site:
            follow_once(site)
            job, begun = start_follow(site)
            assert begun
            assert start_follow(site) == (site.jobs.job(job.id)[0], False)  # type: ignore[index]
            assert len([each for each in site.jobs.jobs() if each.what == "follow"]) == 1
            said = str(site_status(site)["following"])
            assert said.startswith("running, 0 documents and ")
            assert "follow" not in overdue(site)
            assert start_recluster(site) is not None  # although a job is under way that has no end


class Writers:
    """Other programs: they index, update and delete, each its own documents, and know nothing of es-dedup."""

    def __init__(self, client: Elasticsearch, target: str, count: int = 3) -> None:
        self._client, self._target = client, target
        self._stop = threading.Event()
        self.rounds = [0] * count
        self.error: BaseException | None = None
        self._threads = [threading.Thread(target=self._run, args=(at,), daemon=True) for at in range(count)]

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        self._stop.set()
        for each in self._threads:
            each.join(60)
        assert self.error is None, repr(self.error)

    def _run(self, writer: int) -> None:
        sources = list(pages(12, seed=writer + 5).values())
        try:
            while not self._stop.wait(0.3):
                turn = self.rounds[writer]
                for at in range(3):
                    key = f"{writer}-{(turn * 3 + at) % 40}"
                    source = sources[(turn * 7 + at) % len(sources)]
                    # in a bulk request an alias takes new documents to its newest index
                    bulk(self._client, [{"_index": self._target, "_id": key, "_source": source}])
                if turn % 4 == 3:
                    gone = {"terms": {"_id": [f"{writer}-{(turn * 3 + at) % 40}" for at in (1, 2)]}}
                    self._client.indices.refresh(index=self._target)
                    hits = self._client.search(index=self._target, query=gone)["hits"]["hits"]
                    deletes = [
                        {"_op_type": "delete", "_index": each["_index"], "_id": each["_id"]} for each in hits
                    ]
                    bulk(self._client, deletes, raise_on_error=False)
                self.rounds[writer] += 1
        except BaseException as error:  # noqa: BLE001 - told by ``stop``
            self.error = error


@pytest.mark.slow
@pytest.mark.timeout(1200)  # a process starts two times
def test_writers_that_go_on_while_it_is_killed_and_started_again(tmp_path: Path) -> None:
    """Under index, update, delete, rollover and SIGKILL; at the end everything agrees."""
    name = fresh_name()
    place = f"{url_of('es8')}/{name}"
    command = [PROGRAM, "--db", place, "elastic", "follow", "--inline"]
    given = environment(follow_seconds=0.2, deletions_seconds=1, lease_seconds=1, step_seconds=20)
    with client_of(url_of("es8")) as client, (tmp_path / "log").open("wb") as log:
        writers = Writers(client, name)
        process: subprocess.Popen[bytes] | None = None
        try:
            client.indices.create(index=f"{name}-000001", aliases={name: {"is_write_index": True}})
            with open_context(place, settings()) as site:
                attach(site, name, FIELDS)
                writers.start()
                for turn in range(2):
                    before = last_times(site)[FOLLOW]
                    process = subprocess.Popen(command, env=given, stdout=log, stderr=log)
                    until(lambda before=before: last_times(site)[FOLLOW] != before, 400)  # type: ignore[misc]
                    seen = sum(writers.rounds)
                    until(lambda seen=seen: sum(writers.rounds) >= seen + 12)  # type: ignore[misc]
                    if turn == 0:
                        process.kill()
                        process.wait()
                        client.indices.rollover(alias=name)
                writers.stop()
                stopped = time.time()
                until(lambda: (said := follow_status(site)) is not None and not said.documents, 400)
                until(lambda: time.time() - follow_status(site).deletions_seconds > stopped, 400)  # type: ignore[operator,union-attr]
                assert process is not None
                process.send_signal(signal.SIGTERM)
                assert process.wait(120) == 143
                assert follow_status(site).state == "paused"  # type: ignore[union-attr]
                is_clean(site)
                assert site.jobs.count_dead() == 0
        finally:
            writers._stop.set()
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
            client.indices.delete(index=f"{name}*", expand_wildcards="all", ignore_unavailable=True)
