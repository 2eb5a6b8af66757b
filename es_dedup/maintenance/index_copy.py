"""An index with all that it holds, to another place: between a file and a server, and between clusters.

Only what the ports offer is used, so any two adapters will do. Pages go in batches, in the order of their ids; what a batch of the copy
holds already is compared and left alone. So the second pass over both is the check, and a copy that was interrupted goes on by the same
call.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.batch.clusters import CLUSTERS_PENDING, write_session
from es_dedup.batch.featurise import compared
from es_dedup.batch.override_changes import DOCUMENTS_PENDING
from es_dedup.batch.overrides import load_ignored
from es_dedup.detectors.features import stored_terms, unpack
from es_dedup.detectors.named_fields import named_fields
from es_dedup.errors import ConfigError, DedupError, WriteFailed
from es_dedup.index import factory
from es_dedup.index.cluster_changes import ClusterChanges
from es_dedup.index.port import ATTACHMENTS, REMOVED, Index
from es_dedup.index.records import FeatureRecord, RecordBatch
from es_dedup.maintenance.follow import NOTE as FOLLOWED
from es_dedup.model import Content, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from es_dedup.settings import Settings

BATCH: Final = 500  # pages at a time
PASSES: Final = 5  # over both, until nothing differs any more
COPYING: Final = "copy"
"""Value of the note of pending clusters while a copy is made: other pages of the index have other values."""
OF_THE_PLACE: Final = frozenset(
    {CLUSTERS_PENDING, ATTACHMENTS, DOCUMENTS_PENDING, FOLLOWED, REMOVED, "reindex"}
)
"""Notes that are about the index in its place, its source indices and its jobs; all others are copied."""
NO_TEXTS: Final = (
    "page {} has no kept text, of which the fields for people are made: copy into a new index, made with "
    "elastic.named_fields = false"
)
HOLDS_PAGES: Final = "{} holds pages that are not of an unfinished copy: copy into a new index"


class NotCopied(DedupError):
    """The copy is not what the original is."""

    retryable = True

    origin: str
    problem: str
    message = "the copy differs from {origin} ({problem}): while nobody writes to it, run the same command again, which copies what differs"


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What a copy holds, which is what the original holds.

    Attributes:
        pages, texts, edges, clusters, notes: how many.
        copied: pages that were written by this call, edges and clusters aside.
    """

    pages: int
    texts: int
    edges: int
    clusters: int
    notes: int
    copied: int


def copy_index(
    origin: str | Path,
    place: str | Path,
    settings: Settings,
    *,
    origin_settings: Settings | None = None,
    report_progress: Callable[[Progress], object] = lambda _: None,
) -> CopyReport:
    """Copy an index: pages with features, texts, edges, clusters, statistics, overrides, annotations and recorded settings.

    Memory is that of a few hundred pages, beside the statistics and one note. Nobody is kept from writing to the original. From file to
    file the copy is the file as it is when the call begins, read once; else what was written meanwhile is copied by a further pass.
    Attached indices, jobs and dead letters are not copied: attach the indices to the copy.

    Args:
        origin: the index that is read.
        place: the copy, which is made where it is not there; else it must be empty or an unfinished copy. From file to file it must not be
            there.
        settings: to reach the copy, and what it is made with beside the feature settings, which are those of the original.
        origin_settings: to reach the original; None: the same.
        report_progress: told of the stages ``read`` and ``verify``.

    Raises:
        ConfigError: the copy holds other pages, is the original itself, or keeps fields for which texts are missing.
        SettingsMismatch: the copy is there and has other feature settings, or another version of the methods made the original.
        IndexUnavailable: the copy is there, from file to file.
        NotCopied: others write to the original all the time.
        IndexError_: see ``errors``; the same call goes on.
    """
    if factory.shown(origin) == factory.shown(place):
        raise ConfigError((f"{factory.shown(place)} cannot be copied to itself",), "copy")
    if not factory.is_remote(origin) and not factory.is_remote(place):
        with factory.online_copy(origin, place) as copy:
            run = _Pass(copy, copy, settings)  # reads all of it and changes nothing
            for done in run.pages():
                report_progress(Progress("verify", done, copy.count()))
            run.rest()
            return run.report(run.found["pages"])
    source, target, chosen = factory.open_to_copy(origin, origin_settings or settings, place, settings)
    with source, target, write_session(target):
        filled = target.count() or any(":" in name for name in target.note_names())  # or overrides alone
        if target.note(CLUSTERS_PENDING) != COPYING and filled:
            raise ConfigError((HOLDS_PAGES.format(factory.shown(place)),), "copy")
        target.set_note(CLUSTERS_PENDING, COPYING)
        total, copied = source.count(), 0
        for number in range(PASSES):
            source.refresh()  # its writers need not have: edges and sizes of clusters come from searches
            run = _Pass(source, target, chosen)
            for done in run.pages():
                report_progress(Progress("verify" if number else "read", done, total))
            run.rest()
            target.refresh()
            copied += run.changed["pages"]
            if not sum(run.changed.values()):
                _counts_agree(source, target, run.found["pages"], factory.shown(origin))
                target.set_note(CLUSTERS_PENDING, None)
                return run.report(copied)
    problem = ", ".join(f"{count} {what}" for what, count in run.changed.items() if count)
    raise NotCopied(factory.shown(origin), f"after {PASSES} passes still {problem}")


class _Pass:
    """One way through both indices, after which the copy holds what the original held.

    Attributes:
        found: what there is of each kind.
        changed: what was not in the copy, or was another.
    """

    def __init__(self, source: Index, target: Index, settings: Settings) -> None:
        self._source, self._target, self._settings = source, target, settings
        self._ignored = load_ignored(source)
        self.found = dict.fromkeys(("pages", "texts", "edges", "clusters", "notes"), 0)
        self.changed: Counter[str] = Counter()

    def report(self, copied: int) -> CopyReport:
        """What was met, of which so many pages were written."""
        return CopyReport(**self.found, copied=copied)

    def pages(self) -> Any:
        """Copy all pages with their edges and assignments; yields how many are done."""
        for records in self._source.scan(batch=BATCH):
            self._records([replace(each, terms=()) for each in records])
            ids = [each.page_id for each in records]
            self._clusters(ids)
            self.found["pages"] += len(ids)
            yield self.found["pages"]
        self._remove_others()

    def rest(self) -> None:
        """Copy statistics and notes."""
        source, target = self._source, self._target
        snapshot = source.load_statistics()
        if snapshot is not None and snapshot != target.load_statistics():
            target.save_statistics(snapshot)
            self.changed["statistics"] += 1
        names = set(source.note_names()) - OF_THE_PLACE
        gone = set(target.note_names()) - OF_THE_PLACE - names
        # the notes that name the last of several rows come after these
        for name in (*sorted(names, key=lambda each: (":" not in each, each)), *gone):
            value = source.note(name)
            if value != target.note(name):
                target.set_note(name, value)
                self.changed["notes"] += 1
        self.found["notes"] = len(names)
        self.found["clusters"] = sum(source.cluster_sizes().values())

    def _records(self, records: Sequence[FeatureRecord]) -> None:
        ids = [each.page_id for each in records]
        texts, stored = self._source.texts(ids), self._target.get_many(ids)
        stored_texts = self._target.texts(ids)
        differ = [
            each
            for each in records
            if each.page_id not in stored
            or stored[each.page_id].content != each.content
            or stored_texts.get(each.page_id, "") != texts.get(each.page_id, "")
        ]
        if differ:
            self._put(differ, texts)
        self.found["texts"] += sum(map(bool, texts.values()))
        self.changed["pages"] += len(differ)

    def _put(self, records: Sequence[FeatureRecord], texts: Mapping[str, str]) -> None:
        batch = RecordBatch.of([replace(each, text=texts.get(each.page_id, "")) for each in records])
        table = unpack(batch.payloads)
        terms, offsets = stored_terms(table, self._settings)
        named: Sequence[Mapping[str, Any]] = ()
        if self._target.keeps_named and self._source.keeps_named:
            stored = self._source.named(batch.ids)
            named = [stored.get(page_id, {}) for page_id in batch.ids]
        elif self._target.keeps_named:
            for each in records:
                if each.content_hash and not texts.get(each.page_id):
                    raise ConfigError((NO_TEXTS.format(each.page_id),), "copy")
            contents = (
                Content(text=texts.get(each.page_id, ""), title=each.title, site=each.site)
                for each in records
            )
            shown = [compared(each, self._ignored).text for each in contents]
            also = self._settings.elastic.also_stored
            named = named_fields(shown, list(batch.titles), self._settings, table, also=also)
        failed = self._target.put_batch(replace(batch, terms=terms, term_offsets=offsets, named=named))
        for page_id, reason in failed.items():
            raise WriteFailed(page_id, reason)

    def _clusters(self, ids: Sequence[str]) -> None:
        """Edges and assignments of some pages."""
        own, changes = set(ids), ClusterChanges()
        wanted, stored = set(self._source.edges_of(ids)), set(self._target.edges_of(ids))
        changes.drop(stored - wanted)
        changes.put(wanted - stored)
        self.changed["edges"] += len(changes)
        assigned = self._target.assignments(ids)
        differ = [
            each for each in self._source.assignments(ids).values() if assigned.get(each.page_id) != each
        ]
        changes.assign(differ)
        self.changed["assignments"] += len(differ)
        if len(changes):
            self._target.change_clusters(changes)
        self.found["edges"] += sum(edge.left in own for edge in wanted)  # each once

    def _remove_others(self) -> None:
        """Remove pages of an earlier attempt that the original has no more."""
        self._target.refresh()
        for records in self._target.scan(batch=BATCH):
            ids = [each.page_id for each in records]
            stored = self._source.get_many(ids)
            if gone := [page_id for page_id in ids if page_id not in stored]:
                self._target.delete_many(gone)
                self.changed["removed pages"] += len(gone)


def _counts_agree(source: Index, target: Index, pages_read: int, name: str) -> None:
    """Compare counts that the last pass has not met page by page."""
    pages, clusters = target.count(), target.cluster_sizes()
    for what, wanted, found in (
        ("pages", source.count(), pages),
        ("clusters", source.cluster_sizes(), clusters),
        ("pages read", pages_read, pages),
    ):
        if wanted != found:
            raise NotCopied(name, f"{what}: {wanted}, in the copy {found}")
