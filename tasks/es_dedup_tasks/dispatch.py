"""The Celery application and the queues of an index: how work gets into them, and how tasks are delivered, limited and repeated.

A message holds the id of a job; which part is worked on next is decided by the job's documents alone. It also says when it was sent,
see ``Runner.turn``. A task is acknowledged when it has ended, given to another worker when its process died, and never fetched ahead.
What must not be lost stands in Elasticsearch: a flushed or restarted Redis loses messages, and ``tend`` sends them again.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from celery import Celery
from kombu.exceptions import OperationalError
from redis import RedisError

from es_dedup.errors import QueueUnavailable
from es_dedup.index import factory
from es_dedup.index.elastic.address import parse_address
from es_dedup.maintenance.context import MaintenanceContext, open_context
from es_dedup.maintenance.runner import start_ingest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from es_dedup.index.factory import JobStore
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
ANSWER_SECONDS: Final = (1.0, 5.0)  # a busy worker answers late, and is not to be taken for none
TIMEOUTS: Final = {"socket_timeout": 5, "socket_connect_timeout": 5}  # seconds; somebody waits for the answer

__all__ = ["KINDS", "CeleryDispatcher"]


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


class CeleryDispatcher:
    """Queues of one index; also what ``DedupHook`` takes as its ``dispatcher``.

    Args:
        place: address of the index.
        settings: name the broker.
    """

    def __init__(self, place: str, settings: Settings) -> None:
        self._place, self._settings = place, settings
        self._app = make_app(place, settings)
        self._app.conf.broker_transport_options |= TIMEOUTS
        self._guard = threading.Lock()
        self._jobs: JobStore | None = None

    def check(self) -> None:
        """Ask Redis for a sign of life.

        Raises:
            QueueUnavailable: there is none.
        """
        self.depths()

    def work(self, job_id: str, count: int, kind: str = "maintenance") -> None:
        """Have parts of a job worked on.

        Args:
            job_id: of the job.
            count: how many of its parts nobody works on, see ``Runner.due``.
            kind: of the queue.

        Raises:
            QueueUnavailable: Redis does not answer; some may have been sent.
        """
        with _translated(self._app):
            send(self._app, self._place, job_id, count, kind)

    def ingest(self, page_ids: Sequence[str]) -> None:
        """Have documents decided on, later and elsewhere: the index that they are in must be attached.

        Raises:
            QueueUnavailable: Redis does not answer; no job was begun.
            IndexError_: Elasticsearch does not answer.
        """
        with self._guard:
            if self._jobs is None:
                self._jobs = factory.open_jobs(self._place, self._settings)
        job = start_ingest(self._jobs, page_ids)
        try:
            self.work(job.id, sum(job.parts), "ingest")
        except QueueUnavailable:
            self._jobs.drop(job)
            raise

    def depths(self) -> dict[str, int]:
        """See ``depths``."""
        return depths(self._app, self._place)

    def workers(self) -> int:
        """How many workers of this index answer within a second; where none does, more time is given."""
        mine = {queue_of(self._place, kind) for kind in KINDS}
        found: dict[str, Any] = {}
        with _translated(self._app):
            for seconds in ANSWER_SECONDS:
                found = found or self._app.control.inspect(timeout=seconds).active_queues() or {}
        return sum(any(queue["name"] in mine for queue in queues) for queues in found.values())

    def close(self) -> None:
        """Let go of the connections."""
        self._app.close()
        if self._jobs is not None:
            self._jobs.close()


def send(app: Celery, place: str, job_id: str, count: int, kind: str, expires: float | None = None) -> None:
    """Send so many messages about a job; what is not sent is sent by ``tend``."""
    for _ in range(count):
        app.send_task(
            "es_dedup.work", (job_id,), queue=queue_of(place, kind), headers=sent_now(), expires=expires
        )


def sent_now() -> dict[str, int]:
    """Headers of a message that is sent now."""
    return {"sent": int(time.time() * 1000)}


def depths(app: Celery, place: str) -> dict[str, int]:
    """Messages that wait, by kind of queue; those that workers hold are under ``unacked``.

    Raises:
        QueueUnavailable: Redis does not answer.
    """
    with _translated(app), app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1)
        redis: Any = connection.default_channel.client
        found = {kind: int(redis.llen(queue_of(place, kind))) for kind in KINDS}
        return found | {"unacked": int(redis.hlen("unacked"))}


@contextmanager
def _translated(app: Celery) -> Iterator[None]:
    """One of our errors for all ways in which Redis fails."""
    try:
        yield
    except (RedisError, OperationalError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        parts = urlsplit(app.conf.broker_url)
        # without user and password
        shown = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))
        raise QueueUnavailable(shown, reason.rstrip(".")) from error


def opener(place: str, settings: Settings) -> Callable[[], MaintenanceContext]:
    """Opens the index when a process first needs it, and keeps it open: connections do not survive a fork.

    What is returned raises ``IndexError_`` where the index cannot be opened; the next call tries again.
    """
    stack = ExitStack()  # which keeps it open as long as it is there itself
    return cache(lambda: stack.enter_context(open_context(place, settings)))


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
