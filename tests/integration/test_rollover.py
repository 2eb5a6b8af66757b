"""A write alias that is rolled over, under a running hook: the new index has the mapping of ``dedup``."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest
from elasticsearch import Elasticsearch

from es_dedup import Deduplicator
from es_dedup.errors import MappingConflict, UnknownPage
from es_dedup.hook import BulkResult, DedupHook, dedup_bulk
from es_dedup.maintenance.attach import attach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from tests.hooked import FIELDS, action_of, clusters, dedup_fields
from tests.samples import story
from tests.servers import client_of, fresh_name, url_of
from tests.source_indices import settings

PROPERTIES = {
    "text": {"type": "text"},
    "title": {"type": "text"},
    "published": {"type": "keyword"},
    "site": {"type": "keyword"},
}


@pytest.fixture(params=["strict", "true"])
def dynamic(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client() -> Iterator[Elasticsearch]:
    with client_of(url_of("es8")) as client:
        client.__class__ = Rolling
        yield client


@pytest.fixture
def name(client: Elasticsearch) -> Iterator[str]:
    """The write alias of a first index."""
    name = fresh_name()
    yield name
    client.indices.delete(index=f"{name}*", expand_wildcards="all")
    client.options(ignore_status=404).indices.delete_index_template(name=f"{name}-own")


def template_with(client: Elasticsearch, name: str, more: Mapping[str, Any], dynamic: str) -> dict[str, Any]:
    """The template of the owner, with further fields; gives its mappings."""
    mappings = {"dynamic": dynamic, "properties": {**PROPERTIES, **more}}
    client.indices.put_index_template(
        name=f"{name}-own", index_patterns=[f"{name}-*"], priority=7, template={"mappings": mappings}
    )
    return mappings


def first(client: Elasticsearch, name: str, dynamic: str) -> None:
    """An alias with one index, and the template of its owner, which knows nothing of ``dedup``."""
    mappings = template_with(client, name, {}, dynamic)
    client.indices.create(index=f"{name}-000001", mappings=mappings, aliases={name: {"is_write_index": True}})


class Rolling(Elasticsearch):
    """A client whose alias is rolled over, by whomever, right before its bulk request is sent."""

    alias: ClassVar[str] = ""

    def bulk(self, **options: Any) -> Any:
        alias, Rolling.alias = Rolling.alias, ""
        if alias:
            self.indices.rollover(alias=alias)
        return super().bulk(**options)


def types(client: Elasticsearch, index: str) -> dict[str, str]:
    mapping = client.indices.get_mapping(index=index)[index]["mappings"]
    fields = mapping["properties"].get("dedup", {}).get("properties", {})
    return {field: said["type"] for field, said in fields.items()}


def is_prepared(client: Elasticsearch, index: str) -> bool:
    found = types(client, index)
    return found.get("cluster_id") == "keyword" and found.get("cluster_size") == "integer"


def test_the_next_batch_of_a_running_hook_prepares_the_new_index(
    client: Elasticsearch, name: str, dynamic: str
) -> None:
    first(client, name, dynamic)
    with DedupHook.open(f"{url_of('es8')}/{name}", FIELDS) as hook:
        dedup_bulk(client, [action_of(story(0), name), action_of(story(1), name)], hook=hook)
        client.indices.rollover(alias=name)
        assert not is_prepared(client, f"{name}-000002")
        result = dedup_bulk(client, [action_of(story(0, "copy", day=2), name)], hook=hook)
    assert result == (1, [])
    assert is_prepared(client, f"{name}-000002")
    assert clusters(client, name) == {frozenset({"story-0", "copy"}), frozenset({"story-1"})}


def test_documents_that_a_strict_new_index_refuses_are_sent_again(client: Elasticsearch, name: str) -> None:
    first(client, name, "strict")
    with DedupHook.open(f"{url_of('es8')}/{name}", FIELDS) as hook:
        dedup_bulk(client, [action_of(story(0), name), action_of(story(1), name)], hook=hook)
        Rolling.alias = name
        result = dedup_bulk(client, [action_of(story(0, "copy", day=2), name)], hook=hook)
    assert result == (1, [])
    assert client.indices.exists(index=f"{name}-000002")
    assert is_prepared(client, f"{name}-000002")
    assert clusters(client, name) == {frozenset({"story-0", "copy"}), frozenset({"story-1"})}


def test_the_hook_stops_where_dynamic_mapping_was_faster(client: Elasticsearch, name: str) -> None:
    """Between the last look and the write: what is written is reported, and no further batch goes into that mapping."""
    first(client, name, "true")
    with DedupHook.open(f"{url_of('es8')}/{name}", FIELDS) as hook:
        dedup_bulk(client, [action_of(story(0), name)], hook=hook)
        Rolling.alias = name
        report = dedup_bulk(client, [action_of(story(0, "copy", day=2), name)], hook=hook).report
        assert "dedup.cluster_id is text, not keyword" in report.not_repaired[f"{name}-000002/copy"]
        with pytest.raises(MappingConflict, match="es-dedup elastic attach"):
            dedup_bulk(client, [action_of(story(1), name)], hook=hook)
    client.indices.refresh(index=name)
    assert client.count(index=name)["count"] == 2


def test_a_batch_that_is_refused_after_a_rollover_leaves_no_features(
    client: Elasticsearch, name: str
) -> None:
    """It was compared with the stored pages while the batch before it was written."""
    first(client, name, "true")
    place = f"{url_of('es8')}/{name}"
    with DedupHook.open(place, FIELDS) as hook:
        dedup_bulk(client, [action_of(story(0), name)], hook=hook)
        Rolling.alias = name
        with pytest.raises(MappingConflict):
            dedup_bulk(client, [action_of(story(at), name) for at in (1, 2)], hook=hook, chunk_size=1)
    with Deduplicator.open(place, read_only=True) as stored:
        stored.record(f"{name}-000001/story-0")
        with pytest.raises(UnknownPage):
            stored.record(f"{name}-000001/story-2")


def test_a_template_with_the_mapping_that_attach_gives_is_faster_than_the_hook(
    client: Elasticsearch, name: str, dynamic: str
) -> None:
    first(client, name, dynamic)
    with open_context(f"{url_of('es8')}/{name}", settings()) as site:
        template_with(client, name, attach(site, name, FIELDS).mapping, dynamic)
        with DedupHook.open(site.place, FIELDS) as hook:
            dedup_bulk(client, [action_of(story(0), name), action_of(story(1), name)], hook=hook)
            Rolling.alias = name
            result = dedup_bulk(client, [action_of(story(0, "copy", day=2), name)], hook=hook)
        assert tuple(result) == (1, [])
        assert not result.report.not_repaired
        assert is_prepared(client, f"{name}-000002")
        assert clusters(client, name) == {frozenset({"story-0", "copy"}), frozenset({"story-1"})}
        site.dedup.recluster()
        assert audit(site).clean


def rolled_over_before_the_write(client: Elasticsearch, name: str, policy: str) -> BulkResult:
    """A copy that was published before the page in the first index, and that goes to the second one."""
    first(client, name, "strict")
    with open_context(f"{url_of('es8')}/{name}", settings()) as site:
        template_with(client, name, attach(site, name, FIELDS).mapping, "strict")
        with DedupHook.open(site.place, FIELDS) as hook:
            dedup_bulk(client, [action_of(story(0, day=2), name)], hook=hook)
            Rolling.alias = name
            result = dedup_bulk(client, [action_of(story(0, "copy"), name)], hook=hook, policy=policy)
        assert audit(site).as_dict()["found"] == {}
    return result


def test_documents_beside_one_that_went_to_a_new_index_name_it_there(
    client: Elasticsearch, name: str
) -> None:
    report = rolled_over_before_the_write(client, name, "mark").report
    assert dedup_fields(client, name)["story-0"]["duplicate_of"] == f"{name}-000002/copy"
    assert (report.pages, report.outcomes) == (1, {"duplicate": 1})
    assert report.decisions.keys() == {f"{name}-000002/copy"}


def test_overwrite_removes_what_a_document_in_a_new_index_replaces(client: Elasticsearch, name: str) -> None:
    report = rolled_over_before_the_write(client, name, "overwrite").report
    assert report.removed == [f"{name}-000001/story-0"]
    assert clusters(client, name) == {frozenset({"copy"})}
