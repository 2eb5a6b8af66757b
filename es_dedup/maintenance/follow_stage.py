"""Keeps attached source indices deduplicated while others write to them: the stage of the job ``follow``, which does not end by itself."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import reading_stored
from es_dedup.maintenance.change_capture import Changes, Positions, changes
from es_dedup.maintenance.dead_letters import put_dead_letters
from es_dedup.maintenance.deletions import DeletionWatch
from es_dedup.maintenance.ingest import ingest_documents
from es_dedup.maintenance.stage import PartitionPlan, Step, batch_of, hopeless

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.index.jobs import Job, Partition
    from es_dedup.index.source_index import ShardWrites, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext

COMPARE_SECONDS: Final = 5.0  # for which ids are compared before new writes are looked at again


@dataclass(slots=True)
class FollowState:
    """How far following is.

    Attributes:
        positions: up to which writes were dealt with.
        at: everything written until then was dealt with; milliseconds since 1970, 0 when that was never so.
        begun, until: when the writes that are dealt with now were looked up, and up to where they go; then ``at`` becomes ``begun``.
        deletions: see ``DeletionWatch``.
        place: index and shard that were worked on when an attempt failed; they are the first of the next one.
    """

    positions: Positions = field(default_factory=Positions)
    at: int = 0
    begun: int = 0
    until: Positions = field(default_factory=Positions)
    deletions: DeletionWatch = field(default_factory=DeletionWatch)
    place: tuple[str, int] | None = None

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> FollowState:
        """What ``as_dict`` gave.

        Raises:
            DamagedData: it is of another form.
        """
        with reading_stored("positions of followed indices"):
            place = given["place"]
            return cls(
                Positions.from_dict(given["positions"]),
                int(given["at"]),
                int(given["begun"]),
                Positions.from_dict(given["until"]),
                DeletionWatch.from_dict(given["deletions"]),
                None if place is None else (str(place[0]), int(place[1])),
            )

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form, a copy."""
        return {
            "positions": self.positions.as_dict(),
            "at": self.at,
            "begun": self.begun,
            "until": self.until.as_dict(),
            "deletions": self.deletions.as_dict(),
            "place": self.place,
        }

    def begin(self, writes: Mapping[str, Mapping[int, ShardWrites]], now: int) -> None:
        """Take these writes as those to be dealt with, if the ones before are; of these drop what is not there any more."""
        present = {
            (index, str(number)): each for index, shards in writes.items() for number, each in shards.items()
        }
        before = [
            (index, shard, history, last)
            for index, shards in self.until.reached.items()
            for shard, (history, last) in shards.items()
            if (index, shard) in present and present[index, shard].history == history
        ]
        if not before:
            self.begun = now
            before = [(*place, each.history, each.complete) for place, each in present.items()]
        self.until = Positions()
        for index, shard, history, last in before:
            self.until.advance(index, int(shard), history, last)
        self.settle()

    def settle(self) -> None:
        """Advance ``at`` if the positions have come to where ``until`` is."""
        if all(
            self.positions.above(index, int(shard), history) >= last
            for index, shards in self.until.reached.items()
            for shard, (history, last) in shards.items()
        ):
            self.at, self.until = self.begun, Positions()


class Follow:
    """New and changed documents are decided on, and pages whose documents were deleted are removed."""

    name = "follow"

    def plan(self, context: MaintenanceContext, job: Job) -> Sequence[PartitionPlan]:
        """One part for all attached indices; its work says where to begin."""
        return [PartitionPlan({"state": job.options["state"]})]

    def work(self, context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
        """One step per batch, and one per look at the source indices; the checkpoint is a ``FollowState``."""
        state = FollowState.from_dict(part.checkpoint or part.work["state"])
        follower = _Follower(context, state, part)
        once = bool(job.options.get("once"))
        limits = context.settings.maintenance
        while True:
            yield from follower.look(compare=once)
            if not follower.busy:
                time.sleep(0 if once else limits.follow_seconds)
            yield Step(state.as_dict(), 0, idle=True)
            if once and not follower.busy:
                return


class _Follower:
    """One worker's view of what it follows."""

    def __init__(self, context: MaintenanceContext, state: FollowState, part: Partition) -> None:
        self._context, self._state, self._part = context, state, part
        self._batch = batch_of(context, part)
        self._lost = hopeless(context, part)
        self.busy = False
        """Whether something was found at the last look."""

    def look(self, *, compare: bool) -> Iterator[Step]:
        """Deal with deletions where it is time for that, or ``compare``, then with what was written until now."""
        context, state = self._context, self._state
        now, self.busy = int(time.time() * 1000), False
        indices = context.indices()
        context.source_index.prepare(index for index in indices if index not in state.positions.reached)
        writes = context.source_index.writes(indices)
        deleted = self._forget_detached(indices)
        interval = context.settings.maintenance.deletions_seconds * 1000
        if compare or deleted or state.deletions.index or now - state.deletions.looked >= interval:
            # first: where writes never cease, the time for a part is over before they are dealt with
            for compared, counts in state.deletions.work(
                context, writes, deleted, now=now, seconds=COMPARE_SECONDS
            ):
                yield Step(state.as_dict(), 0, {**counts, "compared": compared})
            self.busy |= bool(state.deletions.index)
            for index in () if state.deletions.index else deleted:
                state.positions.reached.pop(index, None)
                state.deletions.counted.pop(index, None)
        state.begin(writes, now)
        for found in changes(context, indices, state.positions, self._ordered(writes), batch=self._batch):
            yield from self._deal_with(found)
        state.place = None

    def _forget_detached(self, indices: Mapping[str, SourceFields]) -> list[str]:
        """Indices that were followed and have been deleted; what is known of indices that are not attached any more is dropped."""
        source, reached = self._context.source_index, self._state.positions.reached
        absent = [index for index in reached if index not in indices]
        for index in absent:
            if source.indices(index):  # it is open
                reached.pop(index)
                self._state.deletions.counted.pop(index, None)
        return [index for index in absent if not source.exists(index)]  # the others are closed

    def _ordered(
        self, writes: Mapping[str, Mapping[int, ShardWrites]]
    ) -> dict[str, Mapping[int, ShardWrites]]:
        """The same, with the place where an attempt failed first."""
        if self._state.place is None:
            return dict(writes)
        index, shard = self._state.place
        found = dict(writes)
        if shard in found.get(index, ()):
            shards = found.pop(index)
            found = {index: {shard: shards[shard], **shards}, **found}
        return found

    def _deal_with(self, found: Changes) -> Iterator[Step]:
        context, state = self._context, self._state
        documents = [each for each in found.documents if not context.source_index.knows(each)]
        place = (found.index, found.shard)
        if self._part.attempts > 1 and documents:
            if self._lost and state.place == place:
                self._lost = False
                put_dead_letters(
                    context,
                    [documents[0].key.page_id],
                    Follow.name,
                    self._part.attempts - 1,
                    self._part.error,
                )
                state.positions.advance(found.index, found.shard, found.history, documents[0].seq_no)
                yield Step(state.as_dict(), 1, {"dead": 1})
                documents = documents[1:]
            state.place = place
            yield Step(state.as_dict(), 0)
        context.source_index.remember(documents)
        try:
            counts = ingest_documents(context, found.fields, documents)
        except BaseException:
            context.source_index.forget(documents)
            raise
        self.busy |= bool(documents)
        state.positions.advance(found.index, found.shard, found.history, found.reached)
        state.settle()
        known = len(found.documents) - len(documents)
        yield Step(state.as_dict(), len(documents), {**counts, "known": known})
