"""What each decision rule says of a pair, from the same conditions that decided on it, and what methods that are not enabled say."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from es_dedup.decision.comparison import PairComparison, pair_decisions
from es_dedup.decision.conditions import Condition, Rule, all_hold
from es_dedup.decision.match_rules import RULES
from es_dedup.decision.rules import BY_RULES, RELATIONS
from es_dedup.detectors.registry import create_detectors
from es_dedup.model import Content, Number, PairDecision, Relation, Skipped, Verdict
from es_dedup.model.explanation import ConditionResult, RuleOutcome, RuleResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from es_dedup.decision.candidate_search import CandidateSearchResult
    from es_dedup.decision.pair_facts import PairFacts
    from es_dedup.settings import Settings


def rule_results(
    comparison: PairComparison, pairs: NDArray[np.int64] | None = None
) -> Iterator[tuple[RuleResult, ...]]:
    """Results of all rules, in order, on some compared pairs, or on all of them."""
    facts = comparison.decisions.facts
    some = np.arange(len(comparison.pairs)) if pairs is None else pairs
    return zip(*(_results(rule, facts, some) for rule in RULES), strict=True)


def explained_pairs(found: CandidateSearchResult) -> Iterator[PairDecision]:
    """Compared pairs with the results of all rules; pairs of two query pages once, exact copies left out."""
    comparison, compared = found.comparison, found.comparison.pairs
    place = {name: row for row, name in enumerate(compared.left.ids)}
    among = np.array([place.get(name, -1) for name in compared.right.ids], dtype=np.int64)
    reverse = among[compared.right_rows]
    once = (reverse < 0) | (compared.left_rows < reverse)
    pairs = np.flatnonzero(once & (comparison.decisions.relation != RELATIONS.index(Relation.EXACT)))
    by_rules = comparison.settings.decision.method == BY_RULES
    results = rule_results(comparison, pairs) if by_rules else repeat((), len(pairs))
    decided = pair_decisions(comparison, pairs.tolist())
    for pair, rules in zip(decided, results, strict=True):
        yield replace(pair, rules=rules)


def verdicts_by_texts(
    names: Sequence[str], contents: Sequence[tuple[str, Content | None]], settings: Settings
) -> tuple[tuple[Verdict, ...], dict[str, str]]:
    """What methods that are not enabled say of a pair.

    Args:
        names: the methods; of those that are enabled it is only said why they gave no verdict.
        contents: page id and content of both pages; None where no text is kept.
        settings: of the methods.

    Returns:
        Verdicts of some methods, and why the others give none, by method.
    """
    verdicts, skipped = [], {}
    for name, detector in create_detectors(settings.model_copy(update={"detectors": tuple(names)})).items():
        features = [
            Skipped("its text is not kept") if content is None else detector.featurise(content)
            for _, content in contents
        ]
        reasons = [
            f"{each.detail or each.reason} in {page}"
            for (page, _), each in zip(contents, features, strict=True)
            if isinstance(each, Skipped)
        ]
        if reasons or name in settings.detectors:
            skipped[name] = "; ".join(reasons) or "nothing to compare"
        else:
            verdicts.append(detector.verify(*features))
    return tuple(verdicts), dict(sorted(skipped.items()))


def _results(rule: Rule, facts: PairFacts, some: NDArray[np.int64]) -> Iterator[RuleResult]:
    """Results of one rule on some pairs."""
    left_out = not facts.thresholds.without.isdisjoint((rule.name, rule.group))
    asked, rejected = all_hold(rule.applies_if, facts)[some], rule.rejects(facts)[some]
    applies_if = _conditions(rule.applies_if, facts, some)
    rejects_if = zip(*(_conditions(each, facts, some) for each in rule.rejects_if), strict=True)
    for applies, rejects, conditions, alternatives in zip(
        asked.tolist(), rejected.tolist(), applies_if, rejects_if, strict=True
    ):
        if left_out:
            outcome = RuleOutcome.LEFT_OUT
        elif not applies:
            outcome = RuleOutcome.NOT_APPLICABLE
        else:
            outcome = RuleOutcome.REJECTS if rejects else RuleOutcome.PASSES
        yield RuleResult(rule.name, outcome, conditions, alternatives)


def _conditions(
    conditions: Sequence[Condition], facts: PairFacts, some: NDArray[np.int64]
) -> Iterator[tuple[ConditionResult, ...]]:
    """Results of several conditions on each of some pairs."""
    if not conditions:
        return repeat((), len(some))
    return zip(*(_condition(each, facts, some) for each in conditions), strict=True)


def _condition(condition: Condition, facts: PairFacts, some: NDArray[np.int64]) -> Iterator[ConditionResult]:
    fact, pairs = condition.fact, len(facts.better_cover)
    found = (fact.of(facts), condition.threshold(facts), condition.holds(facts))
    values = (np.broadcast_to(each, pairs)[some].tolist() for each in found)
    for value, threshold, holds in zip(*values, strict=True):
        words = fact.otherwise if value is False else fact.words or fact.name
        yield ConditionResult(fact.name, words, _number(value), condition.sign, _number(threshold), holds)


def _number(value: Any) -> Number:
    """The value, or None for a negative number, which stands for an unknown value."""
    if isinstance(value, bool):
        return value
    return None if value < 0 else round(value, 4)
