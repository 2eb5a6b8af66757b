"""Thresholds of the decision rules that alone decide on a pair."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from es_dedup.model.explanation import ConditionResult, RuleOutcome, RuleResult
from es_dedup.model.translations import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Sequence


LEAST_THRESHOLD: Final = 0.1
"""Margins are shares of the threshold, of a smaller one shares of this."""


@dataclass(frozen=True, slots=True)
class DecidingCondition:
    """A condition that alone decides on a pair: with its threshold on the other side of the value, the decision is another.

    Attributes:
        rule: that it belongs to.
        condition: with value and threshold.
        margin: distance of the value from the threshold, as a share of the threshold.
    """

    rule: str
    condition: ConditionResult
    margin: float

    def __str__(self) -> str:
        return f"{self.condition.said(ENGLISH)} (rule “{self.rule}”)"


def deciding_conditions(rules: Sequence[RuleResult]) -> list[DecidingCondition]:
    """The conditions that alone decide on a pair, nearest to their thresholds first."""
    rejecting = [rule for rule in rules if rule.outcome is RuleOutcome.REJECTS]
    if len(rejecting) > 1:
        return []
    found = []
    for rule in rejecting or (each for each in rules if each.outcome is not RuleOutcome.LEFT_OUT):
        for each in chain(rule.applies_if, *rule.rejects_if):
            value, threshold = _numbers(each)
            if value is not None and _rejects(rule, each, holds=True) != _rejects(rule, each, holds=False):
                margin = abs(value - threshold) / max(abs(threshold), LEAST_THRESHOLD)
                found.append(DecidingCondition(rule.name, each, margin))
    return sorted(found, key=lambda each: each.margin)


def _rejects(rule: RuleResult, changed: ConditionResult, *, holds: bool) -> bool:
    """Whether the rule would reject if this one of its conditions did or did not hold."""
    applies, *alternatives = [
        all(holds if each is changed else each.holds for each in alternative)
        for alternative in (rule.applies_if, *rule.rejects_if)
    ]
    return applies and any(alternatives)


def _numbers(condition: ConditionResult) -> tuple[float | None, float]:
    """Value and threshold as numbers; value None where it is unknown, or true or false."""
    value, threshold = condition.value, condition.threshold
    number = None if isinstance(value, (bool, str)) or value is None else float(value)
    return number, float(threshold) if isinstance(threshold, (int, float)) else 0.0
