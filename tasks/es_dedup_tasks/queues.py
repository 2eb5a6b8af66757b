"""The queues of an index: their names, what waits in them, and how pages get into one."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from kombu.exceptions import OperationalError
from redis import RedisError

from es_dedup.errors import QueueUnavailable
from es_dedup.index.elastic import parse_address
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from celery import Celery

IDS_AT_A_TIME: Final = 100
KINDS: Final = ("ingest", "maintenance")


def queue_of(place: str, kind: str) -> str:
    """Name of a queue: ``ingest`` or ``maintenance`` of one index; several indices may share a Redis."""
    return f"es-dedup.{parse_address(place).name}.{kind}"


@contextmanager
def translated(app: Celery) -> Iterator[None]:
    """One of our errors for all ways in which Redis fails."""
    try:
        yield
    except (RedisError, OperationalError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise QueueUnavailable(shown(app.conf.broker_url), reason.rstrip(".")) from error


def shown(broker: str) -> str:
    """The address of a broker without user and password."""
    parts = urlsplit(broker)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))


def depths(app: Celery, place: str) -> dict[str, int]:
    """Messages that wait, by kind of queue; those that workers hold are under ``unacked``.

    Raises:
        QueueUnavailable: Redis does not answer.
    """
    with translated(app), app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1)
        redis: Any = connection.default_channel.client
        found = {kind: int(redis.llen(queue_of(place, kind))) for kind in KINDS}
        return found | {"unacked": int(redis.hlen("unacked"))}


def turn(job: str, number: int) -> tuple[str, int, int]:
    """Arguments of a message about a part of a job that is sent now; see ``Runner.work``."""
    return job, number, int(time.time() * 1000)


def send_pages(app: Celery, page_ids: Sequence[str]) -> None:
    """Have documents decided on; one message per hundred.

    Raises:
        QueueUnavailable: Redis does not answer; some may have been sent.
    """
    with translated(app):
        for some in chunked(page_ids, IDS_AT_A_TIME):
            app.send_task("es_dedup.ingest", (some,))
