"""The cover that a pair has to reach: by the amount in common, by how the rest was lost, and by the days between."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.decision.thresholds import LONG_UNITS, MOST_SCATTERED, SERIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.decision.pair_context import PairContext
    from es_dedup.decision.thresholds import Thresholds
    from es_dedup.detectors.coverage_pairs import PairMeasures

    Floats = NDArray[np.float64]

LATE_LOG_DAYS: Final = 8.0  # doublings of a day after which a look-alike has to be a near copy


def required_coverage(measures: PairMeasures, known: PairContext, thresholds: Thresholds) -> Floats:
    """Coverage that the better covered page of each pair must reach, in [0, 1]; shape (pairs,).

    Pages of like size on different days may be two issues of a form: they need more, by the logarithm of the days,
    and it does not count for them that their losses are scattered, for another name in the same sentence is that too.

    A long untitled text in words needs less where its losses are scattered, as edits are. If a share p of the words is unedited,
    about p^4 of the sequences of four words survive and p^12 of the clauses of some twelve words. The square root of the ratio
    of gram cover to clause cover, p^-4, is then what the edits took from the gram cover. A missing passage costs both alike,
    so the ratio stays 1. With titles the pair would need no more, which is the least that it needs without. For other
    untitled texts, and for pages with menus, the last rule is stricter, so the lower value has no effect.
    """
    left, right = measures.left.cover, measures.right.cover
    better, both = np.maximum(left, right), np.minimum(left, right)
    alike = (known.days >= 1) & (both >= thresholds.same_cover * better)
    amount = measures.shared_tokens
    scattered = np.where(alike, 1.0, _scattered(measures, left >= right))
    needed = scaled(amount, thresholds.amounts, thresholds.needed_cover) * scattered**-thresholds.scattered
    if not known.titled.all():
        untitled = untitled_cover(amount, known.in_words, thresholds)
        edited = np.maximum(untitled / np.sqrt(scattered), np.minimum(untitled, needed))
        untitled = np.where(amount >= LONG_UNITS, edited, untitled)
        needed = np.where(known.titled, needed, untitled)
    if SERIES in thresholds.without:
        return needed
    late = np.where(alike, np.minimum(np.log2(1.0 + known.days) / LATE_LOG_DAYS, 1.0), 0.0)
    return np.asarray(needed + np.maximum(thresholds.near_copy - needed, 0.0) * late)


def untitled_cover(amount: Floats, in_words: NDArray[np.bool_], thresholds: Thresholds) -> Floats:
    """Coverage that pages without titles must reach, in [0, 1]; shape (pairs,)."""
    return np.where(
        in_words,
        thresholds.words_cover,
        scaled(amount, thresholds.untitled_amounts, thresholds.untitled_cover),
    )


def scaled(amount: Floats, amounts: tuple[float, ...], covers: tuple[float, ...]) -> Floats:
    """Required coverage for an amount: piecewise linear in its logarithm, constant at both ends."""
    return np.interp(np.log2(np.maximum(amount, 1.0)), *_points(amounts, covers))


def _scattered(measures: PairMeasures, by_left: NDArray[np.bool_]) -> Floats:
    """How scattered the losses of the better covered page are: its gram cover over its clause cover, from 1 to ``MOST_SCATTERED``.

    What is missing as a block takes grams and clauses alike. An edit takes the few grams around it, but the whole clause:
    where more clauses are lost than grams, the text is in place and was edited here and there.
    """
    left, right = measures.left, measures.right
    grams = np.where(by_left, left.gram_cover, right.gram_cover)
    clauses = np.where(by_left, left.clause_cover, right.clause_cover)
    return np.clip(grams / np.maximum(clauses, 1e-9), 1.0, MOST_SCATTERED)


@cache
def _points(amounts: tuple[float, ...], covers: tuple[float, ...]) -> tuple[Floats, Floats]:
    return np.log2(amounts), np.array(covers)
