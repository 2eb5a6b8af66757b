"""Do the decision rules' thresholds hold on sets they were not chosen on? Each set, and each story of portal-zh, left out in turn.

The last row leaves out portal-zh with all its stories.

For every left-out part a few thresholds are chosen again on all other parts, one threshold after the other over a small grid, and
the part is measured with them. Chosen is what gives the best mean over the parts of: recall, less the share of different
pairs accepted, plus half the share of right relations; every part counts the same. Shown beside it: the part under
the thresholds of the preset, which have seen it. Where the two differ much, the thresholds are fitted to that part.

``--trained`` adds a model trained on all other parts in place of the rules: trees (CatBoost, ``experiments/requirements.txt``) on all measures of a pair and
all facts that the rules use, every part with the same weight. It says whether pages are accepted, not their relation.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from bench_presets import all_measured
from harness import Row, expect, parser_of, report
from labelled import GROUPED, LABELLED, TEXT_ONLY
from measured_pairs import POSITIVE, shown

from es_dedup.decision.pair_facts import facts_of
from es_dedup.decision.thresholds import BALANCED
from es_dedup.evaluation import Label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from measured_pairs import Measured, Score
    from numpy.typing import NDArray

    from es_dedup.decision.thresholds import Thresholds

STORIES: Final = "portal-zh"  # the set whose groups are left out too
NEAR: Final = 1e-9
TITLED: Final = ("portal-zh", "news-zh-2025", "news-en")
ALL_SETS: Final = (*LABELLED, *GROUPED, *(f"{name}{TEXT_ONLY}" for name in TITLED))


def shifted(values: tuple[float, ...], by: float) -> tuple[float, ...]:
    """The values, each moved by as much."""
    return tuple(value + by for value in values)


AXES: Final[dict[str, tuple[tuple[Any, ...], Callable[[Thresholds, Any], Thresholds]]]] = {
    "cover of long pages": (
        (0.50, 0.54, 0.58, 0.61, 0.64, 0.67),
        lambda thresholds, value: replace(thresholds, needed_cover=(*thresholds.needed_cover[:2], value)),
    ),
    "cover of short pages": (
        (0.46, 0.50, 0.55, 0.58),
        lambda thresholds, value: replace(
            thresholds, needed_cover=(thresholds.needed_cover[0], value, thresholds.needed_cover[2])
        ),
    ),
    "scattered": ((0.0, 0.04, 0.08, 0.12), lambda thresholds, value: replace(thresholds, scattered=value)),
    "same size": ((0.60, 0.64, 0.67, 0.70), lambda thresholds, value: replace(thresholds, same_size=value)),
    "about the title": (
        (0.10, 0.14, 0.18, 0.22),
        lambda thresholds, value: replace(thresholds, about_title=value),
    ),
    "untitled, more by": (
        (-0.06, -0.03, 0.0, 0.03, 0.06),
        lambda thresholds, value: replace(thresholds, untitled_cover=shifted(BALANCED.untitled_cover, value)),
    ),
    "words": (
        (0.62, 0.66, 0.70, 0.72, 0.74, 0.78),
        lambda thresholds, value: replace(thresholds, words_cover=value),
    ),
    "near copy": ((0.90, 0.95, 0.98, 1.01), lambda thresholds, value: replace(thresholds, near_copy=value)),
    "quotation or passage": (
        (0.60, 0.70, 0.80, 1.01),
        lambda thresholds, value: replace(thresholds, copied_cover=value),
    ),
}
"""Thresholds that are chosen again: their grid, and the thresholds with a value in place."""


@dataclass(frozen=True, slots=True)
class Part:
    """A set, or the pairs of one story of it (``chosen``)."""

    name: str
    measured: Measured
    chosen: NDArray[np.bool_] | None = None

    def score(self, thresholds: Thresholds) -> Score:
        """The decision rules' answers on this part."""
        return self.measured.score(thresholds, chosen=self.chosen)

    @property
    def labels(self) -> NDArray[np.object_]:
        """Of its pairs."""
        return self.measured.labels if self.chosen is None else self.measured.labels[self.chosen]

    def inputs(self) -> NDArray[np.float64]:
        """What a trained model knows of its pairs, shape (pairs, inputs): facts, and the measures of the better covered page and of the other one."""
        measures, context = self.measured.known
        facts = facts_of(measures, context, BALANCED)
        found = [
            getattr(facts, name)
            for name in type(facts).__slots__
            if name not in ("left_cover", "right_cover", "min_both", "min_tokens", "thresholds")
        ]
        found += [measures.shared_clauses, measures.discounted_clauses]
        better = measures.left.cover >= measures.right.cover
        for name in type(measures.left).__slots__:
            left, right = getattr(measures.left, name), getattr(measures.right, name)
            found += [np.where(better, left, right), np.where(better, right, left)]
        whole = np.column_stack(found).astype(np.float64)
        return whole if self.chosen is None else whole[self.chosen]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="*", default=ALL_SETS, choices=ALL_SETS)
    parser.add_argument("--rounds", type=int, default=2, help="over all thresholds; more change nothing")
    parser.add_argument("--no-read", action="store_true", help="without the pairs read for this project")
    parser.add_argument("--trained", action="store_true", help="also a model in place of the rules")
    given = parser.parse_args(arguments)
    parts = parts_of(all_measured(given.data, given.sets, read=not given.no_read))
    rows = []
    wholes = [Part(part.measured.name, part.measured) for part in parts if part.chosen is not None][:1]
    for out in (*parts, *wholes):
        rest = [part for part in parts if of(part) != of(out) or apart(part, out)]
        thresholds, values = choose(rest, given.rounds) if rest else (BALANCED, {})
        rows.append(
            {
                "left out": out.name,
                "chosen without it": shown(out.score(thresholds)),
                "preset": shown(out.score(BALANCED)),
            }
            | ({"F1 of both, and trained": compared(out, rest, thresholds)} if given.trained and rest else {})
            | values
        )
    expect(len(rows) == len(parts) + len(wholes), "a part is missing")
    report("Recall / different pairs accepted / relations, each part left out", rows, given.json)
    return 0


def of(part: Part) -> str:
    """The set whose pages a part has, with their titles and times or without."""
    return part.measured.name.partition(",")[0].removesuffix(TEXT_ONLY)


def apart(part: Part, out: Part) -> bool:
    """Two parts of one set's pages that share no pair: two stories of it."""
    return part.chosen is not None and out.chosen is not None and not bool((part.chosen & out.chosen).any())


def parts_of(found: Sequence[Measured]) -> list[Part]:
    """Each set as a part, the stories of one of them in its place."""
    parts = []
    for each in found:
        stories = sorted(set(each.groups.tolist())) if each.name == STORIES else []
        if len(stories) > 1:
            parts += [Part(f"{each.name}, story {story}", each, each.groups == story) for story in stories]
        else:
            parts.append(Part(each.name, each))
    return parts


def choose(parts: Sequence[Part], rounds: int) -> tuple[Thresholds, Row]:
    """Thresholds that are best on these parts, and their values by name; of equally good ones the preset's."""
    thresholds, values = BALANCED, {}
    for _ in range(rounds):
        for name, (grid, put) in AXES.items():
            tried = [(value, put(thresholds, value)) for value in grid]
            best, kept = worth(thresholds, parts), thresholds
            for value, candidate in tried:
                if (found := worth(candidate, parts)) > best + NEAR:
                    best, kept = found, candidate
                    values[name] = value
            thresholds = kept
    return thresholds, {name: values.get(name, "as preset") for name in AXES}


def compared(out: Part, rest: Sequence[Part], thresholds: Thresholds) -> str:
    """F1 of acceptance on a part: thresholds chosen without it, the preset, and a model trained without it, with the different pairs that this accepts."""
    labels, accepted = out.labels, trained(rest)(out.inputs()) > 0
    positive, different = np.isin(labels, POSITIVE), labels == Label.DIFF
    right, wrong = int((accepted & positive).sum()), int((accepted & different).sum())
    model = 2 * right / max(right + int(positive.sum()) + wrong, 1)
    by_rules = [out.score(each).f1 or 0.0 for each in (thresholds, BALANCED)]
    return f"{by_rules[0]:.3f} {by_rules[1]:.3f} {model:.3f} ({wrong} of {int(different.sum())})"


def trained(parts: Sequence[Part]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """A model that accepts duplicate and containing pairs: inputs, shape (pairs, inputs), to values that are positive where it accepts."""
    inputs = np.concatenate([each.inputs() for each in parts])
    wanted = np.concatenate([np.isin(each.labels, POSITIVE) for each in parts])
    weights = np.concatenate([np.full(len(each.labels), 1 / len(each.labels)) for each in parts])
    import catboost  # noqa: PLC0415 - the other figures do without it

    model = catboost.CatBoostClassifier(
        iterations=300, depth=4, learning_rate=0.05, random_seed=1, verbose=0, allow_writing_files=False
    )
    model.fit(inputs, wanted, sample_weight=weights * len(weights) / len(parts))
    return lambda rows: model.predict(rows, prediction_type="RawFormulaVal")


def worth(thresholds: Thresholds, parts: Sequence[Part]) -> float:
    """Mean over the parts of recall, less the share of different pairs accepted, plus half the right relations."""
    return float(np.mean([worth_of(part.score(thresholds)) for part in parts]))


def worth_of(score: Score) -> float:
    """The same for one part; shares of no pairs count nothing."""
    return (score.recall or 0.0) - score.merged / max(score.merged_of, 1) + (score.relation or 0.0) / 2


if __name__ == "__main__":
    sys.exit(main())
