"""Verification of many candidate pairs; in numpy a cheap pass over all comes first, and the full measures for what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup import native
from es_dedup.decision.comparison import compare, decide_rows
from es_dedup.decision.method_rules import decided
from es_dedup.decision.rules import BY_RULES, RELATIONS
from es_dedup.decision.thresholds import BALANCED, thresholds_of
from es_dedup.detectors.coverage_pairs import best_cover, measure
from es_dedup.model import Edge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.decision.comparison import Pages
    from es_dedup.decision.rules import PairDecisions
    from es_dedup.decision.statistics import Statistics
    from es_dedup.decision.thresholds import Thresholds
    from es_dedup.detectors.coverage_pairs import Weights
    from es_dedup.settings import Settings

BLOCK: Final = 4096  # pairs measured at a time: about 30 MB of arrays


@dataclass(frozen=True, slots=True)
class Verified:
    """Pairs that are related; every array has shape (pairs,).

    Attributes:
        left, right: rows.
        relation: index into ``RELATIONS``, never 0.
        score: agreement, in [0, 1].
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    relation: NDArray[np.int8]
    score: NDArray[np.float64]

    @classmethod
    def concatenate(cls, parts: list[Verified]) -> Verified:
        """Several results as one."""
        rows = np.zeros(0, dtype=np.int64)
        nothing = cls(rows, rows, rows.astype(np.int8), rows.astype(np.float64))
        columns = ((each.left, each.right, each.relation, each.score) for each in (nothing, *parts))
        return cls(*map(np.concatenate, zip(*columns, strict=True)))

    def edges(self, ids: list[str]) -> list[Edge]:
        """The pairs as edges, the smaller id on the left."""
        edges = []
        for left, right, relation, score in zip(
            self.left.tolist(), self.right.tolist(), self.relation.tolist(), self.score.tolist(), strict=True
        ):
            kind, first, second = RELATIONS[relation], ids[left], ids[right]
            if first > second:
                kind, first, second = kind.reversed, second, first
            edges.append(Edge(first, second, kind, round(score, 4)))
        return edges


def verify(
    pages: Pages,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    weights: Weights,
    thresholds: Thresholds = BALANCED,
) -> Verified:
    """Related pairs among the pairs (left row, right row) of one table.

    Args:
        pages: rows of both sides.
        left, right: rows of the pairs; about ``BLOCK`` at a time.
        weights: what the table's grams and clauses count.
        thresholds: of the decision rules.
    """
    cover = pages.table.coverage
    if not native.core:  # which measures all in less time than numpy takes for this alone
        # the decision rules never accept less than this, so nothing is lost here
        likely = best_cover(cover, left, cover, right, weights, weights) >= thresholds.least_cover
        likely |= pages.table.hashes[left] == pages.table.hashes[right]
        left, right = left[likely], right[likely]
    measures = measure(cover, left, cover, right, weights, weights)
    return _kept(left, right, decide_rows(measures, pages, left, pages, right, thresholds))


def verify_by(
    statistics: Statistics,
    settings: Settings,
    pages: Pages,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    *,
    weights: Weights,
) -> Verified:
    """As ``verify``, by whoever decides: the decision rules with the thresholds of their preset, or one method."""
    thresholds = thresholds_of(settings.decision)
    if settings.decision.method == BY_RULES:
        return verify(pages, left, right, weights, thresholds)
    compared = compare(pages, left, pages, right, statistics, thresholds)
    return _kept(left, right, decided(compared, settings, statistics).decisions)


def _kept(left: NDArray[np.int64], right: NDArray[np.int64], decisions: PairDecisions) -> Verified:
    kept = decisions.rule == 0
    return Verified(left[kept], right[kept], decisions.relation[kept], decisions.score(kept))
