"""Statistics of a corpus in files: ``decision.statistics.learn``, a range of features at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from es_dedup.batch.columns import FEATURE, Column, offsets_from, value_ranges
from es_dedup.batch.memory import release_memory
from es_dedup.decision.statistics import (
    HASH_BITS,
    LEARN_PAGES,
    PostingSample,
    Statistics,
    weigh,
)
from es_dedup.detectors.ccdet import PeriodTable, learn_noise
from es_dedup.detectors.features import unpack
from es_dedup.text.hashing import HASH_BITS_IN_TERM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from es_dedup.detectors.features import FeatureTable
    from es_dedup.settings import Settings


class StoredFeatures(Protocol):
    """What is read of a corpus: see ``SpilledCorpus``."""

    keys: NDArray[np.uint64]
    days: NDArray[np.int64]
    sites: list[str]

    def __len__(self) -> int:
        """Number of pages."""

    def batches(self) -> Iterator[tuple[int, FeatureTable]]:
        """Features of all rows in order, some at a time, each with the number of its first row."""


def learn_out_of_core(pages: StoredFeatures, settings: Settings, folder: Path, most: int) -> Statistics:
    """The statistics that ``learn`` gives for these pages.

    Args:
        pages: the corpus.
        settings: pruning of period signatures.
        folder: for temporary files.
        most: features held at a time, about.
    """
    chosen = _chosen(pages.keys)
    grams, clauses = Column(folder, "grams", FEATURE), Column(folder, "clauses", FEATURE)
    periods = Column(folder, "periods", np.uint64)
    samples = [PostingSample.of(unpack([]), pages.keys[:0], pages.days[:0])]
    try:
        for first, whole in pages.batches():
            rows = np.flatnonzero(chosen[first : first + len(whole)])
            table = whole.take(rows)
            cover = table.coverage
            grams.add(_features(cover.grams, cover.gram_masks), np.diff(cover.gram_offsets))
            clauses.add(_features(cover.clauses, cover.clause_masks), np.diff(cover.clause_offsets))
            periods.add(table.periods.signatures, np.diff(table.periods.offsets))
            samples.append(PostingSample.of(table, pages.keys[first + rows], pages.days[first + rows]))
        kept = np.flatnonzero(chosen)
        about = PostingSample.joined(samples)
        sites = [pages.sites[row] for row in kept.tolist()]
        noise = [np.zeros(0, dtype=np.uint64)]
        for low, high in value_ranges([periods], most, HASH_BITS_IN_TERM):
            values, owners = periods.between(low, high)
            table_ = PeriodTable.whole(offsets_from(owners, len(kept)), values)
            noise.append(learn_noise(table_, sites, settings.ccdet))
        learned = [_weighed(column, about, most) for column in (grams, clauses)]
    finally:
        for column in (grams, clauses, periods):
            column.close()
    return Statistics(*learned[0], *learned[1], np.concatenate(noise), len(pages))


def _chosen(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Of very many pages those with the smallest keys."""
    chosen = np.ones(len(keys), dtype=np.bool_)
    if len(keys) > LEARN_PAGES:
        chosen[:] = False
        chosen[np.argsort(keys, kind="stable")[:LEARN_PAGES]] = True
    return chosen


def _features(values: NDArray[np.uint32], masks: NDArray[np.uint32]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=FEATURE)
    made["value"], made["mask"] = values, masks
    return made


def _weighed(
    column: Column, about: PostingSample, most: int
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    values, weights = [np.zeros(0, dtype=np.uint32)], [np.zeros(0, dtype=np.float32)]
    for low, high in value_ranges([column], most, HASH_BITS):
        found, owners = column.between(low, high)
        offsets = offsets_from(owners, len(about.keys))
        mine = np.ascontiguousarray(found["value"]), offsets, np.ascontiguousarray(found["mask"])
        known, counted = weigh(*mine, about, np.arange(len(about.keys)))
        values.append(known)
        weights.append(counted)
        release_memory()
    return np.concatenate(values), np.concatenate(weights)
