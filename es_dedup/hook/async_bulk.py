"""The bulk helpers for ``AsyncElasticsearch``: the hook works in a thread, one batch at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Any, TypeVar

from es_dedup.errors import DuplicatePage
from es_dedup.hook.bulk import until
from es_dedup.hook.run import BulkCounts, Run, take
from es_dedup.index.opensearch import as_elasticsearch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping

    from elasticsearch import AsyncElasticsearch
    from opensearchpy import AsyncOpenSearch

    from es_dedup.hook.documents import Item
    from es_dedup.hook.hook import DedupHook
    from es_dedup.hook.report import HookReport
    from es_dedup.hook.run import Answer, BulkResult, Sent
    from es_dedup.model import WritePolicy

    Action = bytes | str | Mapping[str, Any]
    Actions = Iterable[Action] | AsyncIterable[Action]
    Result = tuple[bool, dict[str, Any]]

T = TypeVar("T")


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
    """Write a batch, and what it left out because of documents that then failed."""
    for part, features in await _in_thread(run.parts, items):
        waiting, made = part, features
        while waiting:
            try:
                batch = await _in_thread(run.prepare, waiting, made)
            except DuplicatePage as duplicate:
                if before := until(waiting, duplicate):
                    async for result in _written(client, run, before):
                        yield result
                raise
            except asyncio.CancelledError:
                await _in_thread(run.withdraw, waiting)
                raise
            answers: list[Answer] = []
            try:
                await _send(client, run, run.actions(batch), answers)
                await _send(client, run, run.withdrawals(batch, answers), answers)
            except BaseException:  # a cancelled task too
                await _in_thread(run.lost, batch, answers)
                raise
            again = await _in_thread(run.finish, batch, answers)
            for result in run.results(batch, answers, again):
                yield result
            waiting, made = again, None
    run.raise_errors(items)


async def _in_thread(call: Callable[..., T], *given: Any) -> T:
    """The result of a call in a thread.

    A cancelled task waits for the end of the call: the hook serves one thread at a time, and only then is known what to undo.
    """
    running = asyncio.ensure_future(asyncio.to_thread(call, *given))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # retrieved: the caller gets the cancellation
        raise


async def _send(client: AsyncElasticsearch, run: Run, actions: list[Sent], answers: list[Answer]) -> None:
    """As ``_send`` of ``es_dedup.hook.bulk``."""
    from elasticsearch.helpers import async_streaming_bulk  # noqa: PLC0415 - of an extra

    for pause, repeated in run.attempts():
        if not actions:
            return
        await asyncio.sleep(pause)
        coming = async_streaming_bulk(client, [action for _, action in actions], **run.helper_options)
        sent, actions = iter(actions), []
        async for result in coming:
            take(next(sent), result, repeated, actions, answers)


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
