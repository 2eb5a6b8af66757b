"""Asynchronous bulk calls beside each other, and such as are cancelled in the middle: features and documents agree afterwards."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from es_dedup.hook import async_dedup_bulk, dedup_bulk
from tests.hooked import action_of, dedup_fields, five
from tests.samples import story
from tests.servers import async_client_of

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

    from es_dedup.hook import DedupHook

STEP_SECONDS = 0.02  # between the moments of cancellation: before, during and after each request of a batch


def url_of(client: Elasticsearch, host: str = "") -> str:
    node = client.transport.node_pool.get().config
    return f"{node.scheme}://{host or node.host}:{node.port}"


def agree(hook: DedupHook, client: Elasticsearch, name: str) -> bool:
    """Whether exactly the documents have features."""
    hook._index.refresh()
    stored = {record.page_id.partition("/")[2] for batch in hook._index.scan() for record in batch}
    return stored == dedup_fields(client, name).keys()


def test_simultaneous_calls_leave_threads_for_others(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    async def call(number: int) -> tuple[int, object]:
        async with async_client_of(url_of(client, "localhost")) as aclient:  # a name is resolved in a thread
            action = action_of(story(number), name)
            return tuple(await async_dedup_bulk(aclient, [action], hook=hook))

    async def calls() -> list[tuple[int, object]]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        return await asyncio.wait_for(asyncio.gather(*map(call, range(4))), 20)

    assert asyncio.run(calls()) == [(1, [])] * 4


def test_a_task_that_is_cancelled_before_a_repetition_ends_at_once(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    async def run() -> float:
        actions = [action_of(story(n), name) for n in range(3)]
        actions[1]["_source"]["site"] = {"no": "text"}
        options: dict[str, Any] = {"retry_on_status": 400, "max_retries": 3, "initial_backoff": 30}
        async with async_client_of(url_of(client)) as aclient:
            task = asyncio.ensure_future(async_dedup_bulk(aclient, actions, hook=hook, **options))
            for _ in range(200):
                await asyncio.sleep(0.1)
                if client.exists(index=name, id="story-2"):
                    break
            await asyncio.sleep(0.5)  # it pauses now
            began = time.monotonic()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            return time.monotonic() - began

    dedup_bulk(client, five(name)[3:], hook=hook)
    assert asyncio.run(run()) < 10
    assert agree(hook, client, name)


def test_a_cancelled_task_leaves_no_features_without_a_document(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    async def run(at: int) -> None:
        actions = [action_of(story(n, f"at-{at}-{n}"), name) for n in range(6)]
        async with async_client_of(url_of(client)) as aclient:
            task = asyncio.ensure_future(async_dedup_bulk(aclient, actions, hook=hook))
            await asyncio.sleep(STEP_SECONDS * at)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    dedup_bulk(client, five(name), hook=hook)
    for at in range(12):
        asyncio.run(run(at))
        assert agree(hook, client, name), f"cancelled after {STEP_SECONDS * at:.2f} s"
