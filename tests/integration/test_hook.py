"""The hook on a real server: what is written, what is said of it, and what becomes of other documents."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch
from elasticsearch.helpers import BulkIndexError

from es_dedup import Deduplicator, Settings
from es_dedup.batch.settle import STATISTICS
from es_dedup.errors import DuplicatePage
from es_dedup.hook import (
    DedupHook,
    HookReport,
    HostFields,
    InlineDispatcher,
    async_dedup_bulk,
    async_dedup_streaming_bulk,
    dedup_bulk,
    dedup_streaming_bulk,
)
from es_dedup.index.host import DocumentKey
from tests.samples import as_text, edges, pages, partition, story
from tests.servers import empty, fresh_name, remove, url_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from es_dedup.model import Page

ROOT = Path(__file__).parents[2]
FIELDS = HostFields("text", url="url", published="published", site="site")


@pytest.fixture(scope="module", params=["es8", "es9"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Features and a host index of one name."""
    place = f"{url_of(request.param)}/{fresh_name()}"
    yield place
    host, _, name = place.rpartition("/")
    remove(place)
    with Elasticsearch(host, request_timeout=30) as client:
        client.indices.delete(index=f"{name}*", ignore_unavailable=True)


@pytest.fixture
def client(address: str) -> Iterator[Elasticsearch]:
    with Elasticsearch(address.rpartition("/")[0], request_timeout=60) as client:
        yield client


@pytest.fixture
def name(address: str) -> str:
    return address.rpartition("/")[2]


@pytest.fixture
def hook(address: str, client: Elasticsearch, name: str) -> Iterator[DedupHook]:
    with DedupHook.open(address, FIELDS) as hook:
        yield hook
    empty(address)
    client.indices.delete(index=name, ignore_unavailable=True)


def action_of(page: Page, name: str, **more: Any) -> dict[str, Any]:
    """A bulk action that indexes a page."""
    source = {"text": page.text, "title": page.title, "published": page.published, "site": page.site}
    return {"_index": name, "_id": page.id, "_source": source, **more}


def five(name: str) -> list[dict[str, Any]]:
    """Three stories, and two copies of the first."""
    copies = [story(0, f"copy-{n}", day=2 + n) for n in range(2)]
    return [action_of(page, name) for page in (*map(story, range(3)), *copies)]


def marks(client: Elasticsearch, name: str) -> dict[str, dict[str, Any]]:
    """The object ``dedup`` of each document, without what is empty."""
    client.indices.refresh(index=name)
    hits = client.search(index=name, size=1000)["hits"]["hits"]
    return {
        hit["_id"]: {
            key: value for key, value in hit["_source"].get("dedup", {}).items() if value is not None
        }
        for hit in hits
    }


def clusters(client: Elasticsearch, name: str) -> set[frozenset[str]]:
    """Documents by cluster; each cluster has one canonical document, and all its documents know its size."""
    found = marks(client, name)
    groups: dict[str, list[str]] = {}
    for document, mark in found.items():
        groups.setdefault(mark["cluster_id"], []).append(document)
    for group in groups.values():
        assert sum(found[document]["canonical"] for document in group) == 1, group
        assert {found[document]["cluster_size"] for document in group} == {len(group)}, group
    return {frozenset(group) for group in groups.values()}


STORIES = {frozenset({"story-0", "copy-0", "copy-1"}), frozenset({"story-1"}), frozenset({"story-2"})}


class TestMark:
    @pytest.mark.parametrize("chunk_size", [1, 2, 500])
    def test_copies_are_marked_within_a_batch_and_across(
        self, hook: DedupHook, client: Elasticsearch, name: str, chunk_size: int
    ) -> None:
        successes, errors = result = dedup_bulk(client, five(name), hook=hook, chunk_size=chunk_size)
        assert (successes, errors) == (5, [])
        assert clusters(client, name) == STORIES
        found = marks(client, name)
        assert found["copy-1"] == {
            "cluster_id": f"{name}/story-0",
            "canonical": False,
            "relation": "exact",
            "duplicate_of": f"{name}/story-0",
            "cluster_size": 3,
        }
        assert found["story-1"] == {
            "cluster_id": f"{name}/story-1",
            "canonical": True,
            "relation": "unique",
            "cluster_size": 1,
        }
        assert result.report.outcomes == {"unique": 3, "duplicate": 2}
        decision = result.report.decisions[f"{name}/copy-0"]
        assert decision.duplicate_of == f"{name}/story-0"
        assert decision.verdicts[0].evidence["left_cover"] == 1.0

    def test_an_earlier_page_that_comes_later_becomes_canonical(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, [action_of(story(0, "second", day=9), name)], hook=hook)
        dedup_bulk(client, [action_of(story(0, "first", day=2), name)], hook=hook)
        assert clusters(client, name) == {frozenset({"first", "second"})}
        assert marks(client, name)["first"]["canonical"]
        assert marks(client, name)["second"]["duplicate_of"] == f"{name}/first"

    def test_sending_all_again_changes_nothing(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name), hook=hook)
        before = marks(client, name)
        dedup_bulk(client, five(name), hook=hook)
        assert marks(client, name) == before

    def test_the_mapping_is_ours_also_in_an_index_that_the_write_makes(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name), hook=hook)
        mapping = client.indices.get_mapping(index=name)[name]["mappings"]["properties"]["dedup"]
        assert mapping["properties"]["cluster_id"] == {"type": "keyword"}

    def test_an_alias_routing_and_documents_without_id(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        real = f"{name}-000001"
        client.indices.create(index=real, aliases={f"{name}-write": {"is_write_index": True}})
        documents = [action_of(story(4, f"r{n}"), f"{name}-write", routing="a b") for n in range(2)]
        nameless = {"text": story(4).text, "title": story(4).title}
        dedup_bulk(client, [*documents, nameless], hook=hook, index=f"{name}-write", refresh=True)
        hits = client.search(index=real)["hits"]["hits"]
        keys = {DocumentKey(hit["_index"], hit["_id"], hit.get("_routing", "")).page_id for hit in hits}
        assert len(keys) == 3
        assert {hit["_source"]["dedup"]["cluster_size"] for hit in hits} == {3}
        (chief,) = {hit["_source"]["dedup"].get("duplicate_of") for hit in hits} - {None}
        assert chief in keys
        client.indices.delete(index=real)


class TestPolicies:
    def test_skip_writes_no_copies(self, hook: DedupHook, client: Elasticsearch, name: str) -> None:
        result = dedup_bulk(client, five(name), hook=hook, policy="skip")
        assert result[0] == 5
        assert set(marks(client, name)) == {"story-0", "story-1", "story-2"}
        assert set(result.report.left_out) == {f"{name}/copy-0", f"{name}/copy-1"}
        assert {mark["cluster_size"] for mark in marks(client, name).values()} == {1}
        again = dedup_bulk(client, [action_of(story(0, "copy-9", day=9), name)], hook=hook, policy="skip")
        assert list(again.report.left_out) == [f"{name}/copy-9"]

    def test_skip_leaves_the_old_version_where_the_new_one_is_a_copy(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name), hook=hook, policy="skip")
        dedup_bulk(client, [action_of(story(0, "story-2", day=7), name)], hook=hook, policy="skip")
        assert client.get(index=name, id="story-2")["_source"]["text"] == story(2).text
        dedup_bulk(client, [action_of(story(2, "other", day=7), name)], hook=hook)
        assert marks(client, name)["other"]["duplicate_of"] == f"{name}/story-2"

    def test_overwrite_takes_the_place_of_what_is_there(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name)[:3], hook=hook)
        new = action_of(story(0, "new", day=5), name)
        result = dedup_bulk(client, [new], hook=hook, policy="overwrite")
        assert result.report.removed == [f"{name}/story-0"]
        assert clusters(client, name) == {frozenset({"new"}), frozenset({"story-1"}), frozenset({"story-2"})}
        assert marks(client, name)["new"]["relation"] == "unique"

    def test_fail_writes_nothing_of_the_batch(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name)[:1], hook=hook)
        batch = [action_of(story(7), name), action_of(story(0, "copy", day=3), name)]
        with pytest.raises(DuplicatePage):
            dedup_bulk(client, batch, hook=hook, policy="fail")
        assert set(marks(client, name)) == {"story-0"}
        assert clusters(client, name) == {frozenset({"story-0"})}
        result = dedup_bulk(client, [action_of(story(7, "later"), name)], hook=hook, policy="fail")
        assert result.report.outcomes == {"unique": 1}  # nothing of the refused batch was kept


class TestChanges:
    def test_a_deleted_representative_hands_over(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name), hook=hook)
        dedup_bulk(client, [{"_op_type": "delete", "_index": name, "_id": "story-0"}], hook=hook)
        assert frozenset({"copy-0", "copy-1"}) in clusters(client, name)
        assert marks(client, name)["copy-0"]["canonical"]

    def test_an_update_moves_a_page_to_another_cluster(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name), hook=hook)
        change = {"text": story(1).text, "title": story(1).title}
        dedup_bulk(
            client, [{"_op_type": "update", "_index": name, "_id": "copy-1", "doc": change}], hook=hook
        )
        expected = {
            frozenset({"story-0", "copy-0"}),
            frozenset({"story-1", "copy-1"}),
            frozenset({"story-2"}),
        }
        assert clusters(client, name) == expected

    def test_a_new_version_leaves_its_cluster(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name), hook=hook)
        dedup_bulk(client, [action_of(story(8, "story-0"), name)], hook=hook)
        assert {frozenset({"copy-0", "copy-1"}), frozenset({"story-0"})} <= clusters(client, name)

    def test_one_id_several_times_in_one_call(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        first, last = action_of(story(0, "page"), name), action_of(story(1, "page"), name)
        delete = {"_op_type": "delete", "_index": name, "_id": "gone"}
        actions = [first, action_of(story(0, "gone", day=3), name), delete, last, action_of(story(1), name)]
        dedup_bulk(client, actions, hook=hook)
        assert clusters(client, name) == {frozenset({"page", "story-1"})}


class TestErrors:
    def test_a_document_that_the_server_refuses_is_taken_back(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        client.indices.create(index=name, mappings={"properties": {"count": {"type": "integer"}}})
        actions = five(name)
        actions[0]["_source"]["count"] = "no number"
        with pytest.raises(BulkIndexError) as raised:
            dedup_bulk(client, actions, hook=hook)
        assert [error["index"]["_id"] for error in raised.value.errors] == ["story-0"]
        assert frozenset({"copy-0", "copy-1"}) in clusters(client, name)

    def test_errors_are_given_back_when_that_is_asked(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name)[:1], hook=hook)
        again = [action_of(story(5, "story-0"), name, _op_type="create"), action_of(story(6), name)]
        successes, errors = dedup_bulk(client, again, hook=hook, raise_on_error=False)
        assert (successes, [error["create"]["status"] for error in errors]) == (1, [409])
        # the features of the refused version are not kept
        dedup_bulk(client, [action_of(story(0, "copy", day=4), name)], hook=hook)
        assert marks(client, name)["copy"]["duplicate_of"] == f"{name}/story-0"
        assert dedup_bulk(client, again, hook=hook, raise_on_error=False, stats_only=True)[1] == 1

    def test_a_page_that_skip_left_out_for_one_that_then_failed_is_written(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        client.indices.create(index=name, mappings={"properties": {"count": {"type": "integer"}}})
        actions = five(name)
        actions[0]["_source"]["count"] = "no number"
        result = dedup_bulk(client, actions, hook=hook, policy="skip", raise_on_error=False)
        assert set(marks(client, name)) == {"copy-0", "story-1", "story-2"}
        assert set(result.report.left_out) == {f"{name}/copy-1"}

    def test_without_features_documents_are_written_and_decided_on_later(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name)[:3], hook=hook)
        features = f"{name}-dedup-features"
        client.indices.close(index=features)
        hook._index._options = type(hook._index._options)(retry_seconds=0)  # type: ignore[attr-defined]
        try:
            result = dedup_bulk(client, five(name)[3:], hook=hook)
        finally:
            client.indices.open(index=features)
            client.cluster.health(index=features, wait_for_status="yellow")
        assert result.report.outcomes == {"inconclusive": 2}
        assert marks(client, name)["copy-0"]["relation"] == "inconclusive"
        assert hook.recheck(name).outcomes == {"duplicate": 2}
        assert clusters(client, name) == STORIES


class TestOtherWays:
    def test_streaming_reads_one_batch_at_a_time(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        read: list[str] = []

        def actions() -> Iterator[dict[str, Any]]:
            for action in five(name):
                read.append(action["_id"])
                yield action

        stream = dedup_streaming_bulk(client, actions(), 2, hook=hook)
        assert read == []
        ok, item = next(iter(stream))
        assert ok
        assert item["index"]["dedup"]["outcome"] == "unique"
        assert read == ["story-0", "story-1"]
        assert len(list(stream)) == 4

    def test_a_slow_input_is_flushed(self, hook: DedupHook, client: Elasticsearch, name: str) -> None:
        report = HookReport()

        def actions() -> Iterator[dict[str, Any]]:
            yield five(name)[0]
            for _ in range(600):
                if report.written:
                    break
                time.sleep(0.05)
            yield five(name)[1]

        list(dedup_streaming_bulk(client, actions(), hook=hook, report=report, flush_after_seconds=0.2))
        assert report.written == 2
        assert set(marks(client, name)) == {"story-0", "story-1"}

    def test_a_writer_of_ones_own(self, hook: DedupHook, client: Elasticsearch, name: str) -> None:
        batch = hook.process(five(name))
        assert [item.kept for item in batch] == [True] * 5
        for item in list(batch)[:4]:
            client.index(index=item.key.index, id=item.key.id, document=item.document)
        hook.written(batch, failed=[f"{name}/copy-1"])
        assert frozenset({"story-0", "copy-0"}) in clusters(client, name)

    def test_index_now_and_decide_later(
        self, address: str, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        told: list[str] = []

        class Later:
            def ingest(self, page_ids: Any) -> None:
                told.extend(page_ids)

        with DedupHook.open(address, FIELDS, dispatcher=Later()) as deferred:
            dedup_bulk(client, five(name), hook=deferred)
            assert {mark["relation"] for mark in marks(client, name).values()} == {"pending"}
            hook.decide(told)
            assert clusters(client, name) == STORIES

            class Broken:
                def ingest(self, page_ids: Any) -> None:
                    raise ConnectionError(f"{len(page_ids)} untold")

            deferred.dispatcher = Broken()
            report = dedup_bulk(client, [action_of(story(1, "untold", day=8), name)], hook=deferred).report
            assert list(report.inconclusive) == [f"{name}/untold"]
            assert hook.recheck(name).outcomes == {"duplicate": 1}
            assert marks(client, name)["untold"]["duplicate_of"] == f"{name}/story-1"
            deferred.dispatcher = InlineDispatcher(hook)
            delete = {"_op_type": "delete", "_index": name, "_id": "story-0"}
            dedup_bulk(client, [delete], hook=deferred)
        assert frozenset({"copy-0", "copy-1"}) in clusters(client, name)

    def test_asynchronous_clients(self, hook: DedupHook, client: Elasticsearch, name: str) -> None:
        async def actions() -> AsyncIterator[dict[str, Any]]:
            for action in five(name)[2:]:
                await asyncio.sleep(0)
                yield action

        async def run() -> None:
            async with AsyncElasticsearch(url) as aclient:
                result = await async_dedup_bulk(aclient, five(name)[:2], hook=hook)
                assert tuple(result) == (2, [])
                stream = async_dedup_streaming_bulk(aclient, actions(), 2, hook=hook, flush_after_seconds=5)
                assert [ok async for ok, _ in stream] == [True] * 3

        node = client.transport.node_pool.get().config
        url = f"{node.scheme}://{node.host}:{node.port}"
        asyncio.run(run())
        assert clusters(client, name) == STORIES


def test_what_the_how_to_shows_works(hook: DedupHook, client: Elasticsearch, address: str, name: str) -> None:
    text = (ROOT / "docs/how-to/put-the-hook-before-the-bulk-writer.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    code = code.replace("http://localhost:9200", address.rpartition("/")[0]).replace("pages", name)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"duplicate {name}/a 1.0"
    shown = json.loads(text.split("```json\n")[1].split("```")[0].replace("pages", name))
    assert marks(client, name)["b"] == shown


class TestAtOnce:
    @pytest.mark.parametrize("copies", ["same-id", "two-ids", "two-ids-window"])
    def test_pages_that_two_processes_send_at_once_have_one_canonical(
        self, address: str, hook: DedupHook, client: Elasticsearch, name: str, copies: str
    ) -> None:
        writers, sent = 4, 40
        redis = [url_of("redis")] if copies.endswith("window") else []
        started = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.hook_writer",
                    address,
                    *map(str, (n, writers, sent)),
                    copies,
                    *redis,
                ],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for n in range(writers)
        ]
        try:
            for process in started:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            said = []
            for process in started:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            for process in started:
                output, _ = process.communicate(timeout=240)
                assert process.returncode == 0
                said.append(output.split())
        finally:
            for process in started:
                process.kill()
                process.wait()
        if any(
            inconclusive != "0" for inconclusive, _ in said
        ):  # a machine so slow that the lock was waited for
            hook.recheck(name)
        found = clusters(client, name)
        assert len(found) == sent
        assert {len(group) for group in found} == ({1} if copies == "same-id" else {2})


class TestEqual:
    def test_the_samples_have_the_clusters_and_decisions_of_the_embedded_index(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        samples = [replace(as_text(page), id=f"{name}/{page.id}") for page in pages()]
        with Deduplicator.open(":memory:", settings=Settings(workers=1)) as embedded:
            embedded.scan(samples)
            index = hook._index
            snapshot = embedded._index.load_statistics()
            assert snapshot is not None
            index.save_statistics(snapshot)
            index.set_note(STATISTICS, embedded._index.note(STATISTICS))
            actions = [action_of(replace(page, id=page.id.partition("/")[2]), name) for page in samples]
            report = HookReport()
            dedup_bulk(client, actions, hook=hook, chunk_size=40, report=report)
            found = {
                frozenset(f"{name}/{document}" for document in group) for group in clusters(client, name)
            }
            assert found == partition(embedded)
            assert len(found) < len(samples)
            expected = set(edges(embedded))
        names = [page.id for page in samples]
        made = {(edge.left, edge.right, str(edge.relation), edge.score) for edge in index.edges_of(names)}
        same = ("exact", "duplicate")
        assert {edge for edge in made if edge[2] in same} == {edge for edge in expected if edge[2] in same}
        # A page that was there first is not asked again: of two pages that only it would have found, it does not hear.
        assert made <= expected
        assert len(made) >= 0.98 * len(expected)
        assert not report.inconclusive
        said = {page_id: each for page_id, each in report.decisions.items() if each.duplicate_of}
        assert len(said) >= len(samples) - len(found) - 5  # representatives that came later say so too
        assert all(each.verdicts for each in said.values())
