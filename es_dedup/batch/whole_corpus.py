"""All pages of an index at once: statistics, candidates, decisions and clusters, of a corpus in memory or in temporary files.

What a run in files has in memory is bounded by these:

- of every page some numbers: the columns of ``Corpus``, its rank and component, and while a method is joined the offsets of its terms, together
  about 200 bytes;
- of every related pair its rows, relation and score: 25 bytes, twice that while they are put together;
- of the pages that statistics are learned from, at most ``LEARN_PAGES``, what weighing knows of each, and the statistics themselves;
- all else for ``MOST`` terms, ``PAIRS`` pairs in each thread, or ``PAGES`` pages at a time; a component of more pages is clustered at once.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.batch.candidate_pairs import CorpusJoin
from es_dedup.batch.components import Components, batches
from es_dedup.batch.corpus import Weighing, load_corpus
from es_dedup.batch.learning import learn, store_statistics
from es_dedup.batch.memory import release_memory
from es_dedup.batch.overrides import load_constraints
from es_dedup.batch.recluster import ClusteringResult, silent
from es_dedup.batch.verify import BLOCK, Verified, verify_by
from es_dedup.clustering import Neighbourhood, cluster_all, repair
from es_dedup.decision.rules import RELATIONS
from es_dedup.model import Progress
from es_dedup.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from es_dedup.batch.corpus import Corpus
    from es_dedup.batch.recluster import ProgressListener
    from es_dedup.clustering import Constraints, PageKey
    from es_dedup.decision.statistics import Statistics
    from es_dedup.decision.term_use import TermUse
    from es_dedup.index.port import Assignment, Index
    from es_dedup.model import Edge
    from es_dedup.settings import Settings

    Rows = NDArray[np.int64]

IN_MEMORY_PAGES: Final = 300_000  # some 2 GB with what is made of them; beyond, it takes temporary files
MOST: Final = 500_000  # terms or features of a corpus in files in memory at a time: some 40 MB with what is made of them
PAIRS: Final = 1_024  # of a corpus in files compared at a time, in each of some threads: some 10 MB
PAGES: Final = 2_000  # pages and edges of a corpus in files that are objects at a time


@dataclass(frozen=True, slots=True)
class RelatedPairs:
    """Related pairs of a corpus.

    Attributes:
        statistics: those that the decisions rest on.
        pairs: the related ones, by rows of the corpus.
        edges: the same by page ids, of a corpus in memory.
        compared: pairs compared.
        capped_terms, use: see ``CorpusJoin``.
    """

    statistics: Statistics
    pairs: Verified
    edges: list[Edge]
    compared: int
    capped_terms: int
    use: TermUse


def recluster_stored(
    index: Index, settings: Settings, progress: ProgressListener | None = None
) -> ClusteringResult:
    """``recluster_corpus`` of all stored pages: in memory where they fit, else in temporary files."""
    if index.count() > IN_MEMORY_PAGES:
        return recluster_out_of_core(index, settings, progress)
    return recluster_corpus(index, load_corpus(index), settings, progress)


def recluster_out_of_core(
    index: Index,
    settings: Settings,
    progress: ProgressListener | None = None,
    *,
    most: int = MOST,
    pages: int = PAGES,
) -> ClusteringResult:
    """``recluster_corpus`` of all stored pages in temporary files.

    Args:
        index, settings, progress: as there.
        most: terms or features in memory at a time, about.
        pages: pages and edges that are objects at a time, about; a larger component of pages is clustered at once.
    """
    with (
        temporary_folder("recluster") as folder,
        closing(load_corpus(index, folder, most, progress or silent)) as corpus,
    ):
        return recluster_corpus(index, corpus, settings, progress, pages=pages)


def recluster_corpus(
    index: Index,
    corpus: Corpus,
    settings: Settings,
    progress: ProgressListener | None = None,
    *,
    fresh: bool = False,
    related: RelatedPairs | None = None,
    pages: int = PAGES,
) -> ClusteringResult:
    """Learn statistics, find and decide all candidate pairs, cluster everything, and store the result.

    Args:
        index: has the pages of the corpus; the caller keeps other writers out.
        corpus: all stored pages.
        settings: detectors, decision settings and canonical order; the index records them.
        progress: called with the progress.
        fresh: no page was clustered before; else cluster ids are kept where they can be.
        related: what ``decide_corpus`` has returned for this corpus already.
        pages: as ``recluster_out_of_core``.

    Returns:
        What was done. Of a corpus in files it has neither edges nor assignments: the index has them.
    """
    report_progress, total = progress or silent, len(corpus)
    if related is None:
        related = decide_corpus(corpus, settings, report_progress)
    report_progress(Progress("cluster", 0, total))
    constraints = load_constraints(index)
    edges: Iterable[Edge] = related.edges
    assigned: dict[str, Assignment] | None = None
    with ThreadPoolExecutor(1) as pool:
        packed = pool.submit(related.statistics.to_bytes)  # compressed outside the interpreter's lock
        if corpus.folder is not None:
            edges = _edges(corpus, related.pairs, pages)
        elif fresh:
            assigned = cluster_all(corpus.keys, edges, settings.cluster, constraints)
        else:
            assigned = _repaired(index, corpus.keys, related.edges, settings, constraints)
    store_statistics(index, related.statistics, packed.result(), settings)
    of_components = _assignments(index, corpus, related.pairs, settings, constraints, pages)
    index.replace_all(edges, of_components if assigned is None else assigned.values())
    report_progress(Progress("cluster", total, total))
    return ClusteringResult(
        related.edges,
        related.compared,
        related.capped_terms,
        use=related.use,
        assigned=assigned,
        stored=total if assigned is None else 0,
        related=len(related.pairs.left),
    )


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
    parts: list[Verified] = []

    def block(left: Rows, right: Rows, start: int) -> Verified:
        some = slice(start, start + size)
        pages, ours, theirs, rows = corpus.of_pairs(left[some], right[some])
        known = learning.result()
        weights = weigh(pages.table) if rows is None else known.weights(pages.table.coverage)
        related = verify_by(known, settings, pages, ours, theirs, weights=weights)
        return (
            related if rows is None else replace(related, left=rows[related.left], right=rows[related.right])
        )

    # Arrays are worked on outside the interpreter's lock.
    with ThreadPoolExecutor(settings.workers or None) as pool:
        learning = pool.submit(lambda: statistics or learn(corpus, settings.ccdet))
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
    pairs = Verified.concatenate(parts)
    edges = [] if corpus.folder else pairs.edges(corpus.pages.ids)
    return RelatedPairs(learning.result(), pairs, edges, compared, join.capped_terms, join.use)


def _repaired(
    index: Index, keys: Sequence[PageKey], edges: Sequence[Edge], settings: Settings, constraints: Constraints
) -> dict[str, Assignment]:
    """Assignments of the pages of whole components by page id, the changed and the unchanged."""
    current = index.assignments([key.page_id for key in keys])
    near = Neighbourhood(tuple(keys), tuple(edges), current, constraints)
    change = repair(near, settings.cluster)
    return {**current, **{each.page_id: each for each in change.assignments}}


def _edges(corpus: Corpus, related: Verified, pages: int) -> Iterator[Edge]:
    """All edges of a corpus in files."""
    for start in range(0, len(related.left), pages):
        yield from _edges_at(corpus, related, np.arange(start, min(start + pages, len(related.left))))


def _edges_at(corpus: Corpus, related: Verified, places: Rows) -> list[Edge]:
    rows, at = np.unique(np.concatenate((related.left[places], related.right[places])), return_inverse=True)
    half = len(places)
    some = Verified(at[:half], at[half:], related.relation[places], related.score[places])
    return some.edges([key.page_id for key in corpus.keys_of(rows)])


def _assignments(
    index: Index, corpus: Corpus, related: Verified, settings: Settings, constraints: Constraints, pages: int
) -> Iterator[Assignment]:
    """All assignments of a corpus in files, component after component."""
    labels = _components(index, corpus, related, constraints, pages)
    owners = labels[related.left]
    order = np.argsort(owners, kind="stable")
    owners = owners[order]
    for rows in batches(labels, pages):
        start, end = np.searchsorted(owners, [labels[rows[0]], labels[rows[-1]] + 1])
        edges = _edges_at(corpus, related, order[start:end])
        yield from _repaired(index, corpus.keys_of(rows), edges, settings, constraints).values()


def _components(
    index: Index, corpus: Corpus, related: Verified, constraints: Constraints, pages: int
) -> Rows:
    """Label of each row: equal for rows that have to be clustered together.

    These are connected by equal or duplicate edges, or are in one cluster now, or one bears the name of the other's cluster, or
    they were decided same.
    """
    components = Components(len(corpus))
    for unit in set(constraints.units.values()):
        rows_of_unit = [row for name in unit if (row := corpus.row_of(name)) is not None]
        for left, right in pairwise(rows_of_unit):
            components.join(left, right)
    same = np.array([relation.same for relation in RELATIONS])[related.relation]
    for left, right in zip(related.left[same].tolist(), related.right[same].tolist(), strict=True):
        components.join(left, right)
    row_of_cluster: dict[str, int] = {}  # where the page of that name is gone
    for first in range(0, len(corpus), pages):
        rows = np.arange(first, min(first + pages, len(corpus)))
        names = [key.page_id for key in corpus.keys_of(rows)]
        current = index.assignments(names)
        for row, name in zip(rows.tolist(), names, strict=True):
            cluster = current[name].cluster_id if name in current else name
            if cluster != name:
                other = row_of_cluster.get(cluster)
                if other is None:
                    bearer = corpus.row_of(cluster)
                    other = row_of_cluster.setdefault(cluster, row) if bearer is None else bearer
                components.join(row, other)
    return components.labels()
