"""The bulk helpers for ``AsyncElasticsearch``: the hook works in a thread, one batch at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Any

from es_dedup.hook.run import BulkCounts, Run, Work, advance
from es_dedup.index.opensearch import as_elasticsearch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping

    from elasticsearch import AsyncElasticsearch
    from opensearchpy import AsyncOpenSearch

    from es_dedup.hook.documents import Item
    from es_dedup.hook.hook import DedupHook
    from es_dedup.hook.report import HookReport
    from es_dedup.hook.run import BulkResult
    from es_dedup.model import WritePolicy

    Action = bytes | str | Mapping[str, Any]
    Actions = Iterable[Action] | AsyncIterable[Action]
    Result = tuple[bool, dict[str, Any]]


async def async_dedup_streaming_bulk(
    client: AsyncElasticsearch | AsyncOpenSearch,
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
    sender: AsyncElasticsearch = as_elasticsearch(client)
    run = Run(hook, policy, report, chunk_size, options, sender)
    await hook.cluster.check_async(sender)
    async for items in _batches(actions, run):
        async for result in _written(sender, run, items):
            yield result


async def async_dedup_bulk(
    client: AsyncElasticsearch | AsyncOpenSearch,
    actions: Actions,
    stats_only: bool = False,  # noqa: FBT001, FBT002 - the helper's own signature
    ignore_status: int | Collection[int] = (),
    *,
    hook: DedupHook,
    policy: WritePolicy | str = "mark",
    report: HookReport | None = None,
    **options: Any,
) -> BulkResult:
    """``dedup_bulk`` for an asynchronous client; arguments, result and errors are the same."""
    tally = BulkCounts(report, stats_only=stats_only)
    options |= {"yield_ok": True, "ignore_status": ignore_status}
    stream = async_dedup_streaming_bulk(
        client, actions, hook=hook, policy=policy, report=tally.report, **options
    )
    async for ok, item in stream:
        tally.add(item, ok=ok)
    return tally.result


async def _written(client: AsyncElasticsearch, run: Run, items: list[Item]) -> AsyncIterator[Result]:
    """Perform the steps of ``Run.writing``; gives the results."""
    from elasticsearch.helpers import async_streaming_bulk  # noqa: PLC0415 - of an extra

    plan, answer, error = run.writing(items), None, None
    while (step := advance(plan, answer, error)) is not None:
        answer, error = None, None
        if isinstance(step, tuple):
            yield step
            continue
        try:
            if isinstance(step, Work):
                answer = await _in_thread(step.call)
            else:
                await asyncio.sleep(step.pause)
                async for result in async_streaming_bulk(client, step.actions, **run.helper_options):
                    step.results.append(result)
        except BaseException as problem:  # noqa: BLE001 - a cancelled task too: the plan says what follows, and raises it
            error = problem


async def _in_thread(call: Callable[[], Any]) -> Any:
    """The result of a call in a thread.

    A cancelled task waits for the end of the call: the hook serves one thread at a time, and only then is known what to undo.
    """
    running = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # retrieved: the caller gets the cancellation
        raise


async def _batches(actions: Actions, run: Run) -> AsyncIterator[list[Item]]:
    async for action in _each(actions, run.flush_after):
        for items in run.add(action):
            yield items
    for items in run.flush():
        yield items


async def _each(actions: Actions, seconds: float | None) -> AsyncIterator[Any]:
    """Actions as they come, and ``BULK_FLUSH`` after each time of ``seconds`` in which none came."""
    from elasticsearch.helpers import BULK_FLUSH  # noqa: PLC0415 - of an extra

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
                yield BULK_FLUSH
        except BaseException:
            coming.cancel()
            raise
        try:
            yield coming.result()
        except StopAsyncIteration:
            return
