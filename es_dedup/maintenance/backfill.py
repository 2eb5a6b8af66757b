"""The kinds of jobs, and the stages that read documents, cluster their features and write ``dedup`` fields.

A backfill of all documents stores features first (``FEATURES``, by shard and range of sequence numbers, in parallel), then clusters
(``CLUSTER``), then writes the ``dedup`` field of each document (``UPDATE``), of documents that were written meanwhile (``REMAINING``), and
removes pages whose document was deleted meanwhile (``ORPHANS``). Where there were such documents, statistics follow them (``REFRESH``).
"""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from es_dedup.batch.clusters import CLUSTERS_PENDING, write_session
from es_dedup.batch.overrides import load_ignored
from es_dedup.batch.refresh import refresh_is_due
from es_dedup.batch.whole_corpus import recluster
from es_dedup.errors import ConfigError, NotAttached
from es_dedup.index.source_index import Shard, SourceDocument, SourceFields, index_of
from es_dedup.maintenance.attach import check_fields
from es_dedup.maintenance.context import GROUP_PAGES, MaintenanceContext
from es_dedup.maintenance.follow import FOLLOW, Positions, changes
from es_dedup.maintenance.stage import JobKind, PartitionPlan, Stage, Step, process_batches
from es_dedup.model import Outcome
from es_dedup.model.batches import chunked
from es_dedup.settings.recorded import decision_settings, with_recorded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.index.jobs import Job, Partition
    from es_dedup.maintenance.stage import Batches
    from es_dedup.settings import Settings

HOOK_SECONDS: Final = 2  # within which a hook has written a document whose features it has stored
PASSES: Final = 10  # over documents of which others write more meanwhile, or move some behind what is read
NAMED_PAGES: Final = 100  # that one part decides on


# Features of documents


def _plan_features(context: MaintenanceContext, job: Job) -> list[PartitionPlan]:
    """One part per ``part_documents`` documents of a shard, cut by sequence numbers."""
    indices = context.indices(job.options.get("target"))
    context.source_index.prepare(indices)
    if job.what == "backfill":
        if not context.attachments:
            raise NotAttached("")
        for index, fields in indices.items():
            check_fields(context, index, fields, force=bool(job.options.get("force")))
    writes = context.source_index.writes(indices)
    plans: list[PartitionPlan] = []
    for index, fields in indices.items():
        for shard in context.source_index.shards(index):
            if shard.last < 0:
                continue
            known = writes.get(index, {}).get(shard.number)
            complete = (known.history, known.complete) if known else ("", -1)
            count = max(1, -(-shard.documents // context.settings.maintenance.part_documents))
            width = -(-(shard.last + 1) // count)
            work = {"index": index, "shard": shard.number, "fields": fields.as_dict(), "complete": complete}
            for start in range(0, shard.last + 1, width):
                part = {"above": start - 1, "to": min(start + width - 1, shard.last)}
                plans.append(PartitionPlan(work | part, -(-shard.documents // count)))
    return plans


def _work_features(context: MaintenanceContext, _job: Job, part: Partition) -> Iterator[Step]:
    """One step per batch; the checkpoint is a sequence number."""
    work, batch = part.work, context.batch_of(part)
    shard = Shard(work["index"], work["shard"], 0, work["to"])

    def read(names: Sequence[str], checkpoint: Any) -> Batches:
        above = work["above"] if checkpoint is None else checkpoint
        for documents in context.source_index.scan(shard, names, above=above, to=work["to"], batch=batch):
            yield documents, documents[-1].seq_no

    return process_batches(
        context, part, "features", SourceFields(**work["fields"]), read, context.store_features
    )


def _plan_ignored(context: MaintenanceContext, _job: Job) -> list[PartitionPlan]:
    """One part, in order of page ids; none without sites of which passages are, or were, ignored."""
    sites = load_ignored(context.index, undone=True)
    return [PartitionPlan({"sites": sorted(sites)}, context.index.count())] if sites else []


def _work_ignored(context: MaintenanceContext, _job: Job, part: Partition) -> Iterator[Step]:
    """Features of all pages of these sites from their documents, some hundred at a time; the checkpoint is a page id."""
    sites = set(part.work["sites"])
    for records in context.index.scan(after=part.checkpoint, batch=context.batch_of(part)):
        counts: Counter[str] = Counter()
        fields_of_page = context.fields_of(each.page_id for each in records if each.site in sites)
        for fields, _, documents in context.read_documents(fields_of_page):
            counts.update(context.store_features(fields, list(documents.values())))
        yield Step(records[-1].page_id, len(records), counts)


# Documents that wait for a decision: the hook has indexed them, and what was to decide on them has not, or could not. Their object
# ``dedup`` says so (``waiting``). It is written with the document, so it outlives every message and every job, and writes for its old
# cluster do not take it away.


def _plan_waiting(context: MaintenanceContext, job: Job) -> list[PartitionPlan]:
    """One part per concrete index where something waits."""
    plans = []
    for index, fields in context.indices(job.options.get("target")).items():
        context.source_index.refresh(index)
        if count := context.source_index.count_waiting(index):
            plans.append(PartitionPlan({"index": index, "fields": fields.as_dict()}, count))
    return plans


def _work_waiting(context: MaintenanceContext, _job: Job, part: Partition) -> Iterator[Step]:
    """One step per batch; it begins from the start each time, as what was decided on is not met again."""
    batch = context.batch_of(part)

    def read(names: Sequence[str], _checkpoint: Any) -> Batches:
        for _ in range(PASSES):
            dead = _dead(context)
            met = False
            for documents in context.source_index.waiting(part.work["index"], names):
                alive = [each for each in documents if each.key.page_id not in dead]
                met |= bool(alive)
                for some in chunked(alive, batch):
                    yield some, None
            if not met:
                return

    def decide(fields: SourceFields, documents: Sequence[SourceDocument]) -> Mapping[str, int]:
        return {**context.ingest_documents(fields, documents, again=True), "waited": len(documents)}

    return process_batches(context, part, "waiting", SourceFields(**part.work["fields"]), read, decide)


def _dead(context: MaintenanceContext) -> set[str]:
    return {letter.page_id for letter in context.jobs.dead()}


# Pages that somebody has named


def parts_of_pages(job: Job) -> list[PartitionPlan]:
    """One part per hundred page ids of the job."""
    page_ids = job.options["page_ids"]
    return [
        PartitionPlan({"first": first}, len(page_ids[first : first + NAMED_PAGES]))
        for first in range(0, len(page_ids), NAMED_PAGES)
    ]


def _work_named(context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
    """One step per batch; the checkpoint is how many pages of the part are done."""
    first, done = part.work["first"], part.checkpoint or 0
    page_ids = job.options["page_ids"][first : first + NAMED_PAGES]
    if context.gives_up(part) and done < len(page_ids):
        context.give_up(part, "ingest", page_ids[done])
        done += 1
        yield Step(done, 1, {"dead": 1})
    for some in chunked(page_ids[done:], context.batch_of(part)):
        counts = context.ingest(some, again=part.repeats)
        done += len(some)
        yield Step(done, len(some), counts)


# Clusters and ``dedup`` fields


def _plan_all(context: MaintenanceContext, _job: Job) -> list[PartitionPlan]:
    """One part over all stored pages."""
    return [PartitionPlan({}, context.index.count())]


def _work_cluster(context: MaintenanceContext, job: Job, part: Partition) -> Iterator[Step]:
    """Statistics, pairs and clusters of all stored features in one step; its checkpoint says that it was done."""
    if part.checkpoint is not None:
        return
    settings = settings_of(context, job)
    with write_session(context.index):
        context.index.set_note(CLUSTERS_PENDING, "1")
        _drop_left(context)
        done = recluster(context.index, settings, in_files=True)  # whatever else the worker has in memory
        context.index.set_note(CLUSTERS_PENDING, None)
    clustered, edges = context.index.count(), len(done.pairs.left)
    yield Step(1, clustered, {"clustered": clustered, "pairs": done.compared, "edges": edges})


def _drop_left(context: MaintenanceContext) -> None:
    """Delete the pages of indices that were left, before their documents could stand for those that replace them."""
    left = context.left_indices()
    context.note_removed(left)
    for records in context.index.scan() if left else ():
        context.index.delete_many(each.page_id for each in records if index_of(each.page_id) in left)


def settings_of(context: MaintenanceContext, job: Job) -> Settings:
    """This process's settings with the decision settings of whoever started the job.

    Raises:
        ConfigError: the job holds settings that this process does not have, or values that it does not allow.
    """
    given: Mapping[str, object] = job.options.get("settings", {})
    if unknown := given.keys() - decision_settings(context.settings).keys():
        problems = tuple(f"{name}: no decision setting of this worker" for name in sorted(unknown))
        raise ConfigError(problems, f"settings of job {job.id}")
    return with_recorded(context.settings, given)


def _work_update(context: MaintenanceContext, _job: Job, part: Partition) -> Iterator[Step]:
    """The ``dedup`` fields of some hundred pages at a time; the checkpoint is a cluster id."""
    for last, pages, counts in context.update_all_dedup_fields(part.checkpoint):
        yield Step(last, pages, counts)


def _plan_remaining(context: MaintenanceContext, job: Job) -> list[PartitionPlan]:
    """One part per concrete index; after a backfill with the positions up to which the first stage has read what was written."""
    read: dict[str, Positions] = {}
    backfills = job.what == "backfill"
    for part, _ in context.jobs.parts(job.id, job.plans[0], range(job.parts[0])) if backfills else ():
        if "complete" in part.work:  # not where there were no documents
            index, (history, complete) = part.work["index"], part.work["complete"]
            read.setdefault(index, Positions()).advance(index, part.work["shard"], history, complete)
    return [
        PartitionPlan(
            {
                "index": index,
                "fields": fields.as_dict(),
                "positions": read.get(index, Positions()).model_dump(mode="json") if backfills else None,
            }
        )
        for index, fields in context.indices(job.options.get("target")).items()
    ]


def _work_remaining(context: MaintenanceContext, _job: Job, part: Partition) -> Iterator[Step]:
    """Documents without a ``dedup`` field, sought from the start each time, then those with features of what they held before.

    They were written in between, or the stages before have stored features of what they had read, which a hook has replaced meanwhile.
    The checkpoint is how far the index was read, see ``Positions``.
    """
    index, fields = part.work["index"], SourceFields(**part.work["fields"])
    batch = context.batch_of(part)
    context.source_index.refresh(index)

    def read(names: Sequence[str], checkpoint: Any) -> Batches:
        dead = _dead(context)
        for documents in context.source_index.without_dedup_field(index, names, batch=batch):
            if alive := [each for each in documents if each.key.page_id not in dead]:
                yield alive, checkpoint

    decide = partial(context.ingest_documents, again=part.repeats)
    yield from process_batches(context, part, "remaining", fields, read, decide)
    if part.work.get("positions") is None:
        return
    dead = _dead(context)
    positions = Positions.model_validate(part.checkpoint or part.work["positions"])
    for documents in _outdated_since(context, index, fields, positions, batch):
        alive = [each for each in documents if each.key.page_id not in dead]
        # before the position, which says that they are done
        counts = decide(fields, alive)
        yield Step(positions.model_dump(mode="json"), len(alive), counts)


def _outdated_since(
    context: MaintenanceContext, index: str, fields: SourceFields, positions: Positions, batch: int
) -> Iterator[list[SourceDocument]]:
    """Documents written since these positions whose features are not those of what they hold, until there are none.

    A hook stores features before the document, so what differs is read again after a while.

    Yields:
        Some documents at a time, also none: the positions are advanced past them and all before them.
    """
    for _ in range(PASSES):
        found = False
        suspects: dict[str, int] = {}
        writes = context.source_index.writes([index])
        for each in changes(context, {index: fields}, positions, writes, batch=batch):
            suspects |= context.outdated(fields, each.documents)
            positions.advance(index, each.shard, each.history, each.reached)
            if not suspects or len(suspects) >= batch:
                yield (documents := outdated_after_pause(context, fields, suspects))
                found, suspects = found or bool(documents), {}
        yield (documents := outdated_after_pause(context, fields, suspects))
        if not (found or documents):
            return


def outdated_after_pause(
    context: MaintenanceContext, fields: SourceFields, suspects: Mapping[str, int]
) -> list[SourceDocument]:
    """Those of some outdated documents that were not written again since they were read, after a hook's time.

    Args:
        context: with its attachments.
        fields: how the documents are read.
        suspects: sequence numbers that were read, by page id.
    """
    if not suspects:
        return []
    time.sleep(HOOK_SECONDS)
    documents = [
        each
        for each in context.source_index.read(list(suspects), fields.names).values()
        if each.seq_no == suspects[each.key.page_id]
    ]
    late = context.outdated(fields, documents)
    return [each for each in documents if each.key.page_id in late]


def _work_orphans(context: MaintenanceContext, _job: Job, part: Partition) -> Iterator[Step]:
    """Pages whose document was deleted meanwhile, also after its cluster was written; the checkpoint is a page id."""
    for records in context.index.scan(after=part.checkpoint, batch=GROUP_PAGES):
        ids = [record.page_id for record in records]
        yield Step(ids[-1], len(ids), context.forget_gone(ids))


def _plan_statistics(context: MaintenanceContext, job: Job) -> list[PartitionPlan]:
    """One part where documents were decided on after all others were clustered, or pages removed."""
    late = any(job.counts.get(str(outcome)) for outcome in Outcome)
    return _plan_all(context, job) if refresh_is_due(context.index, changed=late) else []


def _work_statistics(context: MaintenanceContext, _job: Job, part: Partition) -> Iterator[Step]:
    """Statistics of all documents, and the clusters that they change, in one step; its checkpoint says that it was done."""
    if part.checkpoint is None:
        yield Step(1, part.total, context.refresh_statistics())


FEATURES: Final = Stage("features", _plan_features, _work_features)
IGNORED: Final = Stage("ignored", _plan_ignored, _work_ignored)
WAITING: Final = Stage("waiting", _plan_waiting, _work_waiting)
NAMED: Final = Stage("ingest", lambda _context, job: parts_of_pages(job), _work_named)
CLUSTER: Final = Stage("cluster", _plan_all, _work_cluster)
UPDATE: Final = Stage("update", _plan_all, _work_update)
REMAINING: Final = Stage("remaining", _plan_remaining, _work_remaining)
ORPHANS: Final = Stage("orphans", _plan_all, _work_orphans)
REFRESH: Final = Stage("statistics", _plan_statistics, _work_statistics)
KINDS: Final[Mapping[str, JobKind]] = {
    "backfill": JobKind((FEATURES, CLUSTER, UPDATE, REMAINING, ORPHANS, REFRESH)),
    "refill": JobKind((FEATURES, CLUSTER)),
    "recluster": JobKind((WAITING, IGNORED, CLUSTER, UPDATE, ORPHANS)),
    "follow": JobKind((FOLLOW,)),
    "update": JobKind((UPDATE, REMAINING, ORPHANS)),
    "ingest": JobKind((NAMED,), brief=True),
    "recheck": JobKind((WAITING,), brief=True),
}
