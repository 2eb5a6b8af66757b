"""The bulk helpers of the Elasticsearch client with the hook before the write: synchronous, in threads, and asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from concurrent import futures
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from es_dedup.hook.report import HookReport
from es_dedup.hook.run import BulkResult, Run
from es_dedup.hook.stages import MOST, Stages
from es_dedup.index.opensearch import as_elasticsearch
from es_dedup.model import WritePolicy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from elasticsearch import AsyncElasticsearch, Elasticsearch
    from opensearchpy import AsyncOpenSearch, OpenSearch

    from es_dedup.hook.documents import Item
    from es_dedup.hook.hook import DedupHook
    from es_dedup.hook.run import Send

    Action = bytes | str | Mapping[str, Any]
    Result = tuple[bool, dict[str, Any]]

LOOK_SECONDS: Final = 1.0  # between looks whether the event loop still runs


def dedup_streaming_bulk(
    client: Elasticsearch | OpenSearch,
    actions: Iterable[Action],
    chunk_size: int = 500,
    *,
    hook: DedupHook,
    policy: WritePolicy | str = "mark",
    report: HookReport | None = None,
    **options: Any,
) -> Iterator[tuple[bool, dict[str, Any]]]:
    """``elasticsearch.helpers.streaming_bulk`` whose documents are decided on before they are written.

    Args:
        client: writes the documents.
        actions: as the helper takes them, read lazily, one batch at a time. The policy is for ``index`` and ``create``;
            documents that are updated or deleted are read again after the write, and their clusters repaired.
        chunk_size: documents of a batch.
        hook: decides; with a dispatcher, documents get the relation ``pending`` and are decided on later.
        policy: ``mark`` (default), ``skip``, ``overwrite`` or ``fail``.
        report: counts and decisions are added to it.
        options: all others of the helper but ``flush_after_seconds``, and ``on_missing_content``: what to do when none of the first 100
            documents has the content field, ``raise`` (default) or ``warn``.

    Yields:
        What the helper yields. A result of a document also has ``dedup``, its decision with the evidence; the result of
        one that the policy left out is ``(True, {operation: {"result": "skipped", …}})``.

    Raises:
        DuplicatePage: policy ``fail``, and a document is a duplicate; nothing of its batch is written.
        BulkIndexError, ApiError, TransportError: as the helper, after its batch was repaired. Items with status 429 are
            repeated ``max_retries`` times also where the helper would raise at once.
        ContentMissing: none of the first 100 documents has the content field; nothing was written.
        OtherCluster: the client writes to another cluster than the hook; nothing was written.
        ValueError: an action names no index, or its body is no object.
    """
    return dedup_parallel_bulk(
        client, actions, 1, chunk_size, hook=hook, policy=policy, report=report, **options
    )


def dedup_parallel_bulk(
    client: Elasticsearch | OpenSearch,
    actions: Iterable[Action],
    thread_count: int = 4,
    chunk_size: int = 500,
    *,
    hook: DedupHook,
    policy: WritePolicy | str = "mark",
    report: HookReport | None = None,
    **options: Any,
) -> Iterator[tuple[bool, dict[str, Any]]]:
    """``elasticsearch.helpers.parallel_bulk`` whose documents are decided on before they are written.

    With policy ``mark`` threads write a batch, compare the next one, search candidates of the one after that and make features of the last
    at the same time; each is decided on only when the one before is written, so the result is that of ``dedup_streaming_bulk``. Other policies
    take one batch at a time.

    Args:
        client, actions, chunk_size, hook, policy, report, options: as ``dedup_streaming_bulk``; ``queue_size`` of the helper has no effect.
        thread_count: batches that are under way at once, at least 1; of more than 4 there are 4.

    Yields:
        What ``dedup_streaming_bulk`` yields, in order.

    Raises:
        DuplicatePage, BulkIndexError, ApiError, TransportError, ContentMissing, OtherCluster: as ``dedup_streaming_bulk``.
        ValueError: fewer than one thread, or as ``dedup_streaming_bulk``.
    """
    if thread_count < 1:
        raise ValueError("thread_count must be at least 1")
    options.pop("queue_size", None)
    sender: Elasticsearch = as_elasticsearch(client)
    run = Run(hook, policy, report, chunk_size, options, sender)
    hook.cluster.check(sender)
    with hook.keep_writer_lock():
        if run.policy is WritePolicy.MARK and thread_count > 1:  # the others have to see what was written
            yield from _overlapping(sender, run, actions, min(thread_count, MOST))
            return
        send = _sender(sender, run)
        for items in batches(actions, run):
            yield from run.written(items, send)


def dedup_bulk(
    client: Elasticsearch | OpenSearch,
    actions: Iterable[Action],
    stats_only: bool = False,  # noqa: FBT001, FBT002 - the helper's own signature
    ignore_status: int | Collection[int] = (),
    *,
    hook: DedupHook,
    policy: WritePolicy | str = "mark",
    report: HookReport | None = None,
    **options: Any,
) -> BulkResult:
    """``elasticsearch.helpers.bulk`` whose documents are decided on before they are written.

    Arguments and errors as ``dedup_streaming_bulk``, batches as ``dedup_parallel_bulk``.

    Returns:
        ``(successes, errors)`` as the helper, with the attribute ``report``.
    """
    report = HookReport() if report is None else report
    options |= {"yield_ok": True, "ignore_status": ignore_status}
    successes, failed, errors = 0, 0, list[dict[str, Any]]()
    for ok, item in dedup_parallel_bulk(client, actions, hook=hook, policy=policy, report=report, **options):
        successes, failed = successes + ok, failed + (not ok)
        errors += () if ok or stats_only else (item,)
    return BulkResult(successes, failed if stats_only else errors, report)


async def async_dedup_streaming_bulk(
    client: AsyncElasticsearch | AsyncOpenSearch,
    actions: Iterable[Action] | AsyncIterable[Action],
    chunk_size: int = 500,
    *,
    hook: DedupHook,
    policy: WritePolicy | str = "mark",
    report: HookReport | None = None,
    **options: Any,
) -> AsyncIterator[tuple[bool, dict[str, Any]]]:
    """``dedup_streaming_bulk`` for an asynchronous client; ``actions`` may be an asynchronous iterable.

    Arguments, results and errors are those of ``dedup_streaming_bulk``. The hook has a connection of its own and works
    in a thread, so that the event loop is never blocked; results of a batch come when it is written. A task that is cancelled ends after
    the request under way; what was not written then has no features.
    """
    sender: AsyncElasticsearch = as_elasticsearch(client)
    run = Run(hook, policy, report, chunk_size, options, sender)
    loop = asyncio.get_running_loop()

    def wait(answer: Any) -> Any:
        asked = asyncio.run_coroutine_threadsafe(answer, loop)
        while not futures.wait([asked], LOOK_SECONDS).done:
            if not loop.is_running():
                asked.cancel()
        return asked.result()

    send = _async_sender(sender, run, wait)
    # of its own: in the loop's pool, calls would take the threads that resolve the host names of what they send
    pool = futures.ThreadPoolExecutor(1, thread_name_prefix="es-dedup-hook")
    try:
        await _in_thread(pool, partial(hook.cluster.check, sender, wait), run)
        async for items in _async_batches(actions, run):
            results: list[Result] = []
            problem = await _in_thread(pool, partial(_collect, run.written(items, send), results), run)
            for result in results:
                yield result
            if problem is not None:
                raise problem
    finally:
        pool.shutdown(wait=False)


async def async_dedup_bulk(
    client: AsyncElasticsearch | AsyncOpenSearch,
    actions: Iterable[Action] | AsyncIterable[Action],
    stats_only: bool = False,  # noqa: FBT001, FBT002 - the helper's own signature
    ignore_status: int | Collection[int] = (),
    *,
    hook: DedupHook,
    policy: WritePolicy | str = "mark",
    report: HookReport | None = None,
    **options: Any,
) -> BulkResult:
    """``dedup_bulk`` for an asynchronous client; arguments, result and errors are the same."""
    report = HookReport() if report is None else report
    options |= {"yield_ok": True, "ignore_status": ignore_status}
    successes, failed, errors = 0, 0, list[dict[str, Any]]()
    async for ok, item in async_dedup_streaming_bulk(
        client, actions, hook=hook, policy=policy, report=report, **options
    ):
        successes, failed = successes + ok, failed + (not ok)
        errors += () if ok or stats_only else (item,)
    return BulkResult(successes, failed if stats_only else errors, report)


def _overlapping(client: Elasticsearch, run: Run, actions: Iterable[Action], most: int) -> Iterator[Result]:
    """Several batches at once, see ``Stages``; this thread reads the actions."""
    coming, problem = batches(actions, run), None
    send = _sender(client, run)
    with Stages(run, lambda items, batch: list(run.written(items, send, batch))) as stages:
        while True:
            try:
                items = next(coming, None)
            except BaseException as error:  # noqa: BLE001 - an interrupt too: raised when what came before it is written
                problem, items = error, None
            if items is None:
                break
            stages.begin(items)
            if stages.under_way >= most:
                yield from stages.finished()
        while stages.under_way:
            yield from stages.finished()
    if problem is not None:
        raise problem


def batches(actions: Iterable[Action], run: Run) -> Iterator[list[Item]]:
    """Actions in batches."""
    for action in actions:
        yield from run.add(action)
    yield from run.flush()


async def _async_batches(
    actions: Iterable[Action] | AsyncIterable[Action], run: Run
) -> AsyncIterator[list[Item]]:
    if not isinstance(actions, AsyncIterable):
        for items in batches(actions, run):
            yield items
        return
    async for action in actions:
        for items in run.add(action):
            yield items
    for items in run.flush():
        yield items


def _sender(client: Elasticsearch, run: Run) -> Send:
    """Writes by the client's helper."""
    from elasticsearch.helpers import streaming_bulk  # noqa: PLC0415 - of an extra

    return lambda actions: streaming_bulk(client, actions, **run.helper_options)


def _async_sender(client: AsyncElasticsearch, run: Run, wait: Callable[[Any], Any]) -> Send:
    """Writes by the client's helper in the running loop, for another thread."""
    from elasticsearch.helpers import async_streaming_bulk  # noqa: PLC0415 - of an extra

    async def sent(actions: Sequence[Any], results: list[Result]) -> None:
        async for result in async_streaming_bulk(client, actions, **run.helper_options):
            results.append(result)  # noqa: PERF401 - those before an error count

    def send(actions: Sequence[Any]) -> Iterator[Result]:
        results: list[Result] = []
        try:
            wait(sent(actions, results))
        finally:
            yield from results

    return send


def _collect(given: Iterator[Result], results: list[Result]) -> Exception | None:
    """Append results; the error that has ended them."""
    try:
        for result in given:
            results.append(result)  # noqa: PERF402 - those before an error count
    except Exception as error:  # noqa: BLE001 - raised when the results before it are given
        return error
    return None


async def _in_thread(pool: futures.Executor, call: Callable[[], Any], run: Run) -> Any:
    """The result of a call in a thread.

    A cancelled task waits for the end of the request under way: only then is known what to undo.
    """
    running = asyncio.get_running_loop().run_in_executor(pool, copy_context().run, call)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        run.stop.set()
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # retrieved: the caller gets the cancellation
        raise
