"""The queues of an index, and how work gets into them.

A message holds the id of a job; which part is worked on next is decided by the job's documents alone. It also says when it was sent,
see ``Runner.turn``.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from kombu.exceptions import OperationalError
from redis import RedisError

from es_dedup.errors import QueueUnavailable
from es_dedup.index import factory
from es_dedup.maintenance.context import MaintenanceContext, open_context
from es_dedup.maintenance.runner import start_ingest
from es_dedup_tasks.app import KINDS, make_app, queue_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from celery import Celery

    from es_dedup.index.factory import JobStore
    from es_dedup.settings import Settings

ANSWER_SECONDS: Final = (1.0, 5.0)  # a busy worker answers late, and is not to be taken for none
TIMEOUTS: Final = {"socket_timeout": 5, "socket_connect_timeout": 5}  # seconds; somebody waits for the answer

__all__ = ["KINDS", "CeleryDispatcher"]


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
