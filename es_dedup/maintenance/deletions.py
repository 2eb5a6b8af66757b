"""Documents that were deleted from source indices: a deletion leaves nothing that a search finds.

Each shard counts its deletions. Where a count has changed, or began anew, the stored pages of that index are compared with its documents by id.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from es_dedup.maintenance.dedup_field_writes import forget_gone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from es_dedup.index.source_index import ShardWrites
    from es_dedup.maintenance.context import MaintenanceContext

COMPARED_PAGES: Final = 1_000  # at a time

Counts = dict[str, tuple[str, int]]
"""Name of a count of deletions, and the count, by number of the shard."""


@dataclass(slots=True)
class DeletionWatch:
    """What is known of the deletions of source indices.

    Attributes:
        counted: deletions of each index when its pages were last compared with its documents.
        looked: all documents that were deleted until then are dealt with; milliseconds since 1970.
        index: whose pages are being compared; empty when none are.
        counts: its deletions when the comparison began.
        after: page id up to which they are compared.
    """

    counted: dict[str, Counts] = field(default_factory=dict)
    looked: int = 0
    index: str = ""
    counts: Counts = field(default_factory=dict)
    after: str = ""

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> DeletionWatch:
        """What ``as_dict`` gave."""
        return cls(
            {index: _counts(counts) for index, counts in given["counted"].items()},
            int(given["looked"]),
            str(given["index"]),
            _counts(given["counts"]),
            str(given["after"]),
        )

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form, a copy."""
        return {
            "counted": dict(self.counted),
            "looked": self.looked,
            "index": self.index,
            "counts": self.counts,
            "after": self.after,
        }

    def work(
        self,
        context: MaintenanceContext,
        writes: Mapping[str, Mapping[int, ShardWrites]],
        deleted: Collection[str],
        *,
        now: int,
        seconds: float,
    ) -> Iterator[tuple[int, Mapping[str, int]]]:
        """Compare pages with documents where something was deleted, for about so long; the next call goes on.

        Args:
            context: with its attachments.
            writes: of the attached indices.
            deleted: indices that are not there any more.
            now: when the writes were read, in milliseconds since 1970.
            seconds: after which no further pages are compared.

        Yields:
            How many pages were compared, and what was done, see ``forget_gone``; the state is then as it is to be kept.
        """
        end = time.monotonic() + seconds
        counts = {index: _present(shards) for index, shards in writes.items()} | {
            index: {} for index in deleted
        }
        while self.index or self._begin(counts):
            for after, compared, done in _compared(context, self.index, self.after):
                self.after = after
                yield compared, done
                if time.monotonic() > end:
                    return
            self.counted[self.index] = self.counts
            self.index = self.after = ""
        self.looked = now

    def _begin(self, counts: Mapping[str, Counts]) -> bool:
        """Whether there is an index to be compared next."""
        for index, now in counts.items():
            if self.counted.get(index) != now:
                self.index, self.counts, self.after = index, now, ""
                return True
        return False


def _present(shards: Mapping[int, ShardWrites]) -> Counts:
    return {str(number): each.deletions for number, each in shards.items()}


def _counts(given: Mapping[str, Any]) -> Counts:
    return {shard: (str(name), int(count)) for shard, (name, count) in given.items()}


def _compared(
    context: MaintenanceContext, index: str, after: str
) -> Iterator[tuple[str, int, Mapping[str, int]]]:
    """Remove stored pages of an index whose documents have gone: last page id looked at, number of pages, what was done."""
    context.index.refresh()
    for head in (f"{index}/", f"{index}?"):  # without and with routing, see ``DocumentKey.page_id``
        for records in context.index.scan(after=max(after, head), batch=COMPARED_PAGES):
            ids = [record.page_id for record in records if record.page_id.startswith(head)]
            if ids:
                yield ids[-1], len(ids), forget_gone(context, ids)
            if len(ids) < len(records):
                break
