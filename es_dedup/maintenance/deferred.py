"""Decisions that were put off: documents that are indexed already, by id."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from es_dedup.errors import DedupError
from es_dedup.maintenance.dead_letters import put_dead_letters
from es_dedup.maintenance.ingest import ingest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.maintenance.stage import Observer

ERROR_CHARS = 200


def ingest_or_dead_letter(
    context: MaintenanceContext, name: str, page_ids: Sequence[str], observe: Observer | None = None
) -> list[list[str]]:
    """Ingest some documents; what fails too often is halved, and a single one that fails too often becomes a dead letter.

    The attempts are counted before the work begins, so that a page that kills its worker is counted too.

    Args:
        site: with its attachments.
        name: under which attempts are counted: the same for each delivery of one message.
        page_ids: at most some hundred.
        observe: called with what was done.

    Returns:
        Lists of ids to be tried apart, in messages of their own.

    Raises:
        DedupError: storage failed, or an attempt did; try again.
    """
    if not page_ids:
        return []
    most = context.settings.maintenance.max_attempts
    attempts = context.jobs.attempt(name)
    if attempts > most:
        context.jobs.forget_attempts(name)
        if len(page_ids) > 1:
            half = len(page_ids) // 2
            return [list(page_ids[:half]), list(page_ids[half:])]
        put_dead_letters(context, page_ids, "ingest", attempts - 1, "")
        return []
    begun = time.perf_counter()
    try:
        counts = ingest(context, page_ids)
    except DedupError as error:
        if error.retryable:
            context.jobs.forget_attempts(name)  # the server's silence is not the page's fault
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}"[:ERROR_CHARS]
        if attempts == most and len(page_ids) == 1:
            put_dead_letters(context, page_ids, "ingest", attempts, said)
            context.jobs.forget_attempts(name)
            return []
        raise AttemptFailed(said) from error
    if observe is not None:
        observe("ingest", counts, time.perf_counter() - begun)
    context.jobs.forget_attempts(name)
    return []


class AttemptFailed(DedupError):
    """An unexpected error while documents were decided on; it is tried again, a few times."""

    retryable = True
    problem: str
    message = "{problem}"
