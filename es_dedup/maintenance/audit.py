"""Whether index, clusters and documents agree; with ``repair`` they do afterwards."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from es_dedup.batch.recluster import CLUSTERS_PENDING
from es_dedup.index.dedup_field import dedup_fields_of_groups
from es_dedup.maintenance.backfill import outdated
from es_dedup.maintenance.dedup_field_writes import (
    GROUP_PAGES,
    forget_gone,
    recluster_documents,
    remove_pages,
    update_dedup_fields,
)
from es_dedup.maintenance.ingest import ingest
from es_dedup.maintenance.mass_change_guard import guard
from es_dedup.maintenance.status import AUDIT
from es_dedup.model.batches import chunked, chunked_by_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.index.port import Assignment
    from es_dedup.index.source_index import DedupField, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext

KINDS: Final[Mapping[str, str]] = {
    "orphans": "stored pages whose document has gone",
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
    found: dict[str, list[str]] = field(default_factory=dict)
    repaired: Counter[str] = field(default_factory=Counter)

    @property
    def clean(self) -> bool:
        """Everything agrees."""
        return not any(self.found.values())

    def add(self, kind: str, names: Iterable[str]) -> None:
        """Note some ids."""
        self.found.setdefault(kind, []).extend(names)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form, with a few examples of each kind."""
        return {
            "clean": self.clean,
            "documents": self.documents,
            "pages": self.pages,
            "clusters": self.clusters,
            "dead": self.dead,
            "found": {
                kind: {"count": len(names), "examples": names[:EXAMPLES]}
                for kind, names in self.found.items()
                if names
            },
            "repaired": dict(self.repaired),
        }


def audit(context: MaintenanceContext, *, repair: bool = False, force: bool = False) -> Audit:
    """Look at every page and cluster, and at every document of attached indices: its features are made again and compared with those stored.

    Documents that others write at the same time may be named; a second audit does not name them.

    Args:
        site: with its attachments.
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
        found.add("pending", ["index"])
    for groups in chunked_by_size(context.index.clusters(), GROUP_PAGES, len):
        _look_at_clusters(context, groups, found)
    _look_at_records(context, found)
    for index, fields in context.indices().items():
        _look_at_documents(context, index, fields, dead, found)
    if repair and not found.clean:
        _repair(context, found, force=force)
    context.jobs.set_time(AUDIT)
    return found


def _look_at_clusters(
    context: MaintenanceContext, groups: Sequence[Sequence[Assignment]], found: Audit
) -> None:
    ids = [each.page_id for group in groups for each in group]
    stored = context.index.payloads(ids)
    missing = [name for name in ids if name not in stored]
    found.add("not_stored", missing)
    found.add("without_canonical", (group[0].cluster_id for group in groups if not _has_canonical(group)))
    found.clusters += sum(len(group) > 1 for group in groups)
    dedup_fields = dedup_fields_of_groups(groups, context.index.edges_of(ids))
    named = context.documents_of(ids)
    documents = context.source_index.read(named, ())
    found.add("orphans", (name for name in stored if name in named and name not in documents))
    found.add(
        "overwritten",
        (
            name
            for name, document in documents.items()
            if document.dedup is not None and not agrees(document.dedup, dedup_fields[name])
        ),
    )


def _has_canonical(group: Sequence[Assignment]) -> bool:
    heads = {each.page_id for each in group if each.page_id == each.canonical}
    return len(heads) == 1 and all(each.canonical in heads for each in group)


def agrees(dedup: Mapping[str, Any], dedup_field: DedupField) -> bool:
    """Whether a document's stored ``dedup`` object equals a ``DedupField``; nulls and missing values are the same."""
    wanted = dedup_field.as_dict()
    return all((dedup.get(name) or None) == (value or None) for name, value in wanted.items())


def _look_at_records(context: MaintenanceContext, found: Audit) -> None:
    for records in context.index.scan(batch=BATCH):
        ids = [record.page_id for record in records]
        assigned = context.index.assignments(ids)
        found.add("unclustered", (name for name in ids if name not in assigned))
        found.pages += len(ids)


def _look_at_documents(
    context: MaintenanceContext, index: str, fields: SourceFields, dead: set[str], found: Audit
) -> None:
    if not context.source_index.prepared(index):
        found.add("unprepared", [index])
    for shard in context.source_index.shards(index):
        for documents in context.source_index.scan(
            shard, fields.names, batch=context.settings.maintenance.batch
        ):
            ids = [document.key.page_id for document in documents]
            assigned = context.index.assignments(ids)
            found.documents += len(ids)
            found.add(
                "undecided",
                (each.key.page_id for each in documents if each.waits and each.key.page_id not in dead),
            )
            found.add("unknown", (name for name in ids if name not in assigned and name not in dead))
            found.add("outdated", (name for name in outdated(context, fields, documents) if name not in dead))
            found.add(
                "overwritten",
                (
                    each.key.page_id
                    for each in documents
                    if each.dedup is None and each.key.page_id in assigned
                ),
            )


def _repair(context: MaintenanceContext, found: Audit, *, force: bool) -> None:
    bad = found.found
    changes = sum(len(set(names)) for names in bad.values())
    context.source_index.check(context.indices())
    guard("audit --repair", changes, max(found.documents, found.pages), context.settings, force=force)
    if bad.get("unprepared"):
        context.source_index.prepare(bad["unprepared"])
    for ids in chunked(dict.fromkeys(bad.get("orphans", ())), BATCH):
        found.repaired.update(forget_gone(context, ids))
    for ids in chunked(dict.fromkeys(bad.get("not_stored", ())), BATCH):
        found.repaired.update(remove_pages(context, ids)[1])
        context.index.delete_many(ids)
    if any(bad.get(kind) for kind in ("without_canonical", "unclustered", "pending", "not_stored")):
        found.repaired.update(recluster_documents(context))
        found.repaired["reclustered"] += 1
    undecided = dict.fromkeys(
        name for kind in ("unknown", "undecided", "outdated", "not_stored") for name in bad.get(kind, ())
    )
    for ids in chunked(undecided, BATCH):
        found.repaired.update(ingest(context, ids))
    overwritten = () if found.repaired["reclustered"] else bad.get("overwritten", ())
    for ids in chunked(dict.fromkeys(overwritten), BATCH):
        found.repaired.update(update_dedup_fields(context, ids))
