"""Limits chosen on labelled pairs and measured on pairs they were not chosen on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.evaluation.groups import connected
from es_dedup.evaluation.metrics import PairScores, Share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.evaluation.labels import LabelledPair, Pair

    Counts = NDArray[np.int64]
    Measures = Mapping[Pair, Mapping[str, float]]

MAX_COMBINATIONS: Final = 200_000
"""Combinations of limits in one sweep; beyond it, sweep fewer axes or values."""

_MIN_FOLDS: Final = 2  # one to choose on, one to measure on
_POSITIVE, _DIFF, _PARTIAL = range(3)


@dataclass(frozen=True, slots=True)
class Axis:
    """One limit to sweep.

    Attributes:
        name: of the measure.
        values: limits to try, at least one.
        at_least: True when a pair needs this much or more, False when it may have no more than this
            (distances).
    """

    name: str
    values: tuple[float, ...]
    at_least: bool = True


@dataclass(frozen=True, slots=True)
class Goal:
    """What is best.

    Attributes:
        max_merged_diff: None for the best F1; a share in [0, 1] for the best recall among limits that merge
            no larger share of the ``diff`` pairs.

    Of equally good limits those that merge fewer ``diff``, then fewer ``partial`` pairs are better; of what is
    left the middle ones are taken.
    """

    max_merged_diff: float | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """Limits chosen on all other folds, and what they give on this one."""

    limits: Mapping[str, float]
    held_out: PairScores


@dataclass(frozen=True, slots=True)
class TuneReport:
    """Result of a sweep.

    Attributes:
        current: figures of the current limits on all labels; None when not given.
        gained, lost: pairs that the chosen limits merge and the current ones do not, and the reverse.
        chosen: best limits on all labels; what to use.
        in_sample: their figures on the same labels: too good by nature.
        out_of_fold: figures of each fold under the limits chosen without it, added up: the ones to believe.
        folds: one by one; limits that differ much between folds are not determined by these labels.
        groups: connected groups of labelled pages, which folds never cut.
        largest_group: pairs of the largest group; when it holds most pairs, folds differ much in size.
        bound_kept: False when no limit keeps the goal's bound on merged ``diff`` pairs; the chosen one then merges
            the fewest of them, and of such limits finds the most.
    """

    current: PairScores | None
    gained: tuple[LabelledPair, ...]
    lost: tuple[LabelledPair, ...]
    chosen: Mapping[str, float]
    in_sample: PairScores
    out_of_fold: PairScores
    folds: tuple[Fold, ...]
    groups: int
    largest_group: int
    bound_kept: bool = True

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "chosen": dict(self.chosen),
            "in_sample": self.in_sample.as_dict(),
            "out_of_fold": self.out_of_fold.as_dict(),
            "folds": [
                {"limits": dict(each.limits), "held_out": each.held_out.as_dict()} for each in self.folds
            ],
            "groups": self.groups,
            "largest_group": self.largest_group,
            "bound_kept": self.bound_kept,
            "current": self.current.as_dict() if self.current else None,
            "gained": [[each.left, each.right, str(each.label)] for each in self.gained],
            "lost": [[each.left, each.right, str(each.label)] for each in self.lost],
        }


def tune(
    labels: Iterable[LabelledPair],
    measures: Measures,
    axes: Sequence[Axis],
    *,
    current: Mapping[str, float] | None = None,
    folds: int = 5,
    goal: Goal | None = None,
) -> TuneReport:
    """Sweep limits over a grid, with cross-validation over groups of connected pages.

    A pair is merged when it keeps the limits of all axes; a pair or a measure that is missing keeps none.

    Args:
        labels: labelled pairs, each once.
        measures: pair (ids in order) to its measures by name.
        axes: the limits, at least one.
        current: axis name to today's limit, for every axis.
        folds: at least 2; fewer are made when the labels have fewer groups.
        goal: what is best; F1 when left out.

    Raises:
        ValueError: the grid is empty or too large, the labels are one group, or ``current`` lacks an axis.
    """
    labels, goal = tuple(labels), goal or Goal()
    grid = [dict(zip((axis.name for axis in axes), values, strict=True)) for values in _grid(axes)]
    where, sizes = fold_of(labels, folds)
    counts, totals = _count(labels, measures, axes, where)
    best = _best(counts.sum(axis=1), totals.sum(axis=0), goal)
    picks = _picks(counts, totals, goal)
    held = sum((counts[pick, fold] for fold, pick in enumerate(picks)), np.zeros(3, dtype=np.int64))
    return TuneReport(
        *_compare(labels, measures, axes, grid[best], current),
        chosen=grid[best],
        in_sample=_scores(counts[best].sum(axis=0), totals.sum(axis=0)),
        out_of_fold=_scores(held, totals.sum(axis=0)),
        folds=tuple(Fold(grid[at], _scores(counts[at, fold], totals[fold])) for fold, at in enumerate(picks)),
        groups=len(sizes),
        largest_group=sizes[0],
        bound_kept=bool(_allowed(counts.sum(axis=1), totals.sum(axis=0), goal).any()),
    )


def fold_of(labels: Sequence[LabelledPair], folds: int) -> tuple[list[int], list[int]]:
    """The fold of each pair, and the pairs of each group of connected pages, most first.

    Pages that any label connects are in one group and a group is in one fold, so no page is on both sides.
    Groups go, largest first, to the fold with the fewest pairs.

    Raises:
        ValueError: fewer than two folds are given, or fewer than two groups exist.
    """
    root = connected((), (each.pair for each in labels))
    sizes = Counter(root[each.left] for each in labels)
    if min(folds, len(sizes)) < _MIN_FOLDS:
        raise ValueError(
            f"cross-validation needs two folds and two groups of pages, got {folds} and {len(sizes)}: "
            "label pairs of pages that no other label connects"
        )
    load = [0] * min(folds, len(sizes))
    chosen: dict[str, int] = {}
    for group, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        chosen[group] = min(range(len(load)), key=lambda fold: (load[fold], fold))
        load[chosen[group]] += size
    return [chosen[root[each.left]] for each in labels], sorted(sizes.values(), reverse=True)


def _grid(axes: Sequence[Axis]) -> list[tuple[float, ...]]:
    size = int(np.prod([len(axis.values) for axis in axes])) if axes else 0
    if not 0 < size <= MAX_COMBINATIONS:
        raise ValueError(
            f"the grid has {size} combinations, allowed are 1 to {MAX_COMBINATIONS}: change the axes"
        )
    return list(product(*(axis.values for axis in axes)))


def _keeps(labels: Sequence[LabelledPair], measures: Measures, axis: Axis) -> list[NDArray[np.bool_]]:
    """For each value of an axis, which pairs keep it."""
    found = np.array(
        [measures.get(each.pair, {}).get(axis.name, np.nan) for each in labels], dtype=np.float64
    )
    return [found >= value if axis.at_least else found <= value for value in axis.values]


def _merged(
    labels: Sequence[LabelledPair], measures: Measures, axes: Sequence[Axis]
) -> Iterator[NDArray[np.bool_]]:
    """For each combination in the order of the grid, which pairs are merged."""
    for kept in product(*(_keeps(labels, measures, axis) for axis in axes)):
        yield np.logical_and.reduce(kept)


def _count(
    labels: Sequence[LabelledPair], measures: Measures, axes: Sequence[Axis], where: Sequence[int]
) -> tuple[Counts, Counts]:
    """Merged pairs by combination, fold and class, and all pairs by fold and class."""
    folds = max(where) + 1
    cells = np.zeros((len(labels), folds * 3), dtype=np.int64)
    for row, (each, fold) in enumerate(zip(labels, where, strict=True)):
        cells[row, fold * 3 + _group(each)] = 1
    counts = np.array([merged @ cells for merged in _merged(labels, measures, axes)], dtype=np.int64)
    return counts.reshape(-1, folds, 3), cells.sum(axis=0).reshape(folds, 3)


def _group(pair: LabelledPair) -> int:
    if pair.label.positive:
        return _POSITIVE
    return _DIFF if pair.label == "diff" else _PARTIAL


def _picks(counts: Counts, totals: Counts, goal: Goal) -> list[int]:
    """For each fold the best combination on all other folds."""
    others = [np.arange(len(totals)) != fold for fold in range(len(totals))]
    return [_best(counts[:, rest].sum(axis=1), totals[rest].sum(axis=0), goal) for rest in others]


def _allowed(merged: Counts, totals: Counts, goal: Goal) -> NDArray[np.bool_]:
    """Which combinations keep the goal's bound; all of them without one."""
    if goal.max_merged_diff is None:
        return np.ones(len(merged), dtype=np.bool_)
    return np.asarray(merged[:, _DIFF] <= goal.max_merged_diff * totals[_DIFF] + 1e-9, dtype=np.bool_)


def _best(merged: Counts, totals: Counts, goal: Goal) -> int:
    """Place of the best combination: of equals the middle one, farthest from where it gets worse."""
    hits, wrong, partial = merged[:, _POSITIVE], merged[:, _DIFF], merged[:, _PARTIAL]
    if goal.max_merged_diff is None:
        value = 2 * hits / np.maximum(totals[_POSITIVE] + hits + wrong, 1)
    else:
        # Where no combination keeps the bound, the one that breaks it least comes nearest.
        value = np.where(_allowed(merged, totals, goal), hits, -1 - wrong)
    # Among combinations that break the bound equally, those that find more; elsewhere this decides nothing.
    most = np.zeros_like(hits) if goal.max_merged_diff is None else -hits
    ranked = np.stack((-np.round(value, 12), wrong, most, partial))
    first = np.lexsort(ranked[::-1])[0]
    tied = np.flatnonzero((ranked == ranked[:, [first]]).all(axis=0))
    return int(tied[len(tied) // 2])


def _scores(merged: Counts, totals: Counts) -> PairScores:
    shares = [Share(int(hits), int(total)) for hits, total in zip(merged, totals, strict=True)]
    return PairScores(shares[_POSITIVE], shares[_DIFF], shares[_PARTIAL])


def _compare(
    labels: Sequence[LabelledPair],
    measures: Measures,
    axes: Sequence[Axis],
    chosen: Mapping[str, float],
    current: Mapping[str, float] | None,
) -> tuple[PairScores | None, tuple[LabelledPair, ...], tuple[LabelledPair, ...]]:
    """Figures of the current limits, pairs gained and pairs lost."""
    if current is None:
        return None, (), ()
    missing = [axis.name for axis in axes if axis.name not in current]
    if missing:
        raise ValueError(f"the current limits lack {', '.join(missing)}: name one for every axis")
    old, new = (
        next(
            _merged(labels, measures, [Axis(axis.name, (limits[axis.name],), axis.at_least) for axis in axes])
        )
        for limits in (current, chosen)
    )
    gained = tuple(each for each, was, now in zip(labels, old, new, strict=True) if now and not was)
    lost = tuple(each for each, was, now in zip(labels, old, new, strict=True) if was and not now)
    merged, totals = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    for each, was in zip(labels, old, strict=True):
        merged[_group(each)] += was
        totals[_group(each)] += 1
    return _scores(merged, totals), gained, lost
