"""Dead letters: pages that could not be processed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from es_dedup.index.jobs import DeadLetter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.maintenance.context import MaintenanceContext

DIED = "its worker ended without a word (killed, or out of memory)"


def put_dead_letters(
    context: MaintenanceContext, page_ids: Iterable[str], task: str, attempts: int, error: str
) -> None:
    """Make a dead letter of each page, after as many attempts as are allowed; an empty error: the worker died each time."""
    now = int(time.time() * 1000)
    context.jobs.put_dead_letters(DeadLetter(name, task, error or DIED, attempts, now) for name in page_ids)


def put_failed(context: MaintenanceContext, failed: Mapping[str, str], task: str) -> None:
    """Make dead letters at once: a repetition would fail in the same way."""
    now = int(time.time() * 1000)
    context.jobs.put_dead_letters(DeadLetter(name, task, reason, 1, now) for name, reason in failed.items())
