"""Deleting marked copies from source indices, and writing them back."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import InputError, reading_stored
from es_dedup.index.dedup_field import dedup_fields_of_groups
from es_dedup.index.source_index import DEDUP, DocumentKey, RestoredDocument, document_key
from es_dedup.maintenance.backfill import GROUP_PAGES, together
from es_dedup.maintenance.dedup_field_writes import forget
from es_dedup.maintenance.ingest import ingest_documents
from es_dedup.maintenance.mass_change_guard import guard

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from es_dedup.index.port import Assignment, Index
    from es_dedup.index.source_index import DedupField, SourceDocument
    from es_dedup.maintenance.context import MaintenanceContext

RESTORE_FILES: Final = "restore-files"
"""Note of the feature index: paths of the files that hold deleted documents."""
BATCH: Final = 256  # documents read and deleted at a time
CHANGED: Final = "written meanwhile"
OTHERWISE: Final = "its dedup field is not the current decision"
WAITS: Final = "waits for a decision"
NO_CANONICAL: Final = "its canonical document is not there"
_BACKING: Final = re.compile(r"(?:partial-|restored-)?\.ds-(.+)-\d{4}\.\d{2}\.\d{2}-\d{6}")


@dataclass(slots=True)
class PurgeReport:
    """What ``purge`` did or, on a dry run, would do.

    Attributes:
        deleted: copies that were deleted, or would be.
        gone: copies whose document was not there any more; their pages were removed from the index.
        kept: copies that stay, counted by reason.
    """

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

    A copy is deleted only where its ``dedup`` field is the current decision, its canonical document is there, and it was not written since
    it was read (sequence number). It is appended to the restore file before. May be repeated when it was interrupted.

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
            _trim(restore_file)
            _record(context.index, restore_file)
    work = _Purge(context, indices, restore_file, dry_run=dry_run, rate=rate)
    context.index.refresh_clusters()
    total, seen = context.index.count(), 0
    for groups in together(context.index.clusters(min_size=2), GROUP_PAGES):
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
        self.report = PurgeReport()
        self._context, self._indices, self._file = context, indices, restore_file
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
        names = iter(copies)
        while some := list(islice(names, BATCH)):
            gone += self._delete({name: copies[name] for name in some})
        if gone and not self._dry_run:
            forget(self._context, gone)

    def _delete(self, copies: Mapping[str, DedupField]) -> list[str]:
        """Page ids of copies whose documents are not there any more."""
        began = time.monotonic()
        source_index, report = self._context.source_index, self.report
        documents = source_index.read(copies, None)
        heads = {each.duplicate_of for each in copies.values()}
        there = source_index.read([name for name in heads if index_of(name)], ())
        wanted = []
        for name, document in documents.items():
            if reason := _reason_to_keep(document, copies[name], there):
                report.kept[reason] += 1
            else:
                wanted.append(document)
        gone = [name for name in copies if name not in documents]
        if self._dry_run:
            report.deleted += len(wanted)
            report.gone += len(gone)
            return []
        if wanted and self._file is not None:
            _append(self._file, wanted, source_index.external_versions)
        outcomes = source_index.delete_unchanged(wanted)
        deleted = [name for name, outcome in outcomes.items() if not outcome]
        for outcome in outcomes.values():
            if outcome not in ("", "gone"):
                report.kept[CHANGED if outcome == "conflict" else outcome] += 1
        gone += [name for name, outcome in outcomes.items() if outcome == "gone"]
        report.deleted += len(deleted)
        report.gone += len(gone)
        if self._rate:
            time.sleep(max(0.0, len(deleted) / self._rate - (time.monotonic() - began)))
        return deleted + gone


def restore(
    context: MaintenanceContext,
    restore_file: Path,
    *,
    rate: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RestoreReport:
    """Write the documents of a restore file back, and decide on them again; one whose id is there again stays as it is.

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
    found = _read(restore_file)
    while some := list(islice(found, BATCH)):
        began = time.monotonic()
        documents = [document for document, _ in some]
        known = _in_stream(context, documents)
        outcomes = context.source_index.create(each for each in documents if each not in known)
        done = [name for name, outcome in outcomes if not outcome]
        there += len(known) + sum(outcome == "conflict" for _, outcome in outcomes)
        failed |= {name: outcome for name, outcome in outcomes if outcome not in ("", "conflict")}
        restored += len(done)
        _decide(context, done)
        read += sum(length for _, length in some)
        if progress is not None:
            progress(read, size)
        if rate:
            time.sleep(max(0.0, len(done) / rate - (time.monotonic() - began)))
    return RestoreReport(restored, there, failed)


def _in_stream(context: MaintenanceContext, documents: Sequence[RestoredDocument]) -> list[RestoredDocument]:
    """Documents of data streams that are there: `create` would only look into the index that takes new ones."""
    indices = {name: context.source_index.indices(name) for name in {each.index for each in documents}}
    places = [
        [
            DocumentKey(index, each.id, each.routing).page_id
            for index in indices[each.index]
            if index != each.index
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


def restore_files(index: Index) -> list[str]:
    """Paths of all restore files that were written, on the machine where ``purge`` ran."""
    note = index.note(RESTORE_FILES)
    if note is None:
        return []
    with reading_stored("restore files"):
        return [str(path) for path in json.loads(note)]


def _record(index: Index, path: Path) -> None:
    with index.writing():
        known = restore_files(index)
        if (name := str(path.resolve())) not in known:
            index.set_note(RESTORE_FILES, json.dumps([*known, name], ensure_ascii=False))


def _reason_to_keep(document: SourceDocument, current: DedupField, there: Collection[str]) -> str:
    said = document.dedup or {}
    if document.waits:
        return WAITS
    decided = (said.get("cluster_id"), said.get("canonical"), said.get("duplicate_of"))
    if decided != (current.cluster_id, False, current.duplicate_of):
        return OTHERWISE
    return "" if current.duplicate_of in there else NO_CANONICAL


def index_of(page_id: str) -> str:
    """The index of a page's document; empty for a page that has none."""
    try:
        return document_key(page_id).index
    except ValueError:
        return ""


def _append(path: Path, documents: Sequence[SourceDocument], external: Callable[[str], bool]) -> None:
    """Append documents, and have them on the disk when the call ends."""
    kept_versions = {name: external(name) for name in {each.key.index for each in documents}}
    with path.open("ab") as stream:
        for each in documents:
            head: dict[str, Any] = {"_index": _stream_of(each.key.index), "_id": each.key.id}
            head |= {"routing": each.key.routing} if each.key.routing else {}
            operation = "create"
            if kept_versions[each.key.index]:
                operation = "index"
                head |= {"version": each.version, "version_type": "external_gte"}
            stream.write(_line({operation: head}) + _line(each.source))
        stream.flush()
        os.fsync(stream.fileno())


def _line(value: Any) -> bytes:
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
    )


def _trim(path: Path) -> None:
    """Make the file where it is missing, and take away what a process that was killed has written of a last document."""
    path.touch(mode=0o600)
    whole = sum(length for _, length in _read(path))
    with path.open("rb+") as stream:
        stream.truncate(whole)


def _read(path: Path) -> Iterator[tuple[RestoredDocument, int]]:
    """Documents of a restore file with their length in bytes; one that was not written to its end is left out.

    Raises:
        InputError: the file is none.
    """
    with path.open("rb") as stream:
        for number, head in enumerate(stream):
            body = next(stream, b"")
            if not body.endswith(b"\n"):
                return
            try:
                ((operation, place),) = json.loads(head).items()
                document = RestoredDocument(
                    place["_index"],
                    place["_id"],
                    place.get("routing", ""),
                    json.loads(body),
                    place["version"] if operation == "index" else 0,
                )
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                problem = "not a restore file of `es-dedup purge`"
                raise InputError(str(path), 2 * number + 1, problem) from error
            yield document, len(head) + len(body)


def without(path: Path, page_ids: Collection[str], *, dry_run: bool = False) -> int:
    """Take the documents of some pages out of a restore file; how many there were.

    Documents of a data stream are told by its name, not by that of the backing index.

    Raises:
        InputError: the file is none.
    """
    keys = {(_stream_of(key.index), key.id) for key in map(document_key, filter(index_of, page_ids))}
    taken = 0
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with path.open("rb") as stream, (Path(os.devnull) if dry_run else part).open("wb") as rest:
        for document, length in _read(path):
            lines = stream.read(length)
            if (document.index, document.id) in keys:
                taken += 1
            else:
                rest.write(lines)
    if not dry_run:
        part.chmod(0o600)
        part.replace(path)
    return taken


def _stream_of(index: str) -> str:
    """The data stream of a backing index; another index is its own."""
    backing = _BACKING.fullmatch(index)
    return backing[1] if backing else index
