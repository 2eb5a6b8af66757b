"""Single documents of the source index into the index: read, compared with all stored pages, their clusters written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from es_dedup.index.source_index import index_of
from es_dedup.maintenance.attachment import fits
from es_dedup.maintenance.dead_letters import put_failed
from es_dedup.maintenance.dedup_field_writes import finish_clusters, forget_gone, update_dedup_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.index.source_index import SourceDocument, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext


def ingest(context: MaintenanceContext, page_ids: Iterable[str]) -> Mapping[str, int]:
    """Look at documents as they are now: new and changed ones are decided on, those that have gone are taken out.

    Repeating it, and calling it in another order than the documents were written in, leads to the same result: only the present
    state of the source index counts.

    Args:
        site: with its attachments.
        page_ids: see ``DocumentKey.page_id``; at most some hundred.

    Returns:
        Counts by outcome, and ``gone``, ``updated``, ``dead``, ``foreign`` (of no attached index).
    """
    wanted = list(dict.fromkeys(page_ids))
    of = fields_of(context, wanted)
    counts: Counter[str] = Counter(foreign=len(wanted) - len(of))
    by_fields: dict[SourceFields, list[str]] = {}
    for page_id, fields in of.items():
        by_fields.setdefault(fields, []).append(page_id)
    for fields, names in by_fields.items():
        found = context.source_index.read(names, fields.names)
        counts.update(ingest_documents(context, fields, list(found.values())))
        gone = [name for name in context.index.get_many(names) if name not in found]
        if gone:
            counts.update(forget_gone(context, gone))
    return +counts


def ingest_documents(
    context: MaintenanceContext, fields: SourceFields, documents: Sequence[SourceDocument]
) -> Mapping[str, int]:
    """Decide on documents at hand, and write the ``dedup`` fields of all members of their clusters."""
    if not documents:
        return {}
    context.source_index.check(each.key.index for each in documents)
    impossible = {each.key.page_id: each.key.problem for each in documents if each.key.problem}
    pages = [
        fields.page(each.key.page_id, each.source) for each in documents if each.key.page_id not in impossible
    ]
    finish_clusters(context)
    context.index.refresh_clusters()  # others may have changed them a moment ago
    before = _beside(context, [page.id for page in pages])
    dedup = context.dedup
    report = dedup.add_many(pages)
    put_failed(context, {**impossible, **report.failed}, "ingest")
    counts = Counter(report.outcomes)
    counts.update(pairs=report.pairs, truncated=report.truncated, unchanged=report.unchanged)
    counts.update(dead=len(impossible) + len(report.failed))
    after = _beside(context, [page.id for page in pages])
    counts.update(update_dedup_fields(context, before | after | dedup.changed))
    context.source_index.decided(documents, fields.names)
    return counts


def _beside(context: MaintenanceContext, page_ids: Sequence[str]) -> set[str]:
    """The pages, and who has an edge to them."""
    edges = context.index.edges_of(page_ids)
    return {*page_ids, *(edge.left for edge in edges), *(edge.right for edge in edges)}


def fields_of(context: MaintenanceContext, page_ids: Iterable[str]) -> dict[str, SourceFields]:
    """How each page's document is read; pages of no attached index are absent."""
    attachments = context.attachments
    known: dict[str, SourceFields | None] = {}
    found: dict[str, SourceFields] = {}
    behind: dict[str, SourceFields] | None = None
    for page_id in page_ids:
        index = index_of(page_id)
        if index and index not in known:
            named = next((each.fields for each in attachments if fits(each, index)), None)
            if named is None:
                behind = (
                    context.indices() if behind is None else behind
                )  # the name of an alias does not show it
                named = behind.get(index)
            known[index] = named
        if (fields := known.get(index)) is not None:
            found[page_id] = fields
    return found
