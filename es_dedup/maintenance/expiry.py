"""Pages past their time to live: ``maintenance.keep_days`` after their publication.

Pages of attached indices follow their documents, which are the source of truth: a page that was removed while its document is there would
be stored again by the next audit or backfill. Where something is attached, nothing expires.
"""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from es_dedup.maintenance.context import MaintenanceContext

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
            "maintenance.keep_days is ignored, as indices are attached: delete their documents, and `es-dedup elastic audit --repair` removes the pages"
        )
        return False
    end = time.monotonic() + limits.step_seconds
    return any(time.monotonic() > end for _ in context.dedup.remove_before(first_day_kept(limits.keep_days)))
