"""Writing clusters into the documents of the source index."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.batch.recluster import (
    CLUSTERS_PENDING,
    DOCUMENTS_PENDING,
    documents_pending,
    write_session,
)
from es_dedup.index import factory
from es_dedup.index.dedup_field import dedup_fields_of
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.dead_letters import put_failed
from es_dedup.model.batches import chunked_by_size

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.index.source_index import DedupField, FieldUpdateReport
    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.model import RemoveReport
    from es_dedup.model.overrides import OverrideReport
    from es_dedup.settings import Settings

TRIES: Final = 5  # of writing clusters that others go on changing
GROUP_PAGES: Final = 500
"""Pages of clusters whose ``dedup`` fields are written together."""


def update_dedup_fields(
    context: MaintenanceContext, page_ids: Iterable[str], *, leave: Collection[str] = ()
) -> Mapping[str, int]:
    """Write the ``dedup`` field of all pages of the clusters that some pages are in.

    Others may change these clusters at the same time. The clusters are read again after the write, and the ``dedup`` fields that are
    no longer right are written again. Pages whose document has gone are removed from the index.

    Args:
        context: with its attachments.
        page_ids: some pages.
        leave: pages whose documents stay as they are.

    Returns:
        Counts: ``updated``, ``current`` (nothing to change), ``gone``, ``refused``.
    """
    wanted = list(page_ids)
    counts: Counter[str] = Counter()
    written: dict[str, DedupField] = {}
    for _ in range(TRIES):
        with context.index.writing():
            context.index.refresh_clusters()
            dedup_fields = dedup_fields_of(context.index, wanted)
        changed = {
            name: dedup_field
            for name, dedup_field in dedup_fields.items()
            if written.get(name) != dedup_field and name not in leave
        }
        if not changed:
            break
        counts.update(write_dedup_fields(context, changed))
        written |= changed
        if context.index.only_writer():
            break
    return counts


def update_all_dedup_fields(
    context: MaintenanceContext, after: str | None = None
) -> Iterator[tuple[str, int, Mapping[str, int]]]:
    """Write the ``dedup`` fields of all pages, some clusters at a time, in the order of their ids.

    Args:
        context: with its attachments.
        after: id of a cluster; those up to it are left out.

    Yields:
        The id of the last cluster, how many pages, and counts as ``update_dedup_fields``.
    """
    for groups in chunked_by_size(context.index.clusters(after=after), GROUP_PAGES, len):
        pages = [each.page_id for group in groups for each in group]
        yield groups[-1][0].cluster_id, len(pages), update_dedup_fields(context, pages)


def finish_clusters(context: MaintenanceContext) -> Mapping[str, int]:
    """Cluster everything anew where a writer has died between storing and clustering, and write all documents.

    Returns:
        Counts as ``update_dedup_fields``; empty where no writer has died.
    """
    if context.index.note(CLUSTERS_PENDING) is not None:
        with context.index.writing():  # not beside a writer at work
            if context.index.note(CLUSTERS_PENDING) is not None:
                return recluster_documents(context)
    return {}


def recluster_documents(context: MaintenanceContext) -> Mapping[str, int]:
    """Cluster everything anew with the settings in force, and write all documents; counts as ``update_dedup_fields``.

    Until the last document is written, a note says that clusters are pending: when this process dies, the next writer does it again.
    """
    counts: Counter[str] = Counter()
    with context.index.writing():
        context.dedup.recluster_as_before(keep_pending=True)
        for _, _, written in update_all_dedup_fields(context):
            counts.update(written)
        context.index.set_note(CLUSTERS_PENDING, None)
    return counts


def gone(context: MaintenanceContext, page_ids: Sequence[str]) -> list[str]:
    """Those of some pages that were added with a document, which is not there."""
    names = context.documents_of(page_ids)
    names.difference_update(context.source_index.read(names, ()))
    return [name for name in page_ids if name in names]


def forget_gone(context: MaintenanceContext, page_ids: Sequence[str]) -> Mapping[str, int]:
    """``remove_pages`` for pages whose documents have gone; its counts."""
    if not gone(context, page_ids):
        return {}
    with write_session(context.index):  # without those that are there again by now
        removed = gone(context, page_ids)
        return remove_pages(context, removed)[1] if removed else {}


def remove_pages(
    context: MaintenanceContext, page_ids: Sequence[str], *, leave: Collection[str] = ()
) -> tuple[RemoveReport, Mapping[str, int]]:
    """Remove pages from the index, repair their clusters, and write the result into the documents of the other members.

    Where a document of a removed page is still there, its ``dedup`` field stays as it is; see ``SourceIndex.write_dedup_fields``.

    Args:
        context: with its attachments.
        page_ids: the pages.
        leave: other members whose documents stay as they are.

    Returns:
        What was removed, and counts as ``update_dedup_fields``.
    """
    clusters = {each.cluster_id for each in context.index.assignments(page_ids).values()}
    others = {each.page_id for group in context.index.members(clusters).values() for each in group}
    for edge in context.index.edges_of(page_ids):
        others |= {edge.left, edge.right}
    report = (dedup := context.dedup).remove(page_ids)
    counts = Counter(update_dedup_fields(context, (others | dedup.changed) - set(page_ids), leave=leave))
    counts["gone"] += report.removed
    return report, counts


def overridden(
    dedup: Deduplicator, place: str, settings: Settings, change: Callable[[Deduplicator], OverrideReport]
) -> OverrideReport:
    """Change overrides; where source indices are attached, their documents follow.

    Args:
        dedup: opened for writing.
        place: where it is.
        settings: all settings.
        change: calls one method of a deduplicator, such as ``override_same``.
    """
    if factory.is_remote(place):
        with open_context(place, settings) as context:
            if context.attachments:
                return change_overrides(context, change)[0]
    return change(dedup)


def finish_overrides(context: MaintenanceContext) -> Mapping[str, int]:
    """Write the documents that overrides have changed and that were not written, as their writer was stopped; counts as ``update_dedup_fields``."""
    counts = Counter(finish_clusters(context))
    pending = documents_pending(context.index)
    if not pending:
        return counts
    counts.update(update_dedup_fields(context, {page for pages in pending.values() for page in pages}))
    with write_session(context.index):
        later = {
            each: pages for each, pages in documents_pending(context.index).items() if each not in pending
        }
        context.index.set_note(DOCUMENTS_PENDING, json.dumps(later, ensure_ascii=False) if later else None)
    return counts


def change_overrides(
    context: MaintenanceContext, change: Callable[[Deduplicator], OverrideReport]
) -> tuple[OverrideReport, Mapping[str, int]]:
    """Change overrides, and write the clusters that follow into the documents; those of earlier changes, too, that were not written.

    Args:
        context: with its attachments.
        change: calls one method of the deduplicator, such as ``override_same``.

    Returns:
        What that returned, and counts as ``update_dedup_fields``.
    """
    return change(context.dedup), finish_overrides(context)


def write_dedup_fields(
    context: MaintenanceContext, dedup_fields: Mapping[str, DedupField | None]
) -> Mapping[str, int]:
    """Write ``dedup`` fields, None removes one; what is refused becomes a dead letter, and pages whose documents have gone are removed.

    Nothing is written while no source index is attached.

    Returns:
        Counts as ``update_dedup_fields``.
    """
    names = context.documents_of(dedup_fields)
    report = context.source_index.write_dedup_fields(
        {name: each for name, each in dedup_fields.items() if name in names}
    )
    put_failed(context, _lasting(report), "update")
    counts = Counter(updated=report.changed, current=report.unchanged, refused=len(report.failed))
    if report.gone:
        counts.update(forget_gone(context, report.gone))
    return counts


def _lasting(report: FieldUpdateReport) -> Mapping[str, str]:
    """Failures that a repetition does not heal; a conflict is healed by the next audit."""
    return {name: reason for name, reason in report.failed.items() if not reason.startswith("conflict")}
