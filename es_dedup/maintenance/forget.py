"""Erasing pages of a site: in the index, among dead letters, in restore files and, where wanted, in the source index."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from es_dedup.maintenance.dedup_field_writes import remove_pages
from es_dedup.maintenance.purge import index_of, restore_files, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.batch.forgetting import ForgetReport
    from es_dedup.maintenance.context import MaintenanceContext


@dataclass(frozen=True, slots=True)
class SiteForgetReport:
    """Result of forgetting pages of a site.

    Attributes:
        index: of the index.
        removed: pages that were stored.
        documents: documents that were deleted, or are still there: see ``deleted``.
        deleted: whether the documents were deleted.
        dead_letters: that were removed.
        restored_from: documents that were taken out of restore files.
        unreachable: restore files that are not on this machine.
    """

    index: ForgetReport
    removed: int
    documents: tuple[str, ...]
    deleted: bool
    dead_letters: int
    restored_from: int
    unreachable: tuple[str, ...]


def forget_pages(
    context: MaintenanceContext, page_ids: Sequence[str], *, document: bool = False
) -> SiteForgetReport:
    """Erase pages; the other members of their clusters get new ``dedup`` fields.

    Args:
        context: with its attachments.
        page_ids: stored or not.
        document: also delete their documents. A document that stays is stored again by the next backfill or audit.
    """
    of_source = [name for name in page_ids if index_of(name)]
    there = tuple(context.source_index.read(of_source, ())) if context.attachments and of_source else ()
    if document and there:
        context.source_index.delete(there)
    report, _ = remove_pages(context, page_ids)
    erased = context.dedup.forget(page_ids)
    wanted = set(page_ids)
    letters = [each for each in context.jobs.dead(limit=context.jobs.count_dead()) if each.page_id in wanted]
    context.jobs.drop_dead(letters)
    files = [Path(name) for name in restore_files(context.index)]
    reachable = [path for path in files if os.access(path, os.R_OK | os.W_OK)]
    taken = sum(without(path, wanted) for path in reachable)
    missing = tuple(str(path) for path in files if path not in reachable)
    return SiteForgetReport(erased, report.removed, there, document, len(letters), taken, missing)


def traces(context: MaintenanceContext, page_id: str) -> list[str]:
    """Where a site still has something of a page that was to be forgotten, in words."""
    found = context.dedup.traces(page_id)
    if context.attachments and index_of(page_id) and context.source_index.read([page_id], ()):
        found.append("document in the source index")
    if any(each.page_id == page_id for each in context.jobs.dead(limit=context.jobs.count_dead())):
        found.append("dead letter")
    for name in restore_files(context.index):
        path = Path(name)
        if not path.exists():
            found.append(f"restore file {name}: not on this machine")
        elif without(path, {page_id}, dry_run=True):
            found.append(f"restore file {name}")
    return found
