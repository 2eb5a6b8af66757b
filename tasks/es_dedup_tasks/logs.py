"""One JSON object a line: time, level, logger, event, and the task it belongs to."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any, Final

from celery import current_task

QUIET: Final = ("elastic_transport", "elasticsearch", "urllib3")
"""Loggers that would write a line for each request."""


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


def set_up(level: str) -> None:
    """Send all logging of this process to standard error as JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
