"""Pages into the index: features, writing in batches, then edges and clusters."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from es_dedup import wiring
from es_dedup.batch.featurise import CHUNK_PAGES, Chunk, chunks
from es_dedup.batch.settle import (
    Settled,
    corpus_of,
    edge_neighbours,
    load_corpus,
    repair_around,
    settle_corpus,
    settle_new,
)
from es_dedup.clustering import PageKey
from es_dedup.decisions import stored_decision
from es_dedup.detectors.features import FeatureTable
from es_dedup.index.columns import RecordBatch
from es_dedup.model import AddReport, Decision, Outcome, Progress, WritePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from es_dedup.config import Settings
    from es_dedup.index.port import Index
    from es_dedup.judgement.lookup import Lookup
    from es_dedup.judgement.statistics import Statistics
    from es_dedup.model import Edge, Page

WRITE_PAGES: Final = 16_384  # written at a time, and at most lost when the process is killed
WRITE_BYTES: Final = 128 * 2**20
FULL_SHARE: Final = 5  # a full run when one page in so many is new


class Ingest:
    """One call of ``add_many`` or ``scan``.

    Args:
        index: opened for writing; the caller holds ``index.writing()``.
        settings: all settings.
        lookup: makes a lookup with the statistics at hand.
        progress: told how far the work is.
    """

    UNSETTLED: ClassVar[str] = "unsettled"
    """Name of the note that tells: pages were stored whose edges and clusters are not made yet."""

    def __init__(
        self,
        index: Index,
        settings: Settings,
        lookup: Callable[[], Lookup],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._index, self._settings, self._lookup = index, settings, lookup
        self._tell = progress or (lambda _: None)
        self._read = self._unchanged = 0
        self._failed: dict[str, str] = {}
        self._skipped: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._new: dict[str, None] = {}
        self._neighbours: set[str] = set()
        self._kept: list[tuple[list[PageKey], FeatureTable]] = []

    def run(
        self, pages: Iterable[Page], policy: WritePolicy, *, whole: bool
    ) -> tuple[AddReport, Statistics | None]:
        """Store, settle, apply the policy, report; the statistics are those now stored, if new ones were learned."""
        before = self._index.count()
        self._write(pages, empty=before == 0)
        started = time.perf_counter()
        settled = self._settle(before, whole=whole)
        self._seconds["settle"] = time.perf_counter() - started
        left_out = self._apply(policy) if settled else {}
        decisions, outcomes = self._decisions(settled, left_out)
        report = AddReport(
            read=self._read,
            stored=len(self._new) - len(left_out),
            unchanged=self._unchanged,
            left_out=len(left_out),
            failed=self._failed,
            skipped=dict(self._skipped),
            outcomes=outcomes,
            decisions=decisions,
            pairs=settled.pairs if settled else 0,
            capped_terms=settled.capped_terms if settled else 0,
            truncated=settled.truncated if settled else 0,
            seconds={name: round(value, 4) for name, value in self._seconds.items()},
        )
        return report, settled.statistics if settled else None

    def _write(self, pages: Iterable[Page], *, empty: bool) -> None:
        """Features of all pages into the index, many chunks at a time: postings are written sorted by term."""
        started = time.perf_counter()
        self._seconds["write"] = 0.0
        waiting: list[Chunk] = []
        size = 0
        try:
            for chunk in chunks(pages, self._settings, wiring.text_codec(self._settings)):
                self._read += chunk.read
                self._failed.update(chunk.failed)
                waiting.append(chunk)
                size += _bytes(chunk)
                if size >= WRITE_BYTES or len(waiting) * CHUNK_PAGES >= WRITE_PAGES:
                    self._flush(waiting, empty=empty)
                    waiting, size = [], 0
                self._tell(Progress("features", self._read, None))
        finally:  # an interrupted run keeps what it has made
            if waiting:
                self._flush(waiting, empty=empty)
        self._seconds["features"] = time.perf_counter() - started - self._seconds["write"]

    def _flush(self, waiting: list[Chunk], *, empty: bool) -> None:
        begun = time.perf_counter()
        chunk = _last_of_each(_joined(waiting))
        if not empty or self._new:
            chunk = self._changed(chunk)
        if chunk.records.ids:
            self._store(chunk, keep=empty)
        self._seconds["write"] += time.perf_counter() - begun

    def _changed(self, chunk: Chunk) -> Chunk:
        """Without the pages that are stored with the same content and metadata."""
        stored = self._index.get_many(chunk.records.ids)
        rows = []
        for row, page_id in enumerate(chunk.records.ids):
            old = stored.get(page_id)
            if old is not None and _same(chunk.records, row, old):
                self._unchanged += 1
                continue
            rows.append(row)
        replaced = [page_id for page_id in (chunk.records.ids[row] for row in rows) if page_id in stored]
        if replaced:
            self._neighbours |= edge_neighbours(self._index, replaced)
            self._index.drop_edges(replaced)
        return chunk if len(rows) == len(chunk.records.ids) else _take(chunk, rows)

    def _store(self, chunk: Chunk, *, keep: bool) -> None:
        if not self._new:
            self._index.set_note(self.UNSETTLED, "1")
        done = self._index.put_batch(chunk.records)
        self._failed.update(done.failed)
        if done.failed:
            rows = [row for row, name in enumerate(chunk.records.ids) if name not in done.failed]
            chunk = _take(chunk, rows)
        again = any(name in self._new for name in chunk.records.ids)
        self._new.update(dict.fromkeys(chunk.records.ids))
        self._skipped.update(reason for reason in chunk.records.skipped if reason)
        if keep and not again:
            self._kept.append((_keys(chunk.records), chunk.table))
        elif keep:
            self._kept.clear()  # a page came twice: what is stored is read again instead

    def _settle(self, before: int, *, whole: bool) -> Settled | None:
        """Edges and clusters; None when nothing is new and nothing was left unsettled."""
        unsettled = self._index.note(self.UNSETTLED) is not None
        if not self._new and not unsettled:
            return None
        total = self._index.count()
        if whole or FULL_SHARE * len(self._new) >= total or not self._new:
            settled = self._settle_whole(before, total)
        else:
            settled = settle_new(
                self._index, list(self._new), self._neighbours, self._lookup(), self._settings, self._tell
            )
        self._index.set_note(self.UNSETTLED, None)
        return settled

    def _settle_whole(self, before: int, total: int) -> Settled:
        kept = sum(len(keys) for keys, _ in self._kept)
        if before == 0 and kept == total:
            keys = [key for keys, _ in self._kept for key in keys]
            corpus = corpus_of(keys, FeatureTable.concatenate([table for _, table in self._kept]))
            self._kept.clear()
        else:
            corpus = load_corpus(self._index)
        return settle_corpus(self._index, corpus, self._settings, self._tell, fresh=before == 0)

    def _apply(self, policy: WritePolicy) -> dict[str, Decision]:
        """Remove what the policy does not keep; returns the new pages that were left out, with their decisions."""
        if policy in (WritePolicy.MARK, WritePolicy.FAIL):
            return {}
        decisions = self._stored_decisions(self._index.edges_of(self._new))
        drop: list[str] = []
        left_out: dict[str, Decision] = {}
        for page_id, decision in decisions.items():
            old = [name for name in self._same_pages(page_id) if name not in self._new]
            if policy is WritePolicy.OVERWRITE:
                drop += old
            elif old or decision.duplicate_of or decision.contained_in:
                left_out[page_id] = decision
        drop += left_out
        if drop:
            touched = edge_neighbours(self._index, drop)
            self._index.delete_many(drop)
            repair_around(self._index, touched - set(drop), self._settings)
        return left_out

    def _same_pages(self, page_id: str) -> set[str]:
        return edge_neighbours(self._index, [page_id])

    def _decisions(
        self, settled: Settled | None, left_out: dict[str, Decision]
    ) -> tuple[dict[str, Decision], dict[str, int]]:
        """Decisions on this call's pages that are not unique, and the number of pages per outcome."""
        if settled is None:
            return {}, {}
        found = {**self._stored_decisions(settled.edges), **left_out}
        counts: Counter[str] = Counter(
            str(decision.outcome) for page_id, decision in found.items() if page_id not in left_out
        )
        counts[str(Outcome.UNIQUE)] += len(self._new) - len(found)
        return found, {name: count for name, count in counts.items() if count}

    def _stored_decisions(self, edges: Iterable[Edge]) -> dict[str, Decision]:
        beside: dict[str, list[Edge]] = {}
        for edge in edges:
            for name in (edge.left, edge.right):
                if name in self._new:
                    beside.setdefault(name, []).append(edge)
        assigned = self._index.assignments(beside)
        made = (stored_decision(name, assigned[name], beside[name]) for name in beside if name in assigned)
        return {each.page_id: each for each in made if each.outcome is not Outcome.UNIQUE}


def _last_of_each(chunk: Chunk) -> Chunk:
    """Of several pages with one id the last."""
    last = {page_id: row for row, page_id in enumerate(chunk.records.ids)}
    if len(last) == len(chunk.records.ids):
        return chunk
    return _take(chunk, sorted(last.values()))


def _take(chunk: Chunk, rows: list[int]) -> Chunk:
    table = chunk.table.take(np.array(rows, dtype=np.int64))
    return Chunk(chunk.records.take(rows), table, chunk.failed, chunk.read)


def _joined(parts: list[Chunk]) -> Chunk:
    if len(parts) == 1:
        return parts[0]
    records = RecordBatch.concatenate([part.records for part in parts])
    return Chunk(records, FeatureTable.concatenate([part.table for part in parts]), {}, len(records.ids))


def _bytes(chunk: Chunk) -> int:
    return sum(map(len, chunk.records.payloads)) + sum(map(len, chunk.records.texts))


def _same(records: RecordBatch, row: int, old: object) -> bool:
    """Whether a stored record has the same content and metadata."""
    return (
        records.content_hashes[row] == getattr(old, "content_hash", None)
        and records.payloads[row] == getattr(old, "payload", None)
        and records.titles[row] == getattr(old, "title", None)
        and records.urls[row] == getattr(old, "url", None)
        and records.sites[row] == getattr(old, "site", None)
        and records.published[row] == getattr(old, "published", None)
    )


def _keys(records: RecordBatch) -> list[PageKey]:
    columns: Iterator[tuple[str, str, str, str, int]] = zip(
        records.ids, records.published, records.sites, records.urls, records.lengths, strict=True
    )
    return [PageKey(*values) for values in columns]
