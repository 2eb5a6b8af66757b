"""How good is each method alone on the labelled sets, and how do their times compare?

Every registered method and the decision rules, as ``python -m experiments compare`` runs them: candidates by a method's own candidate query, its best
threshold by cross-validation (best F1), figures out of fold. ``edits-zh`` has no labels; its pairs of one article stand
against the pairs across two articles, which are coupled so that the folds stay many. ``x ccdet`` is the time from main text to verified pairs over that of CCDet.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from harness import Row, expect, parser_of, report
from labelled import GROUPED, LABELLED, pair_sets

from es_dedup import Deduplicator, Settings
from es_dedup.batch.featurise import content_of
from es_dedup.detectors.registry import create_detectors, detector_names
from es_dedup.evaluation import Label, labelled
from es_dedup.evaluation.runner import BY_RULES
from experiments.comparison import compare
from experiments.methods import run_method, run_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labelled import PairSet

    from experiments.comparison import MethodComparison, MethodFigures

SETS: Final = (*LABELLED, *GROUPED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--methods", nargs="+", default=(*detector_names(), BY_RULES))
    given = parser.parse_args(arguments)
    table: list[Row] = []
    for pairs in pair_sets(given.data, given.sets):
        found = compared(pairs, given.methods)
        base = found.methods.get("ccdet")
        for method, figures in found.methods.items():
            table.append({"set": pairs.name, "method": method, **row_of(figures, base)})
    report("Methods alone, best threshold out of fold", table, given.json)
    return 0


def compared(pairs: PairSet, methods: Sequence[str]) -> MethodComparison:
    """All methods on one set."""
    alone = tuple(name for name in methods if name != BY_RULES)
    labels = [labelled(*pair, Label.DUP) for pair in pairs.same]
    other = coupled(pairs.same) if pairs.name in GROUPED else pairs.other
    labels += [labelled(*pair, Label.DIFF) for pair in other]
    settings = Settings(detectors=alone) if alone else Settings()
    contents = [content_of(page, settings.extraction)[0] for page in pairs.pages]
    ids = [page.id for page in pairs.pages]
    detectors = create_detectors(settings) if alone else {}
    runs = [run_method(detectors[name], ids, contents, labels) for name in alone]
    if BY_RULES in methods:
        with Deduplicator.open(":memory:") as dedup:
            runs.append(run_rules(dedup, pairs.pages, labels))
    found = compare(runs, labels, len(ids))
    for name, figures in found.methods.items():
        expect(figures.candidates.total == len(pairs.same), f"{name}: labels were lost")
    return found


def coupled(same: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """All pairs across the two articles of each couple of neighbours."""
    return [
        (left, right)
        for one, two in zip(same[::2], same[1::2], strict=False)
        for left in one
        for right in two
    ]


def row_of(figures: MethodFigures, base: MethodFigures | None) -> Row:
    """Figures of one method."""
    cost, tuned = figures.run.cost, figures.tuned
    scores = tuned.out_of_fold if tuned else figures.own
    ratio: Any = round(cost.total_ms / base.run.cost.total_ms, 2) if base else None
    return {
        "candidate recall": _rounded(figures.candidates.value),
        "threshold": _rounded(figures.threshold),
        "recall": _rounded(scores.recall),
        "diff merged": f"{scores.diff.hits}/{scores.diff.total}",
        "F1": _rounded(scores.f1),
        "avg precision": round(figures.average_precision, 3),
        "own recall": _rounded(figures.own.recall),
        "own diff merged": f"{figures.own.diff.hits}/{figures.own.diff.total}",
        "ms/page": round(cost.total_ms, 3),
        "x ccdet": ratio,
        "bytes/page": round(cost.bytes),
        "candidates/query": round(cost.candidates, 1),
        "skipped": sum(figures.run.skipped.values()),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


if __name__ == "__main__":
    sys.exit(main())
