"""All that maintenance works on: the feature index, the attached source indices, the jobs."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from es_dedup.batch.clusters import CLUSTERS_PENDING, write_session
from es_dedup.batch.deciding import BatchDecider
from es_dedup.batch.featurise import changed
from es_dedup.batch.override_changes import DOCUMENTS_PENDING, documents_pending
from es_dedup.batch.refresh import refresh, refresh_is_due
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import ConfigError, DedupError, MassChange, NotAttached, reading_stored
from es_dedup.hook.document_updates import DocumentUpdates
from es_dedup.hook.report import HookReport
from es_dedup.index import factory
from es_dedup.index.jobs import DeadLetter, Partition
from es_dedup.index.port import ATTACHMENTS, REMOVED, Index
from es_dedup.index.source_index import SourceDocument, SourceFields, documents_of, index_of
from es_dedup.model.batches import chunked, chunked_by_size
from es_dedup.settings.loading import without_texts
from es_dedup.settings.recorded import STATISTICS, adopted, decisions_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.index.factory import JobStore, SourceIndex
    from es_dedup.model import RemoveReport
    from es_dedup.model.overrides import OverrideReport
    from es_dedup.settings import Settings

GROUP_PAGES: Final = 500
"""Pages of clusters whose ``dedup`` fields are written together."""
SENT_AT_A_TIME: Final = 100  # dead letters
FOLLOWING: Final = "follow"
"""Kind of the job without an end."""
ALWAYS_ALLOWED: Final = 100
"""Documents that may be changed without being forced, however few there are."""
ERROR_CHARS: Final = 200
DIED: Final = "its worker ended without a word (killed, or out of memory)"
NOT_READ: Final = SourceFields("")


class Attachment(NamedTuple):
    """One attached target.

    Attributes:
        target: an index, an alias, a data stream or a pattern.
        fields: how its documents are read.
        indices: concrete ones that it has stood for.
    """

    target: str
    fields: SourceFields
    indices: tuple[str, ...] = ()


def load_attachments(index: Index) -> list[Attachment]:
    """All attachments of an index, by target."""
    with reading_stored("attachments"):
        stored = json.loads(index.note(ATTACHMENTS) or "[]")
        return [
            Attachment(each["target"], SourceFields(**each["fields"]), tuple(each.get("indices", ())))
            for each in stored
        ]


def save_attachments(index: Index, attachments: Iterable[Attachment]) -> None:
    """Replace all attachments."""
    listed = sorted(attachments, key=lambda each: each.target)
    rows = [each._asdict() | {"fields": each.fields.as_dict()} for each in listed]
    with index.writing():  # sessions of others read the note once
        index.set_note(ATTACHMENTS, json.dumps(rows))


@dataclass
class MaintenanceContext:
    """An index on Elasticsearch with its attached source indices.

    Attributes:
        place: its address.
        settings: all settings, those of the index where nobody has given others; texts are not stored, as the source index has them.
        index, source_index, jobs: the stores.
    """

    place: str
    settings: Settings
    index: Index
    source_index: SourceIndex
    jobs: JobStore

    @property
    def dedup(self) -> Deduplicator:
        """The use cases over the same index; it knows the statistics that are stored now."""
        return Deduplicator(self.index, self.settings)

    @cached_property
    def decider(self) -> BatchDecider:
        """Decides on pages of documents, as the hook does."""
        return BatchDecider(self.index, self.settings, ignored_seconds=0)

    def updates(self, fields: SourceFields = NOT_READ) -> DocumentUpdates:
        """Brings features, clusters and documents in line; ``fields``: those by which documents are read, where any are."""
        return DocumentUpdates(self.source_index, self.decider, fields)

    @property
    def attachments(self) -> list[Attachment]:
        """What is attached now."""
        return load_attachments(self.index)

    def documents_of(self, page_ids: Iterable[str]) -> set[str]:
        """Those of some page ids that name a document of a source index; none while nothing is attached."""
        return documents_of(page_ids) if self.attachments else set()

    def indices(self, target: str | None = None) -> dict[str, SourceFields]:
        """Concrete source indices with the fields they are read by: of one attached target, or of all.

        An index that belongs to several targets is read by the fields of the last one in the order of their names.

        Raises:
            NotAttached: there is no such attachment.
        """
        attachments = self.attachments
        found = [each for each in attachments if target in (None, each.target)]
        if target is not None and not found:
            raise NotAttached(target, tuple(each.target for each in attachments))
        names = {each.target: self.source_index.indices(each.target) for each in attachments}
        by_index = {name: each.fields for each in attachments for name in names[each.target]}
        return {name: by_index[name] for each in found for name in names[each.target]}

    def note_indices(self) -> None:
        """Note which concrete indices the attached targets stand for now, see ``left_indices``."""
        before = self.attachments
        now = [each._replace(indices=self._indices_until_now(each)) for each in before]
        if now != before:
            save_attachments(self.index, now)

    def _indices_until_now(self, attachment: Attachment) -> tuple[str, ...]:
        present = set(self.source_index.indices(attachment.target))
        others = filter(self.source_index.exists, set(attachment.indices) - present)
        return tuple(sorted(present.union(others)))

    def left_indices(self) -> set[str]:
        """Noted indices that their target does not lead to any more, as one that an alias was moved away from.

        A target that leads nowhere has left none: it may be about to be moved.
        """
        noted: set[str] = set()
        present: set[str] = set()
        for each in self.attachments:
            if found := self.source_index.indices(each.target, closed=True):
                present.update(found)
                noted.update(each.indices)
        return noted - present

    @property
    def removed(self) -> dict[str, str]:
        """By source index a random text, another one after each removal of pages of it whose documents stayed."""
        with reading_stored("removed pages"):
            return dict(json.loads(self.index.note(REMOVED) or "{}"))

    def note_removed(self, indices: Iterable[str]) -> None:
        """Note that pages of these source indices will be removed while their documents stay, so that ``follow`` reads these again if they come back."""
        if some := dict.fromkeys(indices, secrets.token_hex(4)):
            with self.index.writing():
                before = {
                    index: each for index, each in self.removed.items() if self.source_index.exists(index)
                }
                self.index.set_note(REMOVED, json.dumps(before | some))

    def fields_of(self, page_ids: Iterable[str]) -> dict[str, SourceFields]:
        """How each page's document is read; pages of no attached index are absent.

        The server is asked only where the name of an index does not show to which target it belongs, as behind an alias, or targets are
        read by different fields.
        """
        by_page = {page_id: index_of(page_id) for page_id in page_ids}
        indices = set(by_page.values()) - {""}
        by_index: dict[str, SourceFields] = {}
        attachments = self.attachments
        for attachment in attachments:
            patterns = attachment.target.split(",")
            named = [index for index in indices if any(fnmatchcase(index, each) for each in patterns)]
            by_index |= dict.fromkeys(named, attachment.fields)
        if indices - by_index.keys() or len({each.fields for each in attachments}) > 1:
            by_index |= self.indices()
        return {page_id: by_index[index] for page_id, index in by_page.items() if index in by_index}

    def put_dead_letters(self, reasons: Mapping[str, str], task: str, attempts: int = 1) -> None:
        """Put pages that could not be processed on the list of dead letters, by page id with the reason.

        Args:
            reasons: an empty one means that the worker died each time.
            task: what was tried.
            attempts: how often; once where a repetition would fail in the same way.
        """
        now = int(time.time() * 1000)
        self.jobs.put_dead_letters(
            DeadLetter(page_id, task, reason or DIED, attempts, now) for page_id, reason in reasons.items()
        )

    def batch_of(self, part: Partition) -> int:
        """Documents at a time: fewer after each failed attempt at a part, one in the last, so that one bad page is found."""
        limits = self.settings.maintenance
        if limits.max_attempts == 1:
            return 1
        left = max(0, limits.max_attempts - max(1, part.attempts)) / (limits.max_attempts - 1)
        return max(1, round(float(limits.batch**left)))

    def gives_up(self, part: Partition) -> bool:
        """Whether the next document of a part has been tried often enough, alone at last."""
        return part.attempts > self.settings.maintenance.max_attempts

    def give_up(self, part: Partition, task: str, page_id: str) -> None:
        """Make a dead letter of the document that a part could not get past."""
        self.put_dead_letters({page_id: part.error}, task, part.attempts - 1)

    def guard(self, what: str, changes: int, total: int, *, force: bool) -> None:
        """Let a change of many documents pass, or refuse it: most often it is a mistake.

        Raises:
            MassChange: it is above the limit and not forced.
        """
        limit = max(ALWAYS_ALLOWED, int(total * self.settings.maintenance.max_change_share))
        if changes > limit and not force:
            raise MassChange(what, changes, limit)

    # Documents into the index, and clusters into the ``dedup`` fields of documents

    def store_features(self, fields: SourceFields, documents: Sequence[SourceDocument]) -> Mapping[str, int]:
        """Write the features of some documents; those that are stored with the same content are passed over.

        Returns:
            Counts: ``stored``, ``unchanged``, ``dead`` (cannot be a page), and ``skipped`` (of the stored, without features).
        """
        pages, problems = fields.pages(documents)
        chunk = self.decider.featurise(pages)
        failed = {**problems, **chunk.failed}
        stored = self.index.get_many(chunk.records.ids)
        chunk, unchanged = changed(chunk, stored)
        if chunk.records.ids:
            failed.update(self.index.put_batch(chunk.records))
            if replaced := [name for name in chunk.records.ids if name in stored]:
                self.index.drop_edges(replaced)
        self.put_dead_letters(failed, "features")
        counts = Counter(stored=len(chunk.records.ids), unchanged=unchanged, dead=len(failed))
        counts["skipped"] = sum(map(bool, chunk.records.skipped))
        return counts

    def outdated(self, fields: SourceFields, documents: Sequence[SourceDocument]) -> dict[str, int]:
        """Sequence numbers, by page id, of documents whose features are stored and are not those of what they hold now."""
        late = self.decider.changed(fields.pages(documents)[0])
        return {each.key.page_id: each.seq_no for each in documents if each.key.page_id in late}

    def ingest(self, page_ids: Iterable[str], *, again: bool = False) -> Mapping[str, int]:
        """Look at documents as they are now: new and changed ones are decided on, those that have gone are taken out.

        Repeating it, and calling it in another order than the documents were written in, leads to the same result: only the present
        state of the source index counts.

        Args:
            page_ids: see ``DocumentKey.page_id``; at most some hundred.
            again: see ``ingest_documents``.

        Returns:
            Counts by outcome, and ``gone``, ``updated``, ``dead``, ``foreign`` (of no attached index).
        """
        wanted = list(dict.fromkeys(page_ids))
        fields_of_page = self.fields_of(wanted)
        counts: Counter[str] = Counter(foreign=len(wanted) - len(fields_of_page))
        for fields, names, documents in self.read_documents(fields_of_page):
            counts.update(self.ingest_documents(fields, list(documents.values()), again=again))
            if gone := [name for name in self.index.get_many(names) if name not in documents]:
                counts.update(self.forget_gone(gone))
        return +counts

    def read_documents(
        self, fields_of_page: Mapping[str, SourceFields]
    ) -> Iterator[tuple[SourceFields, list[str], dict[str, SourceDocument]]]:
        """Documents that are read by the same fields: the fields, the page ids that were asked for, the documents that are there."""
        for fields in dict.fromkeys(fields_of_page.values()):
            names = [name for name, each in fields_of_page.items() if each == fields]
            yield fields, names, self.source_index.read(names, fields.names)

    def ingest_documents(
        self, fields: SourceFields, documents: Sequence[SourceDocument], *, again: bool = False
    ) -> Mapping[str, int]:
        """Decide on documents at hand, and write the ``dedup`` fields that follow.

        Args:
            fields: how the documents are read.
            documents: distinct ones.
            again: an earlier attempt at these documents may have been interrupted; see ``DocumentUpdates.decide``.
        """
        if not documents:
            return {}
        self.source_index.check(each.key.index for each in documents)
        self.finish_clusters()
        report = HookReport()
        decided = self.updates(fields).decide(documents, report, again=again, final=True)
        self.put_dead_letters(report.failed, "ingest")
        new = [each for name, each in decided.decisions.items() if name not in decided.unchanged]
        counts = Counter(str(decision.outcome) for decision in new)
        counts.update(
            pairs=report.pairs_compared,
            truncated=report.truncated,
            unchanged=len(decided.unchanged),
            dead=len(report.failed),
        )
        return counts + self._written(report)

    def _written(self, report: HookReport) -> Counter[str]:
        """Counts of ``dedup`` fields that were written; documents that refused one for good become dead letters."""
        # a conflict is healed by the next audit; other failures would be repeated
        lasting = {
            name: reason for name, reason in report.not_repaired.items() if not reason.startswith("conflict")
        }
        self.put_dead_letters(lasting, "update")
        return Counter(updated=report.repaired, refused=len(report.not_repaired), gone=len(report.gone))

    def dead_letters(self, page_ids: Sequence[str] | None = None) -> list[DeadLetter]:
        """All dead letters, or those of some pages."""
        wanted = frozenset(page_ids or ())
        return [letter for letter in self.jobs.dead() if not wanted or letter.page_id in wanted]

    def replay(
        self, page_ids: Sequence[str] | None = None, send: Callable[[Sequence[str]], None] | None = None
    ) -> int:
        """Process dead letters again, here or by ``send``.

        A dead letter is removed after its page was processed, or after the queue has taken its message. A page that fails again stays on
        the list with the new error.

        Args:
            page_ids: None: all.
            send: has workers process pages and raises when the queue has not taken them; None: process them here, one by one.

        Returns:
            How many pages of the list were tried or sent.

        Raises:
            DedupError: a server does not answer; the letters that are left stay on the list.
        """
        letters = self.dead_letters(page_ids)
        for some in chunked(letters, SENT_AT_A_TIME if send else 1):
            if send:
                send([letter.page_id for letter in some])
                self.jobs.drop_dead(some)
            else:
                self._process_again(some[0])
        return len(letters)

    def _process_again(self, letter: DeadLetter) -> None:
        try:
            self.ingest([letter.page_id], again=True)
        except Exception as error:
            if isinstance(error, DedupError) and error.retryable:
                raise
            reason = f"{type(error).__name__}: {error}"[:ERROR_CHARS]
            self.put_dead_letters({letter.page_id: reason}, "replay", letter.attempts + 1)
        else:
            self.jobs.drop_dead([letter])

    def update_dedup_fields(
        self, page_ids: Iterable[str], *, leave: Collection[str] = ()
    ) -> Mapping[str, int]:
        """Write the ``dedup`` field of all pages of the clusters that some pages are in; see ``DocumentUpdates.write``.

        Nothing is written while no source index is attached.

        Args:
            page_ids: some pages.
            leave: indices whose documents stay as they are.

        Returns:
            Counts: ``updated``, ``gone`` (pages that were removed, as their document is not there), ``refused``.
        """
        if not self.attachments:
            return {}
        report = HookReport()
        dedup_fields = self.decider.dedup_fields(page_ids)
        self.updates().write(dedup_fields, report, self.decider.session, leave=leave)
        return self._written(report)

    def update_all_dedup_fields(
        self, after: str | None = None
    ) -> Iterator[tuple[str, int, Mapping[str, int]]]:
        """Write the ``dedup`` fields of all pages, some clusters at a time, in the order of their ids.

        Args:
            after: id of a cluster; those up to it are left out.

        Yields:
            The id of the last cluster, how many pages, and counts as ``update_dedup_fields``.
        """
        for groups in chunked_by_size(self.index.clusters(after=after), GROUP_PAGES, len):
            pages = [each.page_id for group in groups for each in group]
            yield groups[-1][0].cluster_id, len(pages), self.update_dedup_fields(pages)

    def finish_clusters(self) -> Mapping[str, int]:
        """Cluster everything anew where a writer has died between storing and clustering, and write all documents.

        Returns:
            Counts as ``update_dedup_fields``; empty where no writer has died.
        """
        if self.index.note(CLUSTERS_PENDING) is not None:
            # A writer that still works keeps this note, too: wait until it is done, and look again.
            with self.index.writing():
                if self.index.note(CLUSTERS_PENDING) is not None:
                    return self.recluster_documents()
        return {}

    def recluster_documents(self) -> Mapping[str, int]:
        """Cluster everything anew with the settings in force, and write all documents; counts as ``update_dedup_fields``.

        Until the last document is written, a note says that clusters are pending: when this process dies, the next writer does it again.
        """
        counts: Counter[str] = Counter()
        with self.index.writing():
            self.dedup.recluster_as_before(keep_pending=True)
            for _, _, written in self.update_all_dedup_fields():
                counts.update(written)
            self.index.set_note(CLUSTERS_PENDING, None)
        return counts

    def tend_statistics(self, *, changed: bool = False) -> Mapping[str, int] | None:
        """``refresh_statistics`` where it is due and no job is about to cluster everything; else None.

        Args:
            changed: documents were decided on since, also if there are no more pages than before.
        """
        under_way = any(job.what != FOLLOWING for job in self.jobs.jobs(unfinished=True))
        if under_way or not self.attachments or not refresh_is_due(self.index, changed=changed):
            return None
        return self.refresh_statistics()

    def refresh_statistics(self) -> Mapping[str, int]:
        """Learn corpus statistics again, and write the documents of the clusters that change; counts as ``update_dedup_fields``."""
        counts: Counter[str] = Counter()
        for pages in refresh(self.index, self.settings, partial(write_session, self.index)):
            counts.update(self.update_dedup_fields(pages))
        return counts

    def gone(self, page_ids: Sequence[str], left: Collection[str] = ()) -> list[str]:
        """Those of some pages that were added with a document, which is not there or is in an index that was ``left``."""
        names = self.documents_of(page_ids)
        names.difference_update(
            self.source_index.read([name for name in names if index_of(name) not in left], ())
        )
        return [name for name in page_ids if name in names]

    def forget_gone(self, page_ids: Sequence[str]) -> Mapping[str, int]:
        """Remove pages whose documents have gone, or were left (``left_indices``), and write the ``dedup`` fields of the others in their clusters.

        Returns:
            Counts as ``update_dedup_fields``.
        """
        report, left = HookReport(), self.left_indices()
        missing = self.gone(page_ids, left)
        self.note_removed(left.intersection(map(index_of, missing)))
        removed = self.updates().forget(missing, report, left)
        return self._written(report) + Counter(gone=len(removed))

    def remove_pages(
        self, page_ids: Sequence[str], *, leave: Collection[str] = ()
    ) -> tuple[RemoveReport, Mapping[str, int]]:
        """Remove pages from the index, repair their clusters, and write the result into the documents of the other members.

        Where a document of a removed page is still there, its ``dedup`` field stays as it is; see ``SourceIndex.write_dedup_fields``.

        Args:
            page_ids: the pages.
            leave: indices whose documents stay as they are.

        Returns:
            What was removed, and counts as ``update_dedup_fields``.
        """
        report = (dedup := self.dedup).remove(page_ids)
        counts = Counter(self.update_dedup_fields(dedup.changed, leave=leave))
        counts["gone"] += report.removed
        return report, counts

    def finish_overrides(self) -> Mapping[str, int]:
        """Write the documents that overrides have changed and that are not written yet, as by a writer that was stopped; counts as ``update_dedup_fields``."""
        counts = Counter(self.finish_clusters())
        if pending := documents_pending(self.index):
            counts.update(self.update_dedup_fields({page for pages in pending.values() for page in pages}))
            with write_session(self.index):
                now = documents_pending(self.index)
                later = {each: pages for each, pages in now.items() if each not in pending}
                note = json.dumps(later, ensure_ascii=False) if later else None
                self.index.set_note(DOCUMENTS_PENDING, note)
        return counts


@contextmanager
def open_context(place: str, settings: Settings, *, read_only: bool = False) -> Iterator[MaintenanceContext]:
    """An index with its source indices, closed at the end of the block; made when it is not there, unless ``read_only``.

    Raises:
        ConfigError: the place is not an address of an index on Elasticsearch.
        IndexError_: see ``factory.open_index``.
    """
    if not factory.is_remote(place):
        raise ConfigError(
            (f"maintenance needs an index on Elasticsearch, http://host:9200/name, not {place}",)
        )
    own = without_texts(settings)
    with ExitStack() as stores:
        index = stores.enter_context(closing(factory.open_index(place, own, read_only=read_only)))
        own = adopted(factory.fitted(index, own, factory.shown(place)), decisions_in(index.note(STATISTICS)))
        yield MaintenanceContext(
            place,
            own,
            index,
            stores.enter_context(closing(factory.open_source_index(place, own))),
            stores.enter_context(closing(factory.open_jobs(place, own, read_only=read_only))),
        )


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
                context.finish_overrides()
                return report
    return change(dedup)
