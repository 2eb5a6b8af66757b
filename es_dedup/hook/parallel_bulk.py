"""``elasticsearch.helpers.parallel_bulk`` with a hook in each thread."""

from __future__ import annotations

import queue
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, Final

from es_dedup.hook.bulk import batches, written
from es_dedup.hook.report import HookReport
from es_dedup.hook.run import Run
from es_dedup.index.opensearch import as_elasticsearch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from concurrent.futures import Future

    from elasticsearch import Elasticsearch
    from opensearchpy import OpenSearch

    from es_dedup.hook.documents import Item
    from es_dedup.hook.hook import DedupHook
    from es_dedup.model import WritePolicy

    Action = bytes | str | Mapping[str, Any]
    Result = tuple[bool, dict[str, Any]]
    Chunk = list[list[Item]]
    Outcome = tuple[list[Result], HookReport, BaseException | None]

QUEUE_SIZE: Final = 4  # the helper's own default


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

    Chunks are decided on and written by several threads, as by as many writers: which of two equal documents in two chunks comes first
    is not known beforehand. Chunks that name one ``_id`` follow each other in the order of the call.

    Args:
        client: writes the documents.
        actions: as the helper takes them, read lazily, ``queue_size`` chunks ahead.
        thread_count: chunks at a time, at least 1; each thread but the first opens a hook of its own.
        chunk_size: documents of a chunk.
        hook: made by ``DedupHook.open``.
        policy: as for ``dedup_streaming_bulk``.
        report: counts and decisions are added to it, chunk by chunk.
        options: all others of the helper, ``queue_size`` (chunks that wait for a thread, 4) among them, and those of
            ``dedup_streaming_bulk``.

    Yields:
        What ``dedup_streaming_bulk`` yields, in the order of the chunks.

    Raises:
        DuplicatePage, BulkIndexError, ApiError, TransportError, OtherCluster, NotDecided: as ``dedup_streaming_bulk``; chunks under way
            are finished before.
        TypeError: the hook was not made by ``open``.
        ValueError: fewer than one thread, or as ``dedup_streaming_bulk``.
    """
    if thread_count < 1:
        raise ValueError("thread_count must be at least 1")
    sender: Elasticsearch = as_elasticsearch(client)
    total = HookReport() if report is None else report
    most = thread_count + int(options.pop("queue_size", QUEUE_SIZE))
    cutter = Run(hook, policy, total, chunk_size, options, sender)
    hook.cluster.check(sender)
    pool = _Writers(hook, thread_count, lambda own, said: Run(own, policy, said, chunk_size, options, sender))
    running: deque[tuple[Future[Outcome], Chunk, set[str]]] = deque()
    recent: deque[set[str]] = deque(maxlen=most)  # names in chunks before, as given and as written
    crossed: set[str] = set()
    with pool:
        try:
            for chunk in _chunks(actions, cutter):
                names = {item.key.id for items in chunk for item in items}
                while len(running) >= most or any(names & other for _, _, other in running):
                    yield from _first(running, total, recent, crossed)
                running.append((pool.submit(sender, chunk), chunk, names))
            while running:
                yield from _first(running, total, recent, crossed)
        finally:
            pool.stop()
            for future, _, _ in running:
                if not future.cancelled():
                    total.merge(future.result()[1])
            hook.read_again(sorted(crossed), total)


class _Writers:
    """Threads that decide on chunks and write them, each with a hook of its own."""

    def __init__(self, hook: DedupHook, count: int, make: Any) -> None:
        self._hook, self._count, self._make = hook, count, make
        self._free: queue.SimpleQueue[DedupHook] = queue.SimpleQueue()
        self._free.put(hook)
        self._opened = 1
        self._closing = ExitStack()
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="es-dedup-hook")

    def __enter__(self) -> None:
        self._closing.__enter__()

    def __exit__(self, *error: object) -> None:
        self._closing.__exit__(None, None, None)

    def submit(self, client: Elasticsearch, chunk: Chunk) -> Future[Outcome]:
        """Hand a chunk to a thread; a further hook is opened where all are in use."""
        if self._opened < self._count and self._free.empty():
            self._free.put(self._closing.enter_context(closing(self._hook.another())))
            self._opened += 1
        return self._pool.submit(self._write, client, chunk)

    def stop(self) -> None:
        """Wait for chunks under way; those that have not begun are not written."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _write(self, client: Elasticsearch, chunk: Chunk) -> Outcome:
        own, report, results = self._free.get(), HookReport(), []
        try:
            run = self._make(own, report)
            for items in chunk:
                for result in written(client, run, items):
                    results.append(result)  # noqa: PERF402 - those before an error are needed
        except BaseException as error:  # noqa: BLE001 - raised where results are wanted
            return results, report, error
        finally:
            self._free.put(own)
        return results, report, None


def _chunks(actions: Iterable[Action], run: Run) -> Iterator[Chunk]:
    """The chunks that the client's helper would make; one in which an ``_id`` comes more than once has several batches."""
    chunk: Chunk = []
    for items in batches(actions, run):
        chunk.append(items)
        if items[-1].ends_chunk:
            yield chunk
            chunk = []


def _first(
    running: deque[tuple[Future[Outcome], Chunk, set[str]]],
    total: HookReport,
    recent: deque[set[str]],
    crossed: set[str],
) -> Iterator[Result]:
    """Results of the first chunk under way; ``crossed`` gets documents that a pipeline put where one of another chunk may be."""
    future, chunk, names = running.popleft()
    results, report, error = future.result()
    total.merge(report)
    elsewhere = {
        (item.place.id, item.written_id) for items in chunk for item in items if item.place is not None
    }
    others = set().union(*recent, *(other for _, _, other in running))
    crossed.update(page_id for name, page_id in elsewhere if name in others)
    recent.append(names | {name for name, _ in elsewhere})
    yield from results
    if error is not None:
        raise error
