"""An index whose ``_source`` is not the whole document: everything that updates documents refuses it, and no field is lost."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup.errors import SourceIncomplete
from es_dedup.hook import DedupHook, HookReport, SourceFields, async_dedup_bulk, dedup_bulk
from es_dedup.index.jobs import DeadLetter
from es_dedup.index.source_index import DedupField
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import MaintenanceContext, open_context
from es_dedup.maintenance.reindex import abandon, reindex
from tests.servers import async_client_of, client_of, fresh_name, needs_elasticsearch, url_of
from tests.source_indices import canonical_counts, count_with_dedup_field, settings
from tests.texts import article
from tests.traffic import run

FIELDS = SourceFields("body")
PROPERTIES = {
    "raw": {"type": "text"},
    "vec": {"type": "dense_vector", "dims": 2, "index": True, "similarity": "l2_norm"},
    "body": {"type": "text"},
}
FILTERED = {"_source": {"excludes": ["raw", "vec"]}, "properties": PROPERTIES}


def make(client: Elasticsearch, index: str, mappings: dict[str, Any], count: int = 12) -> None:
    """An index of pages, of which every third is a copy of the one before."""
    client.indices.delete(index=index, ignore_unavailable=True)
    client.indices.create(index=index, mappings=mappings)
    bulk(client, actions(index, count), refresh=True)


def actions(index: str, count: int) -> list[dict[str, Any]]:
    return [{"_index": index, "_id": str(at), **page(at)} for at in range(count)]


def page(number: int) -> dict[str, Any]:
    text = article(number - (number % 3 == 2))
    return {"body": text, "title": "A page", "raw": "only here", "vec": [number, 1]}


def hits(client: Elasticsearch, index: str) -> tuple[int, int]:
    """What is found in the fields that ``_source`` leaves out: by words, and by vector."""
    client.indices.refresh(index=index)
    near = {"field": "vec", "query_vector": [7, 1], "k": 50, "num_candidates": 300}
    return (
        int(client.count(index=index, query={"match": {"raw": "only"}})["count"]),
        int(client.search(index=index, knn=near, size=100)["hits"]["total"]["value"]),
    )


@pytest.fixture
def client() -> Iterator[Elasticsearch]:
    needs_elasticsearch("dense_vector")
    with client_of(url_of("es8")) as client:
        yield client


@pytest.fixture
def name(client: Elasticsearch) -> Iterator[str]:
    name = fresh_name()
    yield name
    client.indices.delete(index=f"{name}*", expand_wildcards="all")


@pytest.fixture
def site(name: str) -> Iterator[MaintenanceContext]:
    with open_context(f"{url_of('es8')}/{name}", settings()) as site:
        yield site


def test_attach_backfill_and_hook_leave_the_index_as_it_is(
    client: Elasticsearch, name: str, site: MaintenanceContext
) -> None:
    index = f"{name}-1"
    make(client, index, FILTERED, 300)
    assert hits(client, index) == (300, 50)
    with pytest.raises(SourceIncomplete, match=r"_source\.excludes: raw, vec"):
        attach(site, f"{name}-*", FIELDS)
    with pytest.raises(SourceIncomplete):
        attach(site, f"{name}-*", FIELDS, dry_run=True)
    assert not site.attachments
    client.indices.delete(index=index)
    attach(site, f"{name}-*", FIELDS, force=True)
    make(client, index, FILTERED, 300)  # it appears after its pattern was attached
    with pytest.raises(SourceIncomplete):
        run(site, "backfill")
    assert not site.jobs.jobs()
    copies = [{"_index": index, "_id": f"copy-{at}", **page(at)} for at in range(10)]
    with DedupHook.open(site.place, FIELDS) as hook, pytest.raises(SourceIncomplete):
        dedup_bulk(client, copies, hook=hook)
    with pytest.raises(SourceIncomplete):
        asyncio.run(write_async(site.place, copies))
    assert hits(client, index) == (300, 50)
    assert count_with_dedup_field(client, index) == 0


async def write_async(place: str, actions: list[dict[str, Any]]) -> None:
    async with async_client_of(place.rpartition("/")[0]) as client:
        with DedupHook.open(place, FIELDS) as hook:
            await async_dedup_bulk(client, actions, hook=hook)


@pytest.fixture
def replaced(client: Elasticsearch, name: str, site: MaintenanceContext) -> str:
    """An index that was attached and filled, and was then created again under its name, with a filtered ``_source``."""
    attach(site, f"{name}-*", FIELDS, force=True)
    client.indices.create(index=f"{name}-1", mappings={"properties": PROPERTIES})
    with DedupHook.open(site.place, FIELDS) as hook:
        dedup_bulk(client, actions(f"{name}-1", 12), hook=hook)
    assert canonical_counts(client, f"{name}-1").keys() == {
        f"{name}-1/{at}" for at in range(12) if at % 3 != 2
    }
    make(client, f"{name}-1", FILTERED)
    return f"{name}-1"


def reindexed(site: MaintenanceContext) -> None:
    try:
        reindex(site.place, settings())
    finally:
        abandon(site.place, settings())


def replayed(site: MaintenanceContext) -> None:
    index = next(iter(site.indices()))
    site.jobs.put_dead_letters([DeadLetter(f"{index}/0", "ingest", "", 1, 0)])
    site.replay()
    (letter,) = site.jobs.dead()
    raise SourceIncomplete(index, letter.error)


WRITERS: dict[str, Callable[[MaintenanceContext], Any]] = {
    "backfill": lambda site: run(site, "backfill"),
    "recluster": lambda site: run(site, "recluster"),
    "repair": lambda site: audit(site, repair=True, force=True),
    "ingest": lambda site: site.ingest([f"{index}/0" for index in site.indices()]),
    "detach": lambda site: detach(site, site.attachments[0].target, force=True),
    "reindex": reindexed,
    "replay": replayed,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_maintenance_leaves_an_index_that_was_made_again_as_it_is(
    client: Elasticsearch, site: MaintenanceContext, replaced: str, writer: str
) -> None:
    with pytest.raises(SourceIncomplete, match=r"_source\.excludes: raw, vec"):
        WRITERS[writer](site)
    assert hits(client, replaced) == (12, 12)


def test_the_hook_does_not_touch_canonical_documents_of_another_index(
    client: Elasticsearch, name: str, site: MaintenanceContext, replaced: str
) -> None:
    """A copy arrives in a complete index, and its cluster's other documents are in an index that is filtered now."""
    client.indices.create(index=f"{name}-2", mappings={"properties": PROPERTIES})
    copies = [{"_index": f"{name}-2", "_id": f"copy-{at}", **page(at)} for at in range(10)]
    with DedupHook.open(site.place, FIELDS) as hook:
        with pytest.raises(SourceIncomplete, match=replaced):
            dedup_bulk(client, copies, hook=hook)
        with pytest.raises(SourceIncomplete, match=replaced):
            dedup_bulk(client, copies[:1], hook=hook)
    client.indices.refresh(index=f"{name}-2")
    assert client.count(index=f"{name}-2")["count"] == 0
    assert hits(client, replaced) == (12, 12)


def test_a_write_outside_the_helpers_is_refused_too(
    client: Elasticsearch, site: MaintenanceContext, replaced: str
) -> None:
    """``DedupHook.process`` and the port that all writers of ``dedup`` fields share."""
    with DedupHook.open(site.place, FIELDS) as hook:
        with pytest.raises(SourceIncomplete):
            hook.process([{"_index": replaced, "_id": "x", **page(0)}])
        with pytest.raises(SourceIncomplete):
            hook.decide([f"{replaced}/0"], report=HookReport())
    dedup_field = DedupField("c", canonical=True, relation="unique")
    with pytest.raises(SourceIncomplete):
        site.source_index.write_dedup_fields({f"{replaced}/0": dedup_field})
    with pytest.raises(SourceIncomplete):
        site.source_index.write_dedup_fields({f"{replaced}/0": None})
    assert hits(client, replaced) == (12, 12)


@pytest.mark.filterwarnings("ignore:Configuring source mode in mappings is deprecated")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mappings": {"_source": {"includes": ["body"]}}}, "_source.includes: body"),
        ({"mappings": {"_source": {"enabled": False}}}, "_source.enabled: false"),
        ({"mappings": {"_source": {"mode": "disabled"}}}, "_source mode disabled"),
        ({"mappings": {"_source": {"mode": "synthetic"}}}, "_source mode synthetic"),
        ({"settings": {"index.mapping.source.mode": "synthetic"}}, "_source mode synthetic"),
        ({"settings": {"index.mode": "logsdb"}}, "_source mode synthetic, index mode logsdb"),
    ],
)
def test_other_ways_to_leave_fields_out(
    client: Elasticsearch, name: str, site: MaintenanceContext, given: dict[str, Any], said: str
) -> None:
    client.indices.create(index=name, **given)
    if "mode" in given.get("mappings", {}).get("_source", {}):
        kept = client.indices.get_mapping(index=name)[name]["mappings"]
        if "_source" not in kept:  # from 9.0 on the server passes over it and keeps documents whole
            client.index(index=name, id="1", document=page(0))
            assert client.get(index=name, id="1")["_source"] == page(0)
            attach(site, name, FIELDS, force=True)
            return
    with pytest.raises(SourceIncomplete) as caught:
        attach(site, name, FIELDS)
    assert caught.value.problem == said
    assert "whole _source" in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"settings": {"index.mode": "logsdb", "index.mapping.source.mode": "stored"}},
        {"mappings": {"_source": {"enabled": True}}},
        {
            "mappings": {
                "runtime": {"length": {"type": "long"}},
                "properties": {"body": {"type": "text", "copy_to": "all"}, "all": {"type": "text"}},
            }
        },
    ],
)
def test_an_index_whose_documents_are_whole_is_attached(
    client: Elasticsearch, name: str, site: MaintenanceContext, given: dict[str, Any]
) -> None:
    client.indices.create(index=name, **given)
    assert attach(site, name, FIELDS).indices == (name,)
