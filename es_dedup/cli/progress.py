"""Progress of long work on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from es_dedup.model import Progress

PLAIN_EVERY_SECONDS: Final = 15.0
_WORDS: Final = {
    "read": "reading",
    "features": "making features",
    "join": "finding candidates",
    "verify": "comparing pairs",
    "cluster": "clustering",
    "write": "writing",
    "compile": "compiling kernels",
    "report": "writing the report",
}


class ProgressDisplay:
    """Shows ``Progress`` values as they come; a context manager, silent when ``quiet``."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}
        self._stage, self._started, self._said = "", 0.0, 0.0

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            self._bars = _bars()
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, progress: Progress) -> None:
        """Show how far a stage is."""
        if self._bars is not None:
            self._draw(self._bars, progress)
        elif not self._quiet:
            self._say(progress)

    def count(self, stage: str, done: int, total: int | None) -> None:
        """The same for callers that have numbers only."""
        from es_dedup.model import Progress

        self(Progress(stage, done, total))

    def _draw(self, bars: Bars, progress: Progress) -> None:
        task = self._tasks.get(progress.stage)
        if task is None:
            task = bars.add_task(_WORDS.get(progress.stage, progress.stage), total=progress.total)
            self._tasks[progress.stage] = task
        bars.update(task, completed=progress.done, total=progress.total)

    def _say(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._started, self._said = progress.stage, now, now
        if now - self._said < PLAIN_EVERY_SECONDS:
            return
        self._said = now
        rate = progress.done / (now - self._started)
        left = ""
        if progress.total and rate:
            left = f" of {progress.total:,}, {(progress.total - progress.done) / rate:,.0f} s left"
        sys.stderr.write(
            f"{_WORDS.get(progress.stage, progress.stage)}: {progress.done:,}{left} ({rate:,.0f}/s)\n"
        )


def _bars() -> Bars:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """Steps a second."""

        def render(self, task: object) -> Text:
            speed = getattr(task, "finished_speed", None) or getattr(task, "speed", None)
            return Text(f"{speed:,.0f}/s" if speed else "", style="dim")

    columns = (
        TextColumn("{task.description:<18}"), BarColumn(bar_width=30), MofNCompleteColumn(), Rate(), TimeRemainingColumn(),
    )  # fmt: skip
    return Progress(*columns, console=Console(file=sys.stderr), transient=True)
