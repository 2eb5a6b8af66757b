"""What the hook makes of actions before any server is asked: items, batches, features of poisonous pages."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pytest
from elasticsearch.helpers import BULK_FLUSH
from hypothesis import given
from hypothesis import strategies as st

from es_dedup import Settings
from es_dedup.hook import DedupHook, SourceFields, bulk
from es_dedup.hook.bulk import batches
from es_dedup.hook.documents import Batch, item_of
from es_dedup.hook.run import Run
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.index.source_index import DedupField
from tests.hooked import Inline

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

NOBODY: Any = None
HOOK = DedupHook(EmbeddedIndex(":memory:", features={}), NOBODY, SourceFields("text"), Settings())


def run(chunk_size: int = 3, **options: Any) -> Run:
    """A call whose hook is never asked."""
    return Run(HOOK, "mark", None, chunk_size, options)


class TestItems:
    def test_places_come_from_the_action_or_from_the_call(self) -> None:
        named = item_of({"index": {"_index": "a", "_id": 7, "routing": "r/1"}}, {"x": 1}, {"index": "b"})
        assert (named.page_id, named.target) == ("a?r%2F1/7", "a")
        assert item_of({"create": {"_id": "x"}}, {}, {"index": "b", "routing": "q"}).page_id == "b?q/x"

    def test_a_document_without_id_is_given_one_of_its_own(self) -> None:
        items = [item_of({"index": {}}, b'{"x": 1}', {"index": "i"}) for _ in range(50)]
        assert len({item.page_id for item in items}) == 50
        assert items[0].action == ({"index": {"_id": items[0].key.id}}, b'{"x": 1}')

    @pytest.mark.parametrize(
        ("action", "body", "problem"),
        [
            ({"index": {}}, {}, "index"),
            ({"index": {"_index": "i"}}, "[1]", "object"),
            ({"index": {"_index": "i", "_id": 1}}, None, "object"),
            ({"index": {"_index": "i", "_id": ""}}, {}, "empty _id"),
            ({"index": {"_index": "i", "_id": "x" * 520}}, {}, "511 bytes"),
            ({"index": {"_index": "i", "_id": "\ud800"}}, {}, "surrogate"),
            ({"index": {"_index": "i", "_id": ["\ud800"]}}, {}, "no simple value"),
            ({"index": {"_index": "i", "_id": "1", "routing": "\ud800"}}, {}, "surrogate"),
            ({"index": {"_index": "i", "_id": [1]}}, {}, "simple"),
            ({"delete": {"_index": "i"}}, None, "_id"),
            ({"upsert": {"_index": "i", "_id": 1}}, {}, "no operation"),
            ({"index": {"_index": "i"}}, "{", "object"),
            ({"index": {"_index": "i"}}, '{"a":\n1}', "object"),
        ],
    )
    def test_what_is_no_page_is_sent_as_it_was_given(self, action: Any, body: Any, problem: str) -> None:
        item = item_of(action, body, {})
        assert problem in item.problem
        assert item.page_id  # it is reported
        head, sent = item.action
        assert sent is body
        assert next(iter(head.values())).items() >= next(iter(action.values())).items()

    @pytest.mark.parametrize(
        ("given", "name"),
        [
            (7, "7"),
            (0, "0"),
            (1.5, "1.5"),
            (1e22, "1e+22"),
            (True, "true"),
            (uuid.UUID(int=3), str(uuid.UUID(int=3))),
        ],
    )
    def test_an_id_is_what_the_server_reads(self, given: Any, name: str) -> None:
        item = item_of({"index": {"_id": given, "routing": given}}, {}, {"index": "i"})
        assert (item.key.id, item.key.routing, item.head["_id"]) == (name, name, given)

    def test_json_keeps_its_digits(self) -> None:
        item = item_of({"index": {"_index": "i", "_id": 1}}, '{"n": 1.000000000000000000001} ', {})
        item.dedup_field = DedupField("c", canonical=True, relation="unique")
        sent = bytes(item.action[1])
        assert sent.startswith(b'{"n": 1.000000000000000000001, "dedup": {')
        assert json.loads(sent)["dedup"]["cluster_id"] == "c"
        empty = item_of({"index": {"_index": "i", "_id": 1}}, "{ }", {})
        empty.dedup_field = item.dedup_field
        assert json.loads(bytes(empty.action[1])).keys() == {"dedup"}

    @pytest.mark.parametrize("more", [{}, {"dedup.cluster_id": "old"}, {"dedup": {"cluster_id": "old"}}])
    @pytest.mark.parametrize("written", [dict, json.dumps])
    def test_an_older_dedup_field_is_replaced_whatever_its_form(self, written: Any, more: Any) -> None:
        item = item_of({"index": {"_index": "i", "_id": 1}}, written({"text": "x", **more}), {})
        item.dedup_field = DedupField("c", canonical=True, relation="unique")
        sent = item.action[1]
        sent = json.loads(sent) if isinstance(sent, bytes) else sent
        assert sent.keys() == {"text", "dedup"}
        assert sent["dedup"]["cluster_id"] == "c"

    def test_keys_that_are_no_text_stay(self) -> None:
        item = item_of({"index": {"_index": "i", "_id": 1}}, {"text": "x", 2024: "y"}, {})
        item.dedup_field = DedupField("c", canonical=True, relation="unique")
        assert item.action[1].keys() == {"text", 2024, "dedup"}

    def test_a_left_out_page_rests_on_what_it_duplicates_or_is_in(self) -> None:
        item = item_of({"index": {"_index": "i", "_id": "1"}}, {}, {})
        item.kept, item.because = False, {"i/2", "i/3"}
        assert item.rests_on(["i/2", "i/3", "i/9"])
        assert not item.rests_on(["i/3"])
        batch = Batch([item])
        assert (batch.written([]), batch.to_read([])) == (set(), ["i/1"])


class TestBatches:
    def test_one_id_comes_once_in_a_batch(self) -> None:
        actions = [{"_index": "i", "_id": name, "text": "x"} for name in "aabca"]
        made = [[item.key.id for item in items] for items in batches(actions, run())]
        assert made == [["a"], ["a", "b"], ["c", "a"]]  # chunks of three, the first one cut in two

    def test_documents_of_one_id_are_not_independent_whatever_names_their_index(self) -> None:
        actions = [
            {"_index": index, "_id": name, "text": "x"}
            for index, name in (("i", "a"), ("alias", "a"), ("i", "b"))
        ]
        by_index, by_alias, other = batches(actions, run(1))
        assert not run().independent(by_alias, by_index)
        assert run().independent(other, by_alias)

    def test_a_batch_ends_at_its_bytes_and_at_the_mark_for_it(self) -> None:
        actions: list[Any] = [{"_index": "i", "_id": str(n), "text": "x" * 800} for n in range(3)]
        assert [len(each) for each in batches(actions, run(9, max_chunk_bytes=1000))] == [1, 1, 1]
        marked: list[Any] = [actions[0], BULK_FLUSH, *actions[1:]]
        assert [len(each) for each in batches(marked, run(9))] == [1, 2]

    @given(st.lists(st.sampled_from("abcd"), max_size=30), st.integers(1, 5))
    def test_nothing_is_lost_or_turned_around(self, names: list[str], size: int) -> None:
        made = list(batches(({"_index": "i", "_id": name, "text": "x"} for name in names), run(size)))
        assert [item.key.id for items in made for item in items] == names
        assert all(len({item.key.id for item in items}) == len(items) <= size for items in made)

    def test_a_time_after_which_a_batch_ends_is_refused(self) -> None:
        with pytest.raises(ValueError, match="BULK_FLUSH"):
            run(flush_after_seconds=5)


class TestResults:
    def test_later_decisions_know_no_policy(self) -> None:
        with EmbeddedIndex(":memory:", features={}) as index:
            hook = DedupHook(index, NOBODY, SourceFields("text"))
            hook.dispatcher = Inline(hook)
            with pytest.raises(ValueError, match="mark"):
                hook.process([{"_index": "i", "text": "x"}], policy="skip")


class Failed(dict[str, Any]):
    """An item that was not written, which can be watched."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def test_of_failures_that_are_only_counted_none_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = WeakSet[Failed]()

    def failures() -> Iterator[tuple[bool, dict[str, Any]]]:
        for _ in range(100):
            item = Failed(index={"status": 400})
            kept.add(item)
            yield False, item
            assert len(kept) < 3

    async def failing(*_: Any, **__: Any) -> AsyncIterator[tuple[bool, dict[str, Any]]]:
        for each in failures():
            yield each

    monkeypatch.setattr(bulk, "dedup_parallel_bulk", lambda *_, **__: failures())
    monkeypatch.setattr(bulk, "async_dedup_streaming_bulk", failing)
    assert bulk.dedup_bulk(NOBODY, [], hook=HOOK, stats_only=True) == (0, 100)
    assert asyncio.run(bulk.async_dedup_bulk(NOBODY, [], hook=HOOK, stats_only=True)) == (0, 100)
