"""One open index per worker process: connections do not survive a fork."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from es_dedup.maintenance.context import Site, open_site

if TYPE_CHECKING:
    from es_dedup.settings import Settings


class SiteOfProcess:
    """Opens the index when a process first needs it, and keeps it open.

    Args:
        place: address of the index.
        settings: all settings.
    """

    def __init__(self, place: str, settings: Settings) -> None:
        self._place, self._settings = place, settings
        self._guard = threading.Lock()
        self._open: tuple[int, Site, ExitStack] | None = None

    @property
    def site(self) -> Site:
        """The site of this process.

        Raises:
            IndexError_: the index cannot be opened; the next call tries again.
        """
        with self._guard:
            if self._open is None or self._open[0] != os.getpid():
                stack = ExitStack()
                self._open = (os.getpid(), stack.enter_context(open_site(self._place, self._settings)), stack)
            return self._open[1]
