"""Source indices on a real server: mapping, reading, scanning, marking."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.errors import IndexRefused
from es_dedup.index.elastic.collection import Collection
from es_dedup.index.elastic.source_index import SourceIndex
from es_dedup.index.factory import open_source_index
from es_dedup.index.source_index import DedupField, DocumentKey, SourceFields, document_key
from es_dedup.settings import Settings
from tests.servers import client_of, fresh_name, url_of

FIELDS = SourceFields("body", published="at")


@pytest.fixture
def client() -> Iterator[Elasticsearch]:
    with client_of(url_of("es8")) as client:
        yield client


@pytest.fixture
def name(client: Elasticsearch) -> Iterator[str]:
    name = fresh_name()
    yield name
    client.indices.delete(index=f"{name}*", expand_wildcards="all")


@pytest.fixture
def source_index(name: str) -> Iterator[SourceIndex]:
    source_index = open_source_index(f"{url_of('es8')}/{name}", Settings())
    yield source_index
    source_index.close()


def fill(client: Elasticsearch, index: str, count: int, **options: Any) -> None:
    lines: list[dict[str, Any]] = []
    for number in range(count):
        lines += [
            {"index": {"_id": f"p{number}", **options}},
            {"body": f"text {number}", "at": 1_700_000_000_000},
        ]
    client.bulk(index=index, operations=lines, refresh=True)


def ids(batches: Any) -> list[str]:
    return [document.key.page_id for batch in batches for document in batch]


class TestIndices:
    def test_a_pattern_names_all_indices_but_ours(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        for index in (f"{name}-1", f"{name}-2", f"{name}-dedup-features-v2-000001"):
            client.indices.create(index=index)
        assert source_index.indices(f"{name}*") == [f"{name}-1", f"{name}-2"]

    def test_an_alias_names_its_indices(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        client.indices.create(index=f"{name}-1", aliases={f"{name}-now": {}})
        assert source_index.indices(f"{name}-now") == [f"{name}-1"]

    def test_an_unknown_index_is_none(self, name: str, source_index: SourceIndex) -> None:
        assert source_index.indices(name) == []


def test_a_shard_that_starts_is_waited_for(
    client: Elasticsearch, name: str, source_index: SourceIndex
) -> None:
    """As after a restart of the server, or when another process has just created the index."""
    nowhere = {"index.routing.allocation.require._name": "nobody"}
    client.indices.create(index=name, settings=nowhere, wait_for_active_shards=0)
    somewhere = dict.fromkeys(nowhere)
    started = threading.Timer(1, client.indices.put_settings, kwargs={"index": name, "settings": somewhere})
    started.start()
    assert source_index.read([f"{name}/a"], ()) == {}
    assert Collection(source_index._server, name).read_one("a") is None
    started.join()


class TestMapping:
    def test_it_is_put_on_what_exists_and_may_be_repeated(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        client.indices.create(index=name, mappings={"_meta": {"owner": "theirs"}, "dynamic": "strict"})
        source_index.prepare([name])
        source_index.prepare([name])
        mapping = client.indices.get_mapping(index=name)[name]["mappings"]
        assert mapping["properties"]["dedup"]["properties"]["cluster_id"] == {"type": "keyword"}
        assert mapping["_meta"] == {"owner": "theirs"}

    def test_another_kind_of_field_is_refused(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        client.indices.create(index=name, mappings={"properties": {"dedup": {"type": "keyword"}}})
        with pytest.raises(IndexRefused):
            source_index.prepare([name])


class TestScanning:
    def test_every_document_is_met_once_over_all_shards(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        client.indices.create(index=name, settings={"number_of_shards": 3})
        fill(client, name, 100)
        shards = source_index.shards(name)
        assert len(shards) == 3
        assert sum(shard.documents for shard in shards) == 100
        found = [page for shard in shards for page in ids(source_index.scan(shard, FIELDS.names, batch=7))]
        assert sorted(found) == sorted(f"{name}/p{number}" for number in range(100))

    def test_a_scan_goes_on_from_a_sequence_number_and_meets_what_changed(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        fill(client, name, 20)
        (shard,) = source_index.shards(name)
        first = next(iter(source_index.scan(shard, FIELDS.names, batch=8)))
        client.index(index=name, id="p3", document={"body": "newer"}, refresh=True)
        rest = ids(source_index.scan(shard, FIELDS.names, above=first[-1].seq_no))
        assert rest == [f"{name}/p{number}" for number in range(8, 20)] + [f"{name}/p3"]
        assert ids(source_index.scan(shard, FIELDS.names, above=first[-1].seq_no, to=shard.last)) == rest[:-1]

    def test_an_empty_index_has_nothing(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        client.indices.create(index=name)
        (shard,) = source_index.shards(name)
        assert (shard.documents, shard.last) == (0, -1)
        assert ids(source_index.scan(shard, FIELDS.names)) == []


class TestMarking:
    FIELD = DedupField("c", canonical=False, relation="duplicate", duplicate_of="x/1", cluster_size=2)

    def test_a_mark_is_written_read_and_replaced_as_a_whole(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        fill(client, name, 2, routing="r/1")
        source_index.prepare([name])
        page = DocumentKey(name, "p1", "r/1").page_id
        assert source_index.write_dedup_fields({page: self.FIELD}).changed == 1
        assert source_index.write_dedup_fields({page: self.FIELD}).changed == 0
        source_index.write_dedup_fields({page: DedupField("c", canonical=True, relation="unique")})
        read = source_index.read([page], FIELDS.names)[page]
        assert read.source == {"body": "text 1", "at": 1_700_000_000_000}
        assert read.dedup is not None
        assert {name: value for name, value in read.dedup.items() if value is not None} == {
            "cluster_id": "c", "canonical": True, "relation": "unique", "cluster_size": 1
        }  # fmt: skip

    def test_a_mark_is_taken_away(self, client: Elasticsearch, name: str, source_index: SourceIndex) -> None:
        fill(client, name, 1)
        source_index.write_dedup_fields({f"{name}/p0": self.FIELD})
        source_index.write_dedup_fields({f"{name}/p0": None})
        assert source_index.read([f"{name}/p0"], ())[f"{name}/p0"].dedup is None
        source = client.get(index=name, id="p0")["_source"]
        assert source == {"body": "text 0", "at": 1_700_000_000_000, "dedup": None}
        assert source_index.write_dedup_fields({f"{name}/p0": None}).changed == 0
        source_index.refresh(name)
        (batch,) = source_index.without_dedup_field(name, FIELDS.names)
        assert len(batch) == 1

    def test_one_bad_item_does_not_stop_the_others(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        fill(client, name, 2)
        client.indices.create(index=f"{name}-2", mappings={"properties": {"dedup": {"type": "keyword"}}})
        client.index(index=f"{name}-2", id="x", document={"body": "other"})
        dedup_fields = dict.fromkeys((f"{name}/p0", f"{name}/none", f"{name}-2/x", f"{name}/p1"), self.FIELD)
        report = source_index.write_dedup_fields(dedup_fields)
        assert report.changed == 2
        assert report.gone == [f"{name}/none"]
        assert list(report.failed) == [f"{name}-2/x"]
        assert report.failed[f"{name}-2/x"].startswith("mapping: ")

    def test_an_index_that_refuses_the_mapping_keeps_it_from_no_other(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        text = {"properties": {"dedup": {"properties": {"cluster_id": {"type": "text"}}}}}
        for index, mapping in {name: text, f"{name}-2": {}, f"{name}-3": {}}.items():
            client.indices.create(index=index, mappings=mapping)
            client.index(index=index, id="x", document={"body": "other"})
        pages = [f"{name}/x", f"{name}-2/x", f"{name}-3/x"]
        report = source_index.write_dedup_fields(dict.fromkeys(pages, self.FIELD))
        assert (report.changed, list(report.failed)) == (3, [])  # text takes the id of a cluster
        assert source_index.prepared(f"{name}-2")
        assert source_index.prepared(f"{name}-3")
        assert not source_index.write_dedup_fields({pages[0]: None}).failed

    def test_a_mark_for_an_index_that_was_deleted_does_not_create_it(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        fill(client, name, 1)
        dedup_fields = dict.fromkeys((f"{name}-2/x", f"{name}/p0"), self.FIELD)
        report = source_index.write_dedup_fields(dedup_fields)
        assert (report.changed, report.gone) == (1, [f"{name}-2/x"])
        assert not client.indices.exists(index=f"{name}-2")

    def test_unknown_pages_and_indices_are_not_read(
        self, client: Elasticsearch, name: str, source_index: SourceIndex
    ) -> None:
        fill(client, name, 1)
        assert list(source_index.read([f"{name}/p0", f"{name}/p9", f"{name}-none/p0"], ())) == [f"{name}/p0"]


def test_a_page_id_gives_its_key_back() -> None:
    for key in (
        DocumentKey("a", "b/c"),
        DocumentKey("a", "?/b", "r/?&"),
        DocumentKey("a.b-c", "https://x/?q=1"),
    ):
        assert document_key(key.page_id) == key
    with pytest.raises(ValueError, match="names no document"):
        document_key("nothing")


def test_many_indices_with_long_names_are_checked(name: str, source_index: SourceIndex) -> None:
    """Their names stand in the address of a request, which the server limits."""
    source_index.check([f"{name}-{number:02}-{'x' * (251 - len(name))}" for number in range(30)])
