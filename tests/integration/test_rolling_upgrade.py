"""Old hooks and new workers side by side: an index whose mappings and notes are those of an earlier release of the same schema version."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import IndexRefused, SettingsMismatch
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index import factory
from es_dedup.index.elastic import mappings
from es_dedup.maintenance.attach import attach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery
from es_dedup.settings import Settings
from es_dedup.settings.recorded import STATISTICS
from tests.hooked import FIELDS, STORIES, action_of, clusters, five
from tests.samples import story
from tests.servers import client_of, fresh_name, remove, url_of
from tests.source_indices import remove_templates
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
    remove_templates(client, f"{name}-dedup-source")


@pytest.fixture
def place(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An index with the mappings that 0.2 had before lists of clusters, and a note of settings that lacks one and has one too many."""
    present = mappings.load_mapping

    def earlier(kind: str) -> dict[str, Any]:
        body = present(kind)
        fields = body["mappings"]["properties"]
        if kind == mappings.CLUSTERS:
            fields["score"] |= {"index": False, "doc_values": False}
        return body

    place = f"{url_of('es8')}/{name}"
    monkeypatch.setattr(mappings, "load_mapping", earlier)
    with factory.open_index(place, Settings()) as index:
        note = json.loads(index.note(STATISTICS) or "")
        del note["settings"]["cluster.preferred_sites"]
        note["settings"]["decision.gone"] = 3
        index.set_note(STATISTICS, json.dumps(note))
    monkeypatch.setattr(mappings, "load_mapping", present)
    return place


def test_hooks_and_workers_of_both_releases_write_to_it(client: Elasticsearch, place: str, name: str) -> None:
    least_sure = ClusterQuery(order=ClusterOrder.CONFIDENCE)
    with DedupHook.open(place, FIELDS) as old, open_context(place, Settings()) as site:
        dedup_bulk(client, five(name), hook=old)
        attach(site, name, FIELDS)
        with (
            Deduplicator.open(place, read_only=True) as reader,
            pytest.raises(IndexRefused, match="es-dedup elastic recluster"),
        ):
            reader.list_clusters(least_sure)
        run(site, "backfill")
        run(site, "recluster")  # puts an index with the present mapping in use
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
