"""The Celery application: how tasks are delivered, limited and repeated.

A task is acknowledged when it has ended, given to another worker when its process died, and never fetched ahead. What must not be
lost stands in Elasticsearch: a flushed or restarted Redis loses messages, and ``tend`` sends them again.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from celery import Celery

from es_dedup.index.elastic.address import parse_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.settings import Settings

PLACE_VARIABLE: Final = "ES_DEDUP_DB"
"""Address of the index a worker works for; messages never hold it, nor any credentials."""
KINDS: Final = ("ingest", "maintenance")
"""Kinds of queues: brief jobs about pages that wait for a decision do not wait behind long ones."""
RECLUSTER_CHECKS: Final = 900.0  # seconds between looks whether reclustering is due
HARD_AFTER: Final = 1.2  # of the soft limit
VISIBLE_AFTER: Final = 2.0  # of the soft limit: later than the hard one, or a running task is delivered twice
MAX_TASKS: Final = 500  # of one worker process, then it is replaced
MAX_MEMORY_KB: Final = 2_000_000


def queue_of(place: str, kind: str) -> str:
    """Name of a queue: ``ingest`` or ``maintenance`` of one index; several indices may share a Redis."""
    return f"es-dedup.{parse_address(place).name}.{kind}"


def configured(place: str, settings: Settings) -> dict[str, Any]:
    """Celery's settings for one index."""
    limits = settings.maintenance
    soft = limits.task_seconds
    queues = [queue_of(place, kind) for kind in KINDS]  # of a worker to which none are named
    return {
        "broker_url": limits.broker.get_secret_value(),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {
            "visibility_timeout": int(soft * VISIBLE_AFTER),
            "socket_timeout": 30,
            "socket_connect_timeout": 10,
        },
        "task_default_queue": queue_of(place, "maintenance"),
        "task_queues": {name: {"exchange": name, "routing_key": name} for name in queues},
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
    intervals = {
        "tend": limits.tend_seconds,
        "recheck": limits.recheck_seconds,
        "recluster": min(limits.recluster_hours * 3600, RECLUSTER_CHECKS),
    }
    return {
        name: {"task": f"es_dedup.{name}", "schedule": seconds, "options": {"expires": seconds}}
        for name, seconds in intervals.items()
        if seconds
    }


def make_app(place: str, settings: Settings) -> Celery:
    """An application for one index; it sends tasks by name, and works on those that ``tasks.register`` adds."""
    app = Celery("es-dedup")
    app.conf.update(configured(place, settings))
    return app


def worker_command(
    place: str, kinds: Sequence[str], *, processes: int, beat: bool = False, log_level: str = "info"
) -> list[str]:
    """The command of one worker.

    Args:
        place: address of the index; also to be set in the environment as ``ES_DEDUP_DB``.
        kinds: which queues, ``ingest`` and ``maintenance``.
        processes: at once.
        beat: send the periodic tasks too; of one worker only.
        log_level: of Celery's own log.
    """
    queues = ",".join(queue_of(place, kind) for kind in kinds)
    command = [sys.executable, "-m", "celery", "--app", "es_dedup_tasks", "worker", "--queues", queues]
    command += ["--concurrency", str(processes), "--loglevel", log_level]
    command += ["--without-gossip", "--without-mingle"]
    return [*command, "--periodic"] if beat else command
