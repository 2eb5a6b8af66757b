"""Which thresholds decide on a pair."""

from collections.abc import Sequence

from es_dedup.evaluation.rule_thresholds import deciding_conditions
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
