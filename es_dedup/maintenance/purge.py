"""Deleting marked copies from source indices, and writing them back from files, which are bodies of ``_bulk``."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from dataclasses import astuple, dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import xxhash

from es_dedup.errors import InputError, reading_stored
from es_dedup.index.source_index import (
    DEDUP,
    DocumentKey,
    SourceDocument,
    dedup_fields_of_groups,
    document_key,
    documents_of,
    index_of,
)
from es_dedup.maintenance.backfill import outdated
from es_dedup.maintenance.documents import GROUP_PAGES, forget_gone, ingest_documents, read_documents
from es_dedup.maintenance.stage import throttle
from es_dedup.model.batches import chunked, chunked_by_size
from es_dedup.temporary import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import Index
    from es_dedup.index.source_index import DedupField, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext

BATCH: Final = 256  # documents read and deleted at a time
CHANGED: Final = "written meanwhile"
OTHERWISE: Final = "its dedup field is not the current decision"
WAITS: Final = "waits for a decision"
NO_CANONICAL: Final = "its canonical document is not there"
OUTDATED: Final = "it was changed since it was decided on"
CANONICAL_OUTDATED: Final = "its canonical document was changed since it was decided on"
RESTORE_FILES: Final = "restore-files"
"""Note of the feature index: paths of the files that hold deleted documents."""
_HEAD: Final = b'{"create":{"_index":'
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


@dataclass(slots=True)
class RestoreReport:
    """What ``restore`` did.

    Attributes:
        restored: documents that were written back and decided on again.
        there: documents that stay as they are, as one of their id is there.
        failed: page id to what the server said.
    """

    restored: int = 0
    there: int = 0
    failed: dict[str, str] = field(default_factory=dict)


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
        context.guard("purge", marked, context.index.count(), force=force)
        if restore_file is not None:
            context.source_index.check(indices, readable=True)
            open_restore_file(context.index, restore_file)
    work = _Purge(context, indices, restore_file, dry_run, rate)
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
    restore_file: Path | None
    dry_run: bool
    rate: float | None

    def __post_init__(self) -> None:
        self.report = PurgeReport(self.context.dedup.preset)
        self.fields = self.context.indices()

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
            forget_gone(self.context, gone)

    def _delete(self, copies: Mapping[str, DedupField]) -> list[str]:
        """Page ids of copies whose documents are not there any more; none on a dry run."""
        began = time.monotonic()
        source_index, report = self.context.source_index, self.report
        documents = source_index.read(copies, None)
        reasons = self._reasons_to_keep(documents, copies)
        wanted = [document for name, document in documents.items() if name not in reasons]
        outcomes: Mapping[str, str] = dict.fromkeys((each.key.page_id for each in wanted), "")
        if not self.dry_run:
            if wanted and self.restore_file is not None:
                append_documents(self.restore_file, wanted)
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
            found.update(outdated(self.context, fields, some))
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
    report = RestoreReport()
    read, size = 0, restore_file.stat().st_size
    for some in chunked(read_versions(restore_file), BATCH):
        began = time.monotonic()
        documents = [document for document, _, last in some if last]
        present = _present(context, documents)
        outcomes = context.source_index.create(each for each in documents if each not in present)
        done = [name for name, outcome in outcomes if not outcome]
        report.restored += len(done)
        report.there += len(present)
        for name, outcome in outcomes:
            if outcome == "conflict":
                report.there += 1
            elif outcome:
                report.failed[name] = outcome
        for fields, _, decided_on in read_documents(context, context.fields_of(done)):
            ingest_documents(context, fields, list(decided_on.values()))
        read += sum(length for _, length, _ in some)
        if progress is not None:
            progress(read, size)
        throttle(rate, len(done), time.monotonic() - began)
    return report


def _present(context: MaintenanceContext, documents: Sequence[SourceDocument]) -> list[SourceDocument]:
    """Documents that are there where `create` would not see it: of a data stream it looks only into the index that takes new ones."""
    indices = {name: context.source_index.indices(name) for name in {each.key.index for each in documents}}
    places = [
        [replace(key, index=index).page_id for index in indices[key.index] if index != key.index]
        for key in (each.key for each in documents)
    ]
    found = context.source_index.read(chain.from_iterable(places), ()) if any(places) else {}
    return [each for each, names in zip(documents, places, strict=True) if not found.keys().isdisjoint(names)]


# Files of deleted documents


def restore_files(index: Index) -> list[str]:
    """Paths of all restore files that were written, on the machine where ``purge`` ran."""
    note = index.note(RESTORE_FILES)
    if note is None:
        return []
    with reading_stored("restore files"):
        return [str(path) for path in json.loads(note)]


def open_restore_file(index: Index, path: Path) -> None:
    """Make a file where it is missing, record its path in the feature index, and cut off an unfinished document of a killed process.

    Raises:
        InputError: the file is another one.
    """
    path.touch(mode=0o600)
    whole = sum(length for _, length in documents_in(path))
    with path.open("rb+") as stream:
        stream.truncate(whole)
    with index.writing():
        known = restore_files(index)
        if (name := str(path.resolve())) not in known:
            index.set_note(RESTORE_FILES, json.dumps([*known, name], ensure_ascii=False))


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


def documents_in(path: Path) -> Iterator[tuple[SourceDocument, int]]:
    """Documents of a restore file with their length in bytes; one that was not written to its end is left out.

    Raises:
        InputError: the file is none.
    """
    with path.open("rb") as stream:
        for number, head in enumerate(stream):
            body = next(stream, b"")
            if not body.endswith(b"\n") and head.startswith(_HEAD if number == 0 else b""):
                return
            try:
                place = json.loads(head)["create"]
                key = DocumentKey(place["_index"], place["_id"], place.get("routing", ""))
                document = SourceDocument(key, json.loads(body))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                problem = "not a restore file of `es-dedup elastic purge`"
                raise InputError(str(path), 2 * number + 1, problem) from error
            yield document, len(head) + len(body)


def read_versions(path: Path) -> Iterator[tuple[SourceDocument, int, bool]]:
    """As ``documents_in``, and whether it is the last version of the document: each run of ``purge`` appends what it finds.

    Raises:
        InputError: the file is none.
    """
    last = {_digest(document.key): number for number, (document, _) in enumerate(documents_in(path))}
    for number, (document, length) in enumerate(documents_in(path)):
        yield document, length, last[_digest(document.key)] == number


def _digest(key: DocumentKey) -> int:
    """Identifies a document by 128 bits, so that a file of many millions is read in little memory."""
    place = json.dumps(astuple(key))
    return xxhash.xxh3_128_intdigest(place.encode())


def remove_documents(path: Path, page_ids: Collection[str], *, dry_run: bool = False) -> int:
    """Take the documents of some pages out of a restore file; how many there were.

    Documents of a data stream are told by its name, not by that of the backing index.

    Raises:
        InputError: the file is none.
    """
    keys = {
        replace(key, index=_stream_of(key.index)) for key in map(document_key, filter(index_of, page_ids))
    }
    taken = sum(document.key in keys for document, _ in documents_in(path))
    if taken and not dry_run:
        with path.open("rb") as stream, replacing(path) as rest:
            for document, length in documents_in(path):
                lines = stream.read(length)
                if document.key not in keys:
                    rest.write(lines)
    return taken


def _stream_of(index: str) -> str:
    """The data stream of a backing index; another index is its own."""
    backing = _BACKING.fullmatch(index)
    return backing[1] if backing else index
