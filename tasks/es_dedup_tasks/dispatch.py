"""Sends work to the workers of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup_tasks.app import make_app
from es_dedup_tasks.queues import KINDS, depths, queue_of, send_pages, translated, turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
        self._place = place
        self._app = make_app(place, settings)
        self._app.conf.broker_transport_options |= TIMEOUTS

    def check(self) -> None:
        """Ask Redis for a sign of life.

        Raises:
            QueueUnavailable: there is none.
        """
        self.depths()

    def work(self, job: str, numbers: Iterable[int]) -> None:
        """Have parts of a job worked on.

        Raises:
            QueueUnavailable: Redis does not answer; some may have been sent.
        """
        with translated(self._app):
            for number in numbers:
                self._app.send_task("es_dedup.work", turn(job, number))

    def ingest(self, page_ids: Sequence[str]) -> None:
        """Have documents decided on, later and elsewhere: the index that they are in must be attached.

        Raises:
            QueueUnavailable: Redis does not answer; some may have been sent.
        """
        send_pages(self._app, page_ids)

    def depths(self) -> dict[str, int]:
        """See ``queues.depths``."""
        return depths(self._app, self._place)

    def workers(self) -> int:
        """How many workers of this index answer within a second; where none does, more time is given."""
        mine = {queue_of(self._place, kind) for kind in KINDS}
        found: dict[str, Any] = {}
        with translated(self._app):
            for seconds in ANSWER_SECONDS:
                found = found or self._app.control.inspect(timeout=seconds).active_queues() or {}
        return sum(any(queue["name"] in mine for queue in queues) for queues in found.values())

    def close(self) -> None:
        """Let go of the connections."""
        self._app.close()
