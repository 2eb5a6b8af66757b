"""Documents of the source index into the index, one by one or some, and clusters into the ``dedup`` fields of documents."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

from es_dedup.batch.clusters import CLUSTERS_PENDING, write_session
from es_dedup.batch.override_changes import DOCUMENTS_PENDING, documents_pending
from es_dedup.batch.refresh import refresh, refresh_is_due
from es_dedup.errors import DedupError
from es_dedup.hook.report import HookReport
from es_dedup.index import factory
from es_dedup.index.source_index import SourceDocument, SourceFields, index_of
from es_dedup.maintenance.context import ERROR_CHARS, MaintenanceContext, open_context
from es_dedup.model.batches import chunked, chunked_by_size

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.index.jobs import DeadLetter
    from es_dedup.model import RemoveReport
    from es_dedup.model.overrides import OverrideReport
    from es_dedup.settings import Settings

GROUP_PAGES: Final = 500
"""Pages of clusters whose ``dedup`` fields are written together."""
SENT_AT_A_TIME: Final = 100  # dead letters
FOLLOWING: Final = "follow"
"""Kind of the job without an end."""


def ingest(context: MaintenanceContext, page_ids: Iterable[str], *, again: bool = False) -> Mapping[str, int]:
    """Look at documents as they are now: new and changed ones are decided on, those that have gone are taken out.

    Repeating it, and calling it in another order than the documents were written in, leads to the same result: only the present
    state of the source index counts.

    Args:
        context: with its attachments.
        page_ids: see ``DocumentKey.page_id``; at most some hundred.
        again: see ``ingest_documents``.

    Returns:
        Counts by outcome, and ``gone``, ``updated``, ``dead``, ``foreign`` (of no attached index).
    """
    wanted = list(dict.fromkeys(page_ids))
    fields_of_page = context.fields_of(wanted)
    counts: Counter[str] = Counter(foreign=len(wanted) - len(fields_of_page))
    for fields, names, documents in read_documents(context, fields_of_page):
        counts.update(ingest_documents(context, fields, list(documents.values()), again=again))
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
    context: MaintenanceContext,
    fields: SourceFields,
    documents: Sequence[SourceDocument],
    *,
    again: bool = False,
) -> Mapping[str, int]:
    """Decide on documents at hand, and write the ``dedup`` fields that follow.

    Args:
        context: with its attachments.
        fields: how the documents are read.
        documents: distinct ones.
        again: an earlier attempt at these documents may have been interrupted; see ``DocumentUpdates.decide``.
    """
    if not documents:
        return {}
    context.source_index.check(each.key.index for each in documents)
    finish_clusters(context)
    report = HookReport()
    decided = context.updates(fields).decide(documents, report, again=again, final=True)
    context.put_dead_letters(report.failed, "ingest")
    new = [each for name, each in decided.decisions.items() if name not in decided.unchanged]
    counts = Counter(str(decision.outcome) for decision in new)
    counts.update(
        pairs=report.pairs_compared,
        truncated=report.truncated,
        unchanged=len(decided.unchanged),
        dead=len(report.failed),
    )
    return counts + _written(context, report)


def _written(context: MaintenanceContext, report: HookReport) -> Counter[str]:
    """Counts of ``dedup`` fields that were written; documents that refused one for good become dead letters."""
    # a conflict is healed by the next audit; other failures would be repeated
    lasting = {
        name: reason for name, reason in report.not_repaired.items() if not reason.startswith("conflict")
    }
    context.put_dead_letters(lasting, "update")
    return Counter(updated=report.repaired, refused=len(report.not_repaired), gone=len(report.gone))


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
        ingest(context, [letter.page_id], again=True)
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
    """Write the ``dedup`` field of all pages of the clusters that some pages are in; see ``DocumentUpdates.write``.

    Nothing is written while no source index is attached.

    Args:
        context: with its attachments.
        page_ids: some pages.
        leave: indices whose documents stay as they are.

    Returns:
        Counts: ``updated``, ``gone`` (pages that were removed, as their document is not there), ``refused``.
    """
    if not context.attachments:
        return {}
    report = HookReport()
    dedup_fields = context.decider.dedup_fields(page_ids)
    context.updates().write(dedup_fields, report, context.decider.session, leave=leave)
    return _written(context, report)


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


def tend_statistics(context: MaintenanceContext, *, changed: bool = False) -> Mapping[str, int] | None:
    """``refresh_statistics`` where it is due and no job is about to cluster everything; else None.

    Args:
        context: with its attachments.
        changed: documents were decided on since, also if there are no more pages than before.
    """
    under_way = any(job.what != FOLLOWING for job in context.jobs.jobs(unfinished=True))
    if under_way or not context.attachments or not refresh_is_due(context.index, changed=changed):
        return None
    return refresh_statistics(context)


def refresh_statistics(context: MaintenanceContext) -> Mapping[str, int]:
    """Learn corpus statistics again, and write the documents of the clusters that change; counts as ``update_dedup_fields``."""
    counts: Counter[str] = Counter()
    for pages in refresh(context.index, context.settings, partial(write_session, context.index)):
        counts.update(update_dedup_fields(context, pages))
    return counts


def gone(context: MaintenanceContext, page_ids: Sequence[str], left: Collection[str] = ()) -> list[str]:
    """Those of some pages that were added with a document, which is not there or is in an index that was ``left``."""
    names = context.documents_of(page_ids)
    names.difference_update(
        context.source_index.read([name for name in names if index_of(name) not in left], ())
    )
    return [name for name in page_ids if name in names]


def forget_gone(context: MaintenanceContext, page_ids: Sequence[str]) -> Mapping[str, int]:
    """Remove pages whose documents have gone, or were left (``left_indices``), and write the ``dedup`` fields of the others in their clusters.

    Returns:
        Counts as ``update_dedup_fields``.
    """
    report, left = HookReport(), context.left_indices()
    missing = gone(context, page_ids, left)
    context.note_removed(left.intersection(map(index_of, missing)))
    removed = context.updates().forget(missing, report, left)
    return _written(context, report) + Counter(gone=len(removed))


def remove_pages(
    context: MaintenanceContext, page_ids: Sequence[str], *, leave: Collection[str] = ()
) -> tuple[RemoveReport, Mapping[str, int]]:
    """Remove pages from the index, repair their clusters, and write the result into the documents of the other members.

    Where a document of a removed page is still there, its ``dedup`` field stays as it is; see ``SourceIndex.write_dedup_fields``.

    Args:
        context: with its attachments.
        page_ids: the pages.
        leave: indices whose documents stay as they are.

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
