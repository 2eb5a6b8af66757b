"""Command lines that start workers and beat with right settings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from es_dedup_tasks.beat import OPTION
from es_dedup_tasks.queues import queue_of

if TYPE_CHECKING:
    from collections.abc import Sequence

APP: Final = ("--app", "es_dedup_tasks")


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
    command = [sys.executable, "-m", "celery", *APP, "worker", "--queues", queues]
    command += [
        "--concurrency",
        str(processes),
        "--loglevel",
        log_level,
        "--without-gossip",
        "--without-mingle",
    ]
    if beat:
        command.append(OPTION)
    return command
