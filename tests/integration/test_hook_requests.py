"""How many requests a batch of new documents takes through the hook, some of them copies of stored ones, and how many a check."""

from __future__ import annotations

import statistics
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from elastic_transport import Transport

from es_dedup import Deduplicator, Settings
from es_dedup.deduplicator import index_reader
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.model.batches import chunked
from tests.hooked import FIELDS, action_of, dedup_fields
from tests.samples import story
from tests.servers import empty

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elasticsearch import Elasticsearch

MOST = 10
MOST_OF_A_CHECK = 4
MOST_OF_A_CALL = 10
BATCH = 10
BATCHES = 8


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Requests that are sent, but for touches of the lock: these come every two seconds, on a slow machine in each batch."""
    found: list[str] = []
    ask = Transport.perform_request

    def counted(self: Transport, method: str, target: str, **more: Any) -> Any:
        if threading.current_thread().name != "es-dedup-lock":
            found.append(f"{method} {target}")
        return ask(self, method, target, **more)

    monkeypatch.setattr(Transport, "perform_request", counted)
    return found


@pytest.fixture
def hook(address: str, client: Elasticsearch, name: str) -> Iterator[DedupHook]:
    """A hook whose pages searches never see by themselves: after a refresh, which on a slow machine comes in each batch, some searches are repeated."""
    with DedupHook.open(
        address, FIELDS, settings=Settings.model_validate({"elastic": {"refresh": "-1"}})
    ) as hook:
        yield hook
    empty(address)
    client.indices.delete(index=name, ignore_unavailable=True)


def test_a_batch_takes_few_requests(
    hook: DedupHook, client: Elasticsearch, name: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features, frequencies, candidates, their features, records of related ones, clusters around them, clusters, facts of the index, documents, fields of others."""
    ends: list[int] = []
    finish = hook.finish

    def finished(*given: Any, **more: Any) -> Any:
        again = finish(*given, **more)
        ends.append(len(asked))
        return again

    dedup_bulk(client, [action_of(story(number), name) for number in range(BATCH)], hook=hook)
    actions = []
    for number in range(BATCH * BATCHES):
        copied = number % BATCH == 0  # one of each batch
        page = story(number // BATCH, f"copy-{number}", day=2) if copied else story(BATCH + number)
        actions.append(action_of(page, name))
    asked.clear()
    monkeypatch.setattr(hook, "finish", finished)
    report = dedup_bulk(client, actions, hook=hook, chunk_size=BATCH).report
    assert report.outcomes["duplicate"] == BATCHES
    each = [after - before for before, after in pairwise(ends)]
    assert statistics.median(each) <= MOST, asked[ends[0] : ends[1]]


def test_a_check_takes_four_requests(
    hook: DedupHook,
    client: Elasticsearch,
    address: str,
    name: str,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Frequencies, candidates, their features, and the clusters of related ones with the decisions of people."""
    monkeypatch.setattr(index_reader, "STATISTICS_SECONDS", 60)
    dedup_bulk(client, [action_of(story(number), name) for number in range(BATCH)], hook=hook)
    with Deduplicator.open(address) as dedup:
        dedup.check(story(0, "first"))  # reads the statistics
        asked.clear()
        assert dedup.check(story(1, "copy", day=2)).duplicate_of == f"{name}/story-1"
        assert len(asked) == MOST_OF_A_CHECK, asked


def test_a_growing_cluster_leaves_its_copies_as_they_are(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    count = 60
    actions = [action_of(story(0, f"copy-{number}", day=1 + number % 28), name) for number in range(count)]
    for some in chunked(actions, BATCH):
        dedup_bulk(client, some, hook=hook)
    written = client.indices.stats(index=name)["_all"]["total"]["indexing"]
    calls = count // BATCH
    assert (written["index_total"], written["noop_update_total"]) == (count + calls - 1, 0)
    found = dedup_fields(client, name)
    assert {each: found[each]["cluster_size"] for each in found if "cluster_size" in found[each]} == {
        "copy-0": count
    }


def test_an_addition_and_an_override_take_ten_requests(
    address: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lock, notes, features, frequencies, candidates, their features, records, clusters around, clusters, lock.

    Of an override: records, lock, notes, records with clusters, clusters around, the override, clusters, refresh, lock.
    """
    monkeypatch.setattr(index_reader, "STATISTICS_SECONDS", 60)
    with Deduplicator.open(
        address, settings=Settings.model_validate({"elastic": {"refresh": "-1"}})
    ) as dedup:
        dedup.add_many(story(number) for number in range(BATCH))
        dedup.add(story(BATCH))
        asked.clear()
        assert dedup.add(story(3, "copy", day=3)).duplicate_of == "story-3"
        assert len(asked) <= MOST_OF_A_CALL, asked
        asked.clear()
        assert "copy" in dedup.override_different("copy", "story-3", reason="r", author="a").changed
        assert len(asked) <= MOST_OF_A_CALL, asked
    empty(address)
