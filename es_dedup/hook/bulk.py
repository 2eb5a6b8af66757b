"""``elasticsearch.helpers.bulk`` and ``streaming_bulk`` with the hook before the write."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from es_dedup.hook.run import BulkCounts, Run, Work, advance
from es_dedup.hook.stages import Stages
from es_dedup.index.opensearch import as_elasticsearch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from elasticsearch import Elasticsearch
    from opensearchpy import OpenSearch

    from es_dedup.hook.documents import Batch, Item
    from es_dedup.hook.hook import DedupHook
    from es_dedup.hook.report import HookReport
    from es_dedup.hook.run import BulkResult
    from es_dedup.model import WritePolicy

    Action = bytes | str | Mapping[str, Any]
    Result = tuple[bool, dict[str, Any]]

CHUNK_SIZE: Final = 500  # the helper's own default
AHEAD: Final = 1_000  # actions that a thread reads before they are wanted


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
        options: all others of the helper, and ``on_missing_content``: what to do when none of the first 100 documents has the content
            field, ``raise`` (default) or ``warn``.

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
    sender: Elasticsearch = as_elasticsearch(client)
    run = Run(hook, policy, report, chunk_size, options, sender)
    hook.cluster.check(sender)
    with hook.keep_writer_lock():
        yield from _one_by_one(sender, run, actions)


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

    Arguments and errors as ``dedup_streaming_bulk``. With policy ``mark`` threads write a batch, compare the next one, search
    candidates of the one after that and make features of the last at the same time; each is decided on only when the one
    before is written.

    Returns:
        ``(successes, errors)`` as the helper, with the attribute ``report``.
    """
    tally = BulkCounts(report, stats_only=stats_only)
    options |= {"yield_ok": True, "ignore_status": ignore_status}
    sender: Elasticsearch = as_elasticsearch(client)
    run = Run(hook, policy, tally.report, options.pop("chunk_size", CHUNK_SIZE), options, sender)
    hook.cluster.check(sender)
    with hook.keep_writer_lock():
        for ok, item in (_overlapping if run.overlaps else _one_by_one)(sender, run, actions):
            tally.add(item, ok=ok)
    return tally.result


def _one_by_one(client: Elasticsearch, run: Run, actions: Iterable[Action]) -> Iterator[Result]:
    for items in batches(actions, run):
        yield from written(client, run, items)


def _overlapping(client: Elasticsearch, run: Run, actions: Iterable[Action]) -> Iterator[Result]:
    """Several batches at once, see ``Stages``; this thread reads the actions."""
    coming, problem = batches(actions, run), None
    with Stages(run, lambda items, batch: list(written(client, run, items, batch))) as stages:
        while True:
            try:
                items = next(coming, None)
            except BaseException as error:  # noqa: BLE001 - an interrupt too: raised when what came before it is written
                problem, items = error, None
            if items is None:
                break
            stages.begin(items)
            if stages.full:
                yield from stages.finished()
        while stages.busy:
            yield from stages.finished()
    if problem is not None:
        raise problem


def batches(actions: Iterable[Action], run: Run) -> Iterator[list[Item]]:
    """Actions in batches; what has waited for ``flush_after_seconds`` becomes a batch by itself."""
    for action in actions if not run.flush_after else timed(actions, run.flush_after):
        yield from run.add(action)
    yield from run.flush()


def timed(actions: Iterable[Any], seconds: float) -> Iterator[Any]:
    """Actions as they come, read in a thread, and ``BULK_FLUSH`` after each time of ``seconds`` in which none came.

    Raises:
        Exception: the input's own error, after what came before it.
    """
    from elasticsearch.helpers import BULK_FLUSH  # noqa: PLC0415 - of an extra

    waiting: queue.Queue[tuple[str, Any]] = queue.Queue(AHEAD)
    stop = threading.Event()

    def read() -> None:
        try:
            for action in actions:
                waiting.put(("action", action))
                if stop.is_set():
                    return
        except Exception as error:  # noqa: BLE001 - raised where the actions are wanted
            waiting.put(("error", error))
        else:
            waiting.put(("end", None))

    threading.Thread(target=read, daemon=True, name="es-dedup-actions").start()
    try:
        while True:
            try:
                kind, value = waiting.get(timeout=seconds)
            except queue.Empty:
                yield BULK_FLUSH
                continue
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stop.set()
        with suppress(queue.Empty):
            waiting.get_nowait()


def written(
    client: Elasticsearch, run: Run, items: list[Item], batch: Batch | None = None
) -> Iterator[Result]:
    """Perform the steps of ``Run.writing``; gives the results."""
    from elasticsearch.helpers import streaming_bulk  # noqa: PLC0415 - of an extra

    plan, answer, error = run.writing(items, batch), None, None
    while (step := advance(plan, answer, error)) is not None:
        answer, error = None, None
        if isinstance(step, tuple):
            yield step
            continue
        try:
            if isinstance(step, Work):
                answer = step.call()
            else:
                time.sleep(step.pause)
                for result in streaming_bulk(client, step.actions, **run.helper_options):
                    step.results.append(result)
        except BaseException as problem:  # noqa: BLE001 - an interrupt too: the plan says what follows, and raises it
            error = problem
