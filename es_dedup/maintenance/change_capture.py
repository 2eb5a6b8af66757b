"""Taking in what is written to source indices while a new generation is filled beside the one in use.

Each write to a shard has a higher sequence number than those before, whoever wrote: hook, tasks, or a writer that knows nothing of
es-dedup. A document that is written again is met once, as it is now. What was deleted is not met; the stage ``update`` finds that its document
is gone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import reading_stored
from es_dedup.maintenance.dead_letters import bury_failed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.index.source_index import SourceDocument, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext

NOTE: Final = "followed"


def note_positions(context: MaintenanceContext) -> None:
    """Remember where the source indices are now, for ``follow``; a second call changes nothing."""
    if context.index.note(NOTE) is None:
        _keep(
            context,
            {
                index: {str(s.number): s.last for s in context.source_index.shards(index)}
                for index in context.indices()
            },
        )


def follow(context: MaintenanceContext) -> int:
    """Decide on all documents that were written since the positions that are noted, and note the new ones.

    Indices that were made since are read from their beginning. To repeat it is safe.

    Returns:
        Documents that were read.
    """
    with reading_stored("positions of followed indices"):
        known: dict[str, dict[str, int]] = dict(json.loads(context.index.note(NOTE) or "{}"))
    read = 0
    for index, fields in context.indices().items():
        reached = known.setdefault(index, {})
        for shard in context.source_index.shards(index):
            above, batch = reached.get(str(shard.number), -1), context.settings.maintenance.batch
            # without an upper bound: a document that is written again while this reads is still ahead
            for documents in context.source_index.scan(shard, fields.names, above=above, batch=batch):
                _take_in(context, fields, documents)
                reached[str(shard.number)] = documents[-1].seq_no
                read += len(documents)
    _keep(context, known)
    return read


def _take_in(context: MaintenanceContext, fields: SourceFields, documents: Sequence[SourceDocument]) -> None:
    impossible = {each.key.page_id: each.key.problem for each in documents if each.key.problem}
    pages = [
        fields.page(each.key.page_id, each.source) for each in documents if each.key.page_id not in impossible
    ]
    failed = context.dedup.add_many(pages).failed
    bury_failed(context, {**impossible, **failed}, "reindex")


def _keep(context: MaintenanceContext, positions: Any) -> None:
    context.index.set_note(NOTE, json.dumps(positions))
