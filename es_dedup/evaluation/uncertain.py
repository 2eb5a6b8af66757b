"""Pairs whose labels would teach most: those on which the methods disagree, or that lie near the threshold of a rule."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from es_dedup.evaluation.labels import Pair, ordered_pair
from es_dedup.evaluation.rule_thresholds import deciding_conditions
from es_dedup.model import PairDecision, Relation
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from es_dedup.deduplicator.index_reader import IndexReader

POOL: Final = 20  # pairs compared for each pair that is wanted
PAGES: Final = 16  # whose candidates are compared together
MIDDLE: Final = 0.5


def doubt_of(decision: PairDecision) -> float:
    """How far the methods disagree, and how near the pair is to being decided otherwise: the mean of both, in [0, 1].

    Where rules decide, that is how near the value of a fact is to the one threshold that would change the decision; else how near the score
    is to the middle.
    """
    merged = [verdict.relation is not Relation.DIFFERENT for verdict in decision.verdicts]
    share = sum(merged) / len(merged) if merged else 0.0
    disagreement = 1 - abs(2 * share - 1)
    distance = abs(decision.score - MIDDLE) / MIDDLE
    if decision.rules:
        distance = next((each.margin for each in deciding_conditions(decision.rules)), 1.0)
    return (disagreement + 1 - min(distance, 1.0)) / 2


def uncertain_pairs(
    dedup: IndexReader, pages: Iterable[str], *, count: int, known: AbstractSet[Pair], seed: int = 1
) -> list[Pair]:
    """The pairs most in doubt, from a random draw of pages and their candidates.

    Args:
        dedup: an index whose pages are clustered.
        pages: ids to draw from.
        count: most pairs to give.
        known: pairs that are labelled already; they are left out.
        seed: of the draw; the same seed draws the same pages.

    Returns:
        Most doubtful first; exact copies, and pairs that people have decided by overrides, are left out.
    """
    ids = sorted(pages)
    random.Random(seed).shuffle(ids)  # noqa: S311 - a seeded draw, no secrets
    compared = set(known)
    uncertain: list[tuple[float, Pair]] = []
    for some in chunked(ids, PAGES):
        for decision in dedup.candidate_decisions(some):
            pair = ordered_pair(decision.left, decision.right)
            is_new = pair not in compared and not decision.overrides
            if is_new and decision.relation is not Relation.EXACT:
                uncertain.append((doubt_of(decision), pair))
            compared.add(pair)
        if len(uncertain) >= POOL * count:
            break
    return [pair for _, pair in sorted(uncertain, key=lambda each: (-each[0], each[1]))[:count]]


def sampled(dedup: IndexReader, count: int, seed: int) -> list[str]:
    """A random draw of clustered pages, at most so many, in memory for these alone; the same for one seed and index."""
    draw = random.Random(seed)  # noqa: S311 - a seeded draw, no secrets
    pages: list[str] = []
    for place, page in enumerate(dedup.page_ids()):
        if place < count:
            pages.append(page)
        elif (at := draw.randrange(place + 1)) < count:
            pages[at] = page
    return pages
