"""Several batches of ``dedup_bulk`` under way at once, on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from elasticsearch.helpers import BulkIndexError

from es_dedup import Deduplicator
from es_dedup.hook import DedupHook, HookReport, dedup_bulk
from es_dedup.hook.documents import item_of
from es_dedup.model import WritePolicy
from es_dedup.settings import Settings
from tests.hooked import FIELDS, STORIES, action_of, clusters, dedup_fields, five, until_written
from tests.proxy import Proxy
from tests.samples import story

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elasticsearch import Elasticsearch

    from es_dedup.hook.documents import Batch, Item


def batch_of(name: str, number: int, page: str | None = None) -> list[Item]:
    action = action_of(story(number, page), name)
    return [item_of({"index": {"_index": name, "_id": action["_id"]}}, action["_source"], {})]


def write(hook: DedupHook, client: Elasticsearch, batch: Batch, name: str) -> None:
    for item in batch:
        client.index(index=name, id=item.key.id, document=item.document)
    hook.finish(batch)


def taken_out(address: str, number: int) -> None:
    """As a job does with pages that have no document."""
    with Deduplicator.open(address) as other:
        assert other.remove([f"{address.rpartition('/')[2]}/story-{number}"]).removed


class TestTakenOut:
    """Features of documents that are not written yet are taken for pages of deleted documents."""

    def test_before_the_batch_before_is_decided_on(
        self, hook: DedupHook, address: str, client: Elasticsearch, name: str
    ) -> None:
        batches, report = [batch_of(name, n) for n in range(3)], HookReport()
        for items in batches[:1]:
            write(hook, client, hook.prepare(items, WritePolicy.MARK, report), name)
        found = [hook.prefetch(items) for items in batches[1:]]
        taken_out(address, 2)
        for items, prefetched in zip(batches[1:], found, strict=True):
            seen = hook.compare(prefetched)
            batch = hook.prepare(items, WritePolicy.MARK, report, prefetched=seen)
            write(hook, client, batch, name)
        assert report.outcomes == {"unique": 3}
        names = {f"{name}/story-{n}" for n in range(3)}
        assert hook._index.get_many(names).keys() == hook._index.assignments(names).keys() == names

    def test_between_decision_and_write(
        self, hook: DedupHook, address: str, client: Elasticsearch, name: str
    ) -> None:
        batch = hook.prepare(batch_of(name, 1), WritePolicy.MARK, HookReport())
        taken_out(address, 1)
        write(hook, client, batch, name)
        names = {f"{name}/story-1"}
        assert hook._index.get_many(names).keys() == hook._index.assignments(names).keys() == names
        assert clusters(client, name) == {frozenset({"story-1"})}

    def test_by_a_batch_that_is_found_again_after_the_next_one(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        """As after a rollover: its search sees the copy, whose document is yet to be written."""
        batches = [batch_of(name, 1), batch_of(name, 1, "copy")]
        prefetched = hook.prefetch(batches[1])
        write(hook, client, hook.prepare(batches[0], WritePolicy.MARK, HookReport()), name)
        batch = hook.prepare(batches[1], WritePolicy.MARK, HookReport(), prefetched=hook.compare(prefetched))
        write(hook, client, batch, name)
        assert clusters(client, name) == {frozenset({"story-1", "copy"})}
        assert hook._index.get_many([f"{name}/copy"])


class TestStages:
    """While a batch is decided on and written the next ones are looked at."""

    def test_many_batches_have_the_clusters_of_one(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        copies = [action_of(story(n % 7, f"copy-{n:02}", day=2 + n % 9), name) for n in range(30)]
        dedup_bulk(client, [*(action_of(story(n), name) for n in range(7)), *copies], hook=hook, chunk_size=4)
        groups = [{f"story-{n}", *(f"copy-{m:02}" for m in range(30) if m % 7 == n)} for n in range(7)]
        assert clusters(client, name) == set(map(frozenset, groups))

    def test_a_batch_that_was_looked_at_and_never_written_is_taken_back(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        client.indices.create(index=name, mappings={"properties": {"count": {"type": "integer"}}})
        actions = five(name)
        actions[1]["_source"]["count"] = "no number"
        with pytest.raises(BulkIndexError):
            dedup_bulk(client, actions, hook=hook, chunk_size=2)
        assert set(dedup_fields(client, name)) == {"story-0"}
        names = [f"{name}/{action['_id']}" for action in actions]
        assert hook._index.get_many(names).keys() == {f"{name}/story-0"}
        assert clusters(client, name) == {frozenset({"story-0"})}

    def test_a_store_that_fails_meanwhile_leaves_that_batch_undecided(
        self, address: str, client: Elasticsearch, name: str
    ) -> None:
        place = urlsplit(address)
        impatient = Settings.model_validate({"elastic": {"retry_seconds": 0}})
        with (
            Proxy(place.hostname or "", place.port or 9200) as proxy,
            DedupHook.open(f"{proxy.url}{place.path}", FIELDS, settings=impatient) as hook,
        ):
            report = HookReport()

            def actions() -> Iterator[dict[str, Any]]:
                yield from five(name)[:3]
                until_written(report)
                proxy.refusing = True
                yield from five(name)[3:]

            dedup_bulk(client, actions(), hook=hook, report=report, chunk_size=3)
            assert report.outcomes == {"unique": 3, "inconclusive": 2}
            assert report.written == 5
            proxy.refusing = False
            hook.recheck(name)
        assert clusters(client, name) == STORIES
