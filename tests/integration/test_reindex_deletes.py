"""Canonical documents are deleted while a reindex runs: by others, through the hook, and from the index alone."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.reindex import reindex, roll_back
from es_dedup.maintenance.runner import Runner
from es_dedup.settings import Settings
from es_dedup.settings.sections import CcdetConfig
from tests.commands import ran
from tests.source_indices import (
    FIELDS,
    attached,
    canonical_counts,
    count_with_dedup_field,
    documents,
    ids_of,
    put,
    settings,
    source_index,
)
from tests.traffic import run
from tests.workers import until

OLD = settings(batch=16)
NEW = OLD.model_copy(update={"ccdet": CcdetConfig(window=8)})
AT_A_TIME = 3  # canonical documents that are deleted at each moment
MOMENTS = ("stage features", "stage cluster", "taking in later writes", "switching", "stage update")
ROLL_BACK = ("stage features", "stage cluster", "stage update")


def pairs(count: int) -> dict[str, dict[str, Any]]:
    """Made-up documents: clusters of two, and single ones."""
    return {key: each for key, each in documents(made_up=3 * count).items() if key.startswith("made-")}


def canonical(client: Elasticsearch, name: str) -> list[str]:
    """Ids of canonical documents that stand for another one, too."""
    client.indices.refresh(index=name)
    query = {"bool": {"filter": [{"term": {"dedup.canonical": True}}, {"term": {"dedup.cluster_size": 2}}]}}
    return sorted(hit["_id"] for hit in client.search(index=name, query=query, size=10_000)["hits"]["hits"])


def deletes(ids: list[str], name: str) -> list[dict[str, Any]]:
    return [{"_op_type": "delete", "_index": name, "_id": each} for each in ids]


class Deleter:
    """Told of each moment of a reindex, deletes some canonical documents that are left."""

    def __init__(self, client: Elasticsearch, name: str, delete: Callable[[str, list[str]], object]) -> None:
        self._left = iter(canonical(client, name))
        self._delete = delete
        self.seen: list[str] = []

    def __call__(self, moment: str) -> None:
        if moment in MOMENTS:
            self.seen.append(moment)
            some = list(islice(self._left, AT_A_TIME))
            assert len(some) == AT_A_TIME
            self._delete(moment, some)


def no_story_is_hidden(client: Elasticsearch, name: str) -> None:
    """Each cluster has one canonical document, and the documents that others name as theirs are there."""
    heads = canonical_counts(client, name)
    assert {cluster for cluster, count in heads.items() if count != 1} == set()
    hits = client.search(index=name, size=10_000)["hits"]["hits"]
    there = {f"{name}/{hit['_id']}" for hit in hits}
    named = {hit["_source"]["dedup"].get("duplicate_of") for hit in hits}
    assert named - {None} <= there


@contextmanager
def filled() -> Iterator[tuple[Elasticsearch, str, str]]:
    """A source index of pairs, backfilled with the old settings, and its address."""
    with source_index(pairs(30)) as (client, name):
        with attached(name, OLD) as site:
            run(site, "backfill")
        yield client, name, site.place


@pytest.mark.slow
def test_documents_that_others_delete_during_a_reindex_leave_their_clusters_whole() -> None:
    with filled() as (client, name, place):
        deleter = Deleter(client, name, lambda _, ids: bulk(client, deletes(ids, name), refresh=True))
        reindex(place, NEW, report_progress=deleter)
        assert tuple(deleter.seen) == MOMENTS
        no_story_is_hidden(client, name)
        with open_context(place, NEW) as site:
            assert audit(site).as_dict()["found"] == {}
        deleter = Deleter(client, name, lambda _, ids: bulk(client, deletes(ids, name), refresh=True))
        roll_back(place, OLD, report_progress=deleter)
        assert tuple(deleter.seen) == ROLL_BACK
        no_story_is_hidden(client, name)


@pytest.mark.parametrize("given", [NEW, OLD], ids=["other settings", "same settings"])
@pytest.mark.slow
def test_documents_that_a_hook_deletes_during_a_reindex_leave_their_clusters_whole(given: Settings) -> None:
    with filled() as (client, name, place), ThreadPoolExecutor(1) as pool:
        with DedupHook.open(place, FIELDS, settings=OLD) as hook:

            def delete(moment: str, ids: list[str]) -> None:
                sent = pool.submit(dedup_bulk, client, deletes(ids, name), hook=hook)
                if moment != "switching":  # there the hook and the reindex compete for the writer lock
                    sent.result()
                until(lambda: not any(each["found"] for each in client.mget(index=name, ids=ids)["docs"]))

            deleter = Deleter(client, name, delete)
            reindex(place, given, report_progress=deleter)
            delete("after the reindex", canonical(client, name)[:AT_A_TIME])
        assert tuple(deleter.seen) == MOMENTS
        no_story_is_hidden(client, name)
        with open_context(place, given) as site:
            run(site, "recluster")
            assert audit(site).as_dict()["found"] == {}
        no_story_is_hidden(client, name)


@pytest.mark.slow
def test_pages_that_are_removed_during_a_reindex_leave_their_clusters_whole() -> None:
    with filled() as (client, name, place):

        def delete(moment: str, ids: list[str]) -> None:
            with open_context(place, NEW if moment == "stage update" else OLD) as site:
                removed, _ = site.remove_pages(ids_of(ids, name))
            assert removed.removed == AT_A_TIME
            bulk(client, deletes(ids, name), refresh=True)

        deleter = Deleter(client, name, delete)
        reindex(place, NEW, report_progress=deleter)
        assert tuple(deleter.seen) == MOMENTS
        no_story_is_hidden(client, name)
        with open_context(place, NEW) as site:
            assert audit(site).as_dict()["found"] == {}


def test_a_removed_page_whose_document_stays_belongs_to_no_cluster() -> None:
    with filled() as (client, name, place):
        first, *_ = canonical(client, name)
        ran("--db", place, "index", "remove", f"{name}/{first}")
        client.indices.refresh(index=name)
        assert not client.get(index=name, id=first)["_source"].get("dedup")
        assert count_with_dedup_field(client, name) == 89
        assert set(canonical_counts(client, name).values()) == {1}


def test_a_reindex_keeps_the_list_of_documents_that_cannot_be_pages() -> None:
    with filled() as (client, name, place):
        marked_before = {
            "dedup": {"cluster_id": "a", "canonical": True}
        }  # copied from another index, for example
        put(client, name, {"long" * 125: pairs(1)["made-00000"] | marked_before})
        reindex(place, NEW)
        with open_context(place, NEW) as site:
            assert [letter.page_id for letter in site.jobs.dead()] == ids_of(["long" * 125], name)
            assert audit(site).as_dict()["found"] == {}


@pytest.mark.parametrize("moment", ["features", "update"])
def test_an_index_that_is_deleted_during_a_backfill_is_forgotten(moment: str) -> None:
    given = pairs(20)
    with source_index({}) as (client, name):
        kept, doomed = f"{name}-2026.01", f"{name}-2026.02"
        put(client, kept, {key: each for key, each in given.items() if int(key[-5:]) % 3 == 2})
        put(client, doomed, {key: each for key, each in given.items() if int(key[-5:]) % 3 != 2})
        with attached(name, OLD, target=f"{name}-*") as site:
            if moment == "update":
                run(site, "backfill")

            def observe(stage: str, _counts: object, _seconds: float) -> None:
                if stage == moment:
                    client.indices.delete(index=doomed, ignore_unavailable=True)

            runner = Runner(site, observe)
            assert runner.run(runner.start("backfill", {"target": None}).id).state is JobState.DONE
            assert not client.indices.exists(index=doomed)
            assert site.index.count() == 20
            assert audit(site).as_dict()["found"] == {}
            assert canonical_counts(client, kept) == {f"{kept}/made-{3 * n + 2:05}": 1 for n in range(20)}
