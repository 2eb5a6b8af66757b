"""All stored pages clustered again: in memory where they fit, else out of core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.batch.corpus import load_corpus
from es_dedup.batch.out_of_core import recluster_out_of_core
from es_dedup.batch.recluster import recluster_corpus

if TYPE_CHECKING:
    from es_dedup.batch.recluster import ClusteringResult, ProgressListener
    from es_dedup.index.port import Index
    from es_dedup.settings import Settings

IN_MEMORY_PAGES: Final = 300_000  # some 2 GB with what is made of them; beyond, it takes temporary files


def recluster_stored(
    index: Index, settings: Settings, progress: ProgressListener | None = None
) -> ClusteringResult:
    """Learn statistics, find and decide all candidate pairs, cluster everything, and store the result.

    Args:
        index: holds the pages; the caller keeps other writers out.
        settings: detectors, decision settings and canonical order; the index records them.
        progress: called with the progress.

    Returns:
        What was done. Beyond ``IN_MEMORY_PAGES`` pages it has neither edges nor assignments: the index has them.
    """
    if index.count() > IN_MEMORY_PAGES:
        return recluster_out_of_core(index, settings, progress)
    return recluster_corpus(index, load_corpus(index), settings, progress)
