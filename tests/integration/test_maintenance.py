"""Attach, backfill, audit and their like on a real server, worked on in this process."""

from collections.abc import Sequence
from typing import Any

import pytest
from elasticsearch.helpers import scan

from es_dedup.batch.clusters import CLUSTERS_PENDING
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import ConfigError, MassChange, SettingsMismatch
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.attach import REWRITING, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.backfill import FEATURES, KINDS, UPDATE
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.reindex import reindex, roll_back
from es_dedup.maintenance.runner import Runner, preview
from es_dedup.maintenance.status import job_status
from es_dedup.settings.sections import CcdetConfig
from tests.model.material import Version
from tests.model.place import FIELDS as BODY
from tests.model.place import source_of
from tests.servers import url_of
from tests.source_indices import (
    FIELDS,
    attached,
    canonical_counts,
    count_with_dedup_field,
    documents,
    made_up_documents,
    put,
    settings,
    source_index,
)
from tests.texts import article
from tests.traffic import run


def test_a_backfill_marks_every_document_as_the_embedded_index_would() -> None:
    given = documents(made_up=300)
    with source_index(given) as (client, name), attached(name) as site:
        job = Runner(site).start("backfill", {"target": name})
        job = Runner(site).run(job.id)
        assert job.state is JobState.DONE
        assert job.counts["stored"] == len(given)
        assert count_with_dedup_field(client, name) == len(given)
        assert set(canonical_counts(client, name).values()) == {1}
        assert audit(site).as_dict()["found"] == {}
        with Deduplicator.open(":memory:", settings=settings()) as plain:
            fields = next(iter(site.indices().values()))
            plain.scan(fields.page(f"{name}/{key}", source) for key, source in given.items())
            expected = {
                each.id: sorted(m.page_id for m in each.members) for each in plain.clusters(min_size=2)
            }
        with_us = {
            each.id: sorted(m.page_id for m in each.members) for each in site.dedup.clusters(min_size=2)
        }
        assert with_us == expected
        assert len(expected) > 100


def test_a_backfill_whose_turns_end_after_each_batch_does_nothing_twice() -> None:
    """A worker gives a part back after ``step_seconds``; whoever takes it next must not begin from the start."""
    given = made_up_documents(30)
    with source_index(given) as (client, name), attached(name, settings(batch=8, step_seconds=0.001)) as site:
        runner = Runner(site)
        job = runner.start("backfill", {"target": name})
        counts = runner.run(job.id).counts
        assert (counts["stored"], counts["unchanged"]) == (len(given), 0)
        assert counts["clustered"] == counts["updated"] == len(given)
        assert audit(site).as_dict()["found"] == {}
        assert count_with_dedup_field(client, name) == len(given)


def test_a_recluster_sees_what_another_process_has_stored_a_moment_ago() -> None:
    """Searches see a write only after a while, and a page that reclustering does not see would be left without a cluster."""
    late = settings().model_validate({**settings().model_dump(), "elastic": {"refresh": "30m"}})
    given = made_up_documents(30)
    with source_index({}) as (client, name), attached(name, late) as site:
        with DedupHook.open(site.place, FIELDS, settings=late) as hook:
            actions = [{"_index": name, "_id": key, **source} for key, source in given.items()]
            dedup_bulk(client, actions, hook=hook)
        preview(site)
        run(site, "recluster")
        assert site.index.count() == len(given)
        assert audit(site).as_dict()["found"] == {}
        assert count_with_dedup_field(client, name) == len(given)


def test_a_document_that_changes_while_a_backfill_stores_what_it_has_read() -> None:
    """A worker may store features of what a document held before a hook replaced them: they are compared at the end."""
    given = made_up_documents(30)
    key, another = list(given)[:2]
    with source_index(given) as (client, name), attached(name) as site:

        def change(stage: str, *_: object) -> None:
            if stage == "update":
                client.update(index=name, id=key, doc=given[another], refresh=True)

        runner = Runner(site, change)
        assert runner.run(runner.start("backfill", {"target": None}).id).state is JobState.DONE
        assert audit(site).as_dict()["found"] == {}
        clusters = [{each.page_id for each in group} for group in site.index.clusters()]
        assert any({f"{name}/{key}", f"{name}/{another}"} <= group for group in clusters)


@pytest.mark.slow
def test_a_reindex_with_new_settings_keeps_what_was_written_meanwhile_and_can_be_taken_back() -> None:
    given = made_up_documents(30)
    old, new = settings(), settings().model_copy(update={"ccdet": CcdetConfig(window=8)})
    with source_index(given) as (client, name):
        with attached(name, old) as site:
            place = site.place
            run(site, "backfill")
            runner = Runner(site)
            killed = runner.start("backfill", {"target": None})
            for _ in range(runner.due(killed.id)):  # it was killed when every document was stored
                runner.turn(killed.id)
        put(client, name, {"later": given["made-00000"]})
        client.delete(index=name, id="made-00003")
        with pytest.raises(SettingsMismatch), open_context(place, new):
            pass
        done = reindex(place, new)
        assert done.pages == done.documents == len(given)
        assert done.sampled > 0
        with open_context(place, new) as site:
            assert audit(site).as_dict()["found"] == {}
            assert count_with_dedup_field(client, name) == len(given)
        put(client, name, {"latest": given["made-00001"]})
        roll_back(place, old)
        with open_context(place, old) as site:
            assert audit(site).as_dict()["found"] == {}
            assert count_with_dedup_field(client, name) == len(given) + 1


def test_an_audit_finds_and_repairs_what_others_have_spoilt() -> None:
    given = made_up_documents(60)
    with source_index(given) as (client, name), attached(name) as site:
        run(site, "backfill")
        put(client, name, {"made-00001": given["made-00001"]})  # its writer wipes our object
        client.delete(index=name, id="made-00002")
        client.update(index=name, id="made-00004", doc={"dedup": {"cluster_id": "nonsense"}})
        put(client, name, {"new": given["made-00007"]})
        found = audit(site).found
        assert set(found["overwritten"]) >= {f"{name}/made-00001", f"{name}/made-00004"}
        assert found["orphans"] == [f"{name}/made-00002"]
        assert found["unknown"] == [f"{name}/new"]
        audit(site, repair=True)
        assert audit(site).as_dict()["found"] == {}
        assert set(canonical_counts(client, name).values()) == {1}


def test_jobs_leave_pages_without_documents_where_they_are() -> None:
    given = made_up_documents(12)
    with source_index(given) as (_, name), attached(name) as site:
        texts = [FIELDS.page(f"{key}.html", given[key]) for key in sorted(given)[:5]]
        site.dedup.add_many(texts)
        run(site, "backfill")
        assert audit(site).clean
        site.index.set_note(CLUSTERS_PENDING, "1")
        assert audit(site, repair=True, force=True).repaired["reclustered"]
        assert audit(site).clean
        detach(site, name, force=True)
        assert {each.page_id for some in site.index.scan(batch=100) for each in some} == {
            page.id for page in texts
        }


def test_where_nothing_is_attached_an_audit_looks_at_clusters_alone() -> None:
    pages = [FIELDS.page(name, {"html": "<p>" + article(3)}) for name in ("a.html", "forum/b.html", "c/d/e")]
    with source_index({}) as (_, name), open_context(f"{url_of('es8')}/{name}", settings()) as site:
        site.dedup.add_many(pages)
        assert audit(site).as_dict()["found"] == {}
        site.index.set_note(CLUSTERS_PENDING, "1")
        assert audit(site, repair=True, force=True).repaired["reclustered"]
        assert audit(site).as_dict()["found"] == {}
        (cluster,) = site.index.clusters()
        assert {each.page_id for each in cluster} == {page.id for page in pages}


def test_the_next_writer_finishes_a_repair_that_died_before_the_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = made_up_documents(12)
    with source_index(given) as (client, name), attached(name) as site:
        run(site, "backfill")
        first = f"{name}/made-00001"
        apart = site.index.assignments([first])[first]._replace(cluster_id="gone", canonical="gone")
        site.index.assign_many([apart])
        with monkeypatch.context() as patched:
            patched.setattr(type(site.source_index), "write_dedup_fields", _die)
            with pytest.raises(KeyboardInterrupt):
                audit(site, repair=True)
        assert site.finish_clusters()["updated"] == 2
        assert audit(site).as_dict()["found"] == {}
        assert set(canonical_counts(client, name).values()) == {1}


def _die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_audit_decides_again_on_documents_whose_text_another_writer_has_changed() -> None:
    """Writing the old mark again would keep a document in a cluster that its text has left."""
    given = made_up_documents(30)
    with source_index(given) as (client, name), attached(name) as site:
        run(site, "backfill")
        put(client, name, {"made-00002": given["made-00003"]})  # replaced: our object is wiped
        client.update(index=name, id="made-00005", doc=given["made-00000"])  # changed: our object stays
        changed = {f"{name}/made-00002", f"{name}/made-00005"}
        assert set(audit(site, repair=True).found["outdated"]) == changed
        assert audit(site).as_dict()["found"] == {}
        assert site.dedup.cluster(f"{name}/made-00002").id == site.dedup.cluster(f"{name}/made-00003").id
        assert site.dedup.cluster(f"{name}/made-00005").id == site.dedup.cluster(f"{name}/made-00000").id


@pytest.mark.parametrize(
    ("given", "change"),
    [
        pytest.param((2, 0), {"new": 3}, id="a better canonical document takes a page from another"),
        pytest.param((0, 1, 3, 2, 4), {"0": None}, id="a page takes the place of a deleted one"),
        pytest.param((0, 1, 3, 2, 4), {"0": 10}, id="a page takes the place of one whose text is changed"),
    ],
)
def test_an_audit_mends_documents_whose_cluster_others_leave(
    given: Sequence[int], change: dict[str, int | None]
) -> None:
    """They have no relation to the page that is written or deleted: it moves a page of their cluster to another one."""
    stored = {str(place): _excerpt(start, day=place + 2) for place, start in enumerate(given)}
    with source_index(stored) as (client, name), attached(name, fields=BODY) as site:
        run(site, "backfill")
        for key, start in change.items():
            if start is None:
                client.delete(index=name, id=key)
            else:
                put(client, name, {key: _excerpt(start, day=1)})
        audit(site, repair=True)
        assert audit(site).as_dict()["found"] == {}


def _excerpt(start: int, *, day: int) -> dict[str, Any]:
    """A part of one long text; parts that begin at most two places apart are duplicates."""
    return source_of(Version(f"window:0.{start}", day))


def test_a_job_is_paused_resumed_and_cancelled() -> None:
    given = made_up_documents(60)
    with source_index(given) as (_, name), attached(name, settings(batch=8, step_seconds=0.01)) as site:
        runner = Runner(site)
        job = runner.start("backfill", {"target": name})
        runner.turn(job.id)
        runner.set_state(job.id, JobState.PAUSED)
        stored = site.index.count()
        assert 0 < stored < len(given)
        assert runner.turn(job.id) == (False, 0)
        assert runner.due(job.id) == 0
        assert site.index.count() == stored
        status = job_status(site, runner.set_state(job.id, JobState.RUNNING))
        assert (status.state, status.done) == ("running", stored)
        assert status.rate > 0
        assert status.seconds_left is not None
        runner.set_state(job.id, JobState.CANCELLED)
        assert runner.set_state(job.id, JobState.RUNNING).state is JobState.CANCELLED


def test_a_mass_change_has_to_be_forced() -> None:
    given = made_up_documents(120)
    with source_index(given) as (client, name), attached(name) as site:
        run(site, "backfill")
        with pytest.raises(MassChange):
            detach(site, name)
        assert count_with_dedup_field(client, name) == len(given)
        done = detach(site, name, force=True)
        assert done.cleared == len(given)
        assert count_with_dedup_field(client, name) == 0
        assert site.index.count() == 0
        assert site.attachments == []


def test_what_a_job_would_write_again_is_not_detached() -> None:
    assert {name for name, kind in KINDS.items() if {FEATURES, UPDATE} & {*kind.stages}} == REWRITING
    with source_index(made_up_documents(12)) as (_, name), attached(name) as site:
        run(site, "backfill")
        job = Runner(site).start("recluster", {})
        with pytest.raises(ConfigError, match=f"job {job.id} .recluster. would write the fields again"):
            detach(site, name, force=True)
        Runner(site).set_state(job.id, JobState.CANCELLED)
        assert detach(site, name, force=True).removed == 12


def test_time_based_indices_to_come_are_met_by_the_pattern() -> None:
    with source_index({}) as (client, name):
        client.indices.create(index=f"{name}-2026.01")
        with attached(name, target=f"{name}-*") as site:
            assert list(site.indices()) == [f"{name}-2026.01"]
            put(client, f"{name}-2026.02", {"a": {"html": "<p>one</p>"}})
            assert list(site.indices()) == [f"{name}-2026.01", f"{name}-2026.02"]
            run(site, "backfill")
            assert site.source_index.prepared(f"{name}-2026.02")
            detach(site, f"{name}-*", force=True)


def test_detach_keeps_fields_as_they_are_though_pages_go_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    with source_index(made_up_documents(12)) as (client, name), attached(name) as context:
        run(context, "backfill")
        before = {hit["_id"]: hit["_source"]["dedup"] for hit in scan(client, index=name)}
        monkeypatch.setattr("es_dedup.maintenance.attach.BATCH", 4)
        detach(context, name, keep_fields=True, force=True)
        client.indices.refresh(index=name)
        assert {hit["_id"]: hit["_source"]["dedup"] for hit in scan(client, index=name)} == before


def test_an_audit_removes_no_page_whose_document_is_there_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with source_index(made_up_documents(12)) as (client, name), attached(name) as context:
        run(context, "backfill")
        (hit, *_) = client.search(index=name, query={"term": {"dedup.canonical": True}})["hits"]["hits"]
        client.delete(index=name, id=hit["_id"], refresh=True)
        check = context.source_index.check

        def written_again(indices: Any, **options: Any) -> None:
            check(indices, **options)
            client.index(index=name, id=hit["_id"], document=hit["_source"], refresh=True)

        monkeypatch.setattr(context.source_index, "check", written_again)
        found = audit(context, repair=True)
        assert found.found["orphans"] == [f"{name}/{hit['_id']}"]
        assert audit(context).clean
