"""Old hooks and new workers side by side: an index whose notes are those of an earlier state of the same schema version; one with earlier mappings is refused."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import SchemaMismatch, SettingsMismatch
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index import factory
from es_dedup.index.elastic import schema
from es_dedup.maintenance.attach import attach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery
from es_dedup.settings import Settings
from es_dedup.settings.recorded import STATISTICS
from tests.hooked import FIELDS, STORIES, action_of, clusters, five
from tests.samples import story
from tests.servers import client_of, fresh_name, remove, url_of
from tests.traffic import run


@pytest.fixture
def client() -> Iterator[Elasticsearch]:
    with client_of(url_of("es8")) as client:
        yield client


@pytest.fixture
def name(client: Elasticsearch) -> Iterator[str]:
    name = fresh_name()
    client.indices.create(index=name)
    yield name
    remove(f"{url_of('es8')}/{name}")
    client.indices.delete(index=name)


@pytest.fixture
def place(name: str) -> str:
    """An index with a note of settings that lacks one and has one too many."""
    place = f"{url_of('es8')}/{name}"
    with factory.open_index(place, Settings()) as index:
        note = json.loads(index.note(STATISTICS) or "")
        del note["settings"]["cluster.preferred_sites"]
        note["settings"]["decision.gone"] = 3
        index.set_note(STATISTICS, json.dumps(note))
    return place


@pytest.mark.parametrize(
    ("kind", "field", "earlier"),
    [
        ("features", "payload_version", None),
        ("features", "payload", {"type": "binary"}),
        ("clusters", "score", {"type": "double", "index": False, "doc_values": False}),
    ],
)
def test_an_index_with_earlier_mappings_is_refused(
    name: str, kind: str, field: str, earlier: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    present, place = schema.load_mapping, f"{url_of('es8')}/{name}"

    def load(wanted: str) -> dict[str, Any]:
        body = present(wanted)
        if wanted == kind:
            fields = body["mappings"]["properties"]
            fields.pop(field, None)
            fields |= {} if earlier is None else {field: earlier}
        return body

    with monkeypatch.context() as patched:
        patched.setattr(schema, "load_mapping", load)
        factory.open_index(place, Settings()).close()
    for read_only in (True, False):
        with pytest.raises(SchemaMismatch, match=rf"{kind}\.{field}.*make a new index"):
            factory.open_index(place, Settings(), read_only=read_only)


def test_hooks_and_workers_of_both_releases_write_to_it(client: Elasticsearch, place: str, name: str) -> None:
    least_sure = ClusterQuery(order=ClusterOrder.CONFIDENCE)
    with DedupHook.open(place, FIELDS) as old, open_context(place, Settings()) as site:
        dedup_bulk(client, five(name), hook=old)
        attach(site, name, FIELDS)
        run(site, "backfill")
        run(site, "recluster")
        dedup_bulk(client, [action_of(story(1, "later", day=9), name)], hook=old)
        with DedupHook.open(place, FIELDS) as new:
            dedup_bulk(client, [action_of(story(2, "last", day=9), name)], hook=new)
        dedup_bulk(client, [{"_op_type": "delete", "_index": name, "_id": "story-0"}], hook=old)
        assert audit(site).clean
    assert clusters(client, name) == {
        *(each - {"story-0"} for each in STORIES if "story-0" in each),
        frozenset({"story-1", "later"}),
        frozenset({"story-2", "last"}),
    }
    with Deduplicator.open(place, read_only=True) as reader:
        assert len(reader.list_clusters(least_sure)) == 3


def test_a_release_with_other_features_is_refused(place: str) -> None:
    with pytest.raises(SettingsMismatch, match="reindex"):
        DedupHook.open(place, FIELDS, settings=Settings.model_validate({"ccdet": {"window": 8}}))
