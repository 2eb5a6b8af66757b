"""Bulk calls that are cancelled in the middle: features and documents agree afterwards."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from es_dedup.hook import async_dedup_bulk, dedup_bulk
from tests.hooked import action_of, dedup_fields, five
from tests.samples import story
from tests.servers import async_client_of

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

    from es_dedup.hook import DedupHook

STEP_SECONDS = 0.02  # between the moments of cancellation: before, during and after each request of a batch


def test_a_cancelled_task_leaves_no_features_without_a_document(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    async def run(at: int) -> None:
        actions = [action_of(story(n, f"at-{at}-{n}"), name) for n in range(6)]
        async with async_client_of(url) as aclient:
            task = asyncio.ensure_future(async_dedup_bulk(aclient, actions, hook=hook))
            await asyncio.sleep(STEP_SECONDS * at)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    node = client.transport.node_pool.get().config
    url = f"{node.scheme}://{node.host}:{node.port}"
    dedup_bulk(client, five(name), hook=hook)
    for at in range(12):
        asyncio.run(run(at))
        hook._index.refresh()
        stored = {record.page_id.partition("/")[2] for batch in hook._index.scan() for record in batch}
        assert stored == dedup_fields(client, name).keys(), f"cancelled after {STEP_SECONDS * at:.2f} s"
