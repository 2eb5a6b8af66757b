"""Attaching source indices: the mapping of ``dedup``, a template for indices to come, and how pages are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_dedup.errors import ConfigError
from es_dedup.maintenance.attachment import Attachment, save_attachments
from es_dedup.maintenance.preflight import check_fields

if TYPE_CHECKING:
    from es_dedup.index.source_index import SourceFields
    from es_dedup.maintenance.context import MaintenanceContext


@dataclass(frozen=True, slots=True)
class Attached:
    """What ``attach`` did or, on a dry run, would do.

    Attributes:
        target: as given.
        indices: concrete indices that have the mapping now.
        documents: in them.
        template: what was done for indices to come, in plain words.
        warnings: what a sample of the documents says against the fields.
    """

    target: str
    indices: tuple[str, ...]
    documents: int
    template: str
    warnings: tuple[str, ...] = ()


def attach(
    context: MaintenanceContext,
    target: str,
    fields: SourceFields,
    *,
    external_versions: bool = False,
    own_templates: bool = False,
    dry_run: bool = False,
    force: bool = False,
) -> Attached:
    """Attach an index, an alias, a data stream or a pattern; repeating it changes which fields are read.

    Documents are not changed; ``backfill`` writes their ``dedup`` fields.

    Args:
        site: its index records the attachment.
        target: an index, an alias, a data stream or a pattern.
        fields: which fields of its documents hold a page.
        external_versions: documents keep the ``_version`` that their owner gives them, see ``SourceIndex.prepare``.
        own_templates: leave index templates alone, see ``SourceIndex.install``.
        dry_run: change nothing.
        force: also when sampled documents do not have these fields, or no index matches the pattern yet.

    Raises:
        ConfigError: there is no such index, and the target is no pattern; or an alias shows a part of its indices only.
        IndexRefused: a field ``dedup`` of another kind is there, or the role does not allow it.
        PreflightFailed: sampled documents do not have the fields, and ``force`` is not set.
        SourceIncomplete: the ``_source`` of an index does not hold whole documents.
    """
    indices = context.source_index.indices(target)
    if not indices and "*" not in target:
        raise ConfigError(
            (f"there is no open index {target}: make it first, or name a pattern with *",), "attach"
        )
    if part := context.source_index.shown_in_part(target):
        raise ConfigError(
            (f"{part}, and all documents of an attached index are marked: attach the index",), "attach"
        )
    context.source_index.check(indices)
    warnings = check_fields(context, target, fields, force=force, external_versions=external_versions)
    documents = sum(shard.documents for index in indices for shard in context.source_index.shards(index))
    template = context.source_index.install(
        target, dry_run=dry_run, external_versions=external_versions, own_templates=own_templates
    )
    if not dry_run:
        context.source_index.prepare(indices, external_versions=external_versions)
        others = [each for each in context.attachments if each.target != target]
        save_attachments(context.index, [*others, Attachment(target, fields)])
    return Attached(target, tuple(indices), documents, template, warnings)
