"""What ``celery --app es_dedup_tasks.main`` loads; ``es-dedup worker`` starts it with right options."""

from __future__ import annotations

from es_dedup_tasks.app import app_from_environment

app = app_from_environment()
