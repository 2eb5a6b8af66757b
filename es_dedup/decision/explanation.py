"""What each decision rule says of one pair, from the same conditions that decided on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from es_dedup.decision.comparison import context_of
from es_dedup.decision.conditions import all_hold
from es_dedup.decision.match_rules import RULES
from es_dedup.decision.pair_facts import facts_of
from es_dedup.model.explanation import ConditionResult, RuleOutcome, RuleResult

if TYPE_CHECKING:
    from es_dedup.decision.comparison import PairComparison
    from es_dedup.decision.conditions import Condition, Rule
    from es_dedup.decision.pair_facts import PairFacts
    from es_dedup.model import Number


def rule_results(comparison: PairComparison) -> tuple[RuleResult, ...]:
    """What each rule says, in order, of the first compared pair."""
    known = context_of(comparison.left, comparison.left_rows, comparison.right, comparison.right_rows)
    facts = facts_of(comparison.measures, known, comparison.limits)
    return tuple(_result(rule, facts) for rule in RULES)


def _result(rule: Rule, facts: PairFacts) -> RuleResult:
    if not facts.limits.without.isdisjoint((rule.name, rule.group)):
        outcome = RuleOutcome.LEFT_OUT
    elif not all_hold(rule.applies_if, facts)[0]:
        outcome = RuleOutcome.NOT_APPLICABLE
    else:
        outcome = RuleOutcome.REJECTS if rule.rejects(facts)[0] else RuleOutcome.PASSES
    return RuleResult(
        rule.name,
        outcome,
        tuple(_condition(each, facts) for each in rule.applies_if),
        tuple(tuple(_condition(each, facts) for each in alternative) for alternative in rule.rejects_if),
    )


def _condition(condition: Condition, facts: PairFacts) -> ConditionResult:
    fact = condition.fact
    value = _number(fact.of(facts))
    return ConditionResult(
        fact.name,
        fact.otherwise if value is False else fact.words or fact.name,
        value,
        condition.sign,
        _number(condition.threshold(facts)),
        bool(condition.holds(facts)[0]),
    )


def _number(values: Any) -> Number:
    """The value of the first pair, or the one for all; None of a negative one, which stands for unknown."""
    value: Any = np.asarray(values).reshape(-1)[0].item()
    if isinstance(value, bool):
        return value
    return None if value < 0 else round(value, 4)
