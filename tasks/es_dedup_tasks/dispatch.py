"""Sends work to the workers of an index."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kombu.exceptions import OperationalError
from redis import RedisError

from es_dedup_tasks.app import make_app, queue_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from es_dedup.config import Settings

IDS_AT_A_TIME: Final = 100
KINDS: Final = ("ingest", "maintenance")


@contextmanager
def _translated() -> Iterator[None]:
    """One class for all ways in which Redis fails."""
    try:
        yield
    except RedisError as error:
        raise OperationalError(str(error)) from error


class CeleryDispatcher:
    """Queues of one index.

    Args:
        place: address of the index.
        settings: name the broker.
    """

    def __init__(self, place: str, settings: Settings) -> None:
        self._place = place
        self.errors: type[Exception] = OperationalError  # what an unreachable broker raises
        self._app = make_app(place, settings)

    def work(self, job: str, numbers: Iterable[int]) -> None:
        """Have parts of a job worked on."""
        for number in numbers:
            self._app.send_task("es_dedup.work", (job, number))

    def ingest(self, page_ids: Sequence[str]) -> None:
        """Have documents decided on, later and elsewhere."""
        for start in range(0, len(page_ids), IDS_AT_A_TIME):
            self._app.send_task("es_dedup.ingest", (list(page_ids[start : start + IDS_AT_A_TIME]),))

    def depths(self) -> dict[str, int]:
        """Messages that wait, by kind of queue; those that workers hold are under ``unacked``."""
        with self._app.connection_for_read() as connection, _translated():
            connection.ensure_connection(max_retries=1)
            redis: Any = connection.default_channel.client
            found = {kind: int(redis.llen(queue_of(self._place, kind))) for kind in KINDS}
            return found | {"unacked": int(redis.hlen("unacked"))}

    def close(self) -> None:
        """Let go of the connections."""
        self._app.close()
