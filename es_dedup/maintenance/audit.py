"""Whether index, clusters and documents agree; with ``repair`` they do afterwards."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from es_dedup.batch.clusters import CLUSTERS_PENDING
from es_dedup.index.source_index import dedup_fields_of_groups, index_of
from es_dedup.maintenance.context import GROUP_PAGES
from es_dedup.maintenance.status import AUDIT
from es_dedup.model.batches import chunked, chunked_by_size
from es_dedup.model.plain import plain_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.source_index import DedupField, SourceDocument, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext

KINDS: Final[Mapping[str, str]] = {
    "orphans": "stored pages whose document has gone, or is in an index that its target has left",
    "overwritten": "documents whose dedup field differs from the index",
    "unknown": "documents that are not in the index",
    "outdated": "documents that were changed since their features were made",
    "undecided": "documents that wait for a decision",
    "unclustered": "stored pages without a cluster",
    "not_stored": "clustered pages that are not stored",
    "without_canonical": "clusters without exactly one canonical document",
    "unprepared": "source indices without the mapping of dedup",
    "pending": "a writer was stopped before clusters were made",
}
EXAMPLES: Final = 20
BATCH: Final = 500


@dataclass(slots=True)
class Audit:
    """What does not agree.

    Attributes:
        documents, pages, clusters: looked at.
        dead: dead letters; they are not counted as unknown.
        found: ids by kind, see ``KINDS``.
        repaired: counts of what was done.
    """

    documents: int = 0
    pages: int = 0
    clusters: int = 0
    dead: int = 0
    found: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    repaired: Counter[str] = field(default_factory=Counter)

    @property
    def clean(self) -> bool:
        """Everything agrees."""
        return not any(self.found.values())

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form, with a few examples of each kind."""
        found = {
            kind: {"count": len(names), "examples": names[:EXAMPLES]}
            for kind, names in self.found.items()
            if names
        }
        return {"clean": self.clean, **plain_fields(self), "found": found}


def audit(context: MaintenanceContext, *, repair: bool = False, force: bool = False) -> Audit:
    """Look at every page and cluster, and at every document of attached indices: its features are made again and compared with those stored.

    Documents that others write at the same time may be named; a second audit does not name them.

    Args:
        context: with its attachments.
        repair: put right what is found: pages without document are taken out, overwritten objects written again, unknown and
            outdated documents decided on, broken clusters made anew from features.
        force: also when very many documents would be changed.

    Raises:
        MassChange: the repair would change too many documents; nothing was changed.
        SourceIncomplete: documents cannot be changed without losing data; nothing was changed.
    """
    found = Audit()
    context.index.refresh()
    for target in context.attachments:
        context.source_index.refresh(target.target)
    dead = {letter.page_id for letter in context.jobs.dead()}
    found.dead = len(dead)
    if context.index.note(CLUSTERS_PENDING) is not None:
        found.found["pending"] = ["index"]
    if repair:  # else the context may be opened for reading only
        context.note_indices()
    left = context.left_indices()
    for groups in chunked_by_size(context.index.clusters(), GROUP_PAGES, len):
        _look_at_clusters(context, groups, left, found)
    for records in context.index.scan(batch=BATCH):
        assigned = context.index.assignments(record.page_id for record in records)
        found.found["unclustered"] += (each.page_id for each in records if each.page_id not in assigned)
        found.pages += len(records)
    for index, fields in context.indices().items():
        if not context.source_index.prepared(index):
            found.found["unprepared"].append(index)
        for shard in context.source_index.shards(index):
            batch = context.settings.maintenance.batch
            for documents in context.source_index.scan(shard, fields.names, batch=batch):
                _look_at_documents(context, fields, documents, dead, found)
    if repair and not found.clean:
        _repair(context, found, force=force)
    context.jobs.set_time(AUDIT)
    return found


def _look_at_clusters(
    context: MaintenanceContext, groups: Sequence[Sequence[Assignment]], left: Collection[str], audit: Audit
) -> None:
    found = audit.found
    ids = [each.page_id for group in groups for each in group]
    stored = context.index.get_many(ids)
    found["not_stored"] += (name for name in ids if name not in stored)
    found["without_canonical"] += (group[0].cluster_id for group in groups if not _has_canonical(group))
    audit.clusters += sum(len(group) > 1 for group in groups)
    dedup_fields = dedup_fields_of_groups(groups, context.index.edges_of(ids))
    named = context.documents_of(ids)
    documents = context.source_index.read((name for name in named if index_of(name) not in left), ())
    found["orphans"] += (name for name in stored if name in named and name not in documents)
    found["overwritten"] += (
        name
        for name, document in documents.items()
        if document.dedup is not None and not agrees(document.dedup, dedup_fields[name])
    )


def _has_canonical(group: Sequence[Assignment]) -> bool:
    heads = {each.page_id for each in group if each.page_id == each.canonical}
    return len(heads) == 1 and all(each.canonical in heads for each in group)


def agrees(dedup: Mapping[str, Any], dedup_field: DedupField) -> bool:
    """Whether a document's stored ``dedup`` object equals a ``DedupField``; nulls and missing values are the same."""
    wanted = dedup_field.as_dict()
    return all((dedup.get(name) or None) == (value or None) for name, value in wanted.items())


def _look_at_documents(
    context: MaintenanceContext,
    fields: SourceFields,
    documents: Sequence[SourceDocument],
    dead: set[str],
    audit: Audit,
) -> None:
    found = audit.found
    ids = [document.key.page_id for document in documents]
    assigned = context.index.assignments(ids)
    audit.documents += len(ids)
    waiting = [each.key.page_id for each in documents if each.waits]
    without_field = [each.key.page_id for each in documents if each.dedup is None]
    found["undecided"] += (name for name in waiting if name not in dead)
    found["unknown"] += (name for name in ids if name not in assigned and name not in dead)
    late = {
        *context.outdated(fields, documents),
        *(name for name in ids if name in assigned and assigned[name].outdated),
    }
    found["outdated"] += sorted(late - dead)
    found["overwritten"] += (name for name in without_field if name in assigned)


def _repair(context: MaintenanceContext, audit: Audit, *, force: bool) -> None:
    found, repaired = audit.found, audit.repaired

    def batches(*kinds: str) -> Iterator[list[str]]:
        return chunked(dict.fromkeys(name for kind in kinds for name in found[kind]), BATCH)

    context.source_index.check(context.indices())
    changes = sum(len(set(names)) for names in found.values())
    context.guard("audit --repair", changes, max(audit.documents, audit.pages), force=force)
    if found["unprepared"]:
        context.source_index.prepare(found["unprepared"])
    for ids in batches("orphans"):
        repaired.update(context.forget_gone(ids))
    for ids in batches("not_stored"):
        repaired.update(context.remove_pages(ids)[1])
        context.index.delete_many(ids)
    if any(found[kind] for kind in ("without_canonical", "unclustered", "pending", "not_stored")):
        repaired.update(context.recluster_documents())
        repaired["reclustered"] += 1
    for ids in batches("unknown", "undecided", "outdated", "not_stored"):
        repaired.update(context.ingest(ids, again=True))
    if not repaired["reclustered"]:
        for ids in batches("overwritten"):
            repaired.update(context.update_dedup_fields(ids))
