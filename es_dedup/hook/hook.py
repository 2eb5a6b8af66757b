"""``DedupHook``: documents on their way into the user's index, decided on before they are written."""

from __future__ import annotations

import json
import logging
import time
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from es_dedup.batch.deciding import BatchDecider, Compared, Found
from es_dedup.batch.featurise import Chunk, only
from es_dedup.errors import (
    DuplicatePage,
    IndexError_,
    IndexUnavailable,
    NotDecided,
    SchemaMismatch,
    SettingsMismatch,
)
from es_dedup.hook import documents
from es_dedup.hook.checks import REFUSALS, ClusterCheck, PipelineCheck, Targets
from es_dedup.hook.document_updates import DocumentUpdates
from es_dedup.hook.documents import INCONCLUSIVE, PENDING, Batch, Item, items_of, waiting_field
from es_dedup.hook.report import HookReport
from es_dedup.index import factory
from es_dedup.index.closing import Closing, on_error
from es_dedup.index.port import ATTACHMENTS, Index
from es_dedup.index.source_index import SourceFields, checked_fields, documents_of, text_of
from es_dedup.model import Decision, WritePolicy
from es_dedup.model.batches import chunked
from es_dedup.settings.loading import settings_in_force

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from es_dedup.index.factory import SourceIndex
    from es_dedup.settings import Settings

    Decisions = Mapping[str, Decision]

DECIDED_AT_A_TIME: Final = 100
PATIENT_SECONDS: Final = 2.0  # until a document of another process is written
POLL_SECONDS: Final = 0.05

_log = logging.getLogger(__name__)


class Dispatcher(Protocol):
    """Passes pages on to be decided: by ``DedupHook.decide`` in this process, or by a task."""

    def ingest(self, page_ids: Sequence[str]) -> None:
        """Take pages whose documents have been written; they may be decided on more than once.

        Documents that were updated or deleted are named too. When it raises, the documents stay ``pending``, the
        report names them as inconclusive, and ``DedupHook.recheck`` finds them.
        """


class DedupHook(Closing):
    """Decides on documents before they are written, and keeps the documents of their clusters right.

    ``dedup_bulk`` and its relatives do all of it. Who has a writer of their own calls ``process``, writes what is to be
    written, and then calls ``written``. One object serves one thread at a time.

    Traps:
        - Corpus statistics are learned from the first batch of three different texts, and again whenever there are twice the pages and when
          the hook is closed, see ``refresh_statistics``.
        - An ingest pipeline that changes the text of a document runs after the hook.
    """

    def __init__(
        self,
        index: Index,
        source_index: SourceIndex,
        fields: SourceFields,
        settings: Settings | None = None,
        *,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        """Over an index and source indices at hand; ``open`` is the usual way."""
        self._index, self._source_index = index, source_index
        self._fields = checked_fields(fields)
        chosen = settings_in_force(settings)
        self._decider = BatchDecider(index, chosen)
        self._fail_closed = chosen.hook.on_failure == "fail_closed"
        self._targets, self.cluster = Targets(source_index), ClusterCheck(source_index)
        self._updates = DocumentUpdates(source_index, self._decider, self._fields)
        self._pipelines = PipelineCheck(source_index, self._fields, self._updates.unread)
        self.dispatcher = dispatcher

    @classmethod
    def open(
        cls,
        address: str,
        fields: SourceFields,
        *,
        settings: Settings | None = None,
        dispatcher: Dispatcher | None = None,
    ) -> DedupHook:
        """Over the features at ``http://host:9200/name``, made when they are not there.

        Args:
            address: server, and the name that the features' indices begin with; see section ``elastic`` of the settings
                for credentials. The documents are on the same server.
            fields: which fields of a document hold the page.
            settings: None: those of the settings file and the environment, as for the command line and the workers.
            dispatcher: documents are indexed at once and decided on by the tasks it sends; None: decide first.

        Raises:
            ConfigError, MissingExtra, IndexError_, TypeError: as ``Deduplicator.open``.
        """
        settings = settings_in_force(settings)
        checked_fields(fields)
        index = factory.open_index(address, settings)
        with on_error(index.close):
            settings = factory.fitted(index, settings, factory.shown(address))
            source_index = factory.open_source_index(address, settings)
            hook = cls(index, source_index, fields, settings, dispatcher=dispatcher)
            for each in json.loads(index.note(ATTACHMENTS) or "[]"):
                hook._pipelines.simulate(source_index.indices(each["target"]), HookReport())
        return hook

    def refresh_statistics(self, report: HookReport | None = None, *, last: bool = True) -> None:
        """Learn corpus statistics again if enough pages came since, and repair the clusters and documents that change by them.

        Others may write meanwhile. Where the server fails, the next call of any hook or worker goes on.

        Args:
            report: counts are added to it.
            last: no documents follow: one page in twenty is enough; else there have to be twice the pages.
        """
        report = HookReport() if report is None else report
        try:
            with report.timed("statistics"):
                for pages in self._decider.refresh() if self._decider.outgrown(last=last) else ():
                    awaited = frozenset() if last else self._decider.begun
                    dedup_fields = self._decider.dedup_fields(pages - awaited)
                    self._updates.write(dedup_fields, report, self._decider.session)
        except IndexError_ as error:
            _log.warning(
                "statistics of the corpus were not learned again, which the next call does: %s", error
            )

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Refresh the statistics unless there was an error, then close."""
        if kind is None:
            self.refresh_statistics()
        self.close()

    def close(self) -> None:
        """Let go of the connections; may be called twice."""
        self._index.close()
        self._source_index.close()

    def process(
        self,
        documents: Iterable[Mapping[str, Any]],
        *,
        policy: WritePolicy | str = WritePolicy.MARK,
        index: str = "",
        report: HookReport | None = None,
    ) -> Batch:
        """Decide on documents that another writer is going to write; then call ``written``.

        Args:
            documents: as bulk actions: ``_index``, ``_id`` and ``routing`` beside ``_source``, or beside the fields.
            policy: what is done with duplicates of, and pages contained in, stored pages.
            index: of documents that name none.
            report: counts are added to it.

        Returns:
            The documents in order, each with its object ``dedup`` (``document``), its ``decision``, and whether it is to be
            written (``kept``).

        Raises:
            DuplicatePage: policy ``fail``, and a document is a duplicate; nothing of the call is kept.
            ValueError: a document names no index, or two have one place.
        """
        items = items_of(documents, index)
        return self.prepare(items, WritePolicy(policy), HookReport() if report is None else report)

    def written(self, batch: Batch, failed: Collection[str] = (), report: HookReport | None = None) -> None:
        """Report that documents were written: other members of their clusters are updated, failed ones are taken back.

        With policy ``skip`` this deletes the older versions of documents that are not ``kept``.

        Args:
            batch: what ``process`` returned.
            failed: page ids of those that could not be written.
            report: counts are added to it.
        """
        old = [item.page_id for item in batch if item.withdrawn and not item.rests_on(failed)]
        self._source_index.delete(old)
        if report is not None:
            report.removed += old
        self.finish(batch, failed, report)

    # What the bulk helpers are made of

    @property
    def content(self) -> str:
        """Name of the field that holds the page."""
        return self._fields.content

    def keep_writer_lock(self) -> AbstractContextManager[None]:
        """Batches of one call inside follow each other more quickly; see ``Index.keep_writer_lock``."""
        return self._index.keep_writer_lock()

    def featurise(self, items: Sequence[Item], report: HookReport | None = None) -> Chunk | None:
        """Features of the whole documents among some, computed ahead of ``prepare`` or in another process; None where nothing is to be decided.

        Only the index behind an alias is asked for.
        """
        whole = [item for item in items if item.whole]
        if self.dispatcher is not None or not whole:
            return None
        with (report or HookReport()).timed("features"):
            self._targets.resolve(whole)
            return self._decider.featurise([self._fields.page(item.page_id, item.source) for item in whole])

    def parts(self, items: list[Item], policy: WritePolicy) -> list[tuple[list[Item], Chunk | None]]:
        """A batch in parts to write one after the other, each with its features where these were computed; see ``in_parts``."""
        if policy is WritePolicy.MARK or len(items) == 1 or (features := self.featurise(items)) is None:
            return [(items, None)]
        try:
            stored, changed = self._decider.known(features)
        except IndexError_:
            return [(items, None)]  # the decision that follows returns the error
        parts = documents.in_parts(items, stored, changed)
        if policy is WritePolicy.SKIP:
            leaving = [item for item in items if item.loses_text(self._fields.content)]
            self._targets.resolve(leaving)
            documents.set_leaving(parts, {*changed, *(item.page_id for item in leaving)})
        return [(part, only(features, {item.page_id for item in part})) for part in parts]

    def prefetch(
        self,
        items: Sequence[Item],
        features: Chunk | None = None,
        report: HookReport | None = None,
        *,
        settled: Callable[[], object] = lambda: None,
    ) -> Found | None:
        """Search candidates of documents, ahead of ``compare`` and ``prepare``; another thread may do so while batches before are decided on and written.

        Their features are stored. Who does not go on to ``prepare`` calls ``withdraw``.

        Args:
            items: with distinct ``_id``, none of them in a batch that is not finished.
            features: what ``featurise`` made of the same documents; None: they are made now.
            report: its seconds are added to.
            settled: waits until the batch before is decided on; called before anything that is stored is replaced.

        Returns:
            What was found; None where nothing is to be decided.

        Raises:
            IndexError_: the store did not answer; features may be kept.
        """
        names = [item.page_id for item in items if item.whole]
        self._targets.resolve(items)
        if names != [item.page_id for item in items if item.whole]:  # a rollover since the features were made
            features = None
        if features is None and (features := self.featurise(items, report)) is None:
            return None
        with (report or HookReport()).timed("decide"):
            return self._decider.find(features, settled=settled)

    def compare(self, found: Found | None, report: HookReport | None = None) -> Compared | None:
        """Compare documents with candidates that ``prefetch`` has found, ahead of ``prepare``; errors as of ``prefetch``.

        Another thread may meanwhile write the batch before, or prefetch the next one.
        """
        if found is None:
            return None
        with (report or HookReport()).timed("decide"):
            return self._decider.compare(found)

    def withdraw(self, items: Sequence[Item], report: HookReport) -> None:
        """Update features and clusters to what the source index holds: the documents were prefetched and not written."""
        page_ids = [item.page_id for item in items if not item.problem]
        self._decider.give_up(page_ids)
        self.read_again(page_ids, report)

    def read_again(self, page_ids: Sequence[str], report: HookReport) -> None:
        """Update features and clusters to what documents hold now; the report only says where that failed."""
        try:
            self._updates.reconcile(page_ids, HookReport())
        except IndexError_ as error:
            report.not_repaired.update(dict.fromkeys(page_ids, str(error)))

    def prepare(
        self,
        items: Sequence[Item],
        policy: WritePolicy,
        report: HookReport,
        *,
        features: Chunk | None = None,
        prefetched: Compared | None = None,
    ) -> Batch:
        """Decide on documents with distinct ``_id``; where the store does not answer, ``hook.on_failure`` says what happens.

        Args:
            items: in order.
            policy: for ``index`` and ``create``.
            report: counts are added to it.
            features: what ``featurise`` made of the same documents; None: they are made now.
            prefetched: what ``compare`` gave for the same documents; None: they are compared now.

        Raises:
            DuplicatePage: policy ``fail``, and a document is a duplicate; names the first one. Nothing of the batch is kept.
            NotDecided: setting ``hook.on_failure`` is ``fail_closed``, and the store does not answer; nothing of the batch is written.
            ValueError: another policy than ``mark`` while decisions are left to a dispatcher.
            SourceIncomplete: a document of the batch, or one in a cluster with it, cannot be updated without losing data.
            IndexRefused: the index of a document cannot have the mapping of ``dedup``, or has another one (``MappingConflict``).
        """
        if self.dispatcher is not None and policy is not WritePolicy.MARK:
            raise ValueError(f"policy {policy} needs a decision before the write: use mark, or no dispatcher")
        whole = [item for item in items if item.whole]
        # of updates and deletes nothing was stored, and an alias may still name them
        names = [item.page_id for item in whole]
        try:
            self._targets.resolve(items)
        except REFUSALS:
            if prefetched:
                self.read_again(names, report)
            raise
        self._pipelines.simulate({item.key.index for item in items if not item.problem}, report)
        if (features or prefetched) and names != [item.page_id for item in whole]:  # a rollover since then
            self.read_again(names, report)
            features = prefetched = None
        batch = Batch(list(items))
        report.pages += len(items)
        report.failed.update({item.page_id: item.problem for item in items if item.problem})
        if self.dispatcher is not None:
            for item in items:
                item.deferred = item.operation == "update"
            for item in whole:
                item.dedup_field = waiting_field(item.page_id, PENDING)
        else:
            self._decide(batch, policy, report, features, prefetched)
        try:
            moved = self._targets.check(batch)
        except REFUSALS:
            self.withdraw(items, report)
            raise
        if not moved:
            return batch
        # a rollover since the index was asked for
        self.read_again([item.page_id for item in whole], report)
        documents.without_decision(items, report)
        return self.prepare(items, policy, report)

    def finish(
        self,
        batch: Batch,
        failed: Collection[str] = (),
        report: HookReport | None = None,
        *,
        refresh: bool = False,
    ) -> list[Item]:
        """After a batch was written: update other documents, take back what was not written, process updates and deletes.

        Args:
            batch: what ``prepare`` gave.
            failed: page ids of documents that could not be written.
            report: counts are added to it.
            refresh: make the changes of other documents visible to searches.

        Returns:
            Documents that were left out because of one that then failed: send them again.
        """
        report = HookReport() if report is None else report
        done = [item for item in batch if item.kept and item.page_id not in failed]
        report.written += len(done)
        report.preset = self._decider.preset
        report.without_text += sum(
            item.whole and not text_of(item.source, self._fields.content).strip() for item in done
        )
        if self.dispatcher is not None:
            self._pipelines.read_back(done, report)
            names = [item.written_id for item in done if not item.problem]
            try:
                if names:
                    self.dispatcher.ingest(names)
            except Exception as error:  # noqa: BLE001 - whatever its queue raises: the documents are written
                reason = f"the decision could not be queued: {error}"
                report.inconclusive.update(dict.fromkeys(names, reason))
            return []
        again = [item for item in batch.items if item.rests_on(failed)]
        report.left_out.update(
            (item.page_id, item.decision)
            for item in batch.items
            if item.decision and not item.kept and item not in again
        )
        with report.timed("repair"):
            try:
                self._pipelines.read_back(done, report)
                self._repair(batch, set(failed), report)
            except (SettingsMismatch, SchemaMismatch) as error:
                self._put_off(batch, failed, str(error), report)
                report.not_repaired.update(dict.fromkeys(batch.to_read(failed), str(error)))
            except IndexError_ as error:
                unread = [*batch.others, *batch.to_read(failed)]
                report.not_repaired |= dict.fromkeys(unread, str(error))
        documents.without_decision(again, report)
        self.refresh_statistics(report, last=False)
        if refresh and self._updates.changed:
            with suppress(IndexError_):
                self._source_index.refresh(",".join(sorted(self._updates.changed)))
        self._updates.changed.clear()
        return again

    def decide(self, page_ids: Iterable[str], *, report: HookReport | None = None) -> HookReport:
        """Decide on documents that are there already, by what is in them now; those that are gone are forgotten.

        Raises:
            IndexError_: the store or the source index did not answer; to repeat the call is safe.
        """
        report = HookReport() if report is None else report
        for some in chunked(dict.fromkeys(page_ids), DECIDED_AT_A_TIME):
            report.pages += len(some)
            self._updates.reconcile(some, report)
        return report

    def recheck(self, target: str, *, report: HookReport | None = None) -> HookReport:
        """Decide again on inconclusive and pending documents; a candidate list that is truncated again is accepted.

        Args:
            target: index, alias or pattern.
            report: counts are added to it.

        Raises:
            IndexError_: the store or the source index did not answer; to repeat the call is safe.
        """
        report = HookReport() if report is None else report
        for some in self._source_index.waiting(target, self._fields.names):
            names = [each.key.page_id for each in some]
            report.pages += len(names)
            self._updates.reconcile(names, report, again=True)
        return report

    def moved(self, batch: Batch, report: HookReport) -> None:
        """Decide on documents of a batch where they are: a write alias was moved, or a pipeline changed their index or ``_id``.

        One may have taken the place of another one of the batch, and several may be in one place.
        """
        items = [item for item in batch if item.place is not None]
        for item in items:
            self._targets.forget(item.target)
            report.forget(item.page_id, item.decision)
            item.decision = None
        names = sorted({*batch.moved, *batch.moved.values()})
        try:
            decisions = self._updates.reconcile(names, report).decisions
            for item in items:
                item.decision = decisions.get(item.written_id)
        except IndexError_ as error:
            report.not_repaired.update(dict.fromkeys(names, str(error)))

    def begun(self, index: str, written: Iterable[str], report: HookReport) -> None:
        """Check an index to a shard of which a batch wrote first, or into which a pipeline put documents.

        It may have been deleted after the check before the write, and created again by the write, with dynamic mapping; another one than
        was expected was not checked at all.

        Args:
            index: a concrete index.
            written: page ids of its documents that were written.
            report: says of each of these if the index has another mapping of ``dedup``.
        """
        try:
            self._source_index.prepare([index])
        except IndexError_ as error:
            report.not_repaired.update(dict.fromkeys(written, str(error)))

    # Inner workings

    def _decide(
        self,
        batch: Batch,
        policy: WritePolicy,
        report: HookReport,
        features: Chunk | None,
        prefetched: Compared | None,
    ) -> None:
        """Decide on the whole documents of a batch, or let them wait for a decision where the store does not answer; see ``prepare``."""
        whole = [item for item in batch.items if item.whole]
        names = [item.page_id for item in whole]
        try:
            compared = prefetched or self.compare(self.prefetch(whole, features, report), report)
            if compared is None:
                return
            with report.timed("decide"):
                leaving = {name for item in whole for name in item.leaving}
                standing = self._decider.standing_for(compared, policy)
                there = self._there({name: set(others) - leaving for name, others in standing.items()})
                batch.outdated = self._updates.outdated(there.difference(names))
                there -= batch.outdated
                batch.decided = decided = self._decider.conclude(compared, policy, there)
            if self._fail_closed and decided.unsure:
                first = decided.unsure[0]
                raise IndexUnavailable(first, "; ".join(decided.decisions[first].notes))
            report.pairs_compared += decided.pairs
            report.truncated += decided.truncated
            for name in names if policy is WritePolicy.FAIL else ():
                if others := decided.replaces.get(name):
                    self._updates.reconcile(names, HookReport())
                    raise DuplicatePage(name, min(others))
        except IndexError_ as error:
            if not self._fail_closed:
                documents.undecided(whole, str(error), report)
                return
            self.read_again(names, HookReport())  # what of their features was stored
            raise NotDecided(len(whole), str(error)) from error
        for item in whole:
            documents.with_decision(item, decided, report)
            item.withdrawn = not item.kept and item.operation == "index" and item.page_id in there

    def _there(self, covered: Mapping[str, Collection[str]]) -> set[str]:
        """Of some pages, and of the stored ones because of which they may be left out, those whose documents are there.

        A page that another process has decided on is waited for a moment, as its document is about to be written. Of two processes that wait
        for each other's page, the one with the lesser page goes on sooner, so that the other finds it.
        """
        wanted = {*covered, *(other for others in covered.values() for other in others)}
        there = wanted - documents_of(wanted)  # pages that were added without a document
        started = time.monotonic()
        while wanted:
            there.update(self._source_index.read(wanted - there, ()))
            waited = time.monotonic() - started
            wanted = {
                other
                for name, others in covered.items()
                for other in others
                if other not in there and waited < (PATIENT_SECONDS if other < name else PATIENT_SECONDS / 4)
            }
            if not wanted or not self._decider.shared:
                break
            time.sleep(POLL_SECONDS)
        return there

    def _repair(self, batch: Batch, failed: set[str], report: HookReport) -> None:
        own, dedup_fields = batch.written(failed), batch.decided.dedup_fields
        read, known = [*batch.to_read(failed), *batch.outdated], len(report.gone)
        self._updates.reconcile(read, report)
        session = batch.decided.session
        stale = read or batch.moved or self._decider.moved(session)
        if dedup_fields and stale:
            dedup_fields = self._decider.dedup_fields({*dedup_fields, *batch.moved.values()})
            session = self._decider.session
            sure = {item.written_id for item in batch.items if item.sure}
            written = {name: each for name, each in dedup_fields.items() if name in own & sure}
            self._updates.write(written, report, session, own=True)
            # taken for pages of deleted documents, before they were written
            removed = (own & sure) - dedup_fields.keys()
            self._updates.reconcile(sorted(removed), report)
            if removed or len(report.gone) > known:  # clusters were repaired since the fields were read
                dedup_fields = self._decider.dedup_fields(dedup_fields)
                session = self._decider.session
        others = {name: each for name, each in dedup_fields.items() if name not in own | set(read)}
        self._updates.write(others, report, session, checked=not stale)
        self._updates.overwrite(batch.replaced(own), report)
        self._updates.correct(batch, own, batch.outdated.union(report.gone[known:]), report)

    def _put_off(self, batch: Batch, failed: Collection[str], reason: str, report: HookReport) -> None:
        """Let documents wait for a decision with the settings now in force.

        These are the written and the updated documents, and the other members of the clusters of updated and deleted ones.
        """
        written, others = batch.written(failed), set(batch.to_read(failed))
        report.inconclusive.update(dict.fromkeys(written, reason))
        clusters = {each.cluster_id for each in self._index.assignments(others).values()}
        others |= {each.page_id for group in self._index.members(clusters).values() for each in group}
        # features of other settings: what is gone was not taken over by them, or is found by their writers
        self._updates.send(
            {name: waiting_field(name, INCONCLUSIVE) for name in written | others}, report, own=True
        )
