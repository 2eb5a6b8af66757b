"""The application of a process that works on one index, as the environment names it; the program ends with one line if it does not.

``es-dedup elastic worker`` starts it with right options.
"""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click
from celery import bootsteps, current_task
from celery.beat import EmbeddedService
from celery.signals import setup_logging, worker_ready

from es_dedup.errors import DedupError
from es_dedup.settings import load_settings
from es_dedup_tasks import metrics
from es_dedup_tasks.dispatch import PLACE_VARIABLE, make_app
from es_dedup_tasks.tasks import register

if TYPE_CHECKING:
    from celery import Celery

    from es_dedup.settings import Settings

PORT_VARIABLE: Final = "ES_DEDUP_METRICS_PORT"
OPTION: Final = "--periodic"
"""Option of ``celery worker``: also run beat. Celery's own ``--beat`` makes a process, which outlives a worker that is killed."""
SCHEDULER: Final = "celery.beat:Scheduler"  # without a file: what must outlive it is stored in Elasticsearch
QUIET: Final = ("elastic_transport", "elasticsearch", "urllib3")
"""Loggers that would write a line for each request."""


class BeatStep(bootsteps.StartStopStep):  # type: ignore[misc]
    """Runs beat, Celery's scheduler, in a worker that was started with ``OPTION``."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, *, periodic: bool = False, **options: Any) -> None:
        super().__init__(parent, **options)
        self.enabled = periodic

    def create(self, parent: Any) -> Any:
        """The thread; Celery starts and stops it with the worker."""
        return EmbeddedService(parent.app, thread=True, scheduler_cls=SCHEDULER)

    def stop(self, parent: Any) -> None:  # noqa: ARG002 - Celery gives it
        """End it, without waiting for a broker that does not answer."""
        self.obj.service.stop()

    terminate = stop


class JsonFormatter(logging.Formatter):
    """Makes the line of a record."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON, with name and id of the task that is running."""
        line: dict[str, Any] = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
        }
        request = getattr(current_task, "request", None)
        if current_task and request is not None and request.id:
            line |= {"task": current_task.name, "task_id": request.id}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _configured() -> tuple[str, Settings, Celery]:
    """Address, settings and application; Celery would show an exception with its traceback."""
    place = os.environ.get(PLACE_VARIABLE, "")
    if not place:
        raise SystemExit(
            f"error: {PLACE_VARIABLE} is not set: set it to the address of the index, such as http://localhost:9200/pages"
        )
    try:
        settings = load_settings()
        return place, settings, make_app(place, settings)
    except DedupError as error:
        raise SystemExit(f"error: {error}") from error


_place, _settings, app = _configured()
register(app, _place, _settings)
app.user_options["worker"].add(click.Option((OPTION,), is_flag=True, help="Also send the periodic tasks."))
app.steps["worker"].add(BeatStep)
metrics.count_answers()  # its processes are forked from here


@setup_logging.connect  # type: ignore[untyped-decorator]
def _log_as_json(loglevel: int | str = "INFO", **_: Any) -> None:
    """Send all logging of this process to standard error as JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(loglevel.upper() if isinstance(loglevel, str) else loglevel)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


@worker_ready.connect  # type: ignore[untyped-decorator]
def _metrics(**_: Any) -> None:
    if port := os.environ.get(PORT_VARIABLE):
        metrics.serve(int(port), _place, _settings)
