"""What is written to source indices, found by the sequence numbers of their shards; the job that follows it has no end.

Each write to a shard has a higher sequence number than those before, whoever wrote: hook, jobs, or a writer that knows nothing of
es-dedup. A document that is written again is met once, as it is now. What was deleted is not met.

Searches may find a write before another one with a lower sequence number: writers work at the same time, and a refresh may fall in
between. Therefore nothing is read above the shard's global checkpoint, as it was before the refresh: all writes up to there are found.
They are also on all copies of the shard, so that what was read is not undone when the primary fails. Sequence numbers of another history
(a restored index, or one made again under its name) mean other writes, and the shard is read from its beginning.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, Field, RootModel

from es_dedup.errors import reading_stored
from es_dedup.index.closing import on_error
from es_dedup.index.source_index import Shard, ShardWrites, SourceDocument, SourceFields
from es_dedup.maintenance.context import FOLLOWING, MaintenanceContext
from es_dedup.maintenance.stage import PartitionPlan, Stage, Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from es_dedup.index.jobs import Job, Partition

    Writes = Mapping[str, Mapping[int, ShardWrites]]

NOTE: Final = "followed"
SETTLED_SECONDS: Final = 15.0
"""Within which all copies have what was written; more than the interval of an asynchronous translog."""
POLL_SECONDS: Final = 0.05
COMPARE_SECONDS: Final = 5.0  # for which ids are compared before new writes are looked at again
COMPARED_PAGES: Final = 1_000  # at a time

DeletionCounts = dict[str, tuple[str, int]]
"""Name of a count of deletions, and the count, by number of the shard."""


class Positions(RootModel[dict[str, dict[str, tuple[str, int]]]]):
    """How far the shards of source indices were read.

    The root has the name of the history and a sequence number, by index and number of the shard; all writes up to it were read.
    """

    root: dict[str, dict[str, tuple[str, int]]] = Field(default_factory=dict)

    def above(self, index: str, shard: int, history: str) -> int:
        """Sequence number above which a shard was not read; -1 when it was not read at all."""
        known, reached = self.root.get(index, {}).get(str(shard), ("", -1))
        return reached if known == history else -1

    def advance(self, index: str, shard: int, history: str, to: int) -> None:
        """Note that a shard was read up to a sequence number."""
        self.root.setdefault(index, {})[str(shard)] = (history, to)

    def behind(self, writes: Writes) -> int:
        """Writes above these positions: at least as many as documents that were not read."""
        return sum(
            max(0, each.last - self.above(index, number, each.history))
            for index, shards in writes.items()
            for number, each in shards.items()
        )

    def shards(self) -> Iterator[tuple[str, int, str, int]]:
        """Index, number of the shard, name of the history, and sequence number."""
        for index, shards in self.root.items():
            for shard, (history, reached) in shards.items():
                yield index, int(shard), history, reached

    @classmethod
    def complete(cls, writes: Writes) -> Positions:
        """Up to where all writes can be read."""
        return cls(
            {
                index: {str(number): (each.history, each.complete) for number, each in shards.items()}
                for index, shards in writes.items()
            }
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """Some documents of a shard that were written since a position.

    Attributes:
        index, shard, history: where they are.
        fields: how they are read.
        documents: as they are now, by sequence number; may be empty.
        reached: up to which sequence number the shard is read, when these are dealt with.
    """

    index: str
    shard: int
    history: str
    fields: SourceFields
    documents: Sequence[SourceDocument]
    reached: int


def changes(
    context: MaintenanceContext,
    indices: Mapping[str, SourceFields],
    positions: Positions,
    writes: Writes,
    *,
    batch: int,
) -> Iterator[Changes]:
    """Documents that were written since some positions; whoever has dealt with them advances the positions.

    Args:
        context: with its attachments.
        indices: concrete indices, and how they are read.
        positions: are not changed.
        writes: of these indices, as ``SourceIndex.writes`` gave them a moment ago; what was written later is left for the next call.
        batch: most documents at once.
    """
    for index, shards in writes.items():
        ahead = {
            number: above
            for number, each in shards.items()
            if (above := positions.above(index, number, each.history)) < each.complete
        }
        if ahead:
            context.source_index.refresh(index)
        for number, above in ahead.items():
            history, complete = shards[number].history, shards[number].complete
            shard, fields = Shard(index, number, 0, complete), indices[index]
            reached = above
            for documents in context.source_index.scan(
                shard, fields.names, above=above, to=complete, batch=batch
            ):
                reached = documents[-1].seq_no
                yield Changes(index, number, history, fields, documents, reached)
            if reached < complete:
                yield Changes(index, number, history, fields, (), complete)


def note_positions(context: MaintenanceContext) -> None:
    """Remember where the source indices are now, for ``follow``; a second call changes nothing."""
    if context.index.note(NOTE) is None:
        writes = context.source_index.writes(context.indices())
        context.index.set_note(NOTE, Positions.complete(writes).model_dump_json())


def follow(context: MaintenanceContext) -> int:
    """Decide on all documents that were written since the positions that are noted, and note the new ones.

    Indices that were made since are read from their beginning. To repeat it is safe.

    Returns:
        Documents that were read.
    """
    with reading_stored("positions of followed indices"):
        positions = Positions.model_validate_json(context.index.note(NOTE) or "{}")
    read = 0
    indices = context.indices()
    writes = _settled(context, indices)
    for found in changes(context, indices, positions, writes, batch=context.settings.maintenance.batch):
        pages, problems = found.fields.pages(found.documents)
        context.put_dead_letters({**problems, **context.dedup.add_many(pages).failed}, "reindex")
        positions.advance(found.index, found.shard, found.history, found.reached)
        read += len(found.documents)
    context.index.set_note(NOTE, positions.model_dump_json())
    return read


def _settled(context: MaintenanceContext, indices: Mapping[str, SourceFields]) -> Writes:
    """Writes of indices, once all copies have what was written before the call, or after a while."""
    first = writes = context.source_index.writes(indices)
    end = time.monotonic() + SETTLED_SECONDS
    while time.monotonic() < end and any(
        each.complete < first[index][number].last
        for index, shards in writes.items()
        for number, each in shards.items()
        if number in first.get(index, {}) and each.history == first[index][number].history
    ):
        time.sleep(POLL_SECONDS)
        writes = context.source_index.writes(indices)
    return writes


class DeletionWatch(BaseModel):
    """What is known of the deletions of source indices: a deletion leaves nothing that a search finds.

    Each shard counts its deletions. Where a count has changed, or began anew, the stored pages of that index are compared with its
    documents by id.

    Attributes:
        counted: deletions of each index when its pages were last compared with its documents.
        looked: all documents that were deleted until then are dealt with; milliseconds since 1970.
        index: whose pages are being compared; empty when none are.
        counts: its deletions when the comparison began.
        after: page id up to which they are compared.
    """

    counted: dict[str, DeletionCounts] = Field(default_factory=dict)
    looked: int = 0
    index: str = ""
    counts: DeletionCounts = Field(default_factory=dict)
    after: str = ""

    def compare(
        self, context: MaintenanceContext, writes: Writes, deleted: Collection[str], now: int
    ) -> Iterator[tuple[int, Mapping[str, int]]]:
        """Compare pages with documents where something was deleted, for ``COMPARE_SECONDS``; the next call goes on.

        Args:
            context: with its attachments.
            writes: of the attached indices.
            deleted: indices that are not there any more.
            now: when the writes were read, in milliseconds since 1970.

        Yields:
            How many pages were compared, and what was done, see ``forget_gone``; the state is then as it is to be kept.
        """
        end = time.monotonic() + COMPARE_SECONDS
        counts: dict[str, DeletionCounts] = {
            index: {str(number): each.deletions for number, each in shards.items()}
            for index, shards in writes.items()
        }
        counts |= {index: {} for index in deleted}
        while self.index or self._begin(counts):
            context.index.refresh()
            # without and with routing, see ``DocumentKey.page_id``
            for head in (f"{self.index}/", f"{self.index}?"):
                for records in context.index.scan(after=max(self.after, head), batch=COMPARED_PAGES):
                    ids = [record.page_id for record in records if record.page_id.startswith(head)]
                    if ids:
                        self.after = ids[-1]
                        yield len(ids), context.forget_gone(ids)
                        if time.monotonic() > end:
                            return
                    if len(ids) < len(records):
                        break
            self.counted[self.index] = self.counts
            self.index = self.after = ""
        self.looked = now

    def _begin(self, counts: Mapping[str, DeletionCounts]) -> bool:
        """Whether there is an index to be compared next."""
        for index, present in counts.items():
            if self.counted.get(index) != present:
                self.index, self.counts, self.after = index, present, ""
                return True
        return False


class FollowState(BaseModel):
    """How far following is.

    Attributes:
        positions: up to which writes were dealt with.
        at: everything written until then was dealt with; milliseconds since 1970, 0 when that was never so.
        begun, until: when the writes that are dealt with now were looked up, and up to where they go; then ``at`` becomes ``begun``.
        deletions: see ``DeletionWatch``.
        removed: ``MaintenanceContext.removed`` as it was last; where it differs, an index is read from the beginning.
        place: index and shard that were worked on when an attempt failed; they are the first of the next one.
    """

    positions: Positions = Field(default_factory=Positions)
    at: int = 0
    begun: int = 0
    until: Positions = Field(default_factory=Positions)
    deletions: DeletionWatch = Field(default_factory=DeletionWatch)
    removed: dict[str, str] = Field(default_factory=dict)
    place: tuple[str, int] | None = None

    @classmethod
    def of(cls, part: Partition) -> FollowState:
        """Where a part is.

        Raises:
            DamagedData: it is of another form.
        """
        with reading_stored("positions of followed indices"):
            return cls.model_validate(part.checkpoint or part.work["state"])

    def begin(self, writes: Writes, now: int) -> None:
        """Take these writes as those to be dealt with, if the ones before are; of these drop what is not there any more."""
        before = Positions()
        for index, shard, history, last in self.until.shards():
            present = writes.get(index, {}).get(shard)
            if present is not None and present.history == history:
                before.advance(index, shard, history, last)
        if not before.root:
            self.begun = now
        self.until = before if before.root else Positions.complete(writes)
        self.settle()

    def settle(self) -> None:
        """Advance ``at`` if the positions have come to where ``until`` is."""
        if all(
            self.positions.above(index, shard, history) >= last
            for index, shard, history, last in self.until.shards()
        ):
            self.at, self.until = self.begun, Positions()

    def step(self, done: int = 0, counts: Mapping[str, int] | None = None, *, idle: bool = False) -> Step:
        """A piece after which following is here."""
        return Step(self.model_dump(mode="json"), done, counts or {}, idle)


def _plan(_context: MaintenanceContext, job: Job) -> list[PartitionPlan]:
    """One part for all attached indices; its work says where to begin."""
    return [PartitionPlan({"state": job.options["state"]})]


def _work(context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
    """One step per batch, and one per look at the source indices; the checkpoint is a ``FollowState``."""
    follower = _Follower(context, part)
    once = bool(job.options.get("once"))
    while True:
        yield from follower.look(compare=once)
        if not follower.busy:
            yield from follower.tend_statistics(now=once)
            time.sleep(0 if once else context.settings.maintenance.follow_seconds)
        yield follower.state.step(idle=True)
        if once and not follower.busy:
            return


FOLLOW: Final = Stage(FOLLOWING, _plan, _work)
"""New and changed documents are decided on, and pages whose documents were deleted are removed."""


class _Follower:
    """One worker's view of what it follows.

    Attributes:
        state: how far it is.
        busy: whether something was found at the last look.
    """

    def __init__(self, context: MaintenanceContext, part: Partition) -> None:
        self._context, self._part = context, part
        self._batch = context.batch_of(part)
        self._gives_up = context.gives_up(part)
        self.state = FollowState.of(part)
        self.busy = False
        # on documents since statistics were tended, and when that was
        self._decided, self._tended = False, time.monotonic()

    def tend_statistics(self, *, now: bool) -> Iterator[Step]:
        """Learn statistics again for what was followed, ``now`` or at the interval of the checks that workers make."""
        interval = self._context.settings.maintenance.recheck_seconds
        if now or (interval and time.monotonic() - self._tended >= interval):
            counts = self._context.tend_statistics(changed=self._decided and now)
            if counts is not None:
                yield self.state.step(0, counts)
                self._decided = False
            self._tended = time.monotonic()

    def look(self, *, compare: bool) -> Iterator[Step]:
        """Deal with deletions where it is time for that, or ``compare``, then with what was written until now."""
        context, state = self._context, self.state
        now, self.busy = int(time.time() * 1000), False
        indices = context.indices()
        removed = {index: each for index, each in context.removed.items() if index in indices}
        for index, each in removed.items():
            if state.removed.get(index) != each:
                self._drop(index)
        state.removed = removed
        if indices.keys() - state.positions.root.keys():
            context.source_index.prepare(indices.keys() - state.positions.root.keys())
            context.note_indices()
        writes = context.source_index.writes(indices)
        deleted = self._forget_detached(indices)
        interval = context.settings.maintenance.deletions_seconds * 1000
        if compare or deleted or state.deletions.index or now - state.deletions.looked >= interval:
            # first: where writes never cease, the time for a part is over before they are dealt with
            for compared, counts in state.deletions.compare(context, writes, deleted, now):
                yield state.step(0, {**counts, "compared": compared})
            self.busy |= bool(state.deletions.index)
            for index in () if state.deletions.index else deleted:
                self._drop(index)
        state.begin(writes, now)
        for found in changes(context, indices, state.positions, self._ordered(writes), batch=self._batch):
            yield from self._deal_with(found)
        state.place = None

    def _drop(self, index: str) -> None:
        self.state.positions.root.pop(index, None)
        self.state.deletions.counted.pop(index, None)
        self._context.source_index.forget_index(index)

    def _forget_detached(self, indices: Mapping[str, SourceFields]) -> list[str]:
        """Indices that were followed and have been deleted or left.

        What is remembered of those that were detached or closed is dropped.
        """
        source = self._context.source_index
        absent = [index for index in self.state.positions.root if index not in indices]
        left = self._context.left_indices() if absent else ()
        deleted = [index for index in absent if index in left or not source.exists(index)]
        for index in set(absent).difference(deleted):
            self._drop(index)
            if not source.indices(index):  # it is closed, and read from its beginning when it is open again
                self.state.positions.root[index] = {}
        return deleted

    def _ordered(self, writes: Writes) -> Writes:
        """The same, with the place where an attempt failed first."""
        index, shard = self.state.place or ("", 0)
        if shard not in writes.get(index, ()):
            return writes
        shards = writes[index]
        return {index: {shard: shards[shard], **shards}} | {
            name: each for name, each in writes.items() if name != index
        }

    def _deal_with(self, found: Changes) -> Iterator[Step]:
        context, state = self._context, self.state
        documents = [each for each in found.documents if not context.source_index.knows(each)]
        place = (found.index, found.shard)
        if self._part.attempts > 1 and documents:
            if self._gives_up and state.place == place:
                self._gives_up = False
                context.give_up(self._part, FOLLOW.name, documents[0].key.page_id)
                state.positions.advance(found.index, found.shard, found.history, documents[0].seq_no)
                yield state.step(1, {"dead": 1})
                documents = documents[1:]
            state.place = place
            yield state.step()
        context.source_index.remember(documents)
        with on_error(context.source_index.forget_index, found.index):
            counts = context.ingest_documents(found.fields, documents, again=self._part.repeats)
        self.busy |= bool(documents)
        self._decided |= bool(documents)
        state.positions.advance(found.index, found.shard, found.history, found.reached)
        state.settle()
        known = len(found.documents) - len(documents)
        yield state.step(len(documents), {**counts, "known": known})
