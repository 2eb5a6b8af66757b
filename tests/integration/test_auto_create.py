"""The hook and indices that do not exist: it makes those that a plain write would make."""

import json
from typing import Any, ClassVar

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk, scan

from es_dedup import Deduplicator
from es_dedup.errors import IndexRefused, MappingConflict
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.runner import Runner
from tests.hooked import FIELDS, STORIES, action_of, clusters, five
from tests.samples import story
from tests.servers import client_of, fresh_name, remove, url_of
from tests.source_indices import settings


@pytest.mark.slow  # changes a setting of the whole server
def test_no_index_is_made_where_the_server_makes_none(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    """The hook does as a plain ``bulk``: nothing is written, and no features are kept."""
    client.cluster.put_settings(persistent={"action.auto_create_index": f"-{name}*,*"})
    try:
        _, errors = dedup_bulk(client, five(name), hook=hook, raise_on_error=False)
        assert {error["index"]["status"] for error in errors if isinstance(error, dict)} == {404}
        assert not client.indices.exists(index=name)
        assert hook._index.count() == 0
        client.indices.put_index_template(
            name=name, index_patterns=[name], allow_auto_create=True, priority=900
        )
        assert dedup_bulk(client, five(name), hook=hook)[0] == 5
        assert clusters(client, name) == STORIES
    finally:
        client.cluster.put_settings(persistent={"action.auto_create_index": None})
        client.options(ignore_status=404).indices.delete_index_template(name=name)


class Deleting(Elasticsearch):
    """A client whose index is deleted, by whomever, right before its bulk request is sent; the request makes it again."""

    index_deleted: ClassVar[str] = ""

    def bulk(self, **options: Any) -> Any:
        index, Deleting.index_deleted = Deleting.index_deleted, ""
        if index:
            self.indices.delete(index=index)
        return super().bulk(**options)


def test_an_index_that_the_write_made_again_is_reported_and_refused(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    """The report says what repairs it, no further batch goes into that mapping, and nothing is repaired by half."""
    client.__class__ = Deleting
    dedup_bulk(client, five(name), hook=hook)
    Deleting.index_deleted = name
    result = dedup_bulk(client, [action_of(story(number), name) for number in (3, 4)], hook=hook)
    assert tuple(result) == (2, [])
    assert set(result.report.not_repaired) == {f"{name}/story-3", f"{name}/story-4"}
    said = result.report.not_repaired[f"{name}/story-4"]
    assert "dedup.cluster_id is text, not keyword" in said
    assert f"DELETE /{name}" in said
    assert '"excludes": ["dedup"]' in said
    with pytest.raises(MappingConflict, match=f"DELETE /{name}"):
        dedup_bulk(client, [action_of(story(5), name)], hook=hook)
    client.indices.refresh(index=name)
    assert client.count(index=name)["count"] == 2


def test_an_index_that_a_write_without_decisions_made_again_gets_the_mapping(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    client.__class__ = Deleting
    dedup_bulk(client, five(name), hook=hook)
    Deleting.index_deleted = name
    upsert = {
        "_op_type": "update",
        "_index": name,
        "_id": "other",
        "doc": {"site": "x"},
        "doc_as_upsert": True,
    }
    result = dedup_bulk(client, [upsert], hook=hook)
    assert tuple(result) == (1, [])
    found = client.indices.get_mapping(index=name)[name]["mappings"]["properties"]["dedup"]["properties"]
    assert found["cluster_id"]["type"] == "keyword"


def copied(client: Elasticsearch, source: dict[str, Any], dest: dict[str, Any]) -> None:
    """Do what ``_reindex`` does, a module that the servers of the tests do not have."""
    client.indices.refresh(index=source["index"])
    hits = scan(client, index=source["index"], source_excludes=source["_source"]["excludes"])
    bulk(
        client,
        ({"_index": dest["index"], "_id": hit["_id"], "_source": hit["_source"]} for hit in hits),
        refresh=True,
    )


def test_what_the_error_says_keeps_the_documents_and_repairs_the_mapping(own_address: str) -> None:
    host, _, name = own_address.rpartition("/")
    new = f"{name}-new"
    with client_of(host) as client, open_context(own_address, settings()) as site:
        client.__class__ = Deleting
        try:
            client.indices.create(index=name)
            attach(site, name, FIELDS)
            with DedupHook.open(own_address, FIELDS) as hook:
                Deleting.index_deleted = name
                dedup_bulk(client, five(name), hook=hook)
            assert audit(site).found["unprepared"] == [name]
            with pytest.raises(MappingConflict) as refused:
                audit(site, repair=True)
            with pytest.raises(MappingConflict):
                attach(site, name, FIELDS)
            said = str(refused.value).replace("NEW", new)
            client.indices.create(index=new)
            attach(site, new, FIELDS)
            body = json.loads(said.partition("POST /_reindex ")[2].partition("`")[0])
            copied(client, **body)
            client.indices.delete(index=name)
            detach(site, name, force=True)
            Runner(site).run(Runner(site).start("backfill", {}).id)
            audit(site, repair=True, force=True)
            assert audit(site).clean
            assert clusters(client, new) == STORIES
        finally:
            client.indices.delete(index=[name, new], ignore_unavailable=True)


def test_own_indices_take_nothing_from_templates_of_the_user(client: Elasticsearch) -> None:
    """A template for ``news-*`` matches the names of the indices of ``news``, too."""
    name = fresh_name()
    client.ingest.put_pipeline(id=name, processors=[{"drop": {}}])
    client.indices.put_index_template(
        name=name,
        index_patterns=[f"{name}-*"],
        priority=900,
        template={
            "settings": {"index.default_pipeline": name, "index.final_pipeline": name},
            "mappings": {"dynamic": "strict"},
            "aliases": {f"{name}-all": {}},
        },
    )
    try:
        with Deduplicator.open(f"{url_of('es8')}/{name}") as dedup:
            dedup.add_many([story(1, "a"), story(2, "b")])
            assert dedup.add(story(1, "c")).duplicate_of == "a"
            dedup.recluster()
        assert not client.indices.exists_alias(name=f"{name}-all")
    finally:
        client.indices.delete_index_template(name=name)
        remove(f"{url_of('es8')}/{name}")
        client.ingest.delete_pipeline(id=name)


@pytest.mark.parametrize(
    "template", [{"data_stream": {}}, {"template": {"mappings": {"_routing": {"required": True}}}}]
)
def test_a_template_that_own_indices_cannot_be_made_by_is_named(
    client: Elasticsearch, template: dict[str, Any]
) -> None:
    name = fresh_name()
    client.indices.put_index_template(name=name, index_patterns=[f"{name}-*"], priority=900, **template)
    try:
        with pytest.raises(IndexRefused, match="name the index so that no template of yours matches"):
            Deduplicator.open(f"{url_of('es8')}/{name}")
    finally:
        client.indices.delete_index_template(name=name)
