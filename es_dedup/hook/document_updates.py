"""What follows a write: features, clusters and ``dedup`` fields are brought in line with what the source index holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.batch.deciding import BatchDecider, Concluded
from es_dedup.hook import documents
from es_dedup.index.source_index import document_key, documents_of, index_of
from es_dedup.model.values import value_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from es_dedup.hook.documents import Batch
    from es_dedup.hook.report import HookReport
    from es_dedup.index.factory import SourceIndex
    from es_dedup.index.source_index import DedupField, SourceDocument, SourceFields
    from es_dedup.model import Decision

TRIES: Final = 5  # of what other processes change meanwhile


class DocumentUpdates:
    """Brings features, clusters and documents in line.

    Args:
        source_index: the documents.
        decider: features and clusters.
        fields: which fields of a document hold the page.

    Attributes:
        changed: indices in which documents of others were changed by a batch.
        unread: indices whose stored documents lack the content field, because a pipeline takes it away.
    """

    def __init__(self, source_index: SourceIndex, decider: BatchDecider, fields: SourceFields) -> None:
        self._source_index, self._decider, self._fields = source_index, decider, fields
        self.changed: set[str] = set()
        self.unread: set[str] = set()

    def correct(self, batch: Batch, own: set[str], gone: set[str], report: HookReport) -> None:
        """Decide again on documents of a batch whose decisions name pages that turned out to be gone."""
        named = {item.written_id: item for item in batch if item.decision and item.written_id in own - gone}
        wrong = {name: item for name, item in named.items() if not gone.isdisjoint(_named(item.decision))}
        for name, item in wrong.items():
            report.forget(name, item.decision)
        decisions = self.reconcile(list(wrong), report).decisions if wrong else {}
        for name, item in wrong.items():
            item.decision = decisions.get(name)

    def reconcile(self, page_ids: Sequence[str], report: HookReport, *, again: bool = False) -> Concluded:
        """Update features and clusters to what documents hold now, and write their ``dedup`` fields; gives the decisions on those that are there."""
        found = self._source_index.read(page_ids, self._fields.names)
        self.forget([name for name in page_ids if name not in found], report)
        return self.decide(found.values(), report, again=again, final=again)

    def decide(
        self, found: Iterable[SourceDocument], report: HookReport, *, again: bool, final: bool
    ) -> Concluded:
        """Decide on documents as they were read, and write the ``dedup`` fields that follow.

        Args:
            found: distinct documents.
            report: counts are added to it.
            again: compare also pages that are stored with the same content, and write the fields of all members of their clusters: an earlier
                attempt may have been interrupted at any point.
            final: accept a candidate list that is cut; otherwise the document waits for another decision.
        """
        read = {each.key.page_id: each for each in found}
        stripped = [name for name, each in read.items() if self._is_stripped(each)]
        for name in self._decider.stored(stripped) if stripped else ():
            del read[name]  # what was stored is all that is known of it
        pages, problems = self._fields.pages(read.values())
        report.failed.update(problems)
        if not pages:
            return Concluded()
        decided = self._decider.decide(self._decider.featurise(pages), again=again)
        report.pairs_compared += decided.pairs
        report.truncated += decided.truncated
        for decision in decided.decisions.values():
            report.count(decision)
        report.failed.update(decided.failed)
        dedup_fields = documents.dedup_fields_with_doubts(decided, report, last=final)
        waiting = {name: each for name, each in dedup_fields.items() if each.waiting}
        session = decided.session
        if again:
            dedup_fields = {**self._decider.dedup_fields(dedup_fields, related=True), **waiting}
            session = self._decider.session
        self.write(dedup_fields, report, session)
        self._source_index.decided(
            (each for name, each in read.items() if name not in waiting), self._fields.names
        )
        return decided

    def forget(self, page_ids: Iterable[str], report: HookReport, left: Collection[str] = ()) -> set[str]:
        """Remove pages whose documents have gone or are in indices that were ``left``, and write the clusters that remain; gives those that were removed."""
        if not (names := set(page_ids)):
            return set()

        def there(names: Collection[str]) -> Collection[str]:
            return self._source_index.read((name for name in names if index_of(name) not in left), ())

        gone, dedup_fields = self._decider.remove(names, there)
        self.write(dedup_fields, report, self._decider.session, leave=left)
        return gone

    def write(
        self,
        dedup_fields: Mapping[str, DedupField],
        report: HookReport,
        session: int,
        *,
        own: bool = False,
        checked: bool = False,
        leave: Collection[str] = (),
    ) -> None:
        """Write ``dedup`` fields, and those that are no longer right where another process has changed clusters since the session that they were read in.

        Documents that turn out to have been deleted past the hook leave their clusters; those of batches that were begun are yet to be
        written, and those in indices of ``leave`` stay as they are.
        """
        written = {name: each for name, each in dedup_fields.items() if index_of(name) not in leave}
        missing = set(self.send(written, report, own=own, checked=checked))
        for _ in range(TRIES if written else 0):
            if not self._decider.moved(session):
                break
            current = self._decider.dedup_fields(written)
            session = self._decider.session
            outdated = {
                name: each
                for name, each in current.items()
                if written.get(name) != each and index_of(name) not in leave
            }
            missing.update(self.send(outdated, report, own=own))
            written |= outdated
        report.gone += sorted(self.forget(missing - self._decider.begun, report))

    def send(
        self,
        dedup_fields: Mapping[str, DedupField],
        report: HookReport,
        *,
        own: bool = False,
        checked: bool = False,
    ) -> Collection[str]:
        """Write ``dedup`` fields; gives the pages whose documents are not there."""
        if not dedup_fields:
            return ()
        done = self._source_index.write_dedup_fields(dedup_fields, checked=checked)
        if done.changed:
            self.changed |= {document_key(name).index for name in dedup_fields}
        if not own:
            report.repaired += done.changed
        report.not_repaired.update(done.failed)
        return done.gone

    def outdated(self, page_ids: Collection[str]) -> set[str]:
        """Those of some pages whose documents, of which nobody says that they were decided on, hold another text than their features."""
        now = self._source_index.read(documents_of(page_ids), self._fields.names).values()
        unsure = [each for each in now if (not each.dedup or each.waits) and not self._is_stripped(each)]
        return set(self._decider.changed(self._fields.pages(unsure)[0]))

    def _is_stripped(self, document: SourceDocument) -> bool:
        """Whether a pipeline has taken away the text, which is known from the write alone."""
        return document.key.index in self.unread and value_of(document.source, self._fields.content) is None

    def overwrite(self, replaced: Mapping[str, set[str]], report: HookReport, tries: int = TRIES) -> None:
        """Remove documents that others, which are there, take the place of; what was changed past the hook is decided on instead.

        Args:
            replaced: page ids, each with the documents that take its place.
            report: counts are added to it.
            tries: how often a document is read again that others write meanwhile.
        """
        if not replaced:
            return
        names = set(replaced).union(*replaced.values())
        now = self._source_index.read(names, self._fields.names)
        old = {name: now[name] for name in replaced.keys() & now.keys() if replaced[name] & now.keys()}
        changed = self._decider.changed(self._fields.pages(old.values())[0])
        done = self._source_index.delete_unchanged(old[name] for name in old.keys() - changed)
        again = {name for name, reason in done.items() if reason == "conflict" and tries}
        refused = {name: reason for name, reason in done.items() if reason not in ("", "gone")}
        report.not_repaired.update((name, refused[name]) for name in refused.keys() - again)
        self.reconcile([*changed, *(refused.keys() - again)], report)
        self.overwrite({name: replaced[name] for name in again}, report, tries - 1)
        removed = {name for name, reason in done.items() if not reason}
        self.changed |= {document_key(name).index for name in removed}
        report.removed += sorted(removed)
        missing = (names - now.keys()) | {name for name, reason in done.items() if reason == "gone"}
        report.gone += sorted(self.forget(removed | missing, report) - removed)


def _named(decision: Decision | None) -> set[str | None]:
    """The pages that a decision names."""
    if decision is None:
        return set()
    return {decision.duplicate_of, decision.cluster_id, *decision.contained_in, *decision.contains}
