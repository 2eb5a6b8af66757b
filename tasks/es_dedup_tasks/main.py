"""What ``celery --app es_dedup_tasks.main`` loads; ``es-dedup worker`` starts it with right options."""

from __future__ import annotations

import logging
import os
from typing import Any, Final

from celery.signals import setup_logging, worker_ready

from es_dedup.settings import load_settings
from es_dedup_tasks import logs, metrics
from es_dedup_tasks.app import PLACE_VARIABLE, make_app
from es_dedup_tasks.beat import add_option
from es_dedup_tasks.tasks import register

PORT_VARIABLE: Final = "ES_DEDUP_METRICS_PORT"

_place, _settings = os.environ[PLACE_VARIABLE], load_settings()
app = make_app(_place, _settings)
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
