"""Pages into the index: features, writing in batches, then edges and clusters."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import nullcontext
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from es_dedup.batch.corpus import Corpus
from es_dedup.batch.featurise import CHUNK_PAGES, Chunk
from es_dedup.batch.loose_clusters import loose_clusters
from es_dedup.batch.memory import collector_paused, release_memory
from es_dedup.batch.pipelined import WORTH_PAGES, PipelinedDecisions
from es_dedup.batch.recluster import (
    CLUSTERS_PENDING,
    QUICK_PAGES,
    ClusteringResult,
    attached,
    cluster_new,
    edge_neighbours,
)
from es_dedup.batch.whole_corpus import IN_MEMORY_PAGES, recluster_corpus, recluster_stored
from es_dedup.batch.write_policy import StoredBatch, apply_policy, outcomes_of
from es_dedup.clustering import PageKey
from es_dedup.detectors.features import FeatureTable
from es_dedup.errors import IndexError_
from es_dedup.index.records import RecordBatch
from es_dedup.model import AddReport, Decision, Progress, WritePolicy
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from es_dedup.decision.candidate_search import CandidateSearch
    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Page
    from es_dedup.settings import Settings

WRITE_PAGES: Final = 18_432  # written at a time, and at most lost when the process is killed
WRITE_BYTES: Final = 128 * 2**20
INTERRUPTED_SECONDS: Final = 1.5  # an interrupted run goes on storing for so long, if what it stores is kept
INTERRUPTED_CHUNKS: Final = 4  # and so many chunks at a time
NAMED_SKIPPED: Final = 1_000  # pages without features that a report names
FULL_SHARE: Final = 5  # a full run when one page in so many is new since the last one
WORTH_SHARE: Final = (
    20  # and one in so many is new in this call; else the run would take far longer than the call itself
)
UNFINISHED: Final = (
    "pages of an earlier call that was interrupted are not clustered: run `es-dedup elastic recluster`"
)
OUTDATED: Final = (
    "a fifth of the pages came after the statistics were learned: run `es-dedup elastic recluster`"
)


class PageInput:
    """Pages of an input that may fail: what was read before is worked on, then the error is raised.

    Attributes:
        error: what ended the input early, or None.
    """

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = pages
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[Page]:
        pages = iter(self._pages)
        while True:
            try:
                page = next(pages)
            except StopIteration:
                return
            except BaseException as error:  # noqa: BLE001 - an interruption too; ``Ingest.write`` raises it
                self.error = error
                return
            yield page


class Ingest:
    """One call of ``add_many`` or ``scan``: ``write`` and then ``finish``.

    Args:
        index: opened for writing; the caller holds ``index.writing()``.
        settings: all settings.
        lookup: makes a lookup with the statistics at hand.
        progress: called with the progress.
        again: cluster everything again even where no page is new.
        interrupted_seconds: how long an interrupted call goes on storing what it has read.

    Attributes:
        changed: of a call that did not cluster the whole index anew, see ``repair_around``.
    """

    write_pages: ClassVar[int] = WRITE_PAGES

    def __init__(
        self,
        index: Index,
        settings: Settings,
        lookup: Callable[[], CandidateSearch],
        progress: Callable[[Progress], None] | None,
        *,
        again: bool = False,
        interrupted_seconds: float = INTERRUPTED_SECONDS,
    ) -> None:
        self._index, self._settings, self._lookup = index, settings, lookup
        self._report_progress = progress or (lambda _: None)
        self._interrupted_seconds = interrupted_seconds
        self._before = index.count()
        self._again, self._unfinished = again, index.note(CLUSTERS_PENDING) is not None
        self._outdated = False
        self._read = self._unchanged = self._unread_times = 0
        self._failed: dict[str, str] = {}
        self._skipped: dict[str, str] = {}
        self._seconds: dict[str, float] = {}
        self._new: dict[str, None] = {}
        self._replaced: set[str] = set()
        self._superseded = self._repeated = 0
        self._neighbours: set[str] = set()
        self._kept: list[tuple[list[PageKey], FeatureTable]] = []
        self._pipelined: PipelinedDecisions | None = None
        self.changed: frozenset[str] = frozenset()

    def write(self, made: Iterable[Chunk], reading: PageInput | None = None) -> None:
        """Features into the index, many chunks at a time: postings are written sorted by term.

        Raises:
            BaseException: the input's own error, after all that was read has been stored.
        """
        started = time.perf_counter()
        self._seconds["write"] = 0.0
        waiting: list[Chunk] = []
        size = 0
        try:
            for chunk in made:
                self._read += chunk.read
                self._unread_times += chunk.unread_times
                self._failed.update(chunk.failed)
                waiting.append(chunk)
                size += _bytes(chunk)
                if size >= WRITE_BYTES or len(waiting) * CHUNK_PAGES >= self.write_pages:
                    self._flush(waiting)
                    waiting, size = [], 0
                    release_memory()
                self._report_progress(Progress("features", self._read, None))
        except IndexError_:
            raise  # storage failed: to try again at once would fail again
        except KeyboardInterrupt:
            self._flush_soon(waiting)
            raise
        except BaseException:
            self._flush(waiting)  # a run that fails keeps what it has made
            raise
        self._flush(waiting, last=reading is None or reading.error is None)
        self._seconds["features"] = time.perf_counter() - started - self._seconds["write"]
        if reading is not None and reading.error is not None:
            raise reading.error

    def finish(self, policy: WritePolicy, *, whole: bool) -> AddReport:
        """Cluster, apply the policy, report."""
        started = time.perf_counter()
        release_memory()
        in_memory = self._before + len(self._new) <= IN_MEMORY_PAGES
        with collector_paused() if in_memory else nullcontext():
            clustering = self._cluster(whole=whole)
            decisions, left_out = self._apply(policy, clustering) if clustering else ({}, {})
        self.changed = clustering.changed if clustering else frozenset()
        if clustering and not self._unfinished:
            self._index.set_note(CLUSTERS_PENDING, None)
        self._seconds["cluster"] = time.perf_counter() - started
        stored = len(self._new) - len(left_out)
        return AddReport(
            read=self._read,
            stored=stored,
            unchanged=self._unchanged,
            left_out=len(left_out),
            replaced=len(self._replaced - left_out.keys()),
            superseded=self._superseded,
            repeated=self._repeated,
            failed=self._failed,
            skipped=dict(Counter(self._skipped.values())),
            outcomes=outcomes_of(decisions.values(), stored),
            decisions={**decisions, **left_out},
            pairs=clustering.pairs if clustering else 0,
            capped_terms=clustering.capped_terms if clustering else 0,
            truncated=clustering.truncated if clustering else 0,
            seconds={name: round(value, 4) for name, value in self._seconds.items()},
            skipped_pages=dict(islice(self._skipped.items(), NAMED_SKIPPED)),
            notes=notes_of(self._unread_times)
            + (clustering.use.notes() if clustering else ())
            + (loose_clusters(self._index) if clustering and whole else ())
            + ((UNFINISHED,) if self._unfinished else ())
            + ((OUTDATED,) if self._outdated else ()),
            preset=self._settings.decision.summary,
        )

    def _flush_soon(self, waiting: list[Chunk]) -> None:
        """Store what can be stored in a short time: somebody waits for the end."""
        end = time.monotonic() + self._interrupted_seconds
        for some in chunked(waiting, INTERRUPTED_CHUNKS):
            if time.monotonic() < end:
                self._flush(some)

    def _flush(self, waiting: list[Chunk], *, last: bool = False) -> None:
        if not waiting:
            return
        begun = time.perf_counter()
        chunk, superseded, repeated = last_of_each(joined(waiting))
        self._superseded += superseded
        self._repeated += repeated
        stored: dict[str, FeatureRecord] = {}
        if self._before or self._new:
            stored = self._index.get_many(chunk.records.ids)
            ours = self._new.keys() & chunk.records.ids
            chunk, unchanged = changed(chunk, stored)
            again = len(ours.difference(chunk.records.ids))
            self._repeated += again
            self._unchanged += unchanged - again
        if chunk.records.ids:
            if not self._before and not stored:
                self._keep(chunk, last=last)
            try:
                self._store(chunk, stored)
            except BaseException:
                self._forget()
                raise
        self._seconds["write"] += time.perf_counter() - begun

    def _keep(self, chunk: Chunk, *, last: bool) -> None:
        """Keep features of new pages at hand while they fit; decide pairs while the last ones are written."""
        total = len(self._new) + len(chunk.records.ids)
        if total > IN_MEMORY_PAGES:
            self._forget()
            return
        self._kept.append((keys_of(chunk.records), chunk.table))
        if last and total >= WORTH_PAGES and sum(len(keys) for keys, _ in self._kept) == total:
            self._pipelined = PipelinedDecisions(self._kept, self._settings)
            self._kept = []  # the thread alone has them, and lets go of the parts

    def _forget(self) -> None:
        """What is at hand is not what is stored: the index is read instead."""
        self._kept.clear()
        if self._pipelined is not None:
            self._pipelined.drop()
            self._pipelined = None

    def _store(self, chunk: Chunk, stored: Mapping[str, FeatureRecord]) -> None:
        if not self._new:
            self._index.set_note(CLUSTERS_PENDING, "1")
        done = self._index.put_batch(chunk.records)
        self._failed.update(done.failed)
        if done.failed:
            self._forget()
            rows = [row for row, name in enumerate(chunk.records.ids) if name not in done.failed]
            chunk = _take(chunk, rows)
        replaced = {name for name in chunk.records.ids if name in stored}
        if replaced:
            self._replaced |= replaced - self._new.keys()
            self._superseded += len(replaced & self._new.keys())
            self._neighbours |= edge_neighbours(self._index, replaced)
            self._index.drop_edges(replaced)
        self._new.update(dict.fromkeys(chunk.records.ids))
        for name, reason in zip(chunk.records.ids, chunk.records.skipped, strict=True):
            if reason:
                self._skipped[name] = reason
            elif name in replaced:
                self._skipped.pop(name, None)
        if replaced:
            self._forget()  # a page came twice

    def _cluster(self, *, whole: bool) -> ClusteringResult | None:
        """Edges and clusters; None when nothing is new, and the stored clusters are right or it would take long to make them anew."""
        total = self._index.count()
        quick = whole or total <= QUICK_PAGES
        unfinished = self._again or self._unfinished
        if not self._new and not (unfinished and quick):
            return None
        lookup = self._lookup()
        fresh = max(len(self._new), total - lookup.statistics.pages)
        many = FULL_SHARE * fresh >= total and (not self._before or not attached(self._index))
        worth = quick or WORTH_SHARE * len(self._new) >= total
        if whole or (unfinished and quick) or (many and worth):
            self._unfinished = False
            return self._recluster(total)
        self._outdated = many
        return cluster_new(
            self._index, list(self._new), self._neighbours, lookup, self._settings, self._report_progress
        )

    def _recluster(self, total: int) -> ClusteringResult:
        related = None
        if self._pipelined is not None:
            corpus, related = self._pipelined.result(self._report_progress)
        elif self._before == 0 and sum(len(keys) for keys, _ in self._kept) == total:
            corpus = Corpus((keys, table, ()) for keys, table in self._kept)
            self._kept.clear()
        else:
            return recluster_stored(self._index, self._settings, self._report_progress)
        return recluster_corpus(
            self._index,
            corpus,
            self._settings,
            self._report_progress,
            fresh=True,
            related=related,
        )

    def _apply(
        self, policy: WritePolicy, clustering: ClusteringResult
    ) -> tuple[dict[str, Decision], dict[str, Decision]]:
        stored = StoredBatch(self._new.keys(), self._replaced, clustering.inconclusive)
        return apply_policy(policy, stored, clustering, self._index, self._lookup(), self._settings)


def notes_of(unread_times: int) -> tuple[str, ...]:
    """What a report says of times of publication that could not be read."""
    if not unread_times:
        return ()
    return (f"the time of publication given for {unread_times:,} pages cannot be read and is left out",)


def last_of_each(chunk: Chunk) -> tuple[Chunk, int, int]:
    """Of several pages with one id the last; how many others differ from the next one of their id, and how many are equal to it."""
    records, equal = chunk.records, 0
    last: dict[str, int] = {}
    for row, page_id in enumerate(records.ids):
        before = last.get(page_id)
        equal += before is not None and records.content(before) == records.content(row)
        last[page_id] = row
    fewer = len(records.ids) - len(last)
    return (_take(chunk, sorted(last.values())) if fewer else chunk), fewer - equal, equal


def changed(chunk: Chunk, stored: Mapping[str, FeatureRecord]) -> tuple[Chunk, int]:
    """Without the pages that are stored with the same content and metadata, and how many these are."""
    rows = [
        row
        for row, page_id in enumerate(chunk.records.ids)
        if page_id not in stored or chunk.records.content(row) != stored[page_id].content
    ]
    unchanged = len(chunk.records.ids) - len(rows)
    return (_take(chunk, rows) if unchanged else chunk), unchanged


def joined(parts: Sequence[Chunk]) -> Chunk:
    """Several chunks as one, what failed left out; at least one chunk."""
    if len(parts) == 1:
        return parts[0]
    records = RecordBatch.concatenate([part.records for part in parts])
    return Chunk(records, FeatureTable.concatenate([part.table for part in parts]), {}, len(records.ids))


def _take(chunk: Chunk, rows: list[int]) -> Chunk:
    table = chunk.table.take(np.array(rows, dtype=np.int64))
    return Chunk(chunk.records.take(rows), table, chunk.failed, chunk.read)


def _bytes(chunk: Chunk) -> int:
    return sum(map(len, chunk.records.payloads)) + sum(map(len, chunk.records.texts))


def keys_of(records: RecordBatch) -> list[PageKey]:
    """Sort keys of the canonical order."""
    columns: Iterator[tuple[str, str, str, str, int]] = zip(
        records.ids, records.published, records.sites, records.urls, records.lengths, strict=True
    )
    return [PageKey(*values) for values in columns]
