"""What is written to source indices, found by the sequence numbers of their shards.

Each write to a shard has a higher sequence number than those before, whoever wrote: hook, tasks, or a writer that knows nothing of
es-dedup. A document that is written again is met once, as it is now. What was deleted is not met.

Searches may find a write before another one with a lower sequence number: writers work at the same time, and a refresh may fall in
between. Therefore nothing is read above the shard's global checkpoint, as it was before the refresh: all writes up to there are found.
They are also on all copies of the shard, so that what was read is not undone when the primary fails. Sequence numbers of another history
(a restored index, or one made again under its name) mean other writes, and the shard is read from its beginning.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from es_dedup.errors import reading_stored
from es_dedup.index.source_index import Shard
from es_dedup.maintenance.dead_letters import put_failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.index.source_index import ShardWrites, SourceDocument, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext

NOTE: Final = "followed"
SETTLED_SECONDS: Final = (
    15.0  # within which all copies have what was written; more than the interval of an asynchronous translog
)
POLL_SECONDS: Final = 0.05


@dataclass(slots=True)
class Positions:
    """How far the shards of source indices were read.

    Attributes:
        reached: name of the history and sequence number, by index and number of the shard; all writes up to it were read.
    """

    reached: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, given: Mapping[str, Mapping[str, Sequence[str | int]]]) -> Positions:
        """What ``as_dict`` gave."""
        return cls(
            {
                index: {shard: (str(history), int(at)) for shard, (history, at) in shards.items()}
                for index, shards in given.items()
            }
        )

    def as_dict(self) -> dict[str, dict[str, list[str | int]]]:
        """JSON-ready form, a copy; equal to what JSON gives back."""
        return {
            index: {shard: list(at) for shard, at in shards.items()} for index, shards in self.reached.items()
        }

    def above(self, index: str, shard: int, history: str) -> int:
        """Sequence number above which a shard was not read; -1 when it was not read at all."""
        known, at = self.reached.get(index, {}).get(str(shard), ("", -1))
        return at if known == history else -1

    def advance(self, index: str, shard: int, history: str, to: int) -> None:
        """Note that a shard was read up to a sequence number."""
        self.reached.setdefault(index, {})[str(shard)] = (history, to)

    def behind(self, writes: Mapping[str, Mapping[int, ShardWrites]]) -> int:
        """Writes above these positions: at least as many as documents that were not read."""
        return sum(
            max(0, each.last - self.above(index, number, each.history))
            for index, shards in writes.items()
            for number, each in shards.items()
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
    writes: Mapping[str, Mapping[int, ShardWrites]],
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
        positions = Positions()
        for index, shards in context.source_index.writes(context.indices()).items():
            for number, each in shards.items():
                positions.advance(index, number, each.history, each.complete)
        _keep(context, positions)


def follow(context: MaintenanceContext) -> int:
    """Decide on all documents that were written since the positions that are noted, and note the new ones.

    Indices that were made since are read from their beginning. To repeat it is safe.

    Returns:
        Documents that were read.
    """
    with reading_stored("positions of followed indices"):
        positions = Positions.from_dict(json.loads(context.index.note(NOTE) or "{}"))
    read = 0
    indices = context.indices()
    for found in changes(
        context, indices, positions, _settled(context, indices), batch=context.settings.maintenance.batch
    ):
        _take_in(context, found.fields, found.documents)
        positions.advance(found.index, found.shard, found.history, found.reached)
        read += len(found.documents)
    _keep(context, positions)
    return read


def _settled(
    context: MaintenanceContext, indices: Mapping[str, SourceFields]
) -> Mapping[str, Mapping[int, ShardWrites]]:
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


def _take_in(context: MaintenanceContext, fields: SourceFields, documents: Sequence[SourceDocument]) -> None:
    impossible = {each.key.page_id: each.key.problem for each in documents if each.key.problem}
    pages = [
        fields.page(each.key.page_id, each.source) for each in documents if each.key.page_id not in impossible
    ]
    failed = context.dedup.add_many(pages).failed
    put_failed(context, {**impossible, **failed}, "reindex")


def _keep(context: MaintenanceContext, positions: Positions) -> None:
    context.index.set_note(NOTE, json.dumps(positions.as_dict()))
