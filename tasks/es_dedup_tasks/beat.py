"""Beat, which sends the periodic tasks, as a process of a worker: when it ends, it is started again."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import click
from celery import bootsteps

from es_dedup_tasks.metrics import BEAT_RESTARTS

if TYPE_CHECKING:
    from celery import Celery

OPTION: Final = "--periodic"
"""Option of ``celery worker``: also run beat."""
COMMAND: Final = ("-m", "celery", "--app", "es_dedup_tasks", "beat", "--pidfile", "")
SCHEDULER: Final = "celery.beat:Scheduler"  # without a file: what must outlive it is stored in Elasticsearch
PARENT_VARIABLE: Final = "ES_DEDUP_BEAT_PARENT"
"""Process id of the worker that a beat process ends with."""
FIRST_PAUSE: Final = 1.0  # seconds before it is started again; doubled each time
LONGEST_PAUSE: Final = 60.0
POLL_SECONDS: Final = 0.5
STOP_SECONDS: Final = 5.0
logger = logging.getLogger(__name__)


class BeatProcess:
    """A beat process, and a thread that watches it.

    Args:
        log_level: of its log.
    """

    def __init__(self, log_level: str) -> None:
        self._command = [sys.executable, *COMMAND, "--scheduler", SCHEDULER, "--loglevel", log_level]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="es-dedup-beat")

    def start(self) -> None:
        """Start it."""
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._stopping.set()
        self._thread.join(2 * STOP_SECONDS)

    terminate = stop

    def _watch(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            started = time.monotonic()
            status = self._run()
            if self._stopping.is_set():
                return
            if time.monotonic() - started > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            BEAT_RESTARTS.inc()
            logger.error("beat ended with status %d; it is started again in %.0f s", status, pause)
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _run(self) -> int:
        """Run it until it ends or is asked to stop, and return its status."""
        environment = {**os.environ, PARENT_VARIABLE: str(os.getpid())}
        process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, env=environment)  # noqa: S603 - Celery
        while process.poll() is None and not self._stopping.wait(POLL_SECONDS):
            pass
        process.terminate()
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


class BeatStep(bootsteps.StartStopStep):  # type: ignore[misc]
    """Runs beat beside a worker that was started with ``OPTION``."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, *, periodic: bool = False, **options: Any) -> None:
        super().__init__(parent, **options)
        self.enabled = periodic

    def create(self, parent: Any) -> BeatProcess:
        """The process; Celery starts and stops it with the worker."""
        level = parent.loglevel
        return BeatProcess(level if isinstance(level, str) else logging.getLevelName(level or logging.INFO))


def add_option(app: Celery) -> None:
    """Let workers of an application take ``OPTION``."""
    app.user_options["worker"].add(
        click.Option((OPTION,), is_flag=True, help="Also send the periodic tasks.")
    )
    app.steps["worker"].add(BeatStep)


def end_with_worker() -> None:
    """End this beat process when the worker that has started it, if one has, dies without stopping it."""

    def watch(parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
        os._exit(1)

    if parent := os.environ.get(PARENT_VARIABLE):
        threading.Thread(target=watch, args=(int(parent),), daemon=True).start()
