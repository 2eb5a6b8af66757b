"""Published methods in place of the decision rules: the verdict of one, or of several by a rule, is the relation of every pair.

For who wants to see what a published method does to a corpus, or has learned to trust one. Candidates are found by the terms of
all enabled methods, so a method is alone in everything when it is the only one in ``detectors``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.decision.comparison import verdicts_by
from es_dedup.decision.rules import BY_RULES, RELATIONS
from es_dedup.decision.voting import outcome, voters_of
from es_dedup.model import Relation

if TYPE_CHECKING:
    from es_dedup.decision.comparison import PairComparison
    from es_dedup.decision.statistics import Statistics
    from es_dedup.settings import Settings

REJECTED: Final = -1  # in ``PairDecisions.rule``: no rule rejects, the methods do


def decided(comparison: PairComparison, settings: Settings, statistics: Statistics) -> PairComparison:
    """The comparison decided by ``decision.method``; unchanged if that is the decision rules.

    Pages whose texts are equal are exact, whatever the methods make of them. A pair of which every method skipped a page is
    different.
    """
    if settings.decision.method == BY_RULES:
        return comparison
    decisions = comparison.decisions
    left, right = comparison.left, comparison.right
    ours, theirs = left.table.hashes[comparison.left_rows], right.table.hashes[comparison.right_rows]
    equal = (ours == theirs) & (ours != 0)
    rule = np.where(equal, 0, REJECTED).astype(np.int8)
    relation = np.where(equal, RELATIONS.index(Relation.EXACT), 0).astype(np.int8)
    scores = equal.astype(np.float64)
    open_pairs = np.flatnonzero(~equal).tolist()
    verdicts = [
        verdicts_by(name, comparison, open_pairs, settings, statistics) for name in voters_of(settings)
    ]
    for pair, *votes in zip(open_pairs, *verdicts, strict=True):
        verdict = outcome(settings.decision.method, votes)
        if verdict is None:
            continue
        scores[pair] = verdict.score
        if verdict.relation is not Relation.DIFFERENT:
            rule[pair], relation[pair] = 0, RELATIONS.index(verdict.relation)
    return replace(comparison, decisions=replace(decisions, rule=rule, relation=relation, scores=scores))
