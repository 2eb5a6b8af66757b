"""A threshold chosen on labelled pairs and evaluated by cross-validation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.evaluation.metrics import PairScores, Share, connected
from es_dedup.model.plain import plain_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.evaluation.labels import LabelledPair, Pair

    Counts = NDArray[np.int64]
    Measures = Mapping[Pair, Mapping[str, float]]

_MIN_FOLDS: Final = 2  # one to choose on, one to measure on
_POSITIVE, _DIFF, _PARTIAL = range(3)


@dataclass(frozen=True, slots=True)
class Axis:
    """One threshold to sweep.

    Attributes:
        name: of the measure.
        values: thresholds to try, at least one.
        at_least: True where the threshold is a minimum of the measure, False where it is a maximum (distances).
    """

    name: str
    values: tuple[float, ...]
    at_least: bool = True


@dataclass(frozen=True, slots=True)
class Fold:
    """The threshold chosen on all other folds, and its figures on this one."""

    threshold: float
    held_out: PairScores


@dataclass(frozen=True, slots=True)
class TuneReport:
    """Result of a sweep.

    Attributes:
        current: figures of the current threshold on all labels; None when not given.
        gained, lost: pairs that the chosen threshold merges and the current one does not, and the reverse.
        chosen: best threshold on all labels: the one to use.
        in_sample: figures of the chosen threshold on the same labels; biased upwards.
        out_of_fold: sum over all folds of the figures under the threshold chosen without the fold; not biased by the choice.
        folds: results by fold; where thresholds vary much between folds, the labels do not determine them.
        bound_kept: False when no threshold keeps the bound on merged ``diff`` pairs; the chosen one then merges
            the fewest of them and, among equals, has the highest recall.
    """

    current: PairScores | None
    gained: tuple[LabelledPair, ...]
    lost: tuple[LabelledPair, ...]
    chosen: float
    in_sample: PairScores
    out_of_fold: PairScores
    folds: tuple[Fold, ...]
    bound_kept: bool = True

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        changed = {
            name: [[each.left, each.right, str(each.label)] for each in getattr(self, name)]
            for name in ("gained", "lost")
        }
        return plain_fields(self) | changed


def tune(
    labels: Iterable[LabelledPair],
    measures: Measures,
    axis: Axis,
    *,
    current: float | None = None,
    folds: int = 5,
    max_merged_diff: float | None = None,
) -> TuneReport:
    """Sweep a threshold, with cross-validation over groups of connected pages.

    A pair is merged when its measure satisfies the threshold; a missing pair or measure satisfies none. Ties go to thresholds that merge
    fewer ``diff`` pairs, then fewer ``partial`` pairs, then to the middle one.

    Args:
        labels: labelled pairs, each once.
        measures: pair (ids in order) to its measures by name.
        axis: threshold to sweep.
        current: the current threshold.
        folds: at least 2; fewer are made when the labels have fewer groups.
        max_merged_diff: None for the best F1; a share in [0, 1] for the best recall among thresholds that merge at most this share of the
            ``diff`` pairs.

    Raises:
        ValueError: there is no value to try, or the labels are one group.
    """
    labels = tuple(labels)
    if not axis.values:
        raise ValueError(f"no value of {axis.name} to try")
    folds_of_pairs = fold_of(labels, folds)
    classes = np.array([_class_of(each) for each in labels])
    found = [measures.get(each.pair, {}).get(axis.name, np.nan) for each in labels]
    values = np.array(found, dtype=np.float64)
    merged = [values >= value if axis.at_least else values <= value for value in axis.values]
    counts, totals = _count(merged, classes, np.array(folds_of_pairs))
    best = _best(counts.sum(axis=1), totals.sum(axis=0), max_merged_diff)
    picks = [
        _best(counts[:, rest].sum(axis=1), totals[rest].sum(axis=0), max_merged_diff)
        for rest in (np.arange(len(totals)) != fold for fold in range(len(totals)))
    ]
    out_of_fold = sum((counts[pick, fold] for fold, pick in enumerate(picks)), np.zeros(3, dtype=np.int64))
    now, scores_now = merged[best], None
    if current is not None:
        now = values >= current if axis.at_least else values <= current
        scores_now = _scores(np.bincount(classes[now], minlength=3), totals.sum(axis=0))
    return TuneReport(
        current=scores_now,
        gained=tuple(labels[place] for place in np.flatnonzero(merged[best] & ~now)),
        lost=tuple(labels[place] for place in np.flatnonzero(now & ~merged[best])),
        chosen=axis.values[best],
        in_sample=_scores(counts[best].sum(axis=0), totals.sum(axis=0)),
        out_of_fold=_scores(out_of_fold, totals.sum(axis=0)),
        folds=tuple(
            Fold(axis.values[at], _scores(counts[at, fold], totals[fold])) for fold, at in enumerate(picks)
        ),
        bound_kept=bool(_allowed(counts.sum(axis=1), totals.sum(axis=0), max_merged_diff).any()),
    )


def fold_of(labels: Sequence[LabelledPair], folds: int) -> list[int]:
    """The fold of each pair.

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
    fold_of_group: dict[str, int] = {}
    for group, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        fold_of_group[group] = min(range(len(load)), key=lambda fold: (load[fold], fold))
        load[fold_of_group[group]] += size
    return [fold_of_group[root[each.left]] for each in labels]


def _count(
    merged: Iterable[NDArray[np.bool_]], classes: NDArray[np.int64], folds: NDArray[np.int64]
) -> tuple[Counts, Counts]:
    """Merged pairs by threshold, fold and class, and all pairs by fold and class."""
    count = int(folds.max()) + 1
    cells = np.eye(count * 3, dtype=np.int64)[folds * 3 + classes]
    counts = np.array([each @ cells for each in merged], dtype=np.int64)
    return counts.reshape(-1, count, 3), cells.sum(axis=0).reshape(count, 3)


def _class_of(pair: LabelledPair) -> int:
    if pair.label.positive:
        return _POSITIVE
    return _DIFF if pair.label == "diff" else _PARTIAL


def _allowed(merged: Counts, totals: Counts, max_merged_diff: float | None) -> NDArray[np.bool_]:
    """Which thresholds keep the bound; all of them without one."""
    if max_merged_diff is None:
        return np.ones(len(merged), dtype=np.bool_)
    return np.asarray(merged[:, _DIFF] <= max_merged_diff * totals[_DIFF] + 1e-9, dtype=np.bool_)


def _best(merged: Counts, totals: Counts, max_merged_diff: float | None) -> int:
    """Place of the best threshold; of equals the middle one, which is farthest from worse ones."""
    hits, wrong, partial = merged[:, _POSITIVE], merged[:, _DIFF], merged[:, _PARTIAL]
    if max_merged_diff is None:
        value = 2 * hits / np.maximum(totals[_POSITIVE] + hits + wrong, 1)
    else:
        # Where no threshold keeps the bound, the one that breaks it least comes nearest.
        value = np.where(_allowed(merged, totals, max_merged_diff), hits, -1 - wrong)
    # Among thresholds that break the bound equally, those that find more; elsewhere this decides nothing.
    most = np.zeros_like(hits) if max_merged_diff is None else -hits
    ranked = np.stack((-np.round(value, 12), wrong, most, partial))
    first = np.lexsort(ranked[::-1])[0]
    tied = np.flatnonzero((ranked == ranked[:, [first]]).all(axis=0))
    return int(tied[len(tied) // 2])


def _scores(merged: Counts, totals: Counts) -> PairScores:
    shares = [Share(int(hits), int(total)) for hits, total in zip(merged, totals, strict=True)]
    return PairScores(shares[_POSITIVE], shares[_DIFF], shares[_PARTIAL])
