"""Detaching a source index: its ``dedup`` fields, its pages, its templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup.index.source_index import FieldUpdateReport, index_of
from es_dedup.maintenance.attachment import save_attachments
from es_dedup.maintenance.dedup_field_writes import remove_pages
from es_dedup.maintenance.mass_change_guard import guard
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.maintenance.context import MaintenanceContext

BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Detached:
    """What ``detach`` did or, on a dry run, would do.

    Attributes:
        cleared: documents whose field ``dedup`` was removed.
        removed: pages that were removed from the index.
        templates: names of the templates that were changed or removed.
        failed: documents that keep their field ``dedup``, as the server refused to change them.
    """

    cleared: int
    removed: int
    templates: tuple[str, ...]
    failed: int = 0


def detach(
    context: MaintenanceContext,
    target: str,
    *,
    keep_fields: bool = False,
    dry_run: bool = False,
    force: bool = False,
) -> Detached:
    """Detach a target. It may be repeated when it was interrupted.

    The mapping of ``dedup`` stays on existing indices: Elasticsearch cannot take a field away.

    Args:
        context: with its attachments.
        target: as attached.
        keep_fields: keep the ``dedup`` field in the documents.
        dry_run: change nothing.
        force: also when more documents are changed than the guard allows.

    Raises:
        NotAttached: there is no such attachment.
        SourceIncomplete: documents would lose data, and their ``dedup`` fields are not kept.
        MassChange: too many documents would be changed; nothing was.
    """
    indices = context.indices(target)
    others = [each for each in context.attachments if each.target != target]
    kept = {name for each in others for name in context.source_index.indices(each.target)}
    going = [name for name in indices if name not in kept]
    pages = [page for some in _pages(context, set(going)) for page in some]
    leaving = set(pages)
    written = 0 if keep_fields else len(pages)
    templates = context.source_index.uninstall(dry_run=True) if not others else []
    report = FieldUpdateReport()
    if not dry_run:
        if not keep_fields:
            context.source_index.check(going)
        guard("detach", written, context.index.count(), context.settings, force=force)
        for some in chunked(pages, BATCH):
            if not keep_fields:
                report += context.source_index.write_dedup_fields(dict.fromkeys(some))
            remove_pages(context, some, leave=leaving)
        if not others:
            context.source_index.uninstall()
        save_attachments(context.index, others)
    return Detached(written if dry_run else report.changed, len(pages), tuple(templates), len(report.failed))


def _pages(context: MaintenanceContext, indices: set[str]) -> Iterator[list[str]]:
    """Stored pages of some source indices."""
    for records in context.index.scan(batch=BATCH):
        yield [each.page_id for each in records if index_of(each.page_id) in indices]
