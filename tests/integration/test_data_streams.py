"""Data streams: documents are created only, and ``dedup`` fields are updated in the backing indices.

The servers of the tests have data streams but not the requests that remove them, so those of these tests stay until the server is stopped.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup.collapse import DedupSearch
from es_dedup.hook import DedupHook, dedup_bulk, dedup_parallel_bulk
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.purge import purge
from es_dedup.settings import Settings
from tests.hooked import FIELDS, action_of
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
    client.indices.put_index_template(
        name=name,
        index_patterns=[f"{name}*"],
        data_stream={},
        priority=500,
        template={"mappings": {"properties": {"text": {"type": "text"}}}},
    )
    yield name
    patient = client.options(ignore_status=[400, 404, 405])
    patient.indices.delete_data_stream(name=name)
    patient.indices.delete_index_template(name=name)
    remove(place_of(name))


def place_of(name: str) -> str:
    """Where the features are: no name that the stream's template matches."""
    return f"{url_of('es8')}/features-{name}"


def created(number: int, page_id: str, name: str, day: int = 1) -> dict[str, Any]:
    action = action_of(story(number, page_id, day=day), name, _op_type="create")
    action["_source"]["@timestamp"] = f"2026-11-{day:02}T00:00:00Z"
    return action


def found(client: Elasticsearch, name: str) -> dict[str, tuple[str, str, bool]]:
    """Backing index, cluster and whether it is canonical, of each document."""
    client.indices.refresh(index=name)
    hits = client.search(index=name, size=100)["hits"]["hits"]
    dedup = {hit["_id"]: hit["_source"]["dedup"] for hit in hits}
    return {
        hit["_id"]: (hit["_index"], dedup[hit["_id"]]["cluster_id"], dedup[hit["_id"]]["canonical"])
        for hit in hits
    }


def test_created_through_the_hook_over_a_rollover(client: Elasticsearch, name: str) -> None:
    place = place_of(name)
    with open_context(place, Settings()) as site:
        attach(site, f"{name}*", FIELDS, force=True)  # there is no backing index yet
    with DedupHook.open(place, FIELDS) as hook:
        assert tuple(dedup_bulk(client, [created(0, "a", name, 3), created(1, "b", name)], hook=hook)) == (
            2,
            [],
        )
        client.indices.rollover(alias=name)
        assert tuple(dedup_bulk(client, [created(0, "c", name, 2)], hook=hook)) == (1, [])
        now = found(client, name)
        first, second = now["a"][0], now["c"][0]
        assert first != second
        # the later arrival was published earlier: the document in the older backing index was updated
        assert now["a"] == (first, f"{first}/a", False)
        assert now["c"] == (second, f"{first}/a", True)
        # as for the client's helper, anything but `create` names the backing index
        refused = dedup_bulk(
            client, [action_of(story(2), name), {"_op_type": "delete", "_index": name, "_id": "a"}],
            hook=hook, raise_on_error=False,
        )  # fmt: skip
        assert (refused[0], [next(iter(each.values()))["status"] for each in refused[1]]) == (0, [400, 400])
        assert tuple(
            dedup_bulk(client, [{"_op_type": "delete", "_index": second, "_id": "c"}], hook=hook)
        ) == (1, [])
        assert found(client, name)["a"] == (first, f"{first}/a", True)
        skipped = list(dedup_parallel_bulk(client, [created(0, "d", name, 9)], hook=hook, policy="skip"))
        assert skipped[0][1]["create"]["result"] == "skipped"
    groups = DedupSearch(client, name).search({"query": {"match_all": {}}}, mode="collapse").groups
    assert len(groups) == 2


class WithFailureStore(Elasticsearch):
    """A client that answers for refused documents as a server does that has put them into a failure store.

    The servers of the tests accept its option but lack the module that uses it.
    """

    def bulk(self, **options: Any) -> Any:
        answer = super().bulk(**options)
        for item in answer.body["items"]:
            for operation, said in item.items():
                if "error" in said:
                    failure = {"document": {"id": said["_id"]}, "error": said["error"]}
                    stored = self.index(
                        index=f"failures-{said['_index']}", document=failure, refresh=True
                    ).body
                    item[operation] = stored | {"status": 201, "failure_store": "used"}
        answer.body["errors"] = False
        return answer


def test_a_document_in_the_failure_store_is_not_written(client: Elasticsearch, name: str) -> None:
    client.__class__ = WithFailureStore
    bad = created(0, "a", name)
    bad["_source"]["@timestamp"] = "no time"
    with open_context(place_of(name), Settings()) as site:
        attach(site, f"{name}*", FIELDS, force=True)
    with DedupHook.open(place_of(name), FIELDS) as hook:
        result = dedup_bulk(client, [bad, created(0, "b", name, 2), created(1, "c", name)], hook=hook)
        assert tuple(result) == (3, [])
        assert result.report.written == 2
        skipped = dedup_bulk(client, [created(0, "d", name, 3)], hook=hook, policy="skip").report
        assert [decision.duplicate_of for decision in skipped.left_out.values()] == [
            f"{found(client, name)['b'][0]}/b"
        ]
    assert {key: canonical for key, (_, _, canonical) in found(client, name).items()} == {
        "b": True,
        "c": True,
    }
    (failures,) = client.search(index=f"failures-.ds-{name}*")["hits"]["hits"]
    assert failures["_source"].keys() == {"document", "error"}
    client.indices.delete(index=failures["_index"])


def test_backfill_and_audit(client: Elasticsearch, name: str) -> None:
    bulk(client, [created(0, "a", name), created(0, "b", name, 2)], refresh=True)
    client.indices.rollover(alias=name)
    bulk(client, [created(0, "c", name, 3), created(1, "d", name)], refresh=True)
    with open_context(place_of(name), Settings()) as site:
        assert len(attach(site, name, FIELDS).indices) == 2
        run(site, "backfill")
        assert audit(site).clean
        assert len({cluster for _, cluster, _ in found(client, name).values()}) == 2
        client.indices.rollover(alias=name)
        bulk(client, [created(1, "e", name, 4)], refresh=True)
        assert not audit(site).clean
        assert audit(site, repair=True).repaired
        assert audit(site).clean
        detach(site, name, force=True)
    client.indices.refresh(index=name)
    assert not any(hit["_source"].get("dedup") for hit in client.search(index=name)["hits"]["hits"])


def test_the_backup_of_a_purge_names_the_stream(client: Elasticsearch, name: str, tmp_path: Path) -> None:
    """A stream takes new documents by its own name alone."""
    bulk(client, [created(0, page_id, name, day) for day, page_id in enumerate("abc", 1)], refresh=True)
    client.indices.rollover(alias=name)
    bulk(client, [created(0, "d", name, 4)], refresh=True)
    path = tmp_path / "copies.ndjson"
    with open_context(place_of(name), Settings()) as site:
        attach(site, name, FIELDS)
        run(site, "backfill")
        before = {key: cluster for key, (_, cluster, _) in found(client, name).items()}
        assert purge(site, name, path, dry_run=False, force=True).deleted == 3
        assert set(found(client, name)) == {"a"}
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert {line["create"]["_index"] for line in lines[::2]} == {name}
        client.indices.rollover(alias=name)
        assert not client.bulk(operations=lines, refresh=True)["errors"]
        assert audit(site, repair=True, force=True).repaired["duplicate"] == 3
        client.indices.refresh(index=name)
        after = found(client, name)
        assert {key: cluster for key, (_, cluster, _) in after.items()} == before
        assert audit(site).clean
