"""What a job is made of: stages, each cut into parts that can be worked on by themselves and taken up again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from es_dedup.index.jobs import Job, Partition
    from es_dedup.index.source_index import SourceDocument, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext

    Observer: TypeAlias = Callable[[str, Mapping[str, int], float], None]
    Process: TypeAlias = Callable[[SourceFields, Sequence[SourceDocument]], Mapping[str, int]]
    Batches: TypeAlias = Iterable[tuple[Sequence[SourceDocument], Any]]


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


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a job.

    Attributes:
        name: for people, and as the task of dead letters.
        plan: gives the parts; none when there is nothing to do.
        work: works on a part from its checkpoint on, and yields after each piece that is written. It may be stopped at any yield, and
            begun again from the checkpoint by another process. To repeat a piece changes nothing.
    """

    name: str
    plan: Callable[[MaintenanceContext, Job], Sequence[PartitionPlan]]
    work: Callable[[MaintenanceContext, Job, Partition], Iterator[Step]]


@dataclass(frozen=True, slots=True)
class JobKind:
    """What a job does.

    Attributes:
        stages: one after the other.
        brief: it decides on a few pages that wait: its messages go to the queue ``ingest``, and it is removed when it is done.
    """

    stages: tuple[Stage, ...]
    brief: bool = False

    @property
    def queue(self) -> str:
        """Kind of the queue that its messages go to."""
        return "ingest" if self.brief else "maintenance"


def process_batches(
    context: MaintenanceContext,
    part: Partition,
    task: str,
    fields: SourceFields,
    read: Callable[[Sequence[str], Any], Batches],
    process: Process,
) -> Iterator[Step]:
    """Process documents batch by batch; the first one becomes a dead letter where it has been tried often enough.

    Args:
        context: with its attachments.
        part: what is worked on.
        task: name of the stage.
        fields: how the documents are read.
        read: gives batches with these fields from a checkpoint on, each with the checkpoint after it; without dead letters, or past them.
        process: what is done with a batch; returns counts.
    """
    checkpoint = part.checkpoint
    if context.gives_up(part):
        for documents, checkpoint in islice(read((), checkpoint), 1):  # noqa: B020 - reading goes on after it
            context.give_up(part, task, documents[0].key.page_id)
            yield Step(checkpoint, 1, {"dead": 1})
    for documents, after in read(fields.names, checkpoint):
        yield Step(after, len(documents), process(fields, documents))


def throttle(rate: float | None, done: int, took: float) -> None:
    """Wait until ``done`` documents, dealt with in ``took`` seconds, are no more than ``rate`` a second; None: no limit."""
    if rate:
        time.sleep(max(0.0, done / rate - took))
