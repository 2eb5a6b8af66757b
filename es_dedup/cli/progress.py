"""Progress of long work on standard error: a line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from es_dedup.model import Progress

if TYPE_CHECKING:
    from rich.status import Status

PLAIN_EVERY_SECONDS: Final = 15.0
_WORDS: Final = {
    "read": "reading",
    "features": "making features",
    "join": "finding candidates",
    "verify": "comparing pairs",
    "cluster": "clustering",
    "write": "writing",
    "search": "indexing texts for search",
    "purge": "deleting copies",
    "report": "writing the report",
}


class ProgressDisplay:
    """Shows ``Progress`` values as they come; a context manager, silent when ``quiet``."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._status: Status | None = None
        self._entered = 0.0
        self._stage, self._began, self._said = "", 0.0, 0.0

    def __enter__(self) -> Self:
        self._entered = time.monotonic()
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(file=sys.stderr).status("")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, progress: Progress) -> None:
        """Show how far a stage is."""
        if self._quiet:
            return
        now = time.monotonic()
        if progress.stage != self._stage:
            # the first stage began with the work, not when something of it was done
            self._began, self._said = now if self._stage else self._entered, now
            self._stage = progress.stage
        if self._status is None and now - self._said < PLAIN_EVERY_SECONDS:
            return
        line = f"{_WORDS.get(progress.stage, progress.stage)}: {self._figures(progress, now)}"
        if self._status is not None:
            self._status.update(line)
        else:
            self._said = now
            sys.stderr.write(f"{line}\n")

    def count(self, stage: str, done: int, total: int | None) -> None:
        """The same for callers that have numbers only."""
        self(Progress(stage, done, total))

    def counter(self, stage: str) -> Callable[[int, int | None], None]:
        """``count`` of one stage."""
        return partial(self.count, stage)

    def _figures(self, progress: Progress, now: float) -> str:
        """``3,000 of 73,000 (5,400/s, 13 s left)``."""
        rate = progress.done / max(now - self._began, 1e-6)
        total = progress.total
        of = f" of {total:,}" if total else ""
        left = f", {(total - progress.done) / rate:,.0f} s left" if total and rate else ""
        return f"{progress.done:,}{of} ({rate:,.0f}/s{left})"
