"""Who works on requests: processes that read, one thread that writes, and how many requests may wait for them."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.serve.calls import encoded
from es_dedup.serve.problems import Slow, TooMany
from es_dedup.serve.readers import Readers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator

    from es_dedup.settings import Settings

MOST_PROCESSES: Final = 4  # where nothing else is set
PARTS_AHEAD: Final = 2  # of one streamed request, per process
Answer = TypeVar("Answer")


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
        if self.inside >= self.limit:
            raise TooMany(self.limit)
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1


class Workers:
    """Answers requests on an index, which is opened for writing and made when it is not there.

    What is written is visible to the processes that read at once in a file, and after ``elastic.refresh`` on Elasticsearch.

    Args:
        place: file or address of the index.
        settings: all settings.

    Raises:
        DedupError: it cannot be opened, see ``Deduplicator.open``.
    """

    def __init__(self, place: str, settings: Settings) -> None:
        given = settings.serve
        processes = given.processes or min(MOST_PROCESSES, os.cpu_count() or 1)
        self.reads, self.writes = Gate(processes + given.waiting), Gate(1 + given.waiting)
        self._parts, self._seconds = PARTS_AHEAD * processes, given.request_seconds
        self._closing = False
        self.writer = Deduplicator.open(place, settings=settings)
        self._thread = ThreadPoolExecutor(1, "es-dedup-write")
        self.readers = Readers(place, settings, processes)

    def busy(self) -> bool:
        """Whether a write waits or is worked on, or the server ends."""
        return self.writes.inside > 0 or self._closing

    def close(self) -> None:
        """Finish accepted writes and let go of the index."""
        self._closing = True
        self._thread.shutdown(wait=True)
        self.readers.close()
        self.writer.close()

    async def read(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> bytes:
        """The encoded answer of ``function(reader, *arguments, **options)`` in a process.

        Raises:
            TooMany, Slow, ReaderLost: see there.
        """

        async def ask() -> bytes:
            with self.reads.passed():
                return await self.readers.ask(function, *arguments, **options)

        return await self.in_time(asyncio.shield(_begun(ask())))

    async def write(self, function: Callable[..., Any], *arguments: Any) -> bytes:
        """The encoded answer of ``function(deduplicator, *arguments)`` in the thread that writes.

        There is no limit of time, and it goes on when the caller has gone.

        Raises:
            TooMany: see there.
        """

        async def wait() -> bytes:
            with self.writes.passed():
                written = self.submit(lambda: encoded(function(self.writer, *arguments)))
                return await asyncio.wrap_future(written)

        return await asyncio.shield(_begun(wait()))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """A call in the thread that writes, after those that wait."""
        return self._thread.submit(function, *arguments)

    async def stream(self, function: Callable[..., bytes], parts: Iterable[Any]) -> AsyncIterator[bytes]:
        """``function(reader, part)`` for each part, in order, some at a time in all processes; one request for the limits."""
        answers = (_begun(self.readers.ask(function, part)) for part in parts)
        with self.reads.passed():
            waiting = deque(islice(answers, self._parts))
            while waiting:
                yield await self.in_time(asyncio.shield(waiting.popleft()))
                waiting.extend(islice(answers, 1))

    async def in_time(self, answer: Awaitable[Answer]) -> Answer:
        """An answer within ``serve.request_seconds``.

        Raises:
            Slow: it takes longer.
        """
        try:
            async with asyncio.timeout(self._seconds):
                return await answer
        except TimeoutError:
            raise Slow(self._seconds) from None


def _begun(work: Coroutine[None, None, bytes]) -> asyncio.Task[bytes]:
    """A task whose error nobody need wait for; asyncio would warn of it."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task
