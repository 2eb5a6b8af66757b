"""Documents of the source index into the index, one by one or some, and clusters into the ``dedup`` fields of documents."""

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
from es_dedup.errors import DedupError
from es_dedup.index import factory
from es_dedup.index.dedup_field import dedup_fields_of
from es_dedup.maintenance.context import ERROR_CHARS, open_context, pages_of
from es_dedup.model.batches import chunked, chunked_by_size

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.index.jobs import DeadLetter
    from es_dedup.index.source_index import DedupField, SourceDocument, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.model import RemoveReport
    from es_dedup.model.overrides import OverrideReport
    from es_dedup.settings import Settings

TRIES: Final = 5  # of writing clusters that others go on changing
GROUP_PAGES: Final = 500
"""Pages of clusters whose ``dedup`` fields are written together."""
SENT_AT_A_TIME: Final = 100  # dead letters


def ingest(context: MaintenanceContext, page_ids: Iterable[str]) -> Mapping[str, int]:
    """Look at documents as they are now: new and changed ones are decided on, those that have gone are taken out.

    Repeating it, and calling it in another order than the documents were written in, leads to the same result: only the present
    state of the source index counts.

    Args:
        context: with its attachments.
        page_ids: see ``DocumentKey.page_id``; at most some hundred.

    Returns:
        Counts by outcome, and ``gone``, ``updated``, ``dead``, ``foreign`` (of no attached index).
    """
    wanted = list(dict.fromkeys(page_ids))
    fields_of_page = context.fields_of(wanted)
    counts: Counter[str] = Counter(foreign=len(wanted) - len(fields_of_page))
    for fields, names, documents in read_documents(context, fields_of_page):
        counts.update(ingest_documents(context, fields, list(documents.values())))
        if gone := [name for name in context.index.get_many(names) if name not in documents]:
            counts.update(forget_gone(context, gone))
    return +counts


def read_documents(
    context: MaintenanceContext, fields_of_page: Mapping[str, SourceFields]
) -> Iterator[tuple[SourceFields, list[str], dict[str, SourceDocument]]]:
    """Documents that are read by the same fields: the fields, the page ids that were asked for, the documents that are there."""
    for fields in dict.fromkeys(fields_of_page.values()):
        names = [name for name, each in fields_of_page.items() if each == fields]
        yield fields, names, context.source_index.read(names, fields.names)


def ingest_documents(
    context: MaintenanceContext, fields: SourceFields, documents: Sequence[SourceDocument]
) -> Mapping[str, int]:
    """Decide on documents at hand, and write the ``dedup`` fields of all members of their clusters."""
    if not documents:
        return {}
    context.source_index.check(each.key.index for each in documents)
    pages, problems = pages_of(fields, documents)
    finish_clusters(context)
    context.index.refresh_clusters()  # others may have changed them a moment ago
    ids = [page.id for page in pages]
    related = _with_related(context, ids)
    dedup = context.dedup
    report = dedup.add_many(pages)
    failed = {**problems, **report.failed}
    context.put_dead_letters(failed, "ingest")
    counts = Counter(report.outcomes)
    counts.update(
        pairs=report.pairs, truncated=report.truncated, unchanged=report.unchanged, dead=len(failed)
    )
    related |= _with_related(context, ids)
    counts.update(update_dedup_fields(context, related | dedup.changed))
    context.source_index.decided(documents, fields.names)
    return counts


def _with_related(context: MaintenanceContext, page_ids: Sequence[str]) -> set[str]:
    """The pages, and who has an edge to them."""
    edges = context.index.edges_of(page_ids)
    return {*page_ids, *(edge.left for edge in edges), *(edge.right for edge in edges)}


def dead_letters(context: MaintenanceContext, page_ids: Sequence[str] | None = None) -> list[DeadLetter]:
    """All dead letters, or those of some pages."""
    wanted = frozenset(page_ids or ())
    return [letter for letter in context.jobs.dead() if not wanted or letter.page_id in wanted]


def replay(
    context: MaintenanceContext,
    page_ids: Sequence[str] | None = None,
    send: Callable[[Sequence[str]], None] | None = None,
) -> int:
    """Process dead letters again, here or by ``send``.

    A dead letter is removed after its page was processed, or after the queue has taken its message. A page that fails again stays on
    the list with the new error.

    Args:
        context: with its attachments.
        page_ids: None: all.
        send: has workers process pages and raises when the queue has not taken them; None: process them here, one by one.

    Returns:
        How many pages of the list were tried or sent.

    Raises:
        DedupError: a server does not answer; the letters that are left stay on the list.
    """
    letters = dead_letters(context, page_ids)
    for some in chunked(letters, SENT_AT_A_TIME if send else 1):
        if send:
            send([letter.page_id for letter in some])
            context.jobs.drop_dead(some)
        else:
            _process_again(context, some[0])
    return len(letters)


def _process_again(context: MaintenanceContext, letter: DeadLetter) -> None:
    try:
        ingest(context, [letter.page_id])
    except Exception as error:
        if isinstance(error, DedupError) and error.retryable:
            raise
        reason = f"{type(error).__name__}: {error}"[:ERROR_CHARS]
        context.put_dead_letters({letter.page_id: reason}, "replay", letter.attempts + 1)
    else:
        context.jobs.drop_dead([letter])


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
    report = (dedup := context.dedup).remove(page_ids)
    counts = Counter(update_dedup_fields(context, dedup.changed, leave=leave))
    counts["gone"] += report.removed
    return report, counts


def overridden(
    dedup: Deduplicator, place: str, settings: Settings, change: Callable[[Deduplicator], OverrideReport]
) -> OverrideReport:
    """Change overrides; where source indices are attached, their documents follow, also those of earlier changes that were not written.

    Args:
        dedup: opened for writing.
        place: where it is.
        settings: all settings.
        change: calls one method of a deduplicator, such as ``override_same``.
    """
    if factory.is_remote(place):
        with open_context(place, settings) as context:
            if context.attachments:
                report = change(context.dedup)
                finish_overrides(context)
                return report
    return change(dedup)


def finish_overrides(context: MaintenanceContext) -> Mapping[str, int]:
    """Write the documents that overrides have changed and that are not written yet, as by a writer that was stopped; counts as ``update_dedup_fields``."""
    counts = Counter(finish_clusters(context))
    if pending := documents_pending(context.index):
        counts.update(update_dedup_fields(context, {page for pages in pending.values() for page in pages}))
        with write_session(context.index):
            now = documents_pending(context.index)
            later = {each: pages for each, pages in now.items() if each not in pending}
            note = json.dumps(later, ensure_ascii=False) if later else None
            context.index.set_note(DOCUMENTS_PENDING, note)
    return counts


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
    # a conflict is healed by the next audit; other failures would be repeated
    lasting = {name: reason for name, reason in report.failed.items() if not reason.startswith("conflict")}
    context.put_dead_letters(lasting, "update")
    counts = Counter(updated=report.changed, current=report.unchanged, refused=len(report.failed))
    if report.gone:
        counts.update(forget_gone(context, report.gone))
    return counts
