"""Batches under way at once: of one features are made while candidates of the one before are searched, and so on to the write."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from es_dedup.errors import IndexError_

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.batch.deciding import Found
    from es_dedup.batch.featurise import Chunk
    from es_dedup.hook.documents import Batch, Item
    from es_dedup.hook.run import Run

    Items = list[Item]
    Results = list[tuple[bool, dict[str, Any]]]

MOST: Final = 4  # batches: one in each stage


@dataclass(slots=True, eq=False)
class _UnderWay:
    """One batch: what its stages give, and how far it has come.

    Attributes:
        before: the batch before, until this one is finished.
        stored: its features may be stored.
        settled: it was written, or ``prepare`` has undone or will undo what was stored of it.
    """

    items: Items
    before: _UnderWay | None
    batch: Future[Batch] = field(init=False)
    results: Future[Results] = field(init=False)
    stored: bool = False
    settled: bool = False


class Stages:
    """Four stages, each with a thread that takes one batch after the other.

    Features of a batch are made as soon as it is there. Its candidates are searched while the one before is compared and decided on. It is
    compared while the one before is written, and decided on when that is written: what could not be written, nothing rests on. When a batch
    fails, none after it is decided on.

    Args:
        run: the call.
        write: writes a batch that is decided on.
    """

    def __init__(self, run: Run, write: Callable[[Items, Batch], Results]) -> None:
        self._run, self._write = run, write
        self._pools = [ThreadPoolExecutor(1, thread_name_prefix="es-dedup-hook") for _ in range(MOST)]
        self._batches: deque[_UnderWay] = deque()
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Let what is being written be written, and take back the features of what is not."""
        self._stop.set()
        for pool in self._pools:
            pool.shutdown(wait=True, cancel_futures=True)
        for each in self._batches:
            if each.stored and not each.settled:
                self._run.hook.withdraw(each.items, self._run.report)

    @property
    def under_way(self) -> int:
        """How many batches are under way."""
        return len(self._batches)

    def begin(self, items: Items) -> None:
        """Take the next batch."""
        each = _UnderWay(items, self._batches[-1] if self._batches else None)
        self._batches.append(each)  # before anything of it is stored: an interrupt may come at any time
        featurise, search, decide, write = self._pools
        features = featurise.submit(self._featurised, items)
        prefetched = search.submit(self._prefetched, each, features)
        each.batch = decide.submit(self._decided, each, prefetched)
        each.results = write.submit(self._written, each)

    def finished(self) -> Results:
        """Wait for the first batch under way, and give its results; raises what has kept it from being written."""
        first = self._batches[0]
        results = first.results.result()
        self._batches.popleft()
        if self._batches:
            self._batches[0].before = None
        return results

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise CancelledError

    def _featurised(self, items: Items) -> Chunk | None:
        with suppress(IndexError_):  # ``prefetch`` says what it means
            return self._run.hook.featurise(items, self._run.report)
        return None

    def _prefetched(self, each: _UnderWay, made: Future[Chunk | None]) -> Found | None:
        before, run, features = each.before, self._run, made.result()
        self._go_on()
        earlier = before
        while earlier is not None:
            if not run.independent(each.items, earlier.items):
                earlier.results.result()
            earlier = earlier.before
        each.stored = True
        settled = before.batch.result if before else lambda: None
        return run.hook.prefetch(each.items, features, run.report, settled=settled)

    def _decided(self, each: _UnderWay, prefetched: Future[Found | None]) -> Batch:
        before, compared = each.before, None
        with suppress(IndexError_):  # ``prepare`` asks once more, and says what it means
            compared = self._run.hook.compare(prefetched.result(), self._run.report)
        if before is not None:
            before.results.result()
        self._go_on()
        each.stored, each.settled = True, compared is not None
        batch = self._run.prepare(each.items, prefetched=compared)
        each.settled = False
        return batch

    def _written(self, each: _UnderWay) -> Results:
        batch = each.batch.result()
        self._go_on()
        each.settled = True
        return self._write(each.items, batch)
