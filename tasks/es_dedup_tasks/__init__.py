"""Celery tasks of es-dedup: envelopes around the use cases of ``es_dedup.maintenance``, with ids in and counts out.

``es-dedup elastic worker`` starts a worker; ``celery --app es_dedup_tasks`` finds the application here. Only this package imports celery.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """``app``, which is made when it is asked for: clients that only send jobs have no need of it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from es_dedup_tasks.main import app  # noqa: PLC0415

    return app
