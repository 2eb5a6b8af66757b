"""Which thresholds decide on a pair, and what other values of them would change."""

import math
from collections.abc import Sequence

import pytest

from es_dedup.evaluation import Label, LabelledPair, tune
from es_dedup.evaluation.labels import Pair
from es_dedup.evaluation.rule_thresholds import deciding_conditions, sweeps_of
from es_dedup.model import Number
from es_dedup.model.explanation import ConditionResult, RuleOutcome, RuleResult


def condition(fact: str, value: Number, sign: str, threshold: float) -> ConditionResult:
    """A condition with its result."""
    known = 0.0 if value is None else float(value)
    holds = value is not None and (known >= threshold if sign == "≥" else known < threshold)
    return ConditionResult(fact, fact, value, sign, threshold, holds)


def rule(name: str, asked: Sequence[ConditionResult], *rejected: Sequence[ConditionResult]) -> RuleResult:
    """A rule with its outcome."""
    outcome = RuleOutcome.PASSES
    if not all(each.holds for each in asked):
        outcome = RuleOutcome.NOT_APPLICABLE
    elif any(all(each.holds for each in alternative) for alternative in rejected):
        outcome = RuleOutcome.REJECTS
    return RuleResult(name, outcome, tuple(asked), tuple(map(tuple, rejected)))


def pair_of(cover: float, numbers: int, days: int = 1, needed: float = 0.5) -> tuple[RuleResult, ...]:
    """A pair under two rules: enough covered, and too many numbers on another day."""
    return (
        rule("cover", (), [condition("cover", cover, "<", needed)]),
        rule("numbers", [condition("days", days, "≥", 1)], [condition("numbers", numbers, "≥", 3)]),
    )


def deciding(rules: Sequence[RuleResult]) -> list[tuple[str, float]]:
    return [(each.condition.fact, round(each.margin, 9)) for each in deciding_conditions(rules)]


def test_an_accepted_pair_hangs_on_the_one_condition_that_fails_in_a_rule() -> None:
    assert deciding(pair_of(0.6, 2)) == [("cover", 0.2), ("numbers", round(1 / 3, 9))]
    assert deciding(pair_of(0.6, 2, days=0)) == [("cover", 0.2)]
    assert deciding(pair_of(0.6, 5, days=0)) == [("cover", 0.2), ("days", 1.0)]


def test_a_rejected_pair_hangs_on_each_condition_of_the_only_rule_that_rejects() -> None:
    assert deciding(pair_of(0.6, 4)) == [("days", 0.0), ("numbers", round(1 / 3, 9))]
    assert deciding(pair_of(0.4, 1)) == [("cover", 0.2)]
    assert deciding(pair_of(0.4, 4)) == []


def test_alternatives_that_both_reject_hang_on_nothing_alone() -> None:
    both = rule("either", (), [condition("a", 1, "<", 2)], [condition("b", 1, "<", 2)])
    assert deciding((both,)) == []
    one = rule("either", (), [condition("a", 1, "<", 2)], [condition("b", 3, "<", 2)])
    assert deciding((one,)) == [("a", 0.5)]


def test_unknown_values_and_flags_are_no_thresholds() -> None:
    flag = ConditionResult("exact", "exact", True, "=", False, False)
    assert deciding((rule("one", [flag], [condition("a", None, "≥", 2)]),)) == []
    assert deciding((rule("one", [flag], [condition("a", 1, "<", 2)]),)) == []
    assert len(sweeps_of({("a", "b"): (rule("one", [flag], [condition("a", 1, "<", 2)]),)}, "one", 9)) == 1


PAIRS = {
    ("a", "b"): pair_of(0.9, 0),
    ("c", "d"): pair_of(0.9, 4),
    ("e", "f"): pair_of(0.9, 9),
    ("g", "h"): pair_of(0.1, 9),
    ("i", "j"): pair_of(0.9, 9, days=0),
}


def test_a_threshold_becomes_an_axis_on_which_today_s_limit_decides_as_today() -> None:
    days, numbers = sweeps_of(PAIRS, "numbers", 40)
    assert (numbers.name, numbers.rejects, numbers.threshold) == ("numbers (1): numbers ≥", "above", 3)
    assert numbers.axis is not None
    assert numbers.current is not None
    assert numbers.axis.values == (0.0, numbers.current, 4.0, 9.0)
    values = {pair: each[numbers.name] for pair, each in numbers.measures.items()}
    assert values == {("a", "b"): 0, ("c", "d"): 4, ("e", "f"): 9, ("i", "j"): -math.inf}
    merged = {pair for pair, value in values.items() if value <= numbers.current}
    assert merged == {("a", "b"), ("i", "j")}
    assert {pair: each[days.name] for pair, each in days.measures.items()} == {
        ("a", "b"): -math.inf,
        ("c", "d"): 1,
        ("e", "f"): 1,
        ("i", "j"): 0,
    }


def test_thresholds_that_differ_between_pairs_are_swept_by_their_margin() -> None:
    decided: dict[Pair, tuple[RuleResult, ...]] = {
        ("a", "b"): pair_of(0.6, 0, needed=0.5),
        ("c", "d"): pair_of(0.6, 0, needed=0.7),
    }
    (sweep,) = sweeps_of(decided, "cover", 40)
    assert (sweep.name, sweep.threshold, sweep.current) == ("cover (1): cover < its threshold", None, 0.0)
    assert [each[sweep.name] for each in sweep.measures.values()] == pytest.approx([0.1, -0.1])


def test_tune_finds_the_threshold_that_the_labels_want() -> None:
    labels = [
        LabelledPair(*pair, label)
        for pair, label in zip(PAIRS, (Label.DUP, Label.DUP, Label.DIFF, Label.DIFF, Label.DUP), strict=True)
    ]
    _, sweep = sweeps_of(PAIRS, "numbers", 40)
    assert sweep.axis is not None
    found = tune(labels, sweep.measures, sweep.axis, current=sweep.current, folds=2, max_merged_diff=0.0)
    assert found.chosen == 4.0
    assert [each.pair for each in found.gained] == [("c", "d")]
