"""One open index per worker process: connections do not survive a fork."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from es_dedup.maintenance.context import MaintenanceContext, open_context

if TYPE_CHECKING:
    from es_dedup.settings import Settings


class ProcessContext:
    """Opens the index when a process first needs it, and keeps it open.

    Args:
        place: address of the index.
        settings: all settings.
    """

    def __init__(self, place: str, settings: Settings) -> None:
        self._place, self._settings = place, settings
        self._guard = threading.Lock()
        self._open: tuple[int, MaintenanceContext, ExitStack] | None = None

    @property
    def context(self) -> MaintenanceContext:
        """The site of this process.

        Raises:
            IndexError_: the index cannot be opened; the next call tries again.
        """
        with self._guard:
            if self._open is None or self._open[0] != os.getpid():
                stack = ExitStack()
                self._open = (
                    os.getpid(),
                    stack.enter_context(open_context(self._place, self._settings)),
                    stack,
                )
            return self._open[1]
