"""Processes that answer what only reads: each has a reader of its own, so that requests use all cores.

A call goes to an idle process and its answer comes back over a pair of sockets, as a length and a pickle. What
``concurrent.futures`` has for this passes through two threads each way, which costs a request more than all of HTTP does.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import pickle
import signal
import socket
import warnings
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Final

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import DedupError, SettingsDiffer
from es_dedup.model import Page
from es_dedup.model.translations import ENGLISH
from es_dedup.serve.calls import encoded
from es_dedup.serve.problems import RETRY_SECONDS, ReaderLost, as_problem
from es_dedup.views.templates import environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.model import Decision
    from es_dedup.settings import Settings

LENGTH_BYTES: Final = 8
END_SECONDS: Final = 10.0
"""Time for a process to end by itself."""
_LOG: Final = logging.getLogger("es_dedup.serve")


class _Process:
    """One process, seen from the server."""

    def __init__(self, place: str, settings: Settings) -> None:
        self._ours, theirs = socket.socketpair()
        self._writer: asyncio.StreamWriter | None = None
        context = multiprocessing.get_context("spawn")  # no forked locks and connections
        self._process = context.Process(target=answer_calls, args=(place, settings, theirs), daemon=True)
        self._process.start()
        theirs.close()

    async def connect(self) -> None:
        """Take the socket into the running loop, and wait until the process has read the index, or could not."""
        self._reader, self._writer = await asyncio.open_connection(sock=self._ours)
        with suppress(OSError, EOFError):  # the next call says so
            await self._answer()

    async def ask(self, call: bytes) -> bytes | DedupError:
        """Send a call and wait for its answer; to be done wholly, or the process is not to be asked again.

        Raises:
            OSError, EOFError: it has ended.
        """
        assert self._writer is not None  # noqa: S101 - it is connected
        self._writer.write(len(call).to_bytes(LENGTH_BYTES, "big") + call)
        await self._writer.drain()
        return await self._answer()

    async def _answer(self) -> bytes | DedupError:
        length = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
        answer: bytes | DedupError = pickle.loads(await self._reader.readexactly(length))  # noqa: S301 - our own
        return answer

    def close(self) -> None:
        """Let it end, which it does when its socket is closed."""
        if self._writer is not None:
            self._writer.close()

    def join(self, seconds: float = END_SECONDS) -> None:
        """Wait until it has ended; after so long it is killed."""
        self._ours.close()
        self._process.join(seconds)
        self._process.kill()


class Readers:
    """So many processes on an index, started at once; one that ends is replaced.

    Args:
        place: file or address of the index, which must exist.
        settings: all settings.
        count: of processes, at least 1.
    """

    def __init__(self, place: str, settings: Settings, count: int) -> None:
        self._place, self._settings = place, settings
        self._count, self._all = count, [_Process(place, settings) for _ in range(count)]
        self._idle: asyncio.LifoQueue[_Process] = asyncio.LifoQueue()  # the last one has its caches warm
        self._connecting: set[asyncio.Task[None]] = set()

    @property
    def ready(self) -> tuple[int, int]:
        """How many processes have read the index, and how many there are."""
        return self._count - len(self._connecting), self._count

    def connect(self) -> None:
        """Take the processes into the running loop, in the background; before the first call, which waits for one of them."""
        for process in self._all:
            self._connect(process)

    def _connect(self, process: _Process | None) -> None:
        task = asyncio.ensure_future(self._connected(process))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connected(self, process: _Process | None) -> None:
        """Make a process idle when it has read the index; in place of one that cannot be reached, or of none, start one."""
        while True:
            try:
                if process is None:
                    process = _Process(self._place, self._settings)
                    self._all.append(process)
                await process.connect()
            except Exception:  # noqa: BLE001 - whatever it was, another process may do better
                _LOG.exception("a process that answers requests cannot be reached; another one is started")
                if process is not None:
                    self._end(process)
                    process = None
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self._idle.put_nowait(process)
                return

    def _end(self, process: _Process) -> None:
        process.close()
        process.join(0.0)  # the loop must not wait; what only reads can be killed
        self._all.remove(process)

    async def ask(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> bytes:
        """The encoded answer of ``function(reader, *arguments, **options)`` in the next idle process. Must not be cancelled: shield it.

        Raises:
            DedupError: what the function raised; ``ReaderLost`` when its process has ended.
        """
        call = pickle.dumps((function, arguments, options))
        process = await self._idle.get()
        try:
            found = await process.ask(call)
        except Exception as error:
            self._end(process)
            self._connect(None)
            raise ReaderLost from error
        self._idle.put_nowait(process)
        if isinstance(found, DedupError):
            raise found
        return found

    def disconnect(self) -> None:
        """Let the processes end; in the loop."""
        for task in self._connecting:
            task.cancel()
        for process in self._all:
            process.close()

    def close(self) -> None:
        """Wait until they have ended."""
        for process in self._all:
            process.join()


def answer_calls(place: str, settings: Settings, server: socket.socket) -> None:
    """The work of a process: answer calls until the server closes its socket, or has died."""
    for each in (signal.SIGINT, signal.SIGTERM):  # the server says when it is over
        signal.signal(each, signal.SIG_IGN)
    warnings.simplefilter("ignore", SettingsDiffer)
    dedup: Deduplicator | None = None
    stream: Any = server.makefile("rwb")
    with suppress(OSError):
        call: bytes | None = pickle.dumps((_warm, (), {}))
        while call is not None:
            try:
                dedup = dedup or Deduplicator.open(place, settings=settings, read_only=True)
                function, arguments, options = pickle.loads(call)  # noqa: S301 - our own
                answer: bytes | DedupError = encoded(function(dedup, *arguments, **options))
            except Exception as error:  # noqa: BLE001 - goes to who has asked
                answer = as_problem(error)
                if answer is not error:
                    _LOG.exception("a call failed")
            _send(stream, pickle.dumps(answer))
            call = _received(stream)


def _warm(dedup: Deduplicator) -> Decision:
    """Do what the first request would otherwise wait for: load modules, read statistics, and compile templates."""
    templates = environment(ENGLISH)
    for name in templates.list_templates():
        templates.get_template(name)
    return dedup.check(Page(id="-", text="The ferry ran aground at noon on Monday."))


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(LENGTH_BYTES, "big") + data)
    stream.flush()


def _received(stream: IO[bytes]) -> bytes | None:
    """The next message; None at the end."""
    head = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(head, "big")) if len(head) == LENGTH_BYTES else None
