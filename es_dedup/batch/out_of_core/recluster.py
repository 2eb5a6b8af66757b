"""The whole run over a stored corpus: statistics, pairs, edges, clusters, written as they come."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.batch.out_of_core.components import Components, batches
from es_dedup.batch.out_of_core.pages import SpilledCorpus
from es_dedup.batch.overrides import load_constraints
from es_dedup.batch.recluster import ClusteringResult, related_pairs, silent
from es_dedup.batch.verify import Verified
from es_dedup.clustering import Neighbourhood, repair
from es_dedup.decision.rules import RELATIONS
from es_dedup.model import Progress
from es_dedup.settings.recorded import STATISTICS, clustered_with
from es_dedup.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from es_dedup.batch.recluster import ProgressListener
    from es_dedup.index.port import Assignment, Index
    from es_dedup.model import Edge
    from es_dedup.settings import Settings

    Rows = NDArray[np.int64]

MOST: Final = 500_000  # terms or features held at a time: some 40 MB with what is made of them
PAGES: Final = 2_000  # pages and edges that are objects at a time


def recluster_out_of_core(
    index: Index,
    settings: Settings,
    progress: ProgressListener | None = None,
    *,
    most: int = MOST,
    pages: int = PAGES,
) -> ClusteringResult:
    """Learn statistics, find and decide all candidate pairs, cluster everything, and store the result.

    The result is that of ``recluster_corpus`` over ``load_corpus``.

    Args:
        index: holds the pages; the caller keeps other writers out.
        settings: detectors, decision settings and canonical order; the index records them.
        progress: called with the progress.
        most: terms or features held at a time, about.
        pages: pages and edges that are objects at a time, about; a larger component of pages is held whole.

    Returns:
        What was done; ``edges`` is left empty, ``pairs`` and the statistics are there.
    """
    report_progress = progress or silent
    with (
        temporary_folder("recluster") as folder,
        closing(SpilledCorpus(index, settings, folder, most, report_progress)) as stored,
    ):
        total = len(stored)
        found = related_pairs(stored, settings, report_progress)
        report_progress(Progress("cluster", 0, total))
        statistics, related = found.statistics, found.pairs
        index.save_statistics(statistics.to_bytes())
        index.set_note(STATISTICS, clustered_with(statistics.version, settings))
        labels = _together(index, stored, related, pages)
        index.replace_all(
            _edges(stored, related, pages), _assignments(index, stored, related, labels, settings, pages)
        )
        report_progress(Progress("cluster", total, total))
        return ClusteringResult(
            statistics,
            [],
            found.compared,
            found.capped_terms,
            stored=total,
            related=len(related.left),
            use=found.use,
        )


def _together(index: Index, stored: SpilledCorpus, related: Verified, pages: int) -> Rows:
    """Label of each row: equal for rows that have to be clustered together.

    These are connected by equal or duplicate edges, or are in one cluster now, or one bears the name of the other's cluster, or
    they were decided same.
    """
    components = Components(len(stored))
    for unit in set(load_constraints(index).units.values()):
        rows_of_unit = [row for name in unit if (row := stored.row_of(name)) is not None]
        for left, right in pairwise(rows_of_unit):
            components.join(left, right)
    same = np.array([relation.same for relation in RELATIONS])[related.relation]
    for left, right in zip(related.left[same].tolist(), related.right[same].tolist(), strict=True):
        components.join(left, right)
    named: dict[str, int] = {}  # of a cluster whose page of that name is gone, a row
    for first in range(0, len(stored), pages):
        rows = np.arange(first, min(first + pages, len(stored)))
        names = [key.page_id for key in stored.keys_of(rows)]
        current = index.assignments(names)
        for row, name in zip(rows.tolist(), names, strict=True):
            cluster = current[name].cluster_id if name in current else name
            if cluster != name:
                other = named.get(cluster)
                if other is None:
                    found = stored.row_of(cluster)
                    other = named.setdefault(cluster, row) if found is None else found
                components.join(row, other)
    return components.labels()


def _edges(stored: SpilledCorpus, related: Verified, pages: int) -> Iterator[Edge]:
    for start in range(0, len(related.left), pages):
        yield from _edges_at(stored, related, np.arange(start, min(start + pages, len(related.left))))


def _edges_at(stored: SpilledCorpus, related: Verified, places: Rows) -> list[Edge]:
    rows, at = np.unique(np.concatenate((related.left[places], related.right[places])), return_inverse=True)
    half = len(places)
    some = Verified(at[:half], at[half:], related.relation[places], related.score[places])
    return some.edges([key.page_id for key in stored.keys_of(rows)])


def _assignments(
    index: Index, stored: SpilledCorpus, related: Verified, labels: Rows, settings: Settings, pages: int
) -> Iterator[Assignment]:
    """All assignments, component after component."""
    constraints = load_constraints(index)
    owners = labels[related.left]
    order = np.argsort(owners, kind="stable")
    owners = owners[order]
    for rows in batches(labels, pages):
        near = labels[rows]
        start, end = np.searchsorted(owners, [near[0], near[-1] + 1])
        keys = stored.keys_of(rows)
        current = index.assignments(key.page_id for key in keys)
        edges = _edges_at(stored, related, order[start:end])
        around = Neighbourhood(tuple(keys), tuple(edges), current, constraints)
        change = repair(around, settings.cluster)
        current.update((each.page_id, each) for each in change.assignments)
        yield from current.values()
