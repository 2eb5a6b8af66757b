"""How many requests the hook sends for a batch of new documents, some of them copies of stored ones."""

from __future__ import annotations

import statistics
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from elastic_transport import Transport

from es_dedup.hook import dedup_bulk
from tests.hooked import action_of
from tests.samples import story

if TYPE_CHECKING:
    import pytest
    from elasticsearch import Elasticsearch

    from es_dedup.hook import DedupHook

MOST = 9
BATCH = 10
BATCHES = 8


def test_a_batch_takes_few_requests(
    hook: DedupHook, client: Elasticsearch, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features, frequencies, candidates, records, clusters around them, clusters, facts of the index, documents, fields of others."""
    asked: list[str] = []
    ends: list[int] = []
    ask, finish = Transport.perform_request, hook.finish

    def counted(self: Transport, method: str, target: str, **more: Any) -> Any:
        asked.append(f"{method} {target}")
        return ask(self, method, target, **more)

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
    monkeypatch.setattr(Transport, "perform_request", counted)
    monkeypatch.setattr(hook, "finish", finished)
    report = dedup_bulk(client, actions, hook=hook, chunk_size=BATCH).report
    assert report.outcomes["duplicate"] == BATCHES
    each = [after - before for before, after in pairwise(ends)]
    assert statistics.median(each) <= MOST, asked[ends[0] : ends[1]]
