"""The application of a process that works on one index, as the environment names it; the program ends with one line if it does not.

``es-dedup elastic worker`` starts it with right options.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, Final

from celery.signals import setup_logging, worker_ready

from es_dedup.errors import DedupError
from es_dedup.settings import load_settings
from es_dedup_tasks import logs, metrics
from es_dedup_tasks.app import PLACE_VARIABLE, make_app
from es_dedup_tasks.beat import add_option
from es_dedup_tasks.tasks import register

if TYPE_CHECKING:
    from celery import Celery

    from es_dedup.settings import Settings

PORT_VARIABLE: Final = "ES_DEDUP_METRICS_PORT"


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
add_option(app)
metrics.count_answers()  # its processes are forked from here


@setup_logging.connect  # type: ignore[untyped-decorator]
def _logs(loglevel: Any = "INFO", **_: Any) -> None:
    logs.set_up(logging.getLevelName(loglevel) if isinstance(loglevel, int) else str(loglevel))


@worker_ready.connect  # type: ignore[untyped-decorator]
def _metrics(**_: Any) -> None:
    if port := os.environ.get(PORT_VARIABLE):
        metrics.serve(int(port), _place, _settings)
