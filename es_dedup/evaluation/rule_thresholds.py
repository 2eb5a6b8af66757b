"""Thresholds of the decision rules on labelled pairs: which pairs one threshold decides, and what another value would change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from es_dedup.decision.conditions import Fact
from es_dedup.decision.match_rules import RULES
from es_dedup.evaluation.tune import Axis
from es_dedup.model.explanation import RuleOutcome
from es_dedup.model.translations import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.evaluation.labels import Pair
    from es_dedup.evaluation.tune import Measures
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


@dataclass(frozen=True, slots=True)
class ThresholdSweep:
    """One threshold of one rule, or of a measure of a method, as an axis for ``tune``.

    Attributes:
        name: the measure; or rule, number of the alternative unless the condition is one under which the rule is asked, fact and sign.
        rejects: on which side of the threshold the rule rejects: ``above`` or ``below``; empty of a measure.
        threshold: current value; None where it differs between pairs; the axis then holds the fact minus its threshold.
        current: current threshold on the axis; None of a measure without one.
        axis: values to try; None when no pair depends on the threshold.
        measures: pair to the value on the axis; infinite where the rule never rejects, absent where the pair is rejected anyway.
        settings: that the threshold follows from, by dotted name; none where it is fixed.
    """

    name: str
    rejects: str
    threshold: float | None
    current: float | None
    axis: Axis | None
    measures: Measures
    settings: tuple[str, ...] = ()


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


def sweeps_of(decided: Mapping[Pair, Sequence[RuleResult]], name: str, most: int) -> list[ThresholdSweep]:
    """One sweep for each threshold of a rule.

    Args:
        decided: pair to the results of all rules, in order.
        name: of the rule.
        most: values tried on one axis.

    Raises:
        KeyError: there is no such rule.
    """
    first = next((each for rules in decided.values() for each in rules if each.name == name), None)
    if first is None:
        raise KeyError(name)
    return [
        _sweep(decided, name, place, most)
        for place, each in _conditions(first)
        if not isinstance(each.threshold, bool)
    ]


def _sweep(
    decided: Mapping[Pair, Sequence[RuleResult]], name: str, place: Place, most: int
) -> ThresholdSweep:
    of_pair = {pair: next(each for each in rules if each.name == name) for pair, rules in decided.items()}
    results = {pair: dict(_conditions(rule))[place] for pair, rule in of_pair.items()}
    numbers = {pair: _numbers(each) for pair, each in results.items()}
    thresholds = {threshold for _, threshold in numbers.values()}
    first = next(iter(results.values()))
    below, varying = first.sign == "<", len(thresholds) > 1
    never = math.inf if below else -math.inf  # on the axis: the rule never rejects
    threshold = 0.0 if varying else thresholds.pop()
    current = threshold if below else math.nextafter(threshold, -math.inf)
    alternative = f" ({place.alternative + 1})" if place.alternative >= 0 else ""
    title = f"{name}{alternative}: {first.fact} {first.sign}{' its threshold' if varying else ''}"
    measures: dict[Pair, dict[str, float]] = {}
    for pair, rules in decided.items():
        rule, (value, bound) = of_pair[pair], numbers[pair]
        if _rejects(rule, place, holds=False) or any(
            each.outcome is RuleOutcome.REJECTS for each in rules if each.name != name
        ):
            continue  # rejected at any threshold
        if rule.outcome is RuleOutcome.LEFT_OUT or value is None or not _rejects(rule, place, holds=True):
            measures[pair] = {title: never}
        else:
            measures[pair] = {title: value - bound if varying else value}
    values = sorted({each[title] for each in measures.values() if math.isfinite(each[title])})
    axis = None
    if values:
        step = max(1, math.ceil(len(values) / most))
        axis = Axis(title, tuple(sorted({*values[::step], current})), below)
    shown = None if varying else threshold
    rejects = "below" if below else "above"
    return ThresholdSweep(title, rejects, shown, current, axis, measures, _settings_of(name, place))


def _settings_of(name: str, place: Place) -> tuple[str, ...]:
    """The settings that a threshold of a rule follows from."""
    rule = next((each for each in RULES if each.name == name), None)
    bound = (rule.applies_if, *rule.rejects_if)[place.alternative + 1][place.number].bound if rule else None
    return tuple(f"decision.thresholds.{each}" for each in bound.settings) if isinstance(bound, Fact) else ()


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
