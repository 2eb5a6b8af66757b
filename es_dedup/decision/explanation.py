"""What each decision rule says of a pair, from the same conditions that decided on it."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from es_dedup.decision.comparison import context_of
from es_dedup.decision.conditions import all_hold
from es_dedup.decision.match_rules import RULES
from es_dedup.decision.pair_facts import facts_of
from es_dedup.model.explanation import ConditionResult, RuleOutcome, RuleResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.decision.comparison import PairComparison
    from es_dedup.decision.conditions import Condition, Rule
    from es_dedup.decision.pair_facts import PairFacts
    from es_dedup.model import Number


def rule_results(comparison: PairComparison) -> Iterator[tuple[RuleResult, ...]]:
    """What each rule says, in order, of each compared pair."""
    known = context_of(comparison.left, comparison.left_rows, comparison.right, comparison.right_rows)
    facts = facts_of(comparison.measures, known, comparison.limits)
    return zip(*(_results(rule, facts) for rule in RULES), strict=True)


def _results(rule: Rule, facts: PairFacts) -> Iterator[RuleResult]:
    """What a rule says of each pair."""
    left_out = not facts.limits.without.isdisjoint((rule.name, rule.group))
    asked, rejected = all_hold(rule.applies_if, facts).tolist(), rule.rejects(facts).tolist()
    applies_if = _conditions(rule.applies_if, facts)
    rejects_if = zip(*(_conditions(each, facts) for each in rule.rejects_if), strict=True)
    for applies, rejects, conditions, alternatives in zip(
        asked, rejected, applies_if, rejects_if, strict=True
    ):
        if left_out:
            outcome = RuleOutcome.LEFT_OUT
        elif not applies:
            outcome = RuleOutcome.NOT_APPLICABLE
        else:
            outcome = RuleOutcome.REJECTS if rejects else RuleOutcome.PASSES
        yield RuleResult(rule.name, outcome, conditions, alternatives)


def _conditions(conditions: Sequence[Condition], facts: PairFacts) -> Iterator[tuple[ConditionResult, ...]]:
    """All of some conditions, for each pair."""
    if not conditions:
        return repeat((), len(facts.better))
    return zip(*(_condition(each, facts) for each in conditions), strict=True)


def _condition(condition: Condition, facts: PairFacts) -> Iterator[ConditionResult]:
    fact, pairs = condition.fact, len(facts.better)
    found = (fact.of(facts), condition.threshold(facts), condition.holds(facts))
    for value, threshold, holds in zip(
        *(np.broadcast_to(each, pairs).tolist() for each in found), strict=True
    ):
        words = fact.otherwise if value is False else fact.words or fact.name
        yield ConditionResult(fact.name, words, _number(value), condition.sign, _number(threshold), holds)


def _number(value: Any) -> Number:
    """A value; None of a negative one, which stands for unknown."""
    if isinstance(value, bool):
        return value
    return None if value < 0 else round(value, 4)
