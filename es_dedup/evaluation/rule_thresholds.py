"""Thresholds of the decision rules that alone decide on a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from es_dedup.model.explanation import RuleOutcome
from es_dedup.model.translations import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.model.explanation import ConditionResult, RuleResult

LEAST_THRESHOLD: Final = 0.1
"""Margins are shares of the threshold, of a smaller one shares of this."""


class Place(NamedTuple):
    """Where a condition stands in a rule.

    Attributes:
        alternative: of the rule, from 0; -1 for the conditions under which the rule applies.
        number: of the condition in the alternative, from 0.
    """

    alternative: int
    number: int


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
        for place, each in _conditions(rule):
            value, threshold = _numbers(each)
            if value is not None and _rejects(rule, place, holds=True) != _rejects(rule, place, holds=False):
                margin = abs(value - threshold) / max(abs(threshold), LEAST_THRESHOLD)
                found.append(DecidingCondition(rule.name, each, margin))
    return sorted(found, key=lambda each: each.margin)


def _conditions(rule: RuleResult) -> Iterator[tuple[Place, ConditionResult]]:
    for number, alternative in enumerate((rule.applies_if, *rule.rejects_if), -1):
        for at, each in enumerate(alternative):
            yield Place(number, at), each


def _rejects(rule: RuleResult, place: Place, *, holds: bool) -> bool:
    """Whether the rule would reject if the condition at this place did or did not hold."""
    applies, *alternatives = [
        all(holds if place == (number, at) else each.holds for at, each in enumerate(alternative))
        for number, alternative in enumerate((rule.applies_if, *rule.rejects_if), -1)
    ]
    return applies and any(alternatives)


def _numbers(condition: ConditionResult) -> tuple[float | None, float]:
    """Value and threshold as numbers; value None where it is unknown, or true or false."""
    value, threshold = condition.value, condition.threshold
    number = None if isinstance(value, (bool, str)) or value is None else float(value)
    return number, float(threshold) if isinstance(threshold, (int, float)) else 0.0
