"""Taking in what is written to host indices while a new generation is filled beside the one in use.

Each write to a shard has a higher sequence number than those before, whoever wrote: hook, tasks, or a writer that knows nothing of
es-dedup. A document that is written again is met once, as it is now. What was deleted is not met; ``mark`` finds that its document
is gone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import reading_stored
from es_dedup.maintenance.dead_letters import bury_failed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.index.source_index import HostDocument, HostFields
    from es_dedup.maintenance.context import Site

NOTE: Final = "followed"


def note_positions(site: Site) -> None:
    """Remember where the host indices are now, for ``follow``; a second call changes nothing."""
    if site.index.note(NOTE) is None:
        _keep(
            site,
            {index: {str(s.number): s.last for s in site.host.shards(index)} for index in site.indices()},
        )


def follow(site: Site) -> int:
    """Decide on all documents that were written since the positions that are noted, and note the new ones.

    Indices that were made since are read from their beginning. To repeat it is safe.

    Returns:
        Documents that were read.
    """
    with reading_stored("positions of followed indices"):
        known: dict[str, dict[str, int]] = dict(json.loads(site.index.note(NOTE) or "{}"))
    read = 0
    for index, fields in site.indices().items():
        reached = known.setdefault(index, {})
        for shard in site.host.shards(index):
            above, batch = reached.get(str(shard.number), -1), site.settings.maintenance.batch
            # without an upper bound: a document that is written again while this reads is still ahead
            for documents in site.host.scan(shard, fields.names, above=above, batch=batch):
                _take_in(site, fields, documents)
                reached[str(shard.number)] = documents[-1].seq_no
                read += len(documents)
    _keep(site, known)
    return read


def _take_in(site: Site, fields: HostFields, documents: Sequence[HostDocument]) -> None:
    impossible = {each.key.page_id: each.key.problem for each in documents if each.key.problem}
    pages = [
        fields.page(each.key.page_id, each.source) for each in documents if each.key.page_id not in impossible
    ]
    failed = site.dedup.add_many(pages).failed
    bury_failed(site, {**impossible, **failed}, "reindex")


def _keep(site: Site, positions: Any) -> None:
    site.index.set_note(NOTE, json.dumps(positions))
