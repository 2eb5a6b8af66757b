"""Pages into the index: features, writing in batches, then edges and clusters."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from es_dedup.batch.chunk_rows import changed, joined, keys_of, last_of_each, take
from es_dedup.batch.cluster_cache import ClusterCache
from es_dedup.batch.corpus import Corpus
from es_dedup.batch.featurise import CHUNK_PAGES, day_of
from es_dedup.batch.loose_clusters import loose_clusters
from es_dedup.batch.memory import collector_paused, release_memory
from es_dedup.batch.overrides import decided_edges
from es_dedup.batch.pipelined import WORTH_PAGES, PipelinedDecisions
from es_dedup.batch.place import drop_replaced, place, records_of
from es_dedup.batch.recluster import CLUSTERS_PENDING, LOOKUP_PAGES, QUICK_PAGES, attached, silent
from es_dedup.batch.whole_corpus import IN_MEMORY_PAGES, recluster_corpus, recluster_stored
from es_dedup.batch.write_policy import (
    StoredBatch,
    apply_policy,
    clustered_by_policy,
    not_unique,
    outcomes_of,
)
from es_dedup.decision.comparison import Pages
from es_dedup.decision.term_use import TermUse
from es_dedup.errors import IndexError_
from es_dedup.index.port import WriteReport
from es_dedup.model import AddReport, Decision, Progress, WritePolicy
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from es_dedup.batch.featurise import Chunk
    from es_dedup.batch.recluster import ClusteringResult
    from es_dedup.clustering import PageKey
    from es_dedup.decision.candidate_search import CandidateSearch, CandidateSearchResult
    from es_dedup.detectors.features import FeatureTable
    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Edge, Page
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


@dataclass(slots=True)
class Decided:
    """Decisions and counts of the pages that were decided on as they were stored.

    Attributes:
        decisions: those that are not unique.
        left_out: pages that the write policy does not keep.
        inconclusive: pages without a related one of which candidates may be missing, with the reason.
        pairs: pairs compared.
        capped_terms, truncated: as in ``AddReport``.
        use: terms that methods queried, and terms left out.
        seconds: that it took.
    """

    decisions: dict[str, Decision] = field(default_factory=dict)
    left_out: dict[str, Decision] = field(default_factory=dict)
    inconclusive: dict[str, str] = field(default_factory=dict)
    pairs: int = 0
    capped_terms: int = 0
    truncated: int = 0
    use: TermUse = field(default_factory=TermUse)
    seconds: float = 0.0

    def add(self, compared: CandidateSearchResult) -> None:
        """Count what was compared."""
        ids = compared.pages.ids
        self.inconclusive |= {ids[row]: reason for row, reason in compared.inconclusive.items()}
        self.pairs += compared.pairs
        self.capped_terms += compared.capped_terms
        self.truncated += compared.truncated
        self.use = sum(compared.use, self.use)


class Ingest:
    """One call of ``add_many`` or ``scan``: ``write`` and then ``finish``.

    Pages are decided on as they are stored, some thousand at a time; where a call brings many pages, or the whole index is to be clustered
    anew, they are only stored, and ``finish`` clusters everything.

    Args:
        index: opened for writing; the caller holds ``index.writing()``.
        settings: all settings.
        lookup: makes a lookup with the statistics at hand.
        progress: called with the progress.
        before: pages that are stored.
        policy: what is done with duplicates.
        whole: cluster everything anew.
        again: do so even where no page is new.
        interrupted_seconds: how long an interrupted call goes on storing what it has read.

    Attributes:
        compared: the last pages that were decided on, at most ``LOOKUP_PAGES``, with their candidates.
    """

    write_pages: ClassVar[int] = WRITE_PAGES

    def __init__(  # noqa: PLR0913 - what a call is asked for
        self,
        index: Index,
        settings: Settings,
        lookup: Callable[[], CandidateSearch],
        progress: Callable[[Progress], None] | None,
        before: int,
        policy: WritePolicy = WritePolicy.MARK,
        *,
        whole: bool = False,
        again: bool = False,
        interrupted_seconds: float = INTERRUPTED_SECONDS,
    ) -> None:
        self._index, self._settings, self._lookup = index, settings, lookup
        self._report_progress = progress or silent
        self._policy, self._whole, self._all_anew = policy, whole, whole
        self._interrupted_seconds = interrupted_seconds
        self._before = before
        self._again, self._unfinished = again, index.note(CLUSTERS_PENDING) is not None
        self._noted = self._unfinished  # the note is there
        self._read = self._unchanged = self._unread_times = 0
        self._failed: dict[str, str] = {}
        self._skipped: dict[str, str] = {}
        self._seconds: dict[str, float] = {}
        self._new: dict[str, None] = {}
        self._replaced: set[str] = set()
        self._superseded = self._repeated = self._stored_anew = 0
        self._kept: list[tuple[list[PageKey], FeatureTable]] = []
        self._pipelined: PipelinedDecisions | None = None
        self._decided = Decided()
        self.compared: CandidateSearchResult | None = None

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

    def finish(self) -> AddReport:
        """Cluster what was only stored, apply the policy, report."""
        started = time.perf_counter()
        release_memory()
        self._all_anew |= self._unfinished and self.total <= QUICK_PAGES
        clustering = None
        decisions, left_out = self._decided.decisions, self._decided.left_out
        if self._all_anew and (self._new or self._again or self._unfinished):
            in_memory = self.total <= IN_MEMORY_PAGES
            with collector_paused() if in_memory else nullcontext():
                clustering = self._recluster()
                new = dict.fromkeys(name for name in self._new if name not in left_out)  # asked for each edge
                kept = clustered_by_policy(
                    self._policy,
                    StoredBatch(new, self._replaced, {}),
                    clustering,
                    self._index,
                    self._lookup(),
                )
                decisions, left_out = kept.decisions, left_out | kept.left_out
            self._unfinished = False
        if self._noted and not self._unfinished:
            self._index.set_note(CLUSTERS_PENDING, None)
        self._seconds["cluster"] = self._decided.seconds + time.perf_counter() - started
        count = len(self._new) - len(left_out)
        outdated = self._new and not self._all_anew and self._many
        return AddReport(
            read=self._read,
            stored=count,
            unchanged=self._unchanged,
            left_out=len(left_out),
            replaced=len(self._replaced - left_out.keys()),
            superseded=self._superseded,
            repeated=self._repeated,
            failed=self._failed,
            skipped=dict(Counter(self._skipped.values())),
            outcomes=outcomes_of(decisions.values(), count),
            decisions={**decisions, **left_out},
            pairs=clustering.pairs if clustering else self._decided.pairs,
            capped_terms=clustering.capped_terms if clustering else self._decided.capped_terms,
            truncated=0 if clustering else self._decided.truncated,
            seconds={name: round(value, 4) for name, value in self._seconds.items()},
            skipped_pages=dict(islice(self._skipped.items(), NAMED_SKIPPED)),
            notes=notes_of(self._unread_times)
            + (clustering.use if clustering else self._decided.use).notes()
            + (loose_clusters(self._index) if clustering and self._whole else ())
            + ((UNFINISHED,) if self._unfinished else ())
            + ((OUTDATED,) if outdated else ()),
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
        created: set[str] = set()
        if self._few(chunk):  # as a rule all of them are new, which storing them tells
            done, there = self._index.put_new(chunk.records, self._pending)
            self._noted = True
            self._failed.update(done.failed)
            rows = [row for row, name in enumerate(chunk.records.ids) if name not in done.failed]
            chunk = take(chunk, rows)
            stored, assigned, _ = self._index.pages_and_assignments(there) if there else ({}, {}, {})
            # Pages as they were given, but in no cluster: the answer to an attempt to store them was lost.
            known = set(chunk.records.ids).difference(changed(chunk, stored)[0].records.ids)
            created = set(chunk.records.ids) - there | known - assigned.keys()
            stored = {name: each for name, each in stored.items() if name not in created}
        elif self._before or self._new:
            stored = self._index.get_many(chunk.records.ids)
        if stored:
            ours = self._new.keys() & chunk.records.ids
            chunk, unchanged = changed(chunk, stored)
            again = len(ours.difference(chunk.records.ids))
            self._repeated += again
            self._unchanged += unchanged - again
        if chunk.records.ids:
            try:
                self._take_in(chunk, stored, created, last=last)
            except BaseException:
                self._forget()
                raise
        self._seconds["write"] += time.perf_counter() - begun

    def _few(self, chunk: Chunk) -> bool:
        """Whether pages are so few that they are decided on at once, whether they are new or not."""
        count = len(chunk.records.ids)
        if not self._before or self._all_anew or count > LOOKUP_PAGES:
            return False
        total = self.total + count
        fresh = max(len(self._new) + count, total - self._lookup().statistics.pages)
        return FULL_SHARE * fresh < total

    @property
    def _pending(self) -> Mapping[str, str | None]:
        """The note that pages are stored whose clusters are not made yet, to be kept with them, where it is not there."""
        return {} if self._noted else {CLUSTERS_PENDING: "1"}

    def _take_in(
        self, chunk: Chunk, stored: Mapping[str, FeatureRecord], created: Collection[str], *, last: bool
    ) -> None:
        """Store pages, but those that were created just now; decide on them at once unless the whole index is to be clustered anew."""
        self._stored_anew += len(chunk.records.ids) - len(stored.keys() & chunk.records.ids)
        self._all_anew |= self._many and self._worth(len(self._new.keys() | chunk.records.ids))
        if not self._before and not stored and self._all_anew:
            self._keep(chunk, last=last)
        chunk, replaced = self._store(chunk, stored, created)
        if not self._all_anew:
            started = time.perf_counter()
            self._decide(chunk, replaced)
            self._decided.seconds += time.perf_counter() - started

    @property
    def total(self) -> int:
        """Pages that are stored, those that a policy removes later included."""
        return self._before + self._stored_anew

    @property
    def _many(self) -> bool:
        """Whether a fifth of the pages came after statistics were learned; not where documents follow the clusters, which would all be written."""
        fresh = max(len(self._new), self.total - self._lookup().statistics.pages)
        return FULL_SHARE * fresh >= self.total and (not self._before or not attached(self._index))

    def _worth(self, new: int) -> bool:
        """Whether clustering everything takes no longer than this call by far."""
        return self.total <= QUICK_PAGES or WORTH_SHARE * new >= self.total

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

    def _store(
        self, chunk: Chunk, stored: Mapping[str, FeatureRecord], created: Collection[str]
    ) -> tuple[Chunk, set[str]]:
        """Store pages; gives those that were stored, and which of them replace others."""
        rest = take(chunk, [row for row, name in enumerate(chunk.records.ids) if name not in created])
        done = self._index.put_batch(rest.records, self._pending) if rest.records.ids else WriteReport(0)
        self._noted = True
        if done.failed:
            self._failed.update(done.failed)
            self._stored_anew -= len(done.failed.keys() - stored.keys())
            self._forget()
            chunk = take(
                chunk, [row for row, name in enumerate(chunk.records.ids) if name not in done.failed]
            )
        replaced = stored.keys() & chunk.records.ids
        self._superseded += len(replaced & self._new.keys())
        self._replaced |= replaced - self._new.keys()
        self._new.update(dict.fromkeys(chunk.records.ids))
        for name, reason in zip(chunk.records.ids, chunk.records.skipped, strict=True):
            if reason:
                self._skipped[name] = reason
            elif name in replaced:
                self._skipped.pop(name, None)
        if replaced:
            self._forget()  # a page came twice
        return chunk, replaced

    def _decide(self, chunk: Chunk, replaced: set[str]) -> None:
        """Compare pages that were just stored with all others, and cluster them."""
        lookup, new = self._lookup(), list(chunk.records.ids)
        days = np.array([day_of(when) for when in chunk.records.published], dtype=np.int64)
        pages = Pages(new, chunk.table, days, chunk.records.named)
        found = self._decided
        edges: dict[tuple[str, str], Edge] = {}
        at_hand = records_of(chunk.records)
        with self._index.batched_cluster_updates() as updates:
            clusters = ClusterCache(updates)
            clusters.learn({}, {}, at_hand.keys() - replaced)
            for start in range(0, len(new), LOOKUP_PAGES):
                some = pages.between(start, start + LOOKUP_PAGES)
                compared = lookup.of(some, assigned=True, at_hand=at_hand)
                clusters.learn(compared.stored, compared.assigned, compared.stored.keys() - at_hand)
                edges.update(((edge.left, edge.right), edge) for edge in compared.edges())
                found.add(compared)
                self._report_progress(Progress("verify", start + len(some.ids), len(new)))
                self.compared = compared
            before = drop_replaced(clusters, replaced)
            place(clusters, chunk.records, before.neighbours, list(edges.values()), lookup)
            stored = StoredBatch(new, replaced, found.inconclusive)
            known = decided_edges(clusters, edges.values(), new)
            decisions = not_unique(stored.decisions(new, known, clusters.assignments(new)))
            if not self._unfinished:
                updates.set_note(CLUSTERS_PENDING, None)
                self._noted = False
        kept = apply_policy(self._policy, stored, known, decisions, self._index, lookup)
        found.decisions |= kept.decisions
        found.left_out |= kept.left_out

    def _recluster(self) -> ClusteringResult:
        related = None
        if self._pipelined is not None:
            corpus, related = self._pipelined.result(self._report_progress)
        elif self._before == 0 and sum(len(keys) for keys, _ in self._kept) == self.total:
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


def notes_of(unread_times: int) -> tuple[str, ...]:
    """What a report says of times of publication that could not be read."""
    if not unread_times:
        return ()
    return (f"the time of publication given for {unread_times:,} pages cannot be read and is left out",)


def _bytes(chunk: Chunk) -> int:
    return sum(map(len, chunk.records.payloads)) + sum(map(len, chunk.records.texts))
