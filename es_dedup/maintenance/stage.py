"""What a job is made of: stages, each cut into parts that can be worked on by themselves and taken up again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_dedup.index.jobs import Job, Partition
    from es_dedup.maintenance.context import MaintenanceContext

    Observer: TypeAlias = Callable[[str, Mapping[str, int], float], None]


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What one part covers, and about how many documents that are."""

    work: Mapping[str, Any]
    total: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of a part that is done and safe: a repetition goes on after ``checkpoint``.

    Attributes:
        checkpoint: JSON-ready.
        done: documents of this piece.
        counts: what became of them, by name.
        idle: nothing was done but to wait for work; such time is not counted.
    """

    checkpoint: Any
    done: int
    counts: Mapping[str, int] = field(default_factory=dict)
    idle: bool = False


class Stage(Protocol):
    """One stage of a plan.

    ``work`` yields after each piece that is written; it may be stopped at any yield, and begun again from the part's
    checkpoint by another process. To repeat a piece changes nothing.
    """

    name: str

    def plan(self, context: MaintenanceContext, job: Job) -> Sequence[PartitionPlan]:
        """The parts; none when there is nothing to do."""

    def work(self, context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
        """Work on a part from its checkpoint on."""


def batch_of(context: MaintenanceContext, part: Partition) -> int:
    """Documents at a time: fewer after each failed attempt, one in the last, so that one bad page is found."""
    limits = context.settings.maintenance
    if limits.max_attempts == 1:
        return 1
    left = max(0, limits.max_attempts - max(1, part.attempts)) / (limits.max_attempts - 1)
    return max(1, round(float(limits.batch**left)))


def throttle(rate: float | None, done: int, took: float) -> None:
    """Wait until ``done`` documents, dealt with in ``took`` seconds, are no more than ``rate`` a second; None: no limit."""
    if rate:
        time.sleep(max(0.0, done / rate - took))


def hopeless(context: MaintenanceContext, part: Partition) -> bool:
    """Whether the next document has been tried often enough, alone at last."""
    return part.attempts > context.settings.maintenance.max_attempts
