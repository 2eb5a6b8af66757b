"""The bulk helpers for ``AsyncElasticsearch``: the hook works in a thread, one batch at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Any

from es_dedup.hook.run import Run, Tally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from elasticsearch import AsyncElasticsearch

    from es_dedup.hook.documents import Item
    from es_dedup.hook.hook import DedupHook
    from es_dedup.hook.report import HookReport
    from es_dedup.hook.run import BulkResult
    from es_dedup.model import WritePolicy

    Action = bytes | str | Mapping[str, Any]
    Actions = Iterable[Action] | AsyncIterable[Action]


async def async_dedup_streaming_bulk(
    client: AsyncElasticsearch,
    actions: Actions,
    chunk_size: int = 500,
    *,
    hook: DedupHook,
    policy: WritePolicy | str = "mark",
    report: HookReport | None = None,
    **options: Any,
) -> AsyncIterator[tuple[bool, dict[str, Any]]]:
    """``dedup_streaming_bulk`` for an asynchronous client; ``actions`` may be an asynchronous iterable.

    Arguments, results and errors are those of ``dedup_streaming_bulk``. The hook has a connection of its own and works
    in a thread, so that the event loop is never blocked.
    """
    from elasticsearch.helpers import expand_action  # noqa: PLC0415 - of an extra

    run = Run(hook, policy, report, chunk_size, options, expand_action)
    async for items in _batches(actions, run):
        waiting = [items]
        while waiting:
            for result in await _write(client, run, waiting.pop(), waiting):
                yield result


async def async_dedup_bulk(
    client: AsyncElasticsearch,
    actions: Actions,
    stats_only: bool = False,  # noqa: FBT001, FBT002 - the helper's own signature
    *,
    hook: DedupHook,
    policy: WritePolicy | str = "mark",
    report: HookReport | None = None,
    **options: Any,
) -> BulkResult:
    """``dedup_bulk`` for an asynchronous client; arguments, result and errors are the same."""
    tally = Tally(report, stats_only=stats_only)
    options["yield_ok"] = True
    stream = async_dedup_streaming_bulk(
        client, actions, hook=hook, policy=policy, report=tally.report, **options
    )
    async for ok, item in stream:
        tally.add(item, ok=ok)
    return tally.result


async def _write(
    client: AsyncElasticsearch, run: Run, items: list[Item], waiting: list[list[Item]]
) -> list[tuple[bool, dict[str, Any]]]:
    from elasticsearch.helpers import async_streaming_bulk  # noqa: PLC0415 - of an extra

    batch = await asyncio.to_thread(run.prepare, items)
    results: list[tuple[bool, dict[str, Any]]] = []
    try:
        async for result in async_streaming_bulk(client, run.actions(batch), **run.helper_options):
            results.append(result)  # noqa: PERF401 - those before an error are needed
    except BaseException:  # a cancelled task too
        await asyncio.shield(asyncio.to_thread(run.lost, batch, results))
        raise
    again = await asyncio.to_thread(run.finish, batch, results)
    if again:
        waiting.append(again)
    return run.results(batch, results, again)


async def _batches(actions: Actions, run: Run) -> AsyncIterator[list[Item]]:
    async for action in _each(actions, run.flush_after):
        for items in run.add(action):
            yield items
    for items in run.flush():
        yield items


async def _each(actions: Actions, seconds: float | None) -> AsyncIterator[Any]:
    """Actions as they come, and a mark after each time of ``seconds`` in which none came."""
    if not isinstance(actions, AsyncIterable):
        for action in actions:
            yield action
        return
    if not seconds:
        async for action in actions:
            yield action
        return
    source = aiter(actions)
    while True:
        coming = asyncio.ensure_future(anext(source))
        try:
            while not (await asyncio.wait({coming}, timeout=seconds))[0]:
                yield None
        except BaseException:
            coming.cancel()
            raise
        try:
            yield coming.result()
        except StopAsyncIteration:
            return
