"""Documents that wait for a decision: the hook has indexed them, and what was to decide on them has not, or could not.

Their object ``dedup`` says so (``waiting``). It is written with the document, so it outlives every message, and marks of its old
cluster do not take it away: what a flushed or restarted Redis has lost is found here.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Final

from es_dedup.index.source_index import HostFields
from es_dedup.maintenance.dead_letters import bury
from es_dedup.maintenance.ingest import ingest_documents
from es_dedup.maintenance.stage import Share, Step, batch_of, hopeless

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.index.jobs import Job, Part
    from es_dedup.index.source_index import HostDocument
    from es_dedup.maintenance.context import Site

PASSES: Final = 10  # a decision writes to other documents that wait, and these then move behind what is read
DEAD_READ: Final = 100_000
CLAIMS_KEPT: Final = 3_600_000  # milliseconds; searches see a page after a second, and clocks may differ


class Waiting:
    """Decides on the documents that wait."""

    name = "waiting"

    def plan(self, site: Site, job: Job) -> Sequence[Share]:
        """One part per concrete index where something waits."""
        site.claims.forget(int(time.time() * 1000) - CLAIMS_KEPT)
        shares = []
        for index, fields in site.indices(job.options.get("target")).items():
            site.host.refresh(index)
            if count := site.host.count_waiting(index):
                shares.append(Share({"index": index, "fields": fields.as_dict()}, count))
        return shares

    def work(self, site: Site, job: Job, part: Part) -> Iterator[Step]:
        """One step per batch; it begins from the start each time, as what was decided on is not met again."""
        fields, batch = HostFields(**part.work["fields"]), batch_of(site, part)
        lost = hopeless(site, part)
        for _ in range(PASSES):
            met = 0
            for documents in undecided(site, part.work["index"], fields.names):
                met += len(documents)
                rest = iter(documents)
                while some := list(islice(rest, batch)):
                    if lost:
                        bury(site, [some[0].key.page_id], self.name, part.attempts - 1, part.error)
                        some, lost = some[1:], False
                    counts = {**ingest_documents(site, fields, some), "waited": len(some)}
                    yield Step(None, len(some), counts)
            if not met:
                return


def undecided(site: Site, index: str, fields: Sequence[str]) -> Iterator[list[HostDocument]]:
    """Documents of a concrete index that wait for a decision, without those on the dead list."""
    dead = {letter.page_id for letter in site.jobs.dead(limit=DEAD_READ)}
    for documents in site.host.waiting(index, fields):
        if found := [each for each in documents if each.key.page_id not in dead]:
            yield found


def undecided_ids(site: Site) -> Iterator[list[str]]:
    """Page ids of all documents of attached indices that wait for a decision."""
    for index in site.indices():
        for documents in undecided(site, index, ()):
            yield [each.key.page_id for each in documents]
