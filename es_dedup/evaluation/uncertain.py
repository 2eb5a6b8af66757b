"""Pairs whose labels would teach most: those on which the methods disagree, or that lie near the limit."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from es_dedup.evaluation.labels import ordered_pair
from es_dedup.model import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from es_dedup.evaluation.labels import Pair
    from es_dedup.model import PairDecision

POOL: Final = 20  # pairs judged for each pair that is wanted
MIDDLE: Final = 0.5


class Judged(Protocol):
    """The part of ``Deduplicator`` that is asked."""

    def candidates(self, page_id: str) -> list[str]:
        """Ids that the probes of a stored page find."""

    def explain(self, left: str, right: str) -> PairDecision:
        """How two stored pages stand to each other."""


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A judged pair and how much in doubt it is, in [0, 1]."""

    judged: PairDecision
    doubt: float

    @property
    def pair(self) -> Pair:
        """The two ids, the smaller one first."""
        return ordered_pair(self.judged.left, self.judged.right)


def doubt_of(judged: PairDecision) -> float:
    """How far the methods disagree, and how near the score lies to the middle: the mean of both, in [0, 1]."""
    merged = [verdict.relation is not Relation.DIFFERENT for verdict in judged.verdicts]
    share = sum(merged) / len(merged) if merged else 0.0
    disagreement = 1 - abs(2 * share - 1)
    nearness = 1 - min(abs(judged.score - MIDDLE) / MIDDLE, 1.0)
    return (disagreement + nearness) / 2


def uncertain_pairs(
    dedup: Judged, pages: Iterable[str], *, count: int, known: AbstractSet[Pair], seed: int
) -> list[Uncertain]:
    """The pairs most in doubt, from a random draw of pages and what their probes find.

    Args:
        dedup: an index whose pages are clustered.
        pages: ids to draw from.
        count: most pairs to give.
        known: pairs that are labelled already; they are left out.
        seed: of the draw; the same seed draws the same pages.

    Returns:
        Most doubtful first; exact copies are never asked about.
    """
    ids = sorted(pages)
    random.Random(seed).shuffle(ids)  # noqa: S311 - a seeded draw, no secrets
    asked = set(known)
    found: list[Uncertain] = []
    for page in ids:
        for other in dedup.candidates(page):
            pair = ordered_pair(page, other)
            if page == other or pair in asked:
                continue
            asked.add(pair)
            judged = dedup.explain(*pair)
            if judged.relation is not Relation.EXACT:
                found.append(Uncertain(judged, doubt_of(judged)))
        if len(found) >= POOL * count:
            break
    return sorted(found, key=lambda each: (-each.doubt, each.pair))[:count]
