"""One JSON object a line: time, level, logger, event, and the task it belongs to."""

from __future__ import annotations

import logging
import sys
from typing import Any, Final

import structlog
from celery import current_task

QUIET: Final = ("elastic_transport", "elasticsearch", "urllib3")
"""Loggers that would write a line for each request."""


def set_up(level: str) -> None:
    """Send all logging of this process to standard error as JSON."""
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _task,
        structlog.processors.format_exc_info,
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _task(_logger: Any, _name: str, event: dict[str, Any]) -> dict[str, Any]:
    """Name and id of the task that is running."""
    request = getattr(current_task, "request", None)
    if current_task and request is not None and request.id:
        event |= {"task": current_task.name, "task_id": request.id}
    return event
