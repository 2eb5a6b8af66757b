"""All pages of an index at once: statistics, candidates, decisions and clusters, of a corpus in memory or in temporary files.

What a run in files has in memory is bounded by these:

- of every page some numbers: the columns of ``Corpus``, its rank and component, and while a method is joined the offsets of its terms, together
  about 200 bytes;
- of every related pair its rows, relation and score: 25 bytes, twice that while they are put together;
- of the pages that statistics are learned from, at most ``LEARN_PAGES``, what weighing knows of each, and the statistics themselves;
- all else for ``MOST`` terms, ``PAIRS`` pairs in each thread, or ``PAGES`` pages at a time; a component of more pages is clustered at once.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from es_dedup.batch.candidate_pairs import CorpusJoin
from es_dedup.batch.corpus import Corpus, Weighing, load_corpus, pieces
from es_dedup.batch.learning import learn, store_statistics
from es_dedup.batch.memory import release_memory
from es_dedup.batch.overrides import load_constraints
from es_dedup.clustering.constraints import ClusterRules
from es_dedup.clustering.repair import repair
from es_dedup.clustering.star import cluster_all
from es_dedup.decision.comparison import BLOCK, PagePairs, RelatedRows, compare
from es_dedup.decision.rules import RELATIONS
from es_dedup.model import Edge, Progress
from es_dedup.temporary import temporary_folder
from es_dedup.text.ragged import components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.clustering.constraints import Constraints
    from es_dedup.clustering.order import PageKey
    from es_dedup.decision.statistics import Statistics
    from es_dedup.decision.term_use import TermUse
    from es_dedup.detectors.features import FeatureTable
    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import Index
    from es_dedup.settings import Settings

    Rows = NDArray[np.int64]
    ProgressListener = Callable[[Progress], None]


IN_MEMORY_PAGES: Final = 300_000  # some 2 GB with what is made of them; beyond, it takes temporary files
MOST: Final = 500_000  # terms or features of a corpus in files in memory at a time: some 40 MB with what is made of them
PAIRS: Final = 1_024  # of a corpus in files compared at a time, in each of some threads: some 10 MB
PAGES: Final = 2_000  # pages and edges of a corpus in files that are objects at a time


@dataclass(frozen=True, slots=True)
class RelatedPairs:
    """Related pairs of a corpus.

    Attributes:
        statistics: those that the decisions rest on.
        packed: the same as bytes, if they were learned from this corpus.
        pairs: the related ones, by rows of the corpus.
        edges: the same by page ids, of a corpus in memory.
        assigned: of such a corpus, when it was clustered, the assignments of its pages.
        compared: pairs compared.
        capped_terms, use: see ``CorpusJoin``.
    """

    statistics: Statistics
    packed: bytes
    pairs: RelatedRows
    edges: list[Edge]
    compared: int
    capped_terms: int
    use: TermUse
    assigned: Mapping[str, Assignment] | None = None


@dataclass(frozen=True, slots=True)
class ReclusterReport:
    """Result of reclustering, or of a dry run of it.

    Attributes:
        pages: stored pages.
        changed: pages with another canonical document than before.
        clusters_before, clusters: number of clusters of at least two pages, before and after.
        without_text: pages of sites with ignored passages whose text is not kept: their features are as they were made. Not of a dry run.
    """

    pages: int
    changed: int
    clusters_before: int
    clusters: int
    without_text: int = 0

    @classmethod
    def of(cls, before: Mapping[str, str], now: Mapping[str, str], without_text: int = 0) -> Self:
        """What has changed between two sets of canonical documents, by page id."""
        changed = sum(before.get(page_id) != canonical for page_id, canonical in now.items())
        then, clusters = (sum(size > 1 for size in Counter(each.values()).values()) for each in (before, now))
        return cls(len(now), changed, then, clusters, without_text)


def silent(_: Progress) -> None:
    """Report no progress."""


def recluster(
    index: Index, settings: Settings, progress: ProgressListener = silent, *, in_files: bool = False
) -> RelatedPairs:
    """``recluster_corpus`` of all stored pages; of more than ``IN_MEMORY_PAGES``, or with ``in_files``, in temporary files."""
    with ExitStack() as stack:
        if not in_files and index.count() <= IN_MEMORY_PAGES:
            corpus = load_corpus(index)
        else:
            folder = stack.enter_context(temporary_folder("recluster"))
            corpus = stack.enter_context(closing(load_corpus(index, folder, MOST, progress)))
        return recluster_corpus(index, corpus, settings, progress)


def recluster_corpus(
    index: Index,
    corpus: Corpus,
    settings: Settings,
    progress: ProgressListener = silent,
    related: RelatedPairs | None = None,
) -> RelatedPairs:
    """Learn statistics, find and decide all candidate pairs, cluster everything, and store the result.

    Args:
        index: has the pages of the corpus; the caller keeps other writers out.
        corpus: all stored pages.
        settings: detectors, decision settings and canonical order; the index records them.
        progress: called with the progress.
        related: what ``decide_corpus`` has returned for this corpus, of which no page was clustered before. None: it is called now, and
            cluster ids are kept where they can be.

    Returns:
        What was found; the index has the clusters.
    """
    total, cluster = len(corpus), cluster_all
    if related is None:
        cluster = partial(_repaired, index)
        related = decide_corpus(corpus, settings, progress)
    progress(Progress("cluster", 0, total))
    rules = ClusterRules(settings.cluster, load_constraints(index))
    edges: Iterable[Edge] = related.edges
    assigned: Iterable[Assignment]
    at_hand: Mapping[str, Assignment] | None = None
    if corpus.folder is not None:
        edges = _edges(corpus, related.pairs)
        assigned = _assignments(index, corpus, related.pairs, rules)
    else:
        at_hand = cluster(corpus.keys, related.edges, rules)
        assigned = at_hand.values()
    store_statistics(index, related.statistics, related.packed, settings)
    index.replace_all(edges, assigned)
    progress(Progress("cluster", total, total))
    return replace(related, assigned=at_hand)


def decide_corpus(
    corpus: Corpus,
    settings: Settings,
    report_progress: ProgressListener,
    statistics: Statistics | None = None,
) -> RelatedPairs:
    """Find candidates in a corpus and decide them.

    Args:
        corpus: its pages.
        settings: detectors, decision settings and canonical order.
        report_progress: called with the progress.
        statistics: None: those of the corpus are learned.
    """
    total = len(corpus)
    report_progress(Progress("join", 0, total))
    size = PAIRS if corpus.folder else BLOCK
    compared = 0
    parts: list[RelatedRows] = []

    def block(left: Rows, right: Rows, start: int) -> RelatedRows:
        some = slice(start, start + size)
        pages, ours, theirs, rows = corpus.of_pairs(left[some], right[some])
        known = learning.result()
        weights = weigh(pages.table) if rows is None else known.weights(pages.table.coverage)
        pairs = PagePairs(pages, ours, pages, theirs)
        related = compare(pairs, known, settings, weights=weights).related_rows()
        if rows is None:
            return related
        return replace(related, left=rows[related.left], right=rows[related.right])

    # Arrays are worked on outside the interpreter's lock.
    with ThreadPoolExecutor(settings.workers or None) as pool:
        learning = pool.submit(lambda: statistics or learn(corpus, settings.ccdet))
        packing = pool.submit(lambda: b"" if statistics else learning.result().to_bytes())
        ranks = corpus.ranks(settings.cluster)
        if corpus.folder:
            learning.result()  # a join at the same time would take as much memory again
        weigh = Weighing(learning.result)
        join = CorpusJoin(corpus, ranks, settings, weigh)
        for left, right in join.pairs():
            if not compared:
                report_progress(Progress("join", total, total))
            count = compared + len(left)
            for part in pool.map(partial(block, left, right), range(0, len(left), size)):
                parts.append(part)
                compared = min(compared + size, count)
                report_progress(Progress("verify", compared, count))
            if corpus.folder:
                release_memory()
    pairs = RelatedRows.concatenate(parts)
    edges = [] if corpus.folder else pairs.edges(corpus.pages.ids, corpus.pages.ids)
    known = learning.result(), packing.result()
    return RelatedPairs(*known, pairs, edges, compared, join.capped_terms, join.use)


def _repaired(
    index: Index, keys: Sequence[PageKey], edges: Sequence[Edge], rules: ClusterRules
) -> dict[str, Assignment]:
    """Assignments of the pages of whole components, the changed and the unchanged."""
    current = index.assignments([key.page_id for key in keys])
    change = repair(keys, edges, current, rules)
    return {**current, **{each.page_id: each for each in change.assignments}}


def _edges(corpus: Corpus, related: RelatedRows) -> Iterator[Edge]:
    """All edges of a corpus in files."""
    for places in pieces(len(related.left), PAGES):
        yield from _edges_at(corpus, related, places)


def _edges_at(corpus: Corpus, related: RelatedRows, places: Rows) -> list[Edge]:
    rows, at = np.unique(np.concatenate((related.left[places], related.right[places])), return_inverse=True)
    half = len(places)
    some = RelatedRows(at[:half], at[half:], related.relation[places], related.score[places])
    ids = [key.page_id for key in corpus.keys_of(rows)]
    return some.edges(ids, ids)


def _assignments(
    index: Index, corpus: Corpus, related: RelatedRows, rules: ClusterRules
) -> Iterator[Assignment]:
    """All assignments of a corpus in files, component after component."""
    labels = _components(index, corpus, related, rules.constraints)
    owners = labels[related.left]
    order = np.argsort(owners, kind="stable")
    owners = owners[order]
    for rows in whole_components(labels, PAGES):
        start, end = np.searchsorted(owners, [labels[rows[0]], labels[rows[-1]] + 1])
        edges = _edges_at(corpus, related, order[start:end])
        yield from _repaired(index, corpus.keys_of(rows), edges, rules).values()


def _components(index: Index, corpus: Corpus, related: RelatedRows, constraints: Constraints) -> Rows:
    """Label of each row: equal for rows that have to be clustered together.

    These are connected by equal or duplicate edges, or are in one cluster now, or one bears the name of the other's cluster, or
    they were decided same.
    """
    units: list[tuple[int, int]] = []
    for unit in set(constraints.units.values()):
        units += pairwise([row for name in unit if (row := corpus.row_of(name)) is not None])
    left, right = np.array(units, dtype=np.int64).reshape(-1, 2).T
    same = np.array([relation.same for relation in RELATIONS])[related.relation]
    bearers = np.arange(len(corpus))  # the row of the page that each page's cluster is named after
    row_of_cluster: dict[str, int] = {}  # where the page of that name is gone
    for rows in pieces(len(corpus), PAGES):
        names = [key.page_id for key in corpus.keys_of(rows)]
        current = index.assignments(names)
        for row, name in zip(rows.tolist(), names, strict=True):
            cluster = current[name].cluster_id if name in current else name
            if cluster != name:
                other = row_of_cluster.get(cluster)
                if other is None:
                    bearer = corpus.row_of(cluster)
                    other = row_of_cluster.setdefault(cluster, row) if bearer is None else bearer
                bearers[row] = other
    return components(
        len(corpus),
        np.concatenate((left, related.left[same], np.arange(len(corpus)))),
        np.concatenate((right, related.right[same], bearers)),
    )


def whole_components(labels: Rows, most: int) -> Iterator[Rows]:
    """Rows in whole components, about ``most`` at a time; a larger component comes alone with those before it."""
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order], append=-1)) + 1
    start = 0
    while start < len(order):
        fitting = int(np.searchsorted(ends, start + most, side="right")) - 1
        end = int(ends[max(fitting, int(np.searchsorted(ends, start, side="right")))])
        yield order[start:end]
        start = end


class _NotNeededError(Exception):
    """Ends the thread."""


class PipelinedDecisions:
    """All related pairs of a corpus, found in a thread that touches no index.

    Progress is kept until ``result`` is called, so that a progress listener is called by its own thread only.

    Args:
        parts: keys and features of all pages, part by part; the thread empties the list when it has put them together.
        settings: detectors and canonical order.
    """

    def __init__(self, parts: list[tuple[list[PageKey], FeatureTable]], settings: Settings) -> None:
        self._events: SimpleQueue[Progress | None] = SimpleQueue()
        self._needed = True
        self._settings = settings
        pool = ThreadPoolExecutor(1, thread_name_prefix="es-dedup-decisions")
        self._found = pool.submit(self._work, parts)
        self._found.add_done_callback(lambda _: self._events.put(None))
        pool.shutdown(wait=False)

    def result(self, report_progress: ProgressListener) -> tuple[Corpus, RelatedPairs]:
        """The corpus and its related pairs; waits for the thread, and raises its error."""
        try:
            while (event := self._events.get()) is not None:
                report_progress(event)
            return self._found.result()
        except BaseException:
            self.drop()
            raise

    def recluster(self, index: Index, progress: ProgressListener) -> RelatedPairs:
        """``recluster_corpus`` of the result."""
        corpus, related = self.result(progress)
        return recluster_corpus(index, corpus, self._settings, progress, related)

    def drop(self) -> None:
        """Let the thread end soon: its result is not wanted."""
        self._needed = False

    def _work(self, parts: list[tuple[list[PageKey], FeatureTable]]) -> tuple[Corpus, RelatedPairs]:
        corpus = Corpus((keys, table, ()) for keys, table in parts)
        parts.clear()
        release_memory()
        return corpus, decide_corpus(corpus, self._settings, self._on_event)

    def _on_event(self, event: Progress) -> None:
        if not self._needed:
            raise _NotNeededError
        self._events.put(event)
