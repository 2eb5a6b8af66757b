"""Deleting marked copies from source indices, after they were written to a file that is a body of ``_bulk``."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.source_index import DEDUP, dedup_fields_of_groups, documents_of, index_of
from es_dedup.maintenance.context import GROUP_PAGES
from es_dedup.maintenance.stage import throttle
from es_dedup.model.batches import chunked, chunked_by_size

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.source_index import DedupField, SourceDocument, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext

BATCH: Final = 256  # documents read and deleted at a time
CHANGED: Final = "written meanwhile"
OTHERWISE: Final = "its dedup field is not the current decision"
WAITS: Final = "waits for a decision"
NO_CANONICAL: Final = "its canonical document is not there"
OUTDATED: Final = "it was changed since it was decided on"
CANONICAL_OUTDATED: Final = "its canonical document was changed since it was decided on"
_BACKING: Final = re.compile(r"(?:partial-|restored-)?\.ds-(.+)-\d{4}\.\d{2}\.\d{2}-\d{6}")


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


def purge(
    context: MaintenanceContext,
    target: str,
    backup: Path | None,
    *,
    dry_run: bool = True,
    rate: float | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> PurgeReport:
    """Delete the documents of an attached target that are copies: members of a cluster that are not its canonical document.

    A copy is deleted only where its ``dedup`` field is the current decision, its canonical document is there, both still have the features
    that were decided on, and it was not written since it was read (sequence number). It is on the disk in the backup before. May be repeated when it was interrupted, with another backup.

    Args:
        context: with its attachments.
        target: as attached.
        backup: a new file that gets the deleted documents as a body of ``_bulk``; None: they cannot be written back.
        dry_run: change nothing.
        rate: most deletions per second; None: as fast as the server is.
        force: also when more documents are deleted than the guard allows.
        progress: called with the clustered pages that were looked at, and how many there are.

    Raises:
        NotAttached: there is no such attachment.
        MassChange: too many documents would be deleted; none was.
        SourceIncomplete: ``_source`` does not hold whole documents, so that they could not be written back.
        OSError: the backup is there already, or cannot be written; what is not in it was not deleted.
    """
    indices = frozenset(context.indices(target))
    context.source_index.refresh(target)
    if not dry_run:
        marked = context.source_index.count(target, {"term": {f"{DEDUP}.canonical": False}})
        context.guard("purge", marked, context.index.count(), force=force)
        if backup is not None:
            context.source_index.check(indices, readable=True)
            backup.touch(mode=0o600, exist_ok=False)
    work = _Purge(context, indices, backup, dry_run, rate)
    context.index.refresh_clusters()
    total, done = context.index.count(), 0
    for groups in chunked_by_size(context.index.clusters(min_size=2), GROUP_PAGES, len):
        work.delete(groups)
        done += sum(map(len, groups))
        if progress is not None:
            progress(done, total)
    return work.report


@dataclass
class _Purge:
    context: MaintenanceContext
    indices: Collection[str]
    backup: Path | None
    dry_run: bool
    rate: float | None

    def __post_init__(self) -> None:
        self.report = PurgeReport(self.context.dedup.preset)
        self.fields = self.context.indices()
        self.left = self.context.left_indices()

    def delete(self, groups: Sequence[Sequence[Assignment]]) -> None:
        """Delete the copies of some clusters, then remove their pages."""
        edges = self.context.index.edges_of(each.page_id for group in groups for each in group)
        copies = {
            name: each
            for name, each in dedup_fields_of_groups(groups, edges).items()
            if not each.canonical and index_of(name) in self.indices
        }
        gone: list[str] = []
        for some in chunked(copies, BATCH):
            gone += self._delete({name: copies[name] for name in some})
        if gone:
            self.context.forget_gone(gone)

    def _delete(self, copies: Mapping[str, DedupField]) -> list[str]:
        """Page ids of copies whose documents are not there any more; none on a dry run."""
        began = time.monotonic()
        source_index, report = self.context.source_index, self.report
        documents = source_index.read(copies, None)
        reasons = self._reasons_to_keep(documents, copies)
        wanted = [document for name, document in documents.items() if name not in reasons]
        outcomes: Mapping[str, str] = dict.fromkeys((each.key.page_id for each in wanted), "")
        if not self.dry_run:
            if wanted and self.backup is not None:
                append_documents(self.backup, wanted)
            outcomes = source_index.delete_unchanged(wanted)
        deleted = [name for name, outcome in outcomes.items() if not outcome]
        gone = [name for name in copies if name not in documents or outcomes.get(name) == "gone"]
        report.deleted += len(deleted)
        report.gone += len(gone)
        failed = (outcome for outcome in outcomes.values() if outcome not in ("", "gone"))
        report.kept.update(CHANGED if outcome == "conflict" else outcome for outcome in failed)
        report.kept.update(reasons.values())
        if self.dry_run:
            return []
        throttle(self.rate, len(deleted), time.monotonic() - began)
        return deleted + gone

    def _reasons_to_keep(
        self, documents: Mapping[str, SourceDocument], copies: Mapping[str, DedupField]
    ) -> dict[str, str]:
        """Why some of the documents stay, by page id."""
        canonical = {copies[name].duplicate_of for name in documents}
        canonical = {name for name in canonical if index_of(name) not in self.left}
        names = dict.fromkeys(name for each in self.fields.values() for name in each.names)
        present = self.context.source_index.read(documents_of(canonical), tuple(names))
        changed = self._changed({**documents, **present})
        reasons: dict[str, str] = {}
        for name, document in documents.items():
            current, stored = copies[name], document.dedup or {}
            decided = tuple(stored.get(each) for each in ("cluster_id", "canonical", "duplicate_of"))
            if document.waits:
                reasons[name] = WAITS
            elif decided != (current.cluster_id, False, current.duplicate_of):
                reasons[name] = OTHERWISE
            elif current.duplicate_of not in present:
                reasons[name] = NO_CANONICAL
            elif name in changed:
                reasons[name] = OUTDATED
            elif current.duplicate_of in changed:
                reasons[name] = CANONICAL_OUTDATED
        return reasons

    def _changed(self, documents: Mapping[str, SourceDocument]) -> set[str]:
        """Page ids of documents that no longer hold what was decided on, as others wrote them past the hook."""
        found: set[str] = set()
        by_fields: dict[SourceFields, list[SourceDocument]] = {}
        for document in documents.values():
            if fields := self.fields.get(document.key.index):
                by_fields.setdefault(fields, []).append(document)
            elif not (document.dedup or {}).get("canonical"):  # of no attached index
                found.add(document.key.page_id)
        for fields, some in by_fields.items():
            found.update(self.context.outdated(fields, some))
        return found


def append_documents(path: Path, documents: Sequence[SourceDocument]) -> None:
    """Append documents, and have them on the disk when the call ends."""
    with path.open("ab") as stream:
        for each in documents:
            head: dict[str, Any] = {"_index": _stream_of(each.key.index), "_id": each.key.id}
            head |= {"routing": each.key.routing} if each.key.routing else {}
            stream.write(_line({"create": head}) + _line(each.source))
        stream.flush()
        os.fsync(stream.fileno())


def _line(value: Any) -> bytes:
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
    )


def _stream_of(index: str) -> str:
    """The data stream of a backing index; another index is its own."""
    backing = _BACKING.fullmatch(index)
    return backing[1] if backing else index
