"""One relation for a pair of pages from all evidence, by the rules of ``match_rules``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.decision.match_rules import RULES
from es_dedup.decision.pair_facts import PairContext, PairFacts, facts_of
from es_dedup.decision.thresholds import BALANCED, Thresholds
from es_dedup.errors import ConfigError
from es_dedup.model import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from es_dedup.detectors.coverage_pairs import PairMeasures

    Floats = NDArray[np.float64]

BY_RULES: Final = "rules"  # in ``decision.method``: all evidence decides, by the rules below
ACCEPTED: Final = "accepted"
REASONS: Final = (ACCEPTED, *(rule.name for rule in RULES))
"""What ``PairDecisions.rule`` numbers."""


@dataclass(frozen=True, slots=True)
class PairDecisions:
    """Decided pairs; every array has shape (pairs,).

    Attributes:
        rule: index into ``REASONS``; 0 accepts. Negative: the method that decides in place of the decision rules rejects.
        relation: index into ``RELATIONS``, seen from the left page.
        facts: what the rules decided by.
        scores: of the method that decides in place of the decision rules; None when the decision rules do.
    """

    rule: NDArray[np.int8]
    relation: NDArray[np.int8]
    facts: PairFacts
    scores: Floats | None = None

    def score(self, pairs: int | NDArray[Any]) -> Any:
        """Agreement of one pair or some, in [0, 1]: the better cover when accepted, half of it when not."""
        if self.scores is not None:
            return self.scores[pairs]
        better = self.facts.better_cover[pairs]
        return np.where(self.rule[pairs] == 0, better, better / 2)


RELATIONS: Final = (
    Relation.DIFFERENT,
    Relation.EXACT,
    Relation.DUPLICATE,
    Relation.CONTAINS,
    Relation.CONTAINED,
)


def without_rules(thresholds: Thresholds, names: Iterable[str]) -> Thresholds:
    """The thresholds with further rules left out, by name or by group.

    Raises:
        ConfigError: there is no such rule.
    """
    known = dict.fromkeys(part for rule in RULES for part in (rule.name, rule.group) if part)
    wanted = tuple(names)
    if unknown := [name for name in wanted if name not in known]:
        raise ConfigError(
            tuple(f"no rule or group {name!r}; known are {', '.join(map(repr, known))}" for name in unknown),
            "decision rules",
        )
    return replace(thresholds, without=thresholds.without.union(wanted))


def apply_rules(
    measures: PairMeasures, known: PairContext, thresholds: Thresholds = BALANCED
) -> PairDecisions:
    """Apply the rules in order to measured pairs.

    Args:
        measures: coverage, titles and numbers of the pairs, weighted by corpus statistics.
        known: what else is known of them.
        thresholds: of the decision rules.
    """
    facts = facts_of(measures, known, thresholds)
    rule = np.zeros(len(facts.better_cover), dtype=np.int8)
    # the first that rejects is written last, and stays
    for number, each in reversed(tuple(enumerate(RULES, 1))):
        if thresholds.without.isdisjoint((each.name, each.group)):
            rule[each.rejects(facts)] = number
    duplicate = facts.lesser_cover >= facts.min_both
    relation = np.where(duplicate, 2, np.where(facts.left_cover > facts.right_cover, 4, 3))
    relation = np.where(facts.exact, 1, relation)
    return PairDecisions(rule, np.where(rule == 0, relation, 0).astype(np.int8), facts)
