"""Processes that answer what only reads: each has a reader of its own, so that requests use all cores."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import warnings
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import suppress
from functools import cache
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING, Any, Final

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import SettingsDiffer
from es_dedup.model import Page
from es_dedup.model.translations import ENGLISH
from es_dedup.serve.calls import encoded
from es_dedup.serve.problems import ReaderLost, as_problem
from es_dedup.views.templates import environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.settings import Settings

_LOG: Final = logging.getLogger("es_dedup.serve")
_SPAWN: Final = multiprocessing.get_context("spawn")  # no forked locks and connections
END_SECONDS: Final = 10.0  # for the call that is under way when the server ends
_place: Final[list[Any]] = []
"""In a process that answers: the index, and all settings."""


class Readers:
    """So many processes on an index, started at once; when one of them ends, all are replaced.

    Args:
        place: file or address of the index, which must exist.
        settings: all settings.
        count: of processes, at least 1.

    Attributes:
        ready: set once a process has read the index.
    """

    def __init__(self, place: str, settings: Settings, count: int) -> None:
        self._given, self._count, self._closed = (place, settings), count, False
        self.ready = Event()
        self._pool = self._started()

    def _started(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(self._count, _SPAWN, _begin, self._given)
        for _ in range(self._count):
            with suppress(OSError):  # the next call starts the process
                pool.submit(len, ()).add_done_callback(lambda _: self.ready.set())
        return pool

    async def ask(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> bytes:
        """The encoded answer of ``function(reader, *arguments, **options)`` in the next idle process.

        Raises:
            DedupError: what the function raised; ``ReaderLost`` when its process has ended.
        """
        pool = self._pool
        try:
            return await asyncio.wrap_future(pool.submit(_answer, function, arguments, options))
        except (RuntimeError, OSError) as error:
            if isinstance(error, BrokenExecutor) and pool is self._pool and not self._closed:
                _LOG.warning("a process that answers requests has ended; all are started again")
                self._pool = self._started()
            raise ReaderLost from error

    def close(self) -> None:
        """Let the processes end, a call under way within ``END_SECONDS``, and wait until they have; may be called twice."""
        self._closed = True
        processes = list((self._pool._processes or {}).values())  # noqa: SLF001 - of all children these alone are the server's

        def end() -> None:
            for each in processes:
                each.kill()

        late = Timer(END_SECONDS, end)
        late.start()
        self._pool.shutdown(cancel_futures=True)
        late.cancel()


def _begin(place: str, settings: Settings) -> None:
    """Begin the work of a process: read the index, so that the first request need not wait for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server says when it is over
    Thread(target=_end_with_the_server, daemon=True).start()
    warnings.simplefilter("ignore", SettingsDiffer)
    _place[:] = place, settings
    with suppress(Exception):  # calls say what is wrong
        _warm(_reader())


def _end_with_the_server() -> None:
    if server := multiprocessing.parent_process():
        server.join()
        os._exit(1)


@cache
def _reader() -> Deduplicator:
    """The index of this process; where it cannot be opened, the next call tries again."""
    place, settings = _place
    return Deduplicator.open(place, settings=settings, read_only=True)


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> bytes:
    try:
        return encoded(function(_reader(), *arguments, **options))
    except Exception as error:  # noqa: BLE001 - goes to who has asked
        problem = as_problem(error)
        if problem is not error:
            _LOG.exception("a call failed")
        raise problem from None


def _warm(dedup: Deduplicator) -> None:
    """Do what the first request would otherwise wait for: load modules, read statistics, and compile templates."""
    templates = environment(ENGLISH)
    for name in templates.list_templates():
        templates.get_template(name)
    dedup.check(Page(id="-", text="The ferry ran aground at noon on Monday."))
