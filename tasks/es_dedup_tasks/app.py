"""The Celery application: how tasks are delivered, limited and repeated.

A task is acknowledged when it has ended, given to another worker when its process died, and never fetched ahead. What must not be
lost stands in Elasticsearch: a flushed or restarted Redis loses messages, and ``tend`` sends them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from celery import Celery

from es_dedup_tasks.queues import KINDS, queue_of

if TYPE_CHECKING:
    from es_dedup.settings import Settings

PLACE_VARIABLE: Final = "ES_DEDUP_DB"
"""Address of the index a worker works for; messages never hold it, nor any credentials."""
RECLUSTER_CHECKS: Final = 900.0  # seconds between looks whether reclustering is due
EXPIRY_CHECKS: Final = 900.0  # seconds between looks for pages that are too old
HARD_AFTER: Final = 1.2  # of the soft limit
VISIBLE_AFTER: Final = 2.0  # of the soft limit: later than the hard one, or a running task is delivered twice
MAX_TASKS: Final = 500  # of one worker process, then it is replaced
MAX_MEMORY_KB: Final = 2_000_000


def configured(place: str, settings: Settings) -> dict[str, Any]:
    """Celery's settings for one index."""
    limits = settings.maintenance
    soft = limits.task_seconds
    transport = {
        "visibility_timeout": int(soft * VISIBLE_AFTER),
        "socket_timeout": 30,
        "socket_connect_timeout": 10,
    }
    return {
        "broker_url": limits.broker.get_secret_value(),
        "broker_connection_retry_on_startup": True,
        "broker_transport_options": transport,
        "task_default_queue": queue_of(place, "maintenance"),
        "task_queues": {  # of a worker to which none are named
            name: {"exchange": name, "routing_key": name}
            for name in (queue_of(place, kind) for kind in KINDS)
        },
        "task_routes": {
            "es_dedup.ingest": {"queue": queue_of(place, "ingest")},
            "es_dedup.*": {"queue": queue_of(place, "maintenance")},
        },
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "worker_prefetch_multiplier": 1,
        "task_soft_time_limit": soft,
        "task_time_limit": int(soft * HARD_AFTER),
        "worker_soft_shutdown_timeout": limits.step_seconds + 10,
        "worker_max_tasks_per_child": MAX_TASKS,
        "worker_max_memory_per_child": MAX_MEMORY_KB,
        "worker_hijack_root_logger": False,
        "worker_send_task_events": False,
        "timezone": "UTC",
        "beat_schedule": schedule(settings),
    }


def schedule(settings: Settings) -> dict[str, Any]:
    """What beat sends, each message lapsing before the next one."""
    limits = settings.maintenance
    found: dict[str, Any] = {
        "tend": {
            "task": "es_dedup.tend",
            "schedule": limits.tend_seconds,
            "options": {"expires": limits.tend_seconds},
        }
    }
    if limits.recheck_seconds:
        found["recheck"] = {
            "task": "es_dedup.recheck",
            "schedule": limits.recheck_seconds,
            "options": {"expires": limits.recheck_seconds},
        }
    if limits.recluster_hours:
        looks = min(limits.recluster_hours * 3600, RECLUSTER_CHECKS)
        found["recluster"] = {"task": "es_dedup.recluster", "schedule": looks, "options": {"expires": looks}}
    if limits.keep_days:
        found["expiry"] = {
            "task": "es_dedup.expiry",
            "schedule": EXPIRY_CHECKS,
            "options": {"expires": EXPIRY_CHECKS},
        }
    return found


def make_app(place: str, settings: Settings) -> Celery:
    """An application for one index; it sends tasks by name, and works on those that ``tasks.register`` adds."""
    app = Celery("es-dedup")
    app.conf.update(configured(place, settings))
    return app
