"""All methods side by side on the same pages and the same labelled pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from es_dedup.evaluation.labels import digest
from es_dedup.evaluation.metrics import PairScores, Share, candidate_recall, pair_scores
from es_dedup.evaluation.tune import Axis, TuneReport, tune
from es_dedup.model import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.evaluation.labels import LabelledPair, Pair
    from experiments.methods import MethodRun

SCORE: Final = "score"
MOST_VALUES: Final = 400
"""Most thresholds tried; the scores of the pairs, thinned out evenly where there are more."""
CHANCE_BANDS: Final = 10
"""Bands of the score, each a tenth wide, in which predicted and measured shares of candidates are compared."""
_SLACK: Final = 1e-9


@dataclass(frozen=True, slots=True)
class ChanceBand:
    """Labelled pairs with a score in one band: the predicted and the measured share of candidates among them."""

    low: float
    pairs: int
    predicted: float
    measured: float


@dataclass(frozen=True, slots=True)
class MethodFigures:
    """One method in the comparison; a pair counts as merged only if it is a candidate of the method.

    Attributes:
        run: costs, skipped pages and verdicts.
        candidates: share of the ``dup`` and ``contain`` pairs that are candidates.
        own: figures under its configured thresholds.
        tuned: the best threshold of its score, by cross-validation; None where the labels do not determine one.
        average_precision: area below the steps of precision over recall, from the highest threshold to the lowest, in [0, 1].
        chances: predicted and measured share of candidates by score; empty for methods that predict none.
    """

    run: MethodRun
    candidates: Share
    own: PairScores
    tuned: TuneReport | None
    average_precision: float
    chances: tuple[ChanceBand, ...]

    @property
    def threshold(self) -> float | None:
        """The best threshold on all labels."""
        return self.tuned.chosen if self.tuned else None

    def merges(self, pair: Pair) -> bool:
        """Whether it merges this pair under its best threshold, or under its configured thresholds where there is none."""
        score = self.run.score(pair)
        if score is None:
            return False
        if self.threshold is None:
            return self.run.verdicts[pair].relation is not Relation.DIFFERENT
        return score >= self.threshold - _SLACK


@dataclass(frozen=True, slots=True)
class Alone:
    """A pair on which one method differs from all others.

    Attributes:
        pair: the labelled pair.
        method: the one that differs.
        right: whether it alone is right (else it alone is wrong).
        scores: every method's score; None where the pair is no candidate or has no verdict.
    """

    pair: LabelledPair
    method: str
    right: bool
    scores: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class MethodComparison:
    """The result: figures by method in the order given, and the pairs on which one method stands alone."""

    labels: tuple[LabelledPair, ...]
    pages: int
    max_merged_diff: float | None
    methods: Mapping[str, MethodFigures]
    alone: tuple[Alone, ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "pages": self.pages,
            "pairs": len(self.labels),
            "labels_sha256": digest(self.labels),
            "max_merged_diff": self.max_merged_diff,
            "methods": {name: _method_dict(figures) for name, figures in self.methods.items()},
            "alone": [_alone_dict(each, self.methods) for each in self.alone],
        }


def compare(
    runs: Sequence[MethodRun],
    labels: Sequence[LabelledPair],
    pages: int,
    *,
    folds: int = 5,
    max_merged_diff: float | None = None,
) -> MethodComparison:
    """Compare methods on the same corpus and labelled pairs.

    Args:
        runs: one for each method, over the same corpus.
        labels: labelled pairs, each once.
        pages: size of the corpus.
        folds: parts of the cross-validation, at least 2.
        max_merged_diff: share of ``diff`` pairs that the best threshold may merge; None: the best F1.
    """
    methods = {run.name: _figures(run, tuple(labels), folds, max_merged_diff) for run in runs}
    return MethodComparison(tuple(labels), pages, max_merged_diff, methods, _alone(methods, labels))


def _figures(
    run: MethodRun, labels: tuple[LabelledPair, ...], folds: int, max_merged_diff: float | None
) -> MethodFigures:
    scores = {each.pair: run.score(each.pair) for each in labels}
    measures = {pair: {SCORE: score} for pair, score in scores.items() if score is not None}
    own = {pair: verdict.relation for pair, verdict in run.verdicts.items() if pair in run.candidates}
    return MethodFigures(
        run=run,
        candidates=candidate_recall(labels, run.candidates),
        own=pair_scores(labels, own),
        tuned=_tuned(labels, measures, folds, max_merged_diff),
        average_precision=_average_precision(labels, scores),
        chances=_chances(run),
    )


def _tuned(
    labels: tuple[LabelledPair, ...],
    measures: Mapping[Pair, Mapping[str, float]],
    folds: int,
    max_merged_diff: float | None,
) -> TuneReport | None:
    values = sorted({round(found[SCORE], 12) for found in measures.values()} - {0.0})
    if not values:
        return None
    if len(values) > MOST_VALUES:
        values = [values[at * (len(values) - 1) // (MOST_VALUES - 1)] for at in range(MOST_VALUES)]
    tolerant = {pair: {SCORE: found[SCORE] + _SLACK} for pair, found in measures.items()}
    # above every score: a method whose every threshold breaks the bound may merge nothing
    axis = Axis(SCORE, (*values, values[-1] + 2 * _SLACK))
    try:
        return tune(labels, tolerant, axis, folds=folds, max_merged_diff=max_merged_diff)
    except ValueError:
        return None


def _average_precision(labels: Sequence[LabelledPair], scores: Mapping[Pair, float | None]) -> float:
    """Precision at each score that a positive pair has, weighed by the recall that it adds; partial pairs are ignored."""
    positive = sum(each.label.positive for each in labels)
    ranked = sorted(
        (
            (score, each.label.positive)
            for each in labels
            if (score := scores[each.pair]) and each.label != "partial"
        ),
        reverse=True,
    )
    area, hits, merged = 0.0, 0, 0
    for _, pairs in groupby(ranked, key=itemgetter(0)):
        right = [is_positive for _, is_positive in pairs]
        hits, merged = hits + sum(right), merged + len(right)
        area += sum(right) / max(positive, 1) * hits / merged
    return area


def _chances(run: MethodRun) -> tuple[ChanceBand, ...]:
    if run.chance is None:
        return ()
    bands: list[list[tuple[float, bool]]] = [[] for _ in range(CHANCE_BANDS)]
    for pair, verdict in run.verdicts.items():
        place = min(int(verdict.score * CHANCE_BANDS), CHANCE_BANDS - 1)
        bands[place].append((run.chance(verdict.score), pair in run.candidates))
    return tuple(
        ChanceBand(
            place / CHANCE_BANDS,
            len(found),
            sum(chance for chance, _ in found) / len(found),
            sum(is_candidate for _, is_candidate in found) / len(found),
        )
        for place, found in enumerate(bands)
        if found
    )


def _alone(methods: Mapping[str, MethodFigures], labels: Sequence[LabelledPair]) -> tuple[Alone, ...]:
    """Pairs that exactly one method decides rightly, or exactly one wrongly; none below three methods."""
    if len(methods) < 3:  # noqa: PLR2004 - of two that differ, neither stands alone
        return ()
    found = []
    for each in labels:
        if each.label == "partial":
            continue
        right = {
            name for name, figures in methods.items() if figures.merges(each.pair) == each.label.positive
        }
        for names, is_right in ((right, True), (methods.keys() - right, False)):
            if len(names) == 1:
                scores = {name: figures.run.score(each.pair) for name, figures in methods.items()}
                found.append(Alone(each, next(iter(names)), is_right, scores))
    return tuple(found)


def _method_dict(figures: MethodFigures) -> dict[str, Any]:
    return {
        "cost": figures.run.cost.as_dict(),
        "skipped": dict(figures.run.skipped),
        "candidate_recall": figures.candidates.as_dict(),
        "own": figures.own.as_dict(),
        "threshold": figures.threshold,
        "tuned": figures.tuned.as_dict() if figures.tuned else None,
        "average_precision": round(figures.average_precision, 4),
        "chances": [
            [band.low, band.pairs, round(band.predicted, 4), round(band.measured, 4)]
            for band in figures.chances
        ],
    }


def _alone_dict(each: Alone, methods: Mapping[str, MethodFigures]) -> dict[str, Any]:
    figures, pair = methods[each.method], each.pair.pair
    verdict = figures.run.verdicts.get(pair)
    verdicts = (one.run.verdicts.get(pair) for one in methods.values())
    shares = next((one.shares for one in verdicts if one is not None and one.shares is not None), None)
    return {
        "left": each.pair.left,
        "right": each.pair.right,
        "label": str(each.pair.label),
        "method": each.method,
        "verdict": "right" if each.right else "wrong",
        "threshold": figures.threshold,
        "shares": shares,
        "evidence": dict(verdict.evidence) if verdict else {},
        "scores": {name: None if score is None else round(score, 4) for name, score in each.scores.items()},
    }
