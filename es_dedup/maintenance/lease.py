"""Holds a part for one worker: signs of life while it works, checkpoints that count only while it holds it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from es_dedup.errors import DedupError

if TYPE_CHECKING:
    from es_dedup.index.jobs import JobStore, Partition, Version
    from es_dedup.maintenance.stage import Step


class LeaseLost(DedupError):
    """Another worker has taken the part: this one seemed dead."""


class Lease:
    """A part that was taken.

    Args:
        jobs: where it is kept.
        part, version: as taken.
        beat_seconds: between signs of life.
    """

    def __init__(self, jobs: JobStore, part: Partition, version: Version, beat_seconds: float) -> None:
        self._jobs, self._beat_seconds = jobs, beat_seconds
        self.part = part
        self._version: Version | None = version
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True, name="es-dedup-part")

    def __enter__(self) -> Self:
        """Begin with the signs of life."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self._stop.set()
        self._thread.join()

    def save(self, step: Step, seconds: float, attempts: int) -> None:
        """Keep the checkpoint of a piece.

        Raises:
            LeaseLost: another worker has the part.
        """
        counts = Counter(self.part.counts)
        counts.update(step.counts)
        self._put(
            checkpoint=step.checkpoint,
            done=self.part.done + step.done,
            seconds=round(self.part.seconds + seconds, 3),
            counts=dict(counts),
            attempts=attempts,
            error="",
        )

    def finish(self, seconds: float) -> None:
        """Nothing is left of it."""
        self._put(finished=True, owner="", attempts=0, seconds=round(self.part.seconds + seconds, 3))

    def release(self, *, attempts: int, error: str = "") -> None:
        """Give it back; who takes it next goes on at the checkpoint."""
        try:
            self._put(owner="", attempts=attempts, error=error)
        except DedupError:
            return  # it is taken over when the lease has run out

    def _put(self, **changes: Any) -> None:
        with self._guard:
            if self._version is None:
                raise LeaseLost
            part = replace(self.part, beat=int(time.time() * 1000), **changes)
            self._version = self._jobs.change_partition(part, self._version)
            if self._version is None:
                raise LeaseLost
            self.part = part

    def _live(self) -> None:
        while not self._stop.wait(self._beat_seconds):
            try:
                self._put()
            except LeaseLost:
                return
            except DedupError:
                continue  # the server may answer the next one
