"""Backfill of all documents of the source indices: features first, then clusters, then ``dedup`` fields.

Stages: ``features`` (by shard and range of sequence numbers, in parallel), ``catch-up`` (what was written meanwhile),
``cluster`` (statistics, pairs, clusters, from features), ``update`` (the ``dedup`` field of each document), ``remaining`` (documents that
have no ``dedup`` field yet, or other features than they hold now, one by one), ``orphans`` (pages whose document was deleted meanwhile).
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.batch.featurise import make_chunk
from es_dedup.batch.ingest import changed
from es_dedup.batch.overrides import load_ignored
from es_dedup.batch.recluster import CLUSTERS_PENDING, write_session
from es_dedup.batch.whole_corpus import recluster_out_of_core
from es_dedup.errors import ConfigError
from es_dedup.index.source_index import Shard, SourceFields
from es_dedup.maintenance.change_capture import Positions, changes
from es_dedup.maintenance.dead_letters import put_dead_letters, put_failed
from es_dedup.maintenance.dedup_field_writes import GROUP_PAGES, forget_gone, update_all_dedup_fields
from es_dedup.maintenance.ingest import fields_of, ingest_documents
from es_dedup.maintenance.preflight import check_fields
from es_dedup.maintenance.stage import PartitionPlan, Step, batch_of, hopeless
from es_dedup.settings.recorded import decision_settings, with_recorded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.batch.featurise import Chunk
    from es_dedup.index.jobs import Job, Partition
    from es_dedup.index.source_index import SourceDocument
    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.settings import Settings

HOOK_SECONDS: Final = 2  # within which a hook has written a document whose features it has stored
PASSES: Final = (
    10  # over what was written since a job began; each may find what was written during the one before
)


class Features:
    """Features of all documents, up to the last one at the start."""

    name = "features"

    def plan(self, context: MaintenanceContext, job: Job) -> Sequence[PartitionPlan]:
        """One part per ``part_documents`` documents of a shard, cut by sequence numbers."""
        shares: list[PartitionPlan] = []
        found = context.indices(job.options.get("target"))
        context.source_index.prepare(found)
        if job.what == "backfill":
            for index, fields in found.items():
                check_fields(context, index, fields, force=bool(job.options.get("force")))
        writes = context.source_index.writes(found)
        for index, fields in found.items():
            for shard in context.source_index.shards(index):
                each = writes.get(index, {}).get(shard.number)
                complete = (each.history, each.complete) if each else ("", -1)
                shares += _ranges(shard, fields, complete, context.settings.maintenance.part_documents)
        return shares

    def work(self, context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
        """One step per batch; the checkpoint is a sequence number."""
        work = part.work
        shard = Shard(work["index"], work["shard"], 0, work["to"])
        fields = SourceFields(**work["fields"])
        above = work["above"] if part.checkpoint is None else part.checkpoint
        batch = batch_of(context, part)
        if hopeless(context, part):
            first = next(context.source_index.scan(shard, (), above=above, to=work["to"], batch=1), None)
            if first is not None:
                put_dead_letters(context, [first[0].key.page_id], self.name, part.attempts - 1, part.error)
                above = first[0].seq_no
                yield Step(above, 1, {"dead": 1})
        for documents in context.source_index.scan(
            shard, fields.names, above=above, to=work["to"], batch=batch
        ):
            yield Step(documents[-1].seq_no, len(documents), store_features(context, fields, documents))


class CatchUp(Features):
    """Features of what was written while the stage before read."""

    name = "catch-up"

    def plan(self, context: MaintenanceContext, job: Job) -> Sequence[PartitionPlan]:
        """One part per shard, above where the first reading ended."""
        ended = _ended(context, job)
        return [
            PartitionPlan(_work(shard, fields, ended.get((index, shard.number), -1), shard.last))
            for index, fields in context.indices(job.options.get("target")).items()
            for shard in context.source_index.shards(index)
            if shard.last > ended.get((index, shard.number), -1)
        ]


class IgnoredPassages:
    """Features of all pages of sites that have passages which are, or were, ignored, from their documents."""

    name = "ignored"

    def plan(self, context: MaintenanceContext, job: Job) -> Sequence[PartitionPlan]:
        """One part, in order of page ids; none without such sites."""
        sites = load_ignored(context.index, undone=True)
        return [PartitionPlan({"sites": sorted(sites)}, context.index.count())] if sites else []

    def work(self, context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
        """One step per some hundred pages; the checkpoint is a page id."""
        sites = set(part.work["sites"])
        for records in context.index.scan(after=part.checkpoint, batch=batch_of(context, part)):
            counts: Counter[str] = Counter()
            of = fields_of(context, [each.page_id for each in records if each.site in sites])
            for fields in dict.fromkeys(of.values()):
                names = [name for name, each in of.items() if each == fields]
                documents = context.source_index.read(names, fields.names)
                counts.update(store_features(context, fields, list(documents.values())))
            yield Step(records[-1].page_id, len(records), counts)


class Recluster:
    """Statistics, pairs and clusters of all stored features."""

    name = "cluster"

    def plan(self, context: MaintenanceContext, job: Job) -> Sequence[PartitionPlan]:
        """One part: it is one run over everything."""
        return [PartitionPlan({}, context.index.count())]

    def work(self, context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
        """One step; its checkpoint says that it was done."""
        if part.checkpoint is not None:
            return
        settings = settings_of(context, job)
        with write_session(context.index):
            context.index.set_note(CLUSTERS_PENDING, "1")
            done = recluster_out_of_core(context.index, settings)
            context.index.set_note(CLUSTERS_PENDING, None)
        total = done.stored
        yield Step(1, total, {"clustered": total, "pairs": done.pairs, "edges": done.related})


def _ended(context: MaintenanceContext, job: Job) -> dict[tuple[str, int], int]:
    """Sequence number up to which the stage before has read each shard of each index."""
    ended: dict[tuple[str, int], int] = {}
    for part, _ in context.jobs.parts(job.id, job.plans[-1], range(job.parts[-1])) if job.plans else ():
        place = (part.work["index"], part.work["shard"])
        ended[place] = max(ended.get(place, -1), part.work["to"])
    return ended


def _complete(context: MaintenanceContext, job: Job) -> dict[str, Positions]:
    """Positions of the shards of each index when the first stage was planned: all that was written before has been read."""
    found: dict[str, Positions] = {}
    for part, _ in context.jobs.parts(job.id, job.plans[0], range(job.parts[0])) if job.plans else ():
        if "complete" in part.work:
            index, (history, complete) = part.work["index"], part.work["complete"]
            found.setdefault(index, Positions()).advance(index, part.work["shard"], history, complete)
    return found


def _outdated_since(
    context: MaintenanceContext,
    index: str,
    fields: SourceFields,
    positions: Positions,
    batch: int,
) -> Iterator[list[SourceDocument]]:
    """Documents written since these positions whose features are not those of what they hold, until there are none.

    A hook stores features before the document, so what differs is read again after a while.

    Yields:
        Some documents at a time, also none: the positions are advanced past them and all before them.
    """
    for _ in range(PASSES):
        found = False
        seen: dict[str, int] = {}
        writes = context.source_index.writes([index])
        for each in changes(context, {index: fields}, positions, writes, batch=batch):
            late = set(outdated(context, fields, each.documents))
            seen |= {one.key.page_id: one.seq_no for one in each.documents if one.key.page_id in late}
            positions.advance(index, each.shard, each.history, each.reached)
            if not seen or len(seen) >= batch:
                yield (documents := _still_outdated(context, fields, seen))
                found, seen = found or bool(documents), {}
        yield (documents := _still_outdated(context, fields, seen))
        if not (found or documents):
            return


def _still_outdated(
    context: MaintenanceContext, fields: SourceFields, seen: Mapping[str, int]
) -> list[SourceDocument]:
    """Those of some outdated documents that were not written again since they were seen, after a hook's time."""
    if not seen:
        return []
    time.sleep(HOOK_SECONDS)
    documents = [
        each
        for each in context.source_index.read(list(seen), fields.names).values()
        if each.seq_no == seen[each.key.page_id]
    ]
    late = set(outdated(context, fields, documents))
    return [each for each in documents if each.key.page_id in late]


def settings_of(context: MaintenanceContext, job: Job) -> Settings:
    """This process's settings with the decision settings of whoever started the job.

    Raises:
        ConfigError: the job holds settings that this process does not have, or values that it does not allow.
    """
    given: Mapping[str, object] = job.options.get("settings", {})
    unknown = given.keys() - decision_settings(context.settings).keys()
    if unknown:
        problems = tuple(f"{name}: no decision setting of this worker" for name in sorted(unknown))
        raise ConfigError(problems, f"settings of job {job.id}")
    return with_recorded(context.settings, given)


class WriteDedupFields:
    """The ``dedup`` field of every document, cluster by cluster."""

    name = "update"

    def plan(self, context: MaintenanceContext, job: Job) -> Sequence[PartitionPlan]:
        """One part, in order of cluster ids."""
        return [PartitionPlan({}, context.index.count())]

    def work(self, context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
        """One step per some hundred pages; the checkpoint is a cluster id."""
        for last, pages, counts in update_all_dedup_fields(context, part.checkpoint):
            yield Step(last, pages, counts)


class Remaining:
    """Documents without a ``dedup`` field after these stages, or with outdated features: written in between, or lost by a race.

    The stages before store features of what they have read, which a hook may have replaced meanwhile.
    """

    name = "remaining"

    def plan(self, context: MaintenanceContext, job: Job) -> Sequence[PartitionPlan]:
        """One part per concrete index."""
        read = _complete(context, job) if job.what == "backfill" else {}
        return [
            PartitionPlan(
                {
                    "index": index,
                    "fields": fields.as_dict(),
                    "positions": read.get(index, Positions()).as_dict() if job.what == "backfill" else None,
                }
            )
            for index, fields in context.indices(job.options.get("target")).items()
        ]

    def work(self, context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
        """One step per batch; documents without a ``dedup`` field are sought from the start each time, as others are not met again.

        The checkpoint is how far the index was read, see ``Positions``.
        """
        fields, batch = SourceFields(**part.work["fields"]), batch_of(context, part)
        context.source_index.refresh(part.work["index"])
        dead = {letter.page_id for letter in context.jobs.dead()}
        for found in context.source_index.without_dedup_field(part.work["index"], fields.names, batch=batch):
            documents = [each for each in found if each.key.page_id not in dead]
            if documents and hopeless(context, part):
                put_dead_letters(
                    context, [documents[0].key.page_id], self.name, part.attempts - 1, part.error
                )
                documents = []
            yield Step(part.checkpoint, len(documents), ingest_documents(context, fields, documents))
        if part.work.get("positions") is None:
            return
        positions = Positions.from_dict(part.checkpoint or part.work["positions"])
        for documents in _outdated_since(context, part.work["index"], fields, positions, batch):
            found = [each for each in documents if each.key.page_id not in dead]
            # before the position, which says that they are done
            counts = ingest_documents(context, fields, found)
            yield Step(positions.as_dict(), len(found), counts)


class Orphans:
    """Stored pages whose document was deleted meanwhile, also after its cluster was written: their clusters are repaired."""

    name = "orphans"

    def plan(self, context: MaintenanceContext, job: Job) -> Sequence[PartitionPlan]:
        """One part, in order of page ids."""
        return [PartitionPlan({}, context.index.count())]

    def work(self, context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
        """One step per some hundred pages; the checkpoint is a page id."""
        for records in context.index.scan(after=part.checkpoint, batch=GROUP_PAGES):
            ids = [record.page_id for record in records]
            yield Step(ids[-1], len(ids), forget_gone(context, ids))


def store_features(
    context: MaintenanceContext, fields: SourceFields, documents: Sequence[SourceDocument]
) -> Mapping[str, int]:
    """Write the features of some documents; those that are stored with the same content are passed over.

    Returns:
        Counts: ``stored``, ``unchanged``, ``dead`` (cannot be a page), and ``skipped`` (of the stored, without features).
    """
    chunk, impossible = _features_of(context, fields, documents, named=context.index.keeps_named)
    failed = {**impossible, **chunk.failed}
    stored = context.index.get_many(chunk.records.ids)
    chunk, unchanged = changed(chunk, stored)
    if chunk.records.ids:
        report = context.index.put_batch(chunk.records)
        failed.update(report.failed)
        replaced = [name for name in chunk.records.ids if name in stored]
        if replaced:
            context.index.drop_edges(replaced)
    put_failed(context, failed, "features")
    counts = Counter(stored=len(chunk.records.ids), unchanged=unchanged, dead=len(failed))
    counts["skipped"] = sum(map(bool, chunk.records.skipped))
    return counts


def outdated(
    context: MaintenanceContext, fields: SourceFields, documents: Sequence[SourceDocument]
) -> list[str]:
    """Page ids of documents whose features are stored and are not those of what they hold now."""
    chunk, _ = _features_of(context, fields, documents, named=False)
    stored = context.index.get_many(chunk.records.ids)
    return [name for name in changed(chunk, stored)[0].records.ids if name in stored]


def _features_of(
    context: MaintenanceContext, fields: SourceFields, documents: Sequence[SourceDocument], *, named: bool
) -> tuple[Chunk, dict[str, str]]:
    """Features of documents, and the reasons of those that cannot be pages."""
    impossible = {each.key.page_id: each.key.problem for each in documents if each.key.problem}
    pages = [
        fields.page(each.key.page_id, each.source) for each in documents if each.key.page_id not in impossible
    ]
    ignored = load_ignored(context.index)
    chunk = make_chunk(pages, context.settings, context.extractor, None, named=named, ignored=ignored)
    return chunk, impossible


def _ranges(
    shard: Shard, fields: SourceFields, complete: tuple[str, int], documents: int
) -> Iterator[PartitionPlan]:
    if shard.last < 0:
        return
    count = max(1, -(-shard.documents // documents))
    width = -(-(shard.last + 1) // count)
    for start in range(0, shard.last + 1, width):
        to = min(start + width - 1, shard.last)
        work = _work(shard, fields, start - 1, to) | {"complete": complete}
        yield PartitionPlan(work, -(-shard.documents // count))


def _work(shard: Shard, fields: SourceFields, above: int, to: int) -> dict[str, object]:
    return {
        "index": shard.index,
        "shard": shard.number,
        "above": above,
        "to": to,
        "fields": fields.as_dict(),
    }
