"""Processes that answer what only reads: each has a reader of its own, so that requests use all cores.

Each has a thread of the server, which sends it one call after the other over a pipe and waits for the answer. In a pool of
``concurrent.futures`` both would pass through two threads, and one process that ends would end all.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import multiprocessing
import pickle
import signal
import time
import warnings
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection  # noqa: TC003 - what it registers for the exit then comes after ours
from queue import Empty, SimpleQueue
from threading import Event, Thread, current_thread
from typing import TYPE_CHECKING, Any, Final

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import DedupError, SettingsDiffer
from es_dedup.model import Page
from es_dedup.model.translations import ENGLISH
from es_dedup.serve.calls import encoded
from es_dedup.serve.problems import RETRY_SECONDS, ReaderLost, as_problem
from es_dedup.views.templates import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.context import SpawnProcess

    from es_dedup.model import Decision
    from es_dedup.settings import Settings

    Answer = bytes | DedupError

END_SECONDS: Final = 10.0
"""Time for a process to end by itself."""
NAME: Final = "es-dedup-read"
_LOG: Final = logging.getLogger("es_dedup.serve")


class Readers:
    """So many processes on an index, started at once; one that ends or cannot be reached is replaced.

    Args:
        place: file or address of the index, which must exist.
        settings: all settings.
        count: of processes, at least 1.
    """

    def __init__(self, place: str, settings: Settings, count: int) -> None:
        self._calls: SimpleQueue[tuple[bytes, Future[Answer]] | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._work, args=(place, settings), daemon=True, name=NAME) for _ in range(count)
        ]
        self._loaded: set[Thread] = set()
        self._processes: set[SpawnProcess] = set()
        self._closing = Event()
        atexit.register(self.close)  # processes that nobody has ended would keep this one from its end
        for each in self._threads:
            each.start()

    @property
    def ready(self) -> tuple[int, int]:
        """How many processes have read the index, and how many there are."""
        return len(self._loaded), len(self._threads)

    def _work(self, place: str, settings: Settings) -> None:
        """Have a process answer calls, and others after it, until no more calls will come."""
        while not self._closing.is_set():
            try:
                with self._process(place, settings) as answers:
                    answers.recv()  # says that it has read the index, or could not
                    self._loaded.add(current_thread())
                    while wanted := self._calls.get():
                        _ask(answers, *wanted)
            except Exception:  # noqa: BLE001 - whatever it was, another process may do better
                if self._closing.is_set():
                    return
                _LOG.exception("a process that answers requests cannot be reached; another one is started")
                if current_thread() not in self._loaded:  # it was not even opened: try again later
                    self._closing.wait(RETRY_SECONDS)
                self._loaded.discard(current_thread())
            else:
                return

    @contextmanager
    def _process(self, place: str, settings: Settings) -> Iterator[Connection]:
        """The connection to a new process, which ends with the block."""
        context = multiprocessing.get_context("spawn")  # no forked locks and connections
        ours, theirs = context.Pipe()
        process = context.Process(target=answer_calls, args=(place, settings, theirs), daemon=True, name=NAME)
        try:
            process.start()
            self._processes.add(process)
            theirs.close()
            yield ours
        finally:
            ours.close()
            if process.pid:
                process.join(END_SECONDS)
                process.kill()
            self._processes.discard(process)

    async def ask(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> bytes:
        """The encoded answer of ``function(reader, *arguments, **options)`` in the next idle process.

        Raises:
            DedupError: what the function raised; ``ReaderLost`` when its process has ended.
        """
        answer: Future[Answer] = Future()
        self._calls.put((pickle.dumps((function, arguments, options)), answer))
        if self._closing.is_set():  # perhaps nobody takes it
            raise ReaderLost
        try:
            found = await asyncio.wrap_future(answer)
        except Exception as error:
            raise ReaderLost from error
        if isinstance(found, DedupError):
            raise found
        return found

    def close(self) -> None:
        """Let the processes end, and wait until they have; after ``END_SECONDS`` they are killed. May be called twice."""
        atexit.unregister(self.close)
        self._closing.set()
        for _ in self._threads:
            self._calls.put(None)
        end = time.monotonic() + END_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        for process in list(self._processes):
            process.kill()
        with suppress(Empty):
            while True:  # left by processes that did not answer
                if wanted := self._calls.get_nowait():
                    wanted[1].set_exception(ReaderLost())


def _ask(answers: Connection, call: bytes, answer: Future[Answer]) -> None:
    """Have a call answered, unless nobody waits for it any more.

    Raises:
        OSError, EOFError: the process has ended; whoever waits for the answer gets the error too.
    """
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answers.send_bytes(call)
        found = answers.recv()
    except Exception as error:
        answer.set_exception(error)
        raise
    answer.set_result(found)


def answer_calls(place: str, settings: Settings, server: Connection) -> None:
    """The work of a process: answer calls until the server closes its end, or has died."""
    for each in (signal.SIGINT, signal.SIGTERM):  # the server says when it is over
        signal.signal(each, signal.SIG_IGN)
    warnings.simplefilter("ignore", SettingsDiffer)
    dedup: Deduplicator | None = None
    call = pickle.dumps((_warm, (), {}))
    with suppress(OSError, EOFError):
        while True:
            try:
                dedup = dedup or Deduplicator.open(place, settings=settings, read_only=True)
                function, arguments, options = pickle.loads(call)  # noqa: S301 - our own
                answer: Answer = encoded(function(dedup, *arguments, **options))
            except Exception as error:  # noqa: BLE001 - goes to who has asked
                answer = as_problem(error)
                if answer is not error:
                    _LOG.exception("a call failed")
            server.send(answer)
            call = server.recv_bytes()


def _warm(dedup: Deduplicator) -> Decision:
    """Do what the first request would otherwise wait for: load modules, read statistics, and compile templates."""
    templates = environment(ENGLISH)
    for name in templates.list_templates():
        templates.get_template(name)
    return dedup.check(Page(id="-", text="The ferry ran aground at noon on Monday."))
