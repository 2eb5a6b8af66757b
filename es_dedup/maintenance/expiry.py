"""Pages past their time to live: ``maintenance.keep_days`` after their publication.

Pages of attached indices follow their documents, which are the source of truth: a page that was removed while its document is there would
be stored again by the next audit or backfill. Where something is attached, nothing expires.
"""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from es_dedup.batch.recluster import write_session

if TYPE_CHECKING:
    from es_dedup.maintenance.context import MaintenanceContext

BATCH = 500
"""Pages removed at a time."""
logger = logging.getLogger(__name__)


def first_day_kept(days: int) -> str:
    """The day of UTC so many days ago (``2026-08-26``): pages published before it are older.

    Raises:
        OverflowError: that is before all times.
    """
    return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()


def expire(context: MaintenanceContext) -> bool:
    """Remove pages older than ``maintenance.keep_days`` and repair their clusters, for about ``maintenance.step_seconds``.

    Does nothing, and logs a warning, where source indices are attached.

    Returns:
        Whether some may be left; the next call goes on.
    """
    limits = context.settings.maintenance
    if not limits.keep_days:
        return False
    if context.attachments:
        logger.warning(
            "maintenance.keep_days is ignored, as indices are attached: delete their documents, and `es-dedup audit --repair` removes the pages"
        )
        return False
    day, end = first_day_kept(limits.keep_days), time.monotonic() + limits.step_seconds
    for old in context.index.pages_before(day):
        for start in range(0, len(old), BATCH):
            _remove(context, old[start : start + BATCH], day)
            if time.monotonic() > end:
                return True
    return False


def _remove(context: MaintenanceContext, page_ids: list[str], day: str) -> None:
    """Remove those pages that are still old: others may have stored them anew."""
    with write_session(context.index):
        stored = context.index.get_many(page_ids).values()
        context.dedup.remove(each.page_id for each in stored if "" < each.published < day)
