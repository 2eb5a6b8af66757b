"""Beat, which sends the periodic tasks, as a process of a worker: when it ends, it is started again."""

from __future__ import annotations

import logging
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
        self._command = [sys.executable, "-m", "es_dedup_tasks.beat_process", log_level]
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
        while True:
            started = time.monotonic()
            status = self._run()
            if status is None:
                return
            if time.monotonic() - started > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            BEAT_RESTARTS.inc()
            logger.error("beat ended with status %d; it is started again in %.0f s", status, pause)
            if self._stopping.wait(pause):
                return
            pause = min(2 * pause, LONGEST_PAUSE)

    def _run(self) -> int | None:
        """Run it until it ends, and return its status; None when it was asked to stop."""
        process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)  # noqa: S603 - our own module
        while process.poll() is None:
            if self._stopping.wait(POLL_SECONDS):
                process.terminate()
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                return None
        return process.returncode


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
