"""Pages into the index: features, writing in batches, then edges and clusters; or a report of that without a write."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, ClassVar, Final

from es_dedup.batch.clusters import CLUSTERS_PENDING, LOOKUP_PAGES, QUICK_PAGES, ClusterCache, attached
from es_dedup.batch.corpus import corpus_of
from es_dedup.batch.decisions import AddCounts, StoredBatch, apply_policy, by_policy, not_unique
from es_dedup.batch.featurise import CHUNK_PAGES, Chunk, changed, joined, keys_of, last_of_each, without
from es_dedup.batch.memory import collector_paused, release_memory
from es_dedup.batch.overrides import decided_edges
from es_dedup.batch.refresh import GROWTH, REFRESHED_PAGES
from es_dedup.batch.stored_pages import loose_clusters
from es_dedup.batch.whole_corpus import IN_MEMORY_PAGES, PipelinedDecisions, decide_corpus, recluster, silent
from es_dedup.errors import DuplicatePage, IndexError_
from es_dedup.index.closing import on_error
from es_dedup.model import AddReport, Decision, Edge, Page, Progress, WritePolicy
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from es_dedup.batch.whole_corpus import RelatedPairs
    from es_dedup.clustering.order import PageKey
    from es_dedup.decision.candidate_search import CandidateSearch, CandidateSearchResult
    from es_dedup.detectors.features import FeatureTable
    from es_dedup.index.port import Index, Notes
    from es_dedup.index.records import FeatureRecord
    from es_dedup.settings import Settings

WRITE_PAGES: Final = 18_432  # written at a time, and at most lost when the process is killed
WRITE_BYTES: Final = 128 * 2**20
INTERRUPTED_SECONDS: Final = 1.5  # an interrupted run goes on storing for so long
INTERRUPTED_CHUNKS: Final = 4  # and so many chunks at a time
READ: Final = 2_000  # pages whose edges are objects at a time, after everything was clustered
FULL_SHARE: Final = 5  # a full run when one page in so many is new since the last one
# and one in so many is new in this call, or there are twice the pages; else the run would take far longer than the calls themselves
WORTH_SHARE: Final = 20
UNFINISHED: Final = (
    "pages of an earlier call that was interrupted are not clustered: run `es-dedup elastic recluster`"
)
OUTDATED: Final = (
    "a fifth of the pages came after the statistics were learned: run `es-dedup elastic recluster`"
)


class PageInput:
    """Pages of an input that may fail: what was read before is worked on, then the error is raised; an interrupt is raised at once.

    Attributes:
        error: what ended the input early, or None.
    """

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = pages
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[Page]:
        try:
            yield from self._pages
        except Exception as error:  # noqa: BLE001 - ``Ingest.write`` raises it
            self.error = error


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

    Attributes:
        counts: what was done so far.
        compared: the last pages that were decided on, at most ``LOOKUP_PAGES``, with their candidates.
    """

    write_pages: ClassVar[int] = WRITE_PAGES

    def __init__(
        self,
        index: Index,
        settings: Settings,
        lookup: Callable[[], CandidateSearch],
        progress: Callable[[Progress], None] | None,
        before: int,
        policy: WritePolicy = WritePolicy.MARK,
        *,
        whole: bool = False,
    ) -> None:
        self._index, self._settings, self._lookup = index, settings, lookup
        self._report_progress = progress or silent
        self._policy, self._whole, self._all_anew = policy, whole, whole
        self._before = before
        self._noted = self._unfinished = index.note(CLUSTERS_PENDING) is not None  # the note is there
        self._kept: list[tuple[list[PageKey], FeatureTable]] = []
        self._pipelined: PipelinedDecisions | None = None
        self.counts = AddCounts()
        self.compared: CandidateSearchResult | None = None

    def write(self, made: Iterable[Chunk], reading: PageInput) -> None:
        """Features into the index, many chunks at a time: postings are written sorted by term.

        Args:
            made: features of the pages.
            reading: where the pages come from.

        Raises:
            Exception: the input's own error, after all that was read has been stored.
        """
        started = time.perf_counter()
        waiting: list[Chunk] = []
        size = 0
        try:
            for chunk in made:
                self.counts.add_read(chunk)
                waiting.append(chunk)
                size += sum(map(len, chunk.records.payloads)) + sum(map(len, chunk.records.texts))
                if size >= WRITE_BYTES or len(waiting) * CHUNK_PAGES >= self.write_pages:
                    self._flush(waiting)
                    waiting, size = [], 0
                    release_memory()
                self._report_progress(Progress("features", self.counts.read, None))
        except IndexError_:
            raise  # storage failed: to try again at once would fail again
        except KeyboardInterrupt:
            end = time.monotonic() + INTERRUPTED_SECONDS
            for some in chunked(waiting, INTERRUPTED_CHUNKS):
                if time.monotonic() < end:
                    self._flush(some)
            raise
        except BaseException:
            self._flush(waiting)  # a run that fails keeps what it has made
            raise
        self._flush(waiting, last=reading.error is None)
        seconds = self.counts.seconds
        seconds["features"] = time.perf_counter() - started - seconds["write"] - seconds["cluster"]
        if reading.error is not None:
            raise reading.error

    def finish(self, *, again: bool) -> AddReport:
        """Cluster what was only stored, apply the policy, report; ``again``: cluster everything even where no page is new."""
        started = time.perf_counter()
        release_memory()
        notes: list[str] = []
        self._all_anew |= self._unfinished and self.total <= QUICK_PAGES
        if self._all_anew and (self.counts.new or again or self._unfinished):
            with collector_paused() if self.total <= IN_MEMORY_PAGES else nullcontext():
                self._decide_all()
            self._unfinished = False
            if self._whole:
                notes += loose_clusters(self._index)
        if self._noted and not self._unfinished:
            self._index.set_note(CLUSTERS_PENDING, None)
        self.counts.seconds["cluster"] += time.perf_counter() - started
        if self._unfinished:
            notes.append(UNFINISHED)
        if self.counts.new and not self._all_anew and self._many():
            notes.append(OUTDATED)
        return self.counts.report(self._settings.decision.summary, notes)

    def preview(self, made: Sequence[Chunk]) -> AddReport:
        """The report that a call with these features would give; nothing is written, and policy ``fail`` refuses duplicates.

        Where nothing is stored yet, the statistics are those of the given pages. A call that learns statistics again may decide otherwise.
        """
        counts = self.counts
        for each in made:
            counts.add_read(each)
        if made:
            chunk, counts.superseded, counts.repeated = last_of_each(joined(made))
            stored = self._index.get_many(chunk.records.ids)
            chunk, counts.unchanged = changed(chunk, stored)
            replaced = stored.keys() & chunk.records.ids
            counts.add_stored(chunk.records, replaced)
            corpus = corpus_of(keys_of(chunk.records), chunk.table, chunk.records.named)
            known = self._lookup().statistics if self._before else None
            among = decide_corpus(corpus, self._settings, self._report_progress, known)
            clusters = ClusterCache(self._index)
            _, edges, decisions = self._compared_and_clustered(clusters, chunk, replaced, among.edges)
            if self._policy is WritePolicy.FAIL:
                ids = chunk.records.ids
                refused = by_policy(self._policy, ids, edges, among.statistics, len(ids))
                for name, others in refused.items():
                    named = decisions[name].duplicate_of if name in decisions else None
                    raise DuplicatePage(name, named or min(others))
            counts.add_decided(decisions, {})
            counts.truncated = 0
            counts.pairs += among.compared
            counts.capped_terms = among.capped_terms
            counts.use = counts.use if counts.use.notes() else among.use
        return counts.report(self._settings.decision.summary)

    def _flush(self, waiting: list[Chunk], *, last: bool = False) -> None:
        """Store pages, and decide on them at once unless the whole index is to be clustered anew."""
        if not waiting:
            return
        begun = time.perf_counter()
        chunk, superseded, repeated = last_of_each(joined(waiting))
        self.counts.superseded += superseded
        self.counts.repeated += repeated
        with on_error(self._forget):
            chunk, replaced = self._store(chunk, last=last)
            stored = time.perf_counter()
            self.counts.seconds["write"] += stored - begun
            if chunk.records.ids and not self._all_anew:
                self._decide(chunk, replaced)
                self.counts.seconds["cluster"] += time.perf_counter() - stored

    def _store(self, chunk: Chunk, *, last: bool) -> tuple[Chunk, set[str]]:
        """Store pages; gives those that were new or changed, and which of them replace others."""
        counts, index = self.counts, self._index
        created: set[str] = set()
        stored: Mapping[str, FeatureRecord] = {}
        count = len(chunk.records.ids)
        if self._before and not self._all_anew and count <= LOOKUP_PAGES and not self._many(count):
            chunk, stored, created = self._create(chunk)
        elif self._before or counts.new:
            stored = index.get_many(chunk.records.ids)
        ours = counts.new.keys() & chunk.records.ids
        chunk, unchanged = changed(chunk, stored)
        repeated = len(ours.difference(chunk.records.ids))  # of pages that this call has stored
        counts.repeated += repeated
        counts.unchanged += unchanged - repeated
        replaced = stored.keys() & chunk.records.ids
        if not chunk.records.ids:
            return chunk, replaced
        coming = len(chunk.records.ids) - len(replaced)
        total = self.total + coming
        # Clustering everything takes no longer than this call by far, or than all calls since it was done last. Where it never was,
        # as after the first call was interrupted, that is left to ``recluster``.
        worth = total <= QUICK_PAGES or WORTH_SHARE * (len(counts.new) + coming) >= total
        worth |= 0 < GROWTH * self._lookup().statistics.pages <= total <= REFRESHED_PAGES
        self._all_anew |= worth and self._many(coming, whole=True)
        if not self._before and not stored and self._all_anew:
            self._keep(chunk, last=last)
        if (rest := without(chunk, created)).records.ids:
            failed = index.put_batch(rest.records, self._pending)
            self._noted = True
            if failed or replaced:  # or a page came twice
                self._forget()
            counts.failed.update(failed)
            chunk = without(chunk, failed)
        replaced &= set(chunk.records.ids)
        counts.add_stored(chunk.records, replaced)
        return chunk, replaced

    def _create(self, chunk: Chunk) -> tuple[Chunk, Mapping[str, FeatureRecord], set[str]]:
        """Store pages that are new as a rule, which storing them tells; gives those that did not fail, what was stored before, and those that were created."""
        failed, there = self._index.put_new(chunk.records, self._pending)
        self._noted = True
        self.counts.failed.update(failed)
        chunk = without(chunk, failed)
        stored, assigned, _ = self._index.pages_and_assignments(there) if there else ({}, {}, {})
        # Pages as they were given, but in no cluster: the answer to an attempt to store them was lost.
        lost = stored.keys() - set(changed(chunk, stored)[0].records.ids) - assigned.keys()
        created = set(chunk.records.ids) - there | lost
        return chunk, {name: each for name, each in stored.items() if name not in created}, created

    @property
    def _pending(self) -> Notes:
        """The note that pages are stored whose clusters are not made yet, to be kept with them, where it is not there."""
        return {} if self._noted else {CLUSTERS_PENDING: "1"}

    @property
    def total(self) -> int:
        """Pages that are stored, those that a policy removes later included."""
        return self._before + len(self.counts.new) - len(self.counts.replaced)

    def _many(self, coming: int = 0, *, whole: bool = False) -> bool:
        """Whether a fifth of the pages, with so many that come, came after statistics were learned.

        With ``whole`` not where documents follow the clusters, which would all be written.
        """
        total = self.total + coming
        fresh = max(len(self.counts.new) + coming, total - self._lookup().statistics.pages)
        alone = not whole or not self._before or not attached(self._index)
        return FULL_SHARE * fresh >= total and alone

    def _keep(self, chunk: Chunk, *, last: bool) -> None:
        """Keep features of new pages at hand while they fit; decide pairs while the last ones are written."""
        total = len(self.counts.new) + len(chunk.records.ids)
        self._kept.append((keys_of(chunk.records), chunk.table))
        if total > IN_MEMORY_PAGES:
            self._forget()
        elif last and sum(len(keys) for keys, _ in self._kept) == total:
            self._pipelined = PipelinedDecisions(self._kept, self._settings)
            self._kept = []  # the thread alone has them, and lets go of the parts

    def _forget(self) -> None:
        """What is at hand is not what is stored: the index is read instead."""
        self._kept.clear()
        if self._pipelined is not None:
            self._pipelined.drop()
            self._pipelined = None

    def _decide(self, chunk: Chunk, replaced: set[str]) -> None:
        """Compare pages that were just stored with all others, and cluster them."""
        clusters = ClusterCache(self._index)
        stored, edges, decisions = self._compared_and_clustered(clusters, chunk, replaced)
        clusters.store({} if self._unfinished else {CLUSTERS_PENDING: None})
        self._noted = self._noted and self._unfinished
        lookup = self._lookup()
        done = apply_policy(self._policy, stored, edges, decisions, self._index, lookup, self.counts.new)
        self.counts.add_decided(*done)

    def _compared_and_clustered(
        self, clusters: ClusterCache, chunk: Chunk, replaced: set[str], among: Iterable[Edge] | None = None
    ) -> tuple[StoredBatch, list[Edge], dict[str, Decision]]:
        """Compare pages with all that are stored, and cluster them.

        Args:
            clusters: a cache that knows nothing yet; changes are kept there.
            chunk: the pages.
            replaced: those of which an earlier version was stored.
            among: edges between these pages, which are not stored; None: they are stored.

        Returns:
            The batch, all edges that touch it, and decisions on those of its pages that are not unique.
        """
        lookup, new, pages = self._lookup(), dict.fromkeys(chunk.records.ids), chunk.pages
        records = chunk.records.by_id()
        at_hand, edges = records if among is None else {}, list(among or ())
        clusters.learn({}, {}, new.keys() - replaced)
        for start in range(0, len(new), LOOKUP_PAGES):
            some = pages.between(start, start + LOOKUP_PAGES)
            compared = lookup.of(some, assigned=True, at_hand=at_hand)
            clusters.learn(compared.stored, compared.assigned, compared.stored.keys() - at_hand)
            # none with an earlier version of one of the pages
            edges += (
                edge
                for edge in compared.edges()
                if among is None or not {edge.left, edge.right} <= new.keys()
            )
            self.counts.add_compared(compared)
            self._report_progress(Progress("verify", start + len(some.ids), len(new)))
            self.compared = compared
        placed = clusters.place(records, replaced, edges, lookup, stored=among is None)
        stored = StoredBatch(new, replaced, self.counts.inconclusive)
        edges = decided_edges(clusters, placed.edges, new)
        decisions = not_unique(stored.decisions(new, edges, clusters.assignments(new)))
        return stored, edges, decisions

    def _decide_all(self) -> None:
        """Cluster the whole index anew, and decide on the pages of the call: edges and assignments not at hand are read, some at a time."""
        counts, found, index = self.counts, self._recluster(), self._index
        counts.decisions, counts.truncated = {}, 0
        counts.pairs, counts.capped_terms, counts.use = found.compared, found.capped_terms, found.use
        new = dict.fromkeys(name for name in counts.new if name not in counts.left_out)
        stored = StoredBatch(new, counts.replaced, {}, learned=True)
        lookup = self._lookup()
        # learned just now: those of the lookup may be from before the call
        lookup.statistics = found.statistics
        decisions: dict[str, Decision] = {}
        every: dict[tuple[str, str], Edge] = {}
        for some in chunked(new, READ if found.assigned is None else max(len(new), 1)):
            of_some = index.edges_of(some) if found.assigned is None else found.edges
            edges = decided_edges(index, of_some, some)
            names = {name for edge in edges for name in (edge.left, edge.right)}.intersection(some)
            assigned = index.assignments(names) if found.assigned is None else found.assigned
            decisions |= not_unique(stored.decisions(names, edges, assigned))
            # ``mark`` needs no edges any more: of a large index they do not fit in memory
            if self._policy is not WritePolicy.MARK:
                every |= {(edge.left, edge.right): edge for edge in edges}
        counts.add_decided(
            *apply_policy(self._policy, stored, list(every.values()), decisions, index, lookup, new)
        )

    def _recluster(self) -> RelatedPairs:
        if self._pipelined is None:
            return recluster(self._index, self._settings, self._report_progress)
        return self._pipelined.recluster(self._index, self._report_progress)
