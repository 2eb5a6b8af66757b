"""Documents that wait for a decision: the hook has indexed them, and what was to decide on them has not, or could not.

Their object ``dedup`` says so (``waiting``). It is written with the document, so it outlives every message, and writes for its old
cluster do not take it away: what a flushed or restarted Redis has lost is found here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from es_dedup.index.source_index import SourceFields
from es_dedup.maintenance.dead_letters import put_dead_letters
from es_dedup.maintenance.ingest import ingest_documents
from es_dedup.maintenance.stage import PartitionPlan, Step, batch_of, hopeless
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.index.jobs import Job, Partition
    from es_dedup.index.source_index import SourceDocument
    from es_dedup.maintenance.context import MaintenanceContext

PASSES: Final = 10  # a decision writes to other documents that wait, and these then move behind what is read
CLAIMS_KEPT: Final = 3_600_000  # milliseconds; searches see a page after a second, and clocks may differ


class PendingDocuments:
    """Decides on the documents that wait."""

    name = "waiting"

    def plan(self, context: MaintenanceContext, job: Job) -> Sequence[PartitionPlan]:
        """One part per concrete index where something waits."""
        context.claims.forget(int(time.time() * 1000) - CLAIMS_KEPT)
        shares = []
        for index, fields in context.indices(job.options.get("target")).items():
            context.source_index.refresh(index)
            if count := context.source_index.count_waiting(index):
                shares.append(PartitionPlan({"index": index, "fields": fields.as_dict()}, count))
        return shares

    def work(self, context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
        """One step per batch; it begins from the start each time, as what was decided on is not met again."""
        fields, batch = SourceFields(**part.work["fields"]), batch_of(context, part)
        lost = hopeless(context, part)
        for _ in range(PASSES):
            met = 0
            for documents in undecided(context, part.work["index"], fields.names):
                met += len(documents)
                for some in chunked(documents, batch):
                    if lost:
                        put_dead_letters(
                            context, [some[0].key.page_id], self.name, part.attempts - 1, part.error
                        )
                        del some[0]
                        lost = False
                    counts = {**ingest_documents(context, fields, some), "waited": len(some)}
                    yield Step(None, len(some), counts)
            if not met:
                return


def undecided(
    context: MaintenanceContext, index: str, fields: Sequence[str]
) -> Iterator[list[SourceDocument]]:
    """Documents of a concrete index that wait for a decision, without dead letters."""
    dead = {letter.page_id for letter in context.jobs.dead()}
    for documents in context.source_index.waiting(index, fields):
        if found := [each for each in documents if each.key.page_id not in dead]:
            yield found


def undecided_ids(context: MaintenanceContext) -> Iterator[list[str]]:
    """Page ids of all documents of attached indices that wait for a decision."""
    for index in context.indices():
        for documents in undecided(context, index, ()):
            yield [each.key.page_id for each in documents]
