"""What a command says while its server does not answer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

CONNECT_SECONDS: Final = 5.0  # for a connection; a command waits for somebody
NOTE_AFTER_SECONDS: Final = 3.0  # of silence
_GOOD: Final = range(200, 500)
_BUSY: Final = 429


class AnswerWatch:
    """Notes, once for each time, that the server does not answer or is busy.

    Args:
        place: the index as it may be shown.
        note: takes a line for people.
    """

    def __init__(self, place: str, note: Callable[[str], None]) -> None:
        self._place, self._note = place, note
        self._noted = False
        self._first = threading.Timer(NOTE_AFTER_SECONDS, self._say, ("to answer",))
        self._first.daemon = True
        self._first.start()

    def __call__(self, kind: str, status: int) -> None:
        """Take notice of an answer, see ``factory.watch_answers``."""
        self._first.cancel()
        if kind != "request":
            return
        if status in _GOOD and status != _BUSY:
            self._noted = False
        else:
            self._say(f"(status {status}), trying again" if status else "to answer, trying again")

    def close(self) -> None:
        """Say nothing any more."""
        self._first.cancel()

    def _say(self, what: str) -> None:
        if not self._noted:
            self._noted = True
            self._note(f"waiting for {self._place} {what}")
