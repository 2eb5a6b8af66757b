"""Who works on requests: processes that read, one thread that writes, and how many requests may wait for them."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, ClassVar, Final

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import DedupError, SettingsDiffer
from es_dedup.model import Page
from es_dedup.serve.problems import ReaderLost, Slow, TooMany

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
    from concurrent.futures import Future

    from es_dedup.settings import Settings

MOST_PROCESSES: Final = 4  # where nothing else is set
PARTS_AHEAD: Final = 2  # of one streamed request, per process


class _Process:
    """One process that reads: its reader, opened on first use."""

    place: ClassVar[str]
    settings: ClassVar[Settings]
    reader: ClassVar[Deduplicator | None] = None


def _begin(place: str, settings: Settings) -> None:
    """Prepare a process: what the first request would otherwise wait for."""
    for each in (signal.SIGINT, signal.SIGTERM):  # the server ends it when no request is left
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore", SettingsDiffer)
    _Process.place, _Process.settings = place, settings
    with suppress(DedupError):
        _reader().check(Page(id="-", text="The ferry ran aground at noon on Monday."))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _reader() -> Deduplicator:
    if _Process.reader is None:
        _Process.reader = Deduplicator.open(_Process.place, settings=_Process.settings, read_only=True)
    return _Process.reader


def _call(function: Callable[..., bytes], *arguments: Any) -> bytes:
    return function(_reader(), *arguments)


class Gate:
    """Counts requests of one kind, and refuses more than may work and wait."""

    def __init__(self, limit: int) -> None:
        self.limit, self.inside = limit, 0

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Count a request during the block.

        Raises:
            TooMany: as many are there as may.
        """
        self.enter()
        try:
            yield
        finally:
            self.inside -= 1

    def enter(self) -> None:
        """Count a request, which has to be taken off ``inside`` at its end."""
        if self.inside >= self.limit:
            raise TooMany(self.limit)
        self.inside += 1


class Workers:
    """Answers requests on an index, which is opened for writing and made when it is not there.

    Each process has a reader of its own, so that requests use all cores and none waits for another one's Python; what is written is
    visible to them at once in a file, and after ``elastic.refresh`` on Elasticsearch.

    Args:
        place: file or address of the index.
        settings: all settings.

    Raises:
        DedupError: it cannot be opened, see ``Deduplicator.open``.
    """

    def __init__(self, place: str, settings: Settings) -> None:
        self._place, self._settings, given = place, settings, settings.serve
        self.processes = given.processes or min(MOST_PROCESSES, os.cpu_count() or 1)
        self.reads, self.writes = Gate(self.processes + given.waiting), Gate(1 + given.waiting)
        self._seconds = given.request_seconds
        self.writer = Deduplicator.open(place, settings=settings)
        self._thread = ThreadPoolExecutor(1, "es-dedup-write")
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")  # no forked locks and connections
        pool = ProcessPoolExecutor(self.processes, context, _begin, (self._place, self._settings))
        pool.submit(int)  # starts the processes
        return pool

    def close(self) -> None:
        """Finish accepted writes and let go of the index."""
        self._thread.shutdown(wait=True)
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.writer.close()

    async def read(self, function: Callable[..., bytes], *arguments: Any) -> bytes:
        """``function(reader, *arguments)`` in a process.

        Raises:
            TooMany, Slow, ReaderLost: see there.
        """
        return await self.in_time(self._answer(self.reads, self._ask(function, *arguments)))

    async def write(self, function: Callable[..., bytes], *arguments: Any) -> bytes:
        """``function(deduplicator, *arguments)`` in the thread that writes, without a limit of time; goes on when the caller has gone.

        Raises:
            TooMany: see there.
        """
        return await self._answer(self.writes, lambda: self.submit(function, self.writer, *arguments))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """A call in the thread that writes, after those that wait."""
        return self._thread.submit(function, *arguments)

    async def stream(self, function: Callable[..., bytes], parts: Iterable[Any]) -> AsyncIterator[bytes]:
        """``function(reader, part)`` for each part, in order, some at a time in all processes; one request for the limits."""
        waiting: deque[asyncio.Future[bytes]] = deque()
        coming = iter(parts)
        with self.reads.passed():
            try:
                for part in islice(coming, PARTS_AHEAD * self.processes):
                    waiting.append(asyncio.wrap_future(self._ask(function, part)()))
                while waiting:
                    yield await self.in_time(waiting.popleft())
                    for part in islice(coming, 1):
                        waiting.append(asyncio.wrap_future(self._ask(function, part)()))
            finally:
                for each in waiting:
                    each.cancel()

    def _ask(self, function: Callable[..., bytes], *arguments: Any) -> Callable[[], Future[bytes]]:
        def submit() -> Future[bytes]:
            pool = self._pool
            try:
                return pool.submit(_call, function, *arguments)
            except BrokenExecutor:
                if pool is self._pool:
                    self._pool = self._new_pool()
                raise ReaderLost from None

        return submit

    async def _answer(self, gate: Gate, submit: Callable[[], Future[bytes]]) -> bytes:
        gate.enter()
        try:
            future = asyncio.wrap_future(submit())
        except BaseException:
            gate.inside -= 1
            raise

        def leave(done: asyncio.Future[bytes]) -> None:
            gate.inside -= 1
            if not done.cancelled():
                done.exception()  # seen, though nobody may wait for it any more

        future.add_done_callback(leave)
        return await asyncio.shield(future)

    async def in_time(self, answer: Awaitable[bytes]) -> bytes:
        """An answer within ``serve.request_seconds``.

        Raises:
            Slow, ReaderLost: see there.
        """
        try:
            async with asyncio.timeout(self._seconds):
                return await answer
        except TimeoutError:
            raise Slow(self._seconds) from None
        except BrokenExecutor:
            raise ReaderLost from None
