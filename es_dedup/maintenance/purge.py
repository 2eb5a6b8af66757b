"""Deleting marked copies from source indices, and writing them back."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final

from es_dedup.index.dedup_field import dedup_fields_of_groups
from es_dedup.index.source_index import DEDUP, DocumentKey, documents_of, index_of
from es_dedup.maintenance.backfill import outdated
from es_dedup.maintenance.dedup_field_writes import GROUP_PAGES, forget_gone
from es_dedup.maintenance.ingest import ingest_documents
from es_dedup.maintenance.mass_change_guard import guard
from es_dedup.maintenance.restore_files import append_documents, open_restore_file, read_versions
from es_dedup.maintenance.stage import throttle
from es_dedup.model.batches import chunked, chunked_by_size

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from es_dedup.index.port import Assignment
    from es_dedup.index.source_index import DedupField, RestoredDocument, SourceDocument, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext

BATCH: Final = 256  # documents read and deleted at a time
CHANGED: Final = "written meanwhile"
OTHERWISE: Final = "its dedup field is not the current decision"
WAITS: Final = "waits for a decision"
NO_CANONICAL: Final = "its canonical document is not there"
OUTDATED: Final = "it was changed since it was decided on"
CANONICAL_OUTDATED: Final = "its canonical document was changed since it was decided on"


@dataclass(slots=True)
class PurgeReport:
    """What ``purge`` did or, on a dry run, would do.

    Attributes:
        preset: the preset that decided which pages are copies, and what is set in place of its values.
        deleted: copies that were deleted, or would be.
        gone: copies whose document was not there any more; their pages were removed from the index.
        kept: copies that stay, counted by reason.
    """

    preset: str = ""
    deleted: int = 0
    gone: int = 0
    kept: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What ``restore`` did.

    Attributes:
        restored: documents that were written back and decided on again.
        there: documents that stay as they are, as one of their id is there.
        failed: page id to what the server said.
    """

    restored: int
    there: int
    failed: Mapping[str, str]


def purge(
    context: MaintenanceContext,
    target: str,
    restore_file: Path | None,
    *,
    dry_run: bool = True,
    rate: float | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> PurgeReport:
    """Delete the documents of an attached target that are copies: members of a cluster that are not its canonical document.

    A copy is deleted only where its ``dedup`` field is the current decision, its canonical document is there, both still have the features
    that were decided on, and it was not written since it was read (sequence number). It is appended to the restore file before. May be repeated when it was interrupted.

    Args:
        context: with its attachments.
        target: as attached.
        restore_file: gets the deleted documents as a body of ``_bulk``; None: they cannot be written back.
        dry_run: change nothing.
        rate: most deletions per second; None: as fast as the server is.
        force: also when more documents are deleted than the guard allows.
        progress: called with the clustered pages that were looked at, and how many there are.

    Raises:
        NotAttached: there is no such attachment.
        MassChange: too many documents would be deleted; none was.
        SourceIncomplete: ``_source`` does not hold whole documents, so that they could not be restored.
        OSError: the restore file cannot be written; what is not in it was not deleted.
    """
    indices = frozenset(context.indices(target))
    context.source_index.refresh(target)
    if not dry_run:
        marked = context.source_index.count(target, {"term": {f"{DEDUP}.canonical": False}})
        guard("purge", marked, context.index.count(), context.settings, force=force)
        if restore_file is not None:
            context.source_index.check(indices, readable=True)
            open_restore_file(context.index, restore_file)
    work = _Purge(context, indices, restore_file, dry_run=dry_run, rate=rate)
    context.index.refresh_clusters()
    total, seen = context.index.count(), 0
    for groups in chunked_by_size(context.index.clusters(min_size=2), GROUP_PAGES, len):
        work.delete(groups)
        seen += sum(map(len, groups))
        if progress is not None:
            progress(seen, total)
    return work.report


class _Purge:
    def __init__(
        self,
        context: MaintenanceContext,
        indices: Collection[str],
        restore_file: Path | None,
        *,
        dry_run: bool,
        rate: float | None,
    ) -> None:
        self.report = PurgeReport(context.dedup.preset)
        self._context, self._indices, self._file = context, indices, restore_file
        self._fields = context.indices()
        self._dry_run, self._rate = dry_run, rate

    def delete(self, groups: Sequence[Sequence[Assignment]]) -> None:
        """Delete the copies of some clusters, then remove their pages."""
        edges = self._context.index.edges_of(each.page_id for group in groups for each in group)
        copies = {
            name: each
            for name, each in dedup_fields_of_groups(groups, edges).items()
            if not each.canonical and index_of(name) in self._indices
        }
        gone: list[str] = []
        for some in chunked(copies, BATCH):
            gone += self._delete({name: copies[name] for name in some})
        if gone and not self._dry_run:
            forget_gone(self._context, gone)

    def _delete(self, copies: Mapping[str, DedupField]) -> list[str]:
        """Page ids of copies whose documents are not there any more."""
        began = time.monotonic()
        source_index, report = self._context.source_index, self.report
        documents = source_index.read(copies, None)
        wanted = []
        for document, reason in self._reasons_to_keep(documents, copies):
            if reason:
                report.kept[reason] += 1
            else:
                wanted.append(document)
        gone = [name for name in copies if name not in documents]
        if self._dry_run:
            report.deleted += len(wanted)
            report.gone += len(gone)
            return []
        if wanted and self._file is not None:
            append_documents(self._file, wanted, source_index.external_versions)
        outcomes = source_index.delete_unchanged(wanted)
        deleted = [name for name, outcome in outcomes.items() if not outcome]
        for outcome in outcomes.values():
            if outcome not in ("", "gone"):
                report.kept[CHANGED if outcome == "conflict" else outcome] += 1
        gone += [name for name, outcome in outcomes.items() if outcome == "gone"]
        report.deleted += len(deleted)
        report.gone += len(gone)
        throttle(self._rate, len(deleted), time.monotonic() - began)
        return deleted + gone

    def _reasons_to_keep(
        self, documents: Mapping[str, SourceDocument], copies: Mapping[str, DedupField]
    ) -> Iterator[tuple[SourceDocument, str]]:
        """Each document with the reason why it stays; empty where there is none."""
        heads = {copies[name].duplicate_of for name in documents}
        names = dict.fromkeys(name for each in self._fields.values() for name in each.names)
        there = self._context.source_index.read(documents_of(heads), tuple(names))
        changed = self._changed({**documents, **there})
        for name, document in documents.items():
            current = copies[name]
            reason = _reason_to_keep(document, current, there)
            if not reason and name in changed:
                reason = OUTDATED
            elif not reason and current.duplicate_of in changed:
                reason = CANONICAL_OUTDATED
            yield document, reason

    def _changed(self, documents: Mapping[str, SourceDocument]) -> set[str]:
        """Page ids of documents that no longer hold what was decided on, as others wrote them past the hook."""
        found: set[str] = set()
        by_fields: dict[SourceFields, list[SourceDocument]] = {}
        for document in documents.values():
            if fields := self._fields.get(document.key.index):
                by_fields.setdefault(fields, []).append(document)
            elif not (document.dedup or {}).get("canonical"):  # of no attached index
                found.add(document.key.page_id)
        for fields, some in by_fields.items():
            found.update(outdated(self._context, fields, some))
        return found


def restore(
    context: MaintenanceContext,
    restore_file: Path,
    *,
    rate: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RestoreReport:
    """Write the documents of a restore file back, and decide on them again; one whose id is there again stays as it is.

    Where the file has a document more than once, as ``purge`` was repeated, its last version is written.

    Args:
        context: with its attachments.
        restore_file: as ``purge`` wrote it.
        rate: most documents per second.
        progress: called with the bytes that were read, and the size of the file.

    Raises:
        InputError: a line is not as ``purge`` writes it; what comes before was restored.
    """
    restored = there = read = 0
    failed: dict[str, str] = {}
    size = restore_file.stat().st_size
    for some in chunked(read_versions(restore_file), BATCH):
        began = time.monotonic()
        documents = [document for document, _, last in some if last]
        known = _there(context, documents)
        outcomes = context.source_index.create(each for each in documents if each not in known)
        done = [name for name, outcome in outcomes if not outcome]
        there += len(known) + sum(outcome == "conflict" for _, outcome in outcomes)
        failed |= {name: outcome for name, outcome in outcomes if outcome not in ("", "conflict")}
        restored += len(done)
        _decide(context, done)
        read += sum(length for _, length, _ in some)
        if progress is not None:
            progress(read, size)
        throttle(rate, len(done), time.monotonic() - began)
    return RestoreReport(restored, there, failed)


def _there(context: MaintenanceContext, documents: Sequence[RestoredDocument]) -> list[RestoredDocument]:
    """Documents that are there where `create` would not see it.

    Of a data stream it would only look into the index that takes new ones, and of an external version only at whether it is higher.
    """
    indices = {name: context.source_index.indices(name) for name in {each.index for each in documents}}
    places = [
        [
            DocumentKey(index, each.id, each.routing).page_id
            for index in indices[each.index]
            if index != each.index or each.version
        ]
        for each in documents
    ]
    there = context.source_index.read(chain.from_iterable(places), ()) if any(places) else {}
    return [each for each, names in zip(documents, places, strict=True) if not there.keys().isdisjoint(names)]


def _decide(context: MaintenanceContext, names: Sequence[str]) -> None:
    """Decide on documents of attached indices."""
    fields_of_index = context.indices()
    for index in {index_of(name) for name in names} & fields_of_index.keys():
        fields = fields_of_index[index]
        documents = context.source_index.read(
            [name for name in names if index_of(name) == index], fields.names
        )
        ingest_documents(context, fields, list(documents.values()))


def _reason_to_keep(document: SourceDocument, current: DedupField, there: Collection[str]) -> str:
    said = document.dedup or {}
    if document.waits:
        return WAITS
    decided = (said.get("cluster_id"), said.get("canonical"), said.get("duplicate_of"))
    if decided != (current.cluster_id, False, current.duplicate_of):
        return OTHERWISE
    return "" if current.duplicate_of in there else NO_CANONICAL
