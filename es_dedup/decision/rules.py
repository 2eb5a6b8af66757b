"""One relation for a pair of pages from all evidence: a short list of rules, each with its reason.

Near-identical text is no proof (two pages may share nothing but a disclaimer), and half a text may be (a cut copy).
So the judge asks in this order: is enough covered, is it enough text, do the numbers agree, are the pages issues of a
series, is the shared text what the titles speak of, do the titles' own words stand in what is not shared?
docs/algorithms/judge.md gives the reasons and the measured effect of each rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.decision.required_coverage import is_like, required_coverage, scaled
from es_dedup.decision.thresholds import BALANCED
from es_dedup.model import Relation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.decision.pair_context import PairContext
    from es_dedup.decision.thresholds import Thresholds
    from es_dedup.detectors.coverage_pairs import PairMeasures, Side

    Floats = NDArray[np.float64]

JUDGE: Final = "judge"  # in ``apply_rules.method``: all evidence decides, by the rules below
OWN_TITLE: Final = 0.05  # a text without any word of either title is furniture, unless
SAME_TITLE: Final = 0.80  # the titles themselves are the same
POINTING: Final = 0.95  # the titles' own words stand only in what is not shared
QUOTED_UNITS: Final = 40  # fewer may be a phrase that everybody uses
SPOKEN_TERMS: Final = 2  # of each title, in shared text that is no furniture
PASSAGE_UNITS: Final = 250  # more than two articles have in common by a form
SERIES_DAYS: Final = 3
RECURRING_DAYS: Final = 30
SHORT_UNITS, LONG_UNITS = 100, 400  # below: a notice; from here on: an article

RULES: Final = (
    "accepted",
    "too little covered",
    "too little text in common",
    "numbers differ throughout",
    "same sentences with other numbers",
    "same title on another day with other numbers",
    "titles nearly alike, numbers differ",
    "titles nearly alike, days apart",
    "short text much alike, on another day",
    "much the same again weeks later",
    "unlike titles, days apart",
    "shared text is not what the titles are about",
    "words that tell the titles apart stand in what is not shared, and numbers differ",
    "words that tell the titles apart stand in what is not shared",
    "too little covered for pages without titles",
    "first words of pages without titles differ",
)


@dataclass(frozen=True, slots=True)
class PairDecisions:
    """Judged pairs; every array has shape (pairs,).

    Attributes:
        rule: index into ``RULES``; 0 accepts. Negative: the method that decides in the judge's place refuses.
        left_cover, right_cover: weighted cover, in [0, 1].
        needed: cover that the better covered page had to reach.
        about: how much the shared text is about the titles, from 0; 1.5 when it is and the titles are equal.
        pointing: share of the titles' own words that stand only in what is not shared, the smaller of both sides.
        relation: index into ``RELATIONS``, seen from the left page.
        scores: of the method that decides in the judge's place; None when the judge does.
    """

    rule: NDArray[np.int8]
    left_cover: Floats
    right_cover: Floats
    needed: Floats
    about: Floats
    pointing: Floats
    relation: NDArray[np.int8]
    scores: Floats | None = None

    @property
    def score(self) -> Floats:
        """Agreement in [0, 1]: the better cover when accepted, half of it when not."""
        if self.scores is not None:
            return self.scores
        better = np.maximum(self.left_cover, self.right_cover)
        return np.where(self.rule == 0, better, better / 2)


RELATIONS: Final = (
    Relation.DIFFERENT,
    Relation.EXACT,
    Relation.DUPLICATE,
    Relation.CONTAINS,
    Relation.CONTAINED,
)


def apply_rules(measures: PairMeasures, known: PairContext, limits: Thresholds = BALANCED) -> PairDecisions:
    """Judge measured pairs.

    Args:
        measures: coverage, titles and numbers of the pairs, weighted by corpus statistics.
        known: what else is known of them.
        limits: what a pair must reach.
    """
    left, right = measures.left, measures.right
    left_cover, right_cover = left.cover, right.cover
    better, both = np.maximum(left_cover, right_cover), np.minimum(left_cover, right_cover)
    needed = required_coverage(measures, known, limits)
    share = np.maximum(_about(left, known.left_titles), _about(right, known.right_titles))
    overlap = np.maximum(measures.title_overlap, 0.0)
    about = share + np.where((share >= OWN_TITLE) | (overlap >= SAME_TITLE), overlap / 2, 0.0)
    pointing = np.minimum(_pointing(left), _pointing(right))
    note, passage = _quoted(measures, known, pointing, limits)
    facts = _Facts(
        left_cover, right_cover, better, both, needed, about, pointing, note, passage, known, limits
    )
    rule = np.zeros(len(better), dtype=np.int8)
    refusals = _refusals(measures, facts)
    for number in range(len(refusals), 0, -1):  # the first rule that refuses is written last, and stays
        if RULES[number] not in limits.without:
            rule[refusals[number - 1]] = number
    duplicate = (_same(both, known.days, limits) & is_like(better, both, limits)) | (
        left_cover == right_cover
    )
    relation = np.where(duplicate, 2, np.where(left_cover > right_cover, 4, 3))
    relation = np.where(known.exact, 1, relation)
    return PairDecisions(
        rule=rule,
        left_cover=left_cover,
        right_cover=right_cover,
        needed=needed,
        about=about,
        pointing=pointing,
        relation=np.where(rule == 0, relation, 0).astype(np.int8),
    )


def _quoted(
    measures: PairMeasures, known: PairContext, pointing: Floats, limits: Thresholds
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Pairs of articles, not furniture, that share what neither title need speak of: notes, and passages.

    A note stands as a whole in a digest of many things: its body speaks of its own title, or it stands there to the last
    word and has words of both titles. A passage is nearly all of one article, and so much that no footer or disclaimer has
    it; pages of one form share as much, but are of like size, or have other numbers.
    """
    left_cover, right_cover = measures.left.cover, measures.right.cover
    better, both = np.maximum(left_cover, right_cover), np.minimum(left_cover, right_cover)
    left_own, right_own = _own(measures.left, known.left_titles), _own(measures.right, known.right_titles)
    own = np.where(left_cover >= right_cover, left_own, right_own)
    spoken = np.minimum(measures.left.shared_terms, measures.right.shared_terms)
    note = (better >= limits.quoted_cover) & (own >= limits.quoted_title)
    note |= (better >= limits.whole_cover) & (spoken >= SPOKEN_TERMS)
    note &= (both < limits.quoted_rest) & (pointing < POINTING) & (measures.shared_tokens >= QUOTED_UNITS)
    passage = (better >= limits.passage_cover) & (both < limits.same_size * better)
    passage &= np.minimum(left_own, right_own) >= limits.passage_title
    return note, passage & (measures.shared_tokens >= PASSAGE_UNITS)


def _same(both: Floats, days: NDArray[np.int64], limits: Thresholds) -> NDArray[np.bool_]:
    """Pairs that would be duplicates rather than containment."""
    return both >= least_both(days, limits)


def least_both(days: NDArray[np.int64], limits: Thresholds) -> Floats:
    """Cover in both directions from which pairs so many days apart are duplicates; shape (pairs,)."""
    return np.where(days >= 1, limits.late_same_cover, limits.same_cover)


def _about(side: Side, terms: NDArray[np.int64]) -> Floats:
    """Share of this page's title terms that stand in the shared text.

    Of those that the samples do not show, the covered share is taken to.
    """
    unseen = np.maximum(side.title_terms - side.shared_terms - side.lost_terms, 0)
    share: Floats = (side.shared_terms + unseen * side.cover) / np.maximum(terms, 1)
    return share


def _own(side: Side, terms: NDArray[np.int64]) -> Floats:
    """Share of this page's title terms that stand in its body: near 0, the body is furniture and not the article."""
    return side.title_terms / np.maximum(terms, 1)


def _pointing(side: Side) -> Floats:
    """Share of the words only this title has that stand only in what the other page lacks; one word is no sign."""
    return np.where(side.foreign_terms >= 2, side.foreign_lost / np.maximum(side.foreign_terms, 1), 0.0)  # noqa: PLR2004


def _renamed(measures: PairMeasures) -> NDArray[np.bool_]:
    """Pairs whose titles are the same but for a name, which stands only in what is not shared."""
    overlap = measures.title_overlap
    renamed = np.ones(len(overlap), dtype=np.bool_)
    for side in (measures.left, measures.right):
        renamed &= (side.foreign_terms >= 1) & (side.foreign_lost == side.foreign_terms)
    return renamed & (overlap >= SAME_TITLE) & (overlap < 1.0)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the rules look at beside the measures; every array has shape (pairs,)."""

    left_cover: Floats
    right_cover: Floats
    better: Floats
    both: Floats
    needed: Floats
    about: Floats
    pointing: Floats
    note: NDArray[np.bool_]
    passage: NDArray[np.bool_]
    known: PairContext
    limits: Thresholds

    def untitled(self, amount: Floats, openings: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Pairs without titles that agree too little for that, and those that do because they open with other words.

        The first words of a whole web page are its name, and what follows its site's menus; so pages of one shell that open alike
        may be versions of one page, those that do not are two.
        """
        if self.known.titled.all():
            return (np.zeros(len(amount), dtype=np.bool_),) * 2
        limits = self.limits
        least = np.where(
            self.known.lists,
            scaled(amount, limits.words_amounts, limits.words_cover),
            scaled(amount, limits.untitled_amounts, limits.untitled_cover),
        )
        contained = np.where(self.known.lists, limits.words_contained, limits.untitled_contained)
        low, high = limits.opening_overlaps
        apart = np.where(openings >= 0, np.clip((high - openings) / (high - low), 0.0, 1.0), 0.0)
        named = least + apart * np.maximum(limits.opening_cover - least, 0.0)
        asked = ~self.known.titled & (self.better < contained)
        return asked & (self.both < least), asked & self.known.lists & (apart > 0) & (self.both < named)


def _refusals(measures: PairMeasures, facts: _Facts) -> tuple[NDArray[np.bool_], ...]:
    """For each rule from 1 on, the pairs it refuses."""
    better, both, titled, days = facts.better, facts.both, facts.known.titled, facts.known.days
    left, right = measures.left, measures.right
    lost = np.minimum(left.lost_numbers, right.lost_numbers)
    left_lost = left.lost_numbers / np.maximum(left.numbers, 1)
    right_lost = right.lost_numbers / np.maximum(right.numbers, 1)
    least_lost = np.minimum(left_lost, right_lost)
    left_cover, right_cover = facts.left_cover, facts.right_cover
    inner_lost = np.where(
        left_cover == right_cover,
        np.maximum(left_lost, right_lost),
        np.where(left_cover > right_cover, left_lost, right_lost),
    )
    overlap = measures.title_overlap
    alike = (overlap >= 0.5) & (overlap < 1.0)  # noqa: PLR2004
    amount = measures.shared_tokens
    limits = facts.limits
    near_copy = better >= limits.near_copy
    same = _same(both, days, limits)
    copies = ~titled & (both >= limits.copy_cover)
    return (
        better < facts.needed,
        amount < np.where(copies, limits.fewest_of_copies, limits.fewest_units),
        (both >= 0.4) & (lost >= 3) & (least_lost >= 0.4) & (inner_lost >= 0.5) & (better < 0.9),  # noqa: PLR2004
        (measures.other_numbers >= 3) & (measures.other_numbers >= measures.same_numbers),  # noqa: PLR2004
        (days >= 1) & (lost >= 2) & (least_lost >= 0.15) & (overlap >= 0.8) & ~near_copy,  # noqa: PLR2004
        ((overlap >= 0.6) & (overlap < 1.0) & (lost >= 3) & (least_lost >= 0.33) & (better < 0.8))  # noqa: PLR2004
        | (_renamed(measures) & (lost >= 1) & ~near_copy),
        (days >= SERIES_DAYS) & same & alike & ~near_copy,
        (days >= 1) & same & ~facts.known.exact & (amount < SHORT_UNITS) & (both < 0.85),  # noqa: PLR2004
        (days >= RECURRING_DAYS) & same & ~facts.known.exact & ((amount < LONG_UNITS) | (lost >= 1)),
        (days >= SERIES_DAYS) & same & titled & (overlap < 0.2) & (better < 0.9),  # noqa: PLR2004
        titled & (facts.about < limits.about_title) & ~(facts.note | facts.passage),
        titled & (facts.pointing >= 0.6) & (lost >= 3) & (least_lost >= 0.15) & ~facts.note,  # noqa: PLR2004
        titled & (facts.pointing >= POINTING) & (amount < LONG_UNITS) & ~facts.passage,
        *facts.untitled(amount, measures.opening_overlap),
    )
