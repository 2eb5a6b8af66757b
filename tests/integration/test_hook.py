"""The hook on a real server: what is written, what is said of it, and what becomes of other documents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch.helpers import BulkIndexError

from es_dedup import Deduplicator
from es_dedup.collapse import DedupSearch
from es_dedup.errors import DuplicatePage
from es_dedup.hook import (
    DedupHook,
    async_dedup_bulk,
    async_dedup_streaming_bulk,
    dedup_bulk,
    dedup_streaming_bulk,
)
from es_dedup.index.elastic.connecting import Options
from es_dedup.index.source_index import DocumentKey
from tests.hooked import FIELDS, STORIES, Inline, action_of, clusters, dedup_fields, five
from tests.samples import story
from tests.servers import async_client_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from elasticsearch import Elasticsearch


class TestMark:
    @pytest.mark.parametrize("chunk_size", [1, 2, 500])
    def test_copies_are_marked_within_a_batch_and_across(
        self, hook: DedupHook, client: Elasticsearch, name: str, chunk_size: int
    ) -> None:
        successes, errors = result = dedup_bulk(client, five(name), hook=hook, chunk_size=chunk_size)
        assert (successes, errors) == (5, [])
        assert clusters(client, name) == STORIES
        found = dedup_fields(client, name)
        assert found["copy-1"] == {
            "cluster_id": f"{name}/story-0",
            "canonical": False,
            "relation": "exact",
            "duplicate_of": f"{name}/story-0",
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
        assert dedup_fields(client, name)["first"]["canonical"]
        assert dedup_fields(client, name)["second"]["duplicate_of"] == f"{name}/first"

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
        assert sorted(hit["_source"]["dedup"].get("cluster_size", 0) for hit in hits) == [0, 0, 3]
        (chief,) = {hit["_source"]["dedup"].get("duplicate_of") for hit in hits} - {None}
        assert chief in keys
        client.indices.delete(index=real)

    def test_no_page_is_named_after_an_alias(
        self, hook: DedupHook, client: Elasticsearch, address: str, name: str
    ) -> None:
        real, alias = f"{name}-000001", f"{name}-write"
        client.indices.create(index=real, aliases={alias: {"is_write_index": True}})
        actions: list[dict[str, Any]] = [action_of(story(n), alias) for n in range(3)]
        actions += [
            {"_op_type": "update", "_index": alias, "_id": "story-0", "doc": {"text": story(2).text}},
            {"_op_type": "delete", "_index": alias, "_id": "story-1"},
        ]
        dedup_bulk(client, actions, hook=hook, chunk_size=1)
        with Deduplicator.open(address) as dedup:
            dedup._index.refresh()
            found = {record.page_id for records in dedup._index.scan() for record in records}
        assert found == {f"{real}/story-0", f"{real}/story-2"}
        client.indices.delete(index=real)


class TestPolicies:
    def test_skip_writes_no_copies(self, hook: DedupHook, client: Elasticsearch, name: str) -> None:
        result = dedup_bulk(client, five(name), hook=hook, policy="skip")
        assert result[0] == 5
        assert set(dedup_fields(client, name)) == {"story-0", "story-1", "story-2"}
        assert set(result.report.left_out) == {f"{name}/copy-0", f"{name}/copy-1"}
        assert {dedup_field["cluster_size"] for dedup_field in dedup_fields(client, name).values()} == {1}
        again = dedup_bulk(client, [action_of(story(0, "copy-9", day=9), name)], hook=hook, policy="skip")
        assert list(again.report.left_out) == [f"{name}/copy-9"]

    def test_skip_deletes_the_old_version_of_what_became_a_copy(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name), hook=hook, policy="skip")
        recrawled = action_of(story(0, "story-2", day=7), name)
        result = dedup_bulk(client, [recrawled], hook=hook, policy="skip")
        assert tuple(result) == (1, [])
        assert result.report.removed == list(result.report.left_out) == [f"{name}/story-2"]
        assert result.report.left_out[f"{name}/story-2"].duplicate_of == f"{name}/story-0"
        assert set(dedup_fields(client, name)) == {"story-0", "story-1"}
        dedup_bulk(client, [action_of(story(2, "other", day=7), name)], hook=hook)
        assert dedup_fields(client, name)["other"]["relation"] == "unique"

    def test_skip_deletes_an_old_version_under_the_conditions_of_the_action(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name), hook=hook, policy="skip")
        stale = action_of(story(0, "story-2", day=7), name, if_seq_no=0, if_primary_term=1)
        client.index(index=name, id="story-2", document={"text": story(2).text})
        successes, errors = dedup_bulk(client, [stale], hook=hook, policy="skip", raise_on_error=False)
        assert (successes, [error["index"]["status"] for error in errors]) == (0, [409])
        assert "story-2" in dedup_fields(client, name)

    def test_skip_writes_the_new_version_where_others_have_deleted_what_it_is_a_copy_of(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name)[:2], hook=hook, policy="skip")
        client.delete(index=name, id="story-0")
        again = action_of(story(0, "story-1", day=7), name)
        report = dedup_bulk(client, [again], hook=hook, policy="skip").report
        assert (report.left_out, report.removed) == ({}, [])
        assert client.get(index=name, id="story-1")["_source"]["text"] == story(0).text

    def test_a_create_that_skip_leaves_out_deletes_nothing(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name), hook=hook, policy="skip")
        again = action_of(story(0, "story-2", day=7), name, _op_type="create")
        assert list(dedup_bulk(client, [again], hook=hook, policy="skip").report.left_out)
        assert client.get(index=name, id="story-2")["_source"]["text"] == story(2).text
        dedup_bulk(client, [action_of(story(2, "other", day=7), name)], hook=hook)
        assert dedup_fields(client, name)["other"]["duplicate_of"] == f"{name}/story-2"

    def test_overwrite_deletes_no_document_that_another_writer_has_changed(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name)[:2], hook=hook)
        client.update(index=name, id="story-0", doc={"text": story(5).text, "title": story(5).title})
        batch = [action_of(story(0, "new", day=5), name), action_of(story(1, "newer", day=5), name)]
        result = dedup_bulk(client, batch, hook=hook, policy="overwrite")
        assert result.report.removed == [f"{name}/story-1"]
        assert clusters(client, name) == {frozenset({each}) for each in ("story-0", "new", "newer")}
        assert dedup_fields(client, name)["story-0"]["relation"] == "unique"

    @pytest.mark.parametrize("other", [True, False])
    def test_overwrite_deletes_no_document_that_is_changed_after_it_was_read(
        self, hook: DedupHook, client: Elasticsearch, name: str, monkeypatch: pytest.MonkeyPatch, other: bool
    ) -> None:
        """Another text is kept; a change of other fields only is deleted at the next try."""
        dedup_bulk(client, five(name)[:2], hook=hook)
        read = hook._source_index.read
        written: list[object] = []

        def written_after(page_ids: Any, fields: Any) -> Any:
            found = read(page_ids, fields)
            if f"{name}/story-0" in found and not written:
                change = {"text": story(5).text, "title": story(5).title} if other else {"seen": 1}
                written.append(client.update(index=name, id="story-0", doc=change))
            return found

        monkeypatch.setattr(hook._source_index, "read", written_after)
        result = dedup_bulk(client, [action_of(story(0, "new", day=5), name)], hook=hook, policy="overwrite")
        assert written
        assert result.report.removed == ([] if other else [f"{name}/story-0"])
        there = {"story-0", "new", "story-1"} if other else {"new", "story-1"}
        assert clusters(client, name) == {frozenset({each}) for each in there}

    def test_overwrite_deletes_no_document_whose_new_version_is_refused(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        client.indices.create(index=name, mappings={"properties": {"count": {"type": "integer"}}})
        dedup_bulk(client, [action_of(story(1, "page"), name)], hook=hook)
        refused = action_of(story(0, "page"), name)
        refused["_source"]["count"] = "no number"
        actions = [refused, action_of(story(0, "copy"), name)]
        result = dedup_bulk(client, actions, hook=hook, policy="overwrite", raise_on_error=False)
        assert (result[0], result.report.removed) == (1, [])
        assert clusters(client, name) == {frozenset({"page"}), frozenset({"copy"})}

    def test_fail_writes_what_comes_before_the_duplicate(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name)[:1], hook=hook)
        copy = action_of(story(0, "copy", day=3), name)
        batch = [action_of(story(7), name), copy, action_of(story(8), name)]
        with pytest.raises(DuplicatePage) as raised:
            dedup_bulk(client, batch, hook=hook, policy="fail")
        assert (raised.value.page_id, raised.value.duplicate_of) == (f"{name}/copy", f"{name}/story-0")
        assert clusters(client, name) == {frozenset({"story-0"}), frozenset({"story-7"})}
        result = dedup_bulk(client, [action_of(story(8, "later"), name)], hook=hook, policy="fail")
        assert result.report.outcomes == {"unique": 1}  # nothing else of the refused batch was kept


class TestChanges:
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

    def test_a_page_is_compared_with_what_another_writer_has_made_of_a_page_met_before(
        self, hook: DedupHook, client: Elasticsearch, address: str, name: str
    ) -> None:
        with DedupHook.open(address, FIELDS) as other:
            for page in (story(9), story(0, "page")):
                dedup_bulk(client, [action_of(page, name)], hook=hook)
            dedup_bulk(client, [action_of(story(1, "page"), name)], hook=other)
            dedup_bulk(client, [action_of(story(1, "copy", day=3), name)], hook=hook)
            assert clusters(client, name) == {frozenset({"page", "copy"}), frozenset({"story-9"})}

    def test_one_id_several_times_in_one_call(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        first, last = action_of(story(0, "page"), name), action_of(story(1, "page"), name)
        delete = {"_op_type": "delete", "_index": name, "_id": "gone"}
        actions = [first, action_of(story(0, "gone", day=3), name), delete, last, action_of(story(1), name)]
        dedup_bulk(client, actions, hook=hook)
        assert clusters(client, name) == {frozenset({"page", "story-1"})}

    @pytest.mark.parametrize("refresh", [True, "wait_for"])
    def test_other_documents_are_refreshed_when_the_call_says_so(
        self, hook: DedupHook, client: Elasticsearch, name: str, refresh: Any
    ) -> None:
        client.indices.create(index=name, settings={"refresh_interval": "1h" if refresh is True else "3s"})
        dedup_bulk(client, five(name), hook=hook, refresh=True)
        earlier = action_of(story(0, "earlier", day=1), name)
        earlier["_source"]["published"] = "2024-04-01"
        dedup_bulk(client, [earlier], hook=hook, refresh=refresh)
        total = DedupSearch(client, name).search({"track_total_hits": True}).total_groups
        assert total is not None
        assert (total.value, total.exact) == (3, True)
        dedup_bulk(
            client, [{"_op_type": "delete", "_index": name, "_id": "earlier"}], hook=hook, refresh=refresh
        )
        assert DedupSearch(client, name).search({"track_total_hits": True}).total_groups == total


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

    def test_a_page_that_skip_left_out_for_one_that_then_failed_is_written(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        client.indices.create(index=name, mappings={"properties": {"count": {"type": "integer"}}})
        actions = five(name)
        actions[0]["_source"]["count"] = "no number"
        result = dedup_bulk(client, actions, hook=hook, policy="skip", raise_on_error=False)
        assert set(dedup_fields(client, name)) == {"copy-0", "story-1", "story-2"}
        assert set(result.report.left_out) == {f"{name}/copy-1"}
        assert result.report.pages == 5  # those sent again once
        assert result.report.outcomes == {"unique": 4, "duplicate": 1}

    def test_without_features_documents_are_written_and_decided_on_later(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        dedup_bulk(client, five(name)[:3], hook=hook)
        features = f"{name}-dedup-features"
        client.indices.close(index=features)
        hook._index._server.options = Options(retry_seconds=0)  # type: ignore[attr-defined]
        try:
            result = dedup_bulk(client, five(name)[3:], hook=hook)
        finally:
            client.indices.open(index=features)
            client.cluster.health(index=features, wait_for_status="yellow")
        assert result.report.outcomes == {"inconclusive": 2}
        assert dedup_fields(client, name)["copy-0"]["relation"] == "inconclusive"
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
            assert {dedup_field["relation"] for dedup_field in dedup_fields(client, name).values()} == {
                "pending"
            }
            hook.decide(told)
            assert clusters(client, name) == STORIES

            class Broken:
                def ingest(self, page_ids: Any) -> None:
                    raise ConnectionError(f"{len(page_ids)} untold")

            deferred.dispatcher = Broken()
            report = dedup_bulk(client, [action_of(story(1, "untold", day=8), name)], hook=deferred).report
            assert list(report.inconclusive) == [f"{name}/untold"]
            assert hook.recheck(name).outcomes == {"duplicate": 1}
            assert dedup_fields(client, name)["untold"]["duplicate_of"] == f"{name}/story-1"
            deferred.dispatcher = Inline(hook)
            delete = {"_op_type": "delete", "_index": name, "_id": "story-0"}
            dedup_bulk(client, [delete], hook=deferred)
        assert frozenset({"copy-0", "copy-1"}) in clusters(client, name)

    def test_asynchronous_clients(self, hook: DedupHook, client: Elasticsearch, name: str) -> None:
        async def actions() -> AsyncIterator[dict[str, Any]]:
            for action in five(name)[2:]:
                await asyncio.sleep(0)
                yield action

        async def run() -> None:
            async with async_client_of(url) as aclient:
                result = await async_dedup_bulk(aclient, five(name)[:2], hook=hook)
                assert tuple(result) == (2, [])
                stream = async_dedup_streaming_bulk(aclient, actions(), 2, hook=hook)
                assert [ok async for ok, _ in stream] == [True] * 3

        node = client.transport.node_pool.get().config
        url = f"{node.scheme}://{node.host}:{node.port}"
        asyncio.run(run())
        assert clusters(client, name) == STORIES
