"""The rules that refuse a pair, in the order in which they apply.

Near-identical text is no proof (two pages may share nothing but a disclaimer), and half a text may be (a truncated copy). So the
rules test: is enough covered, is it enough text, do the numbers agree, are the pages issues of a series, is the shared text what the
titles speak of, do title-distinguishing terms occur only in unshared text? The first rule that refuses gives the reason; a pair that none
refuses is accepted. docs/algorithms/decision-rules.md has the measured effect of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.decision.pair_facts import DISTINGUISHING
from es_dedup.decision.required_coverage import scaled
from es_dedup.decision.thresholds import SERIES, TITLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from es_dedup.decision.pair_facts import PairFacts

    Mask = NDArray[np.bool_]

SERIES_DAYS: Final = 3
RECURRING_DAYS: Final = 30
SHORT_UNITS, LONG_UNITS = 100, 400  # below: a notice; from here on: an article


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason to refuse pairs.

    Attributes:
        name: what the evidence says.
        refuses: the pairs that it refuses, of some pairs' facts; shape (pairs,).
        why: what it guards against.
        group: ``series`` or ``titles``, of rules that presets leave out together; else empty.
    """

    name: str
    refuses: Callable[[PairFacts], Mask]
    why: str
    group: str = ""


def _covered_too_little(facts: PairFacts) -> Mask:
    return facts.better < facts.needed


def _too_short(facts: PairFacts) -> Mask:
    limits = facts.limits
    copies = ~facts.titled & (facts.both >= limits.copy_cover)
    return facts.amount < np.where(copies, limits.fewest_of_copies, limits.fewest_units)


def _numbers_differ(facts: PairFacts, *, numbers: int = 3, least: float = 0.4, inner: float = 0.5) -> Mask:
    differ = (facts.lost >= numbers) & (facts.least_lost >= least) & (facts.inner_lost >= inner)
    return differ & (facts.both >= 0.4) & (facts.better < 0.9)  # noqa: PLR2004


def _same_sentences(facts: PairFacts, *, clauses: int = 3) -> Mask:
    return (facts.other_numbers >= clauses) & (facts.other_numbers >= facts.same_numbers)


def _same_title(facts: PairFacts, *, overlap: float = 0.8, numbers: int = 2, least: float = 0.15) -> Mask:
    differ = (facts.lost >= numbers) & (facts.least_lost >= least)
    return differ & (facts.days >= 1) & (facts.title_overlap >= overlap) & ~_near_copy(facts)


def _other_place(
    facts: PairFacts, *, overlap: float = 0.6, numbers: int = 3, least: float = 0.33, better: float = 0.8
) -> Mask:
    alike = (facts.title_overlap >= overlap) & (facts.title_overlap < 1.0)
    differ = (facts.lost >= numbers) & (facts.least_lost >= least) & (facts.better < better)
    return (alike & differ) | (facts.renamed & (facts.lost >= 1) & ~_near_copy(facts))


def _next_part(facts: PairFacts, *, overlap: float = 0.5) -> Mask:
    alike = (facts.title_overlap >= overlap) & (facts.title_overlap < 1.0)
    return (facts.days >= SERIES_DAYS) & facts.same & alike & ~_near_copy(facts)


def _short_form(facts: PairFacts, *, both: float = 0.85) -> Mask:
    short = facts.amount < SHORT_UNITS
    return (facts.days >= 1) & facts.same & ~facts.exact & short & (facts.both < both)


def _recurring(facts: PairFacts) -> Mask:
    changed = (facts.amount < LONG_UNITS) | (facts.lost >= 1)
    return (facts.days >= RECURRING_DAYS) & facts.same & ~facts.exact & changed


def _unlike_titles(facts: PairFacts, *, overlap: float = 0.2, better: float = 0.9) -> Mask:
    unlike = facts.titled & (facts.title_overlap < overlap)
    return (facts.days >= SERIES_DAYS) & facts.same & unlike & (facts.better < better)


def _off_topic(facts: PairFacts) -> Mask:
    return facts.titled & (facts.about < facts.limits.about_title) & ~(facts.note | facts.passage)


def _distinguished_by_numbers(
    facts: PairFacts, *, share: float = 0.6, numbers: int = 3, least: float = 0.15
) -> Mask:
    differ = (facts.lost >= numbers) & (facts.least_lost >= least)
    return facts.titled & (facts.distinguishing >= share) & differ & ~facts.note


def _distinguished(facts: PairFacts) -> Mask:
    short = facts.amount < LONG_UNITS
    return facts.titled & (facts.distinguishing >= DISTINGUISHING) & short & ~facts.passage


def _untitled(facts: PairFacts) -> Mask:
    if facts.titled.all():
        return np.zeros_like(facts.titled)
    return _asked_without_titles(facts) & (facts.both < _least_without_titles(facts))


def _untitled_openings(facts: PairFacts) -> Mask:
    """Pairs that agree too little for pages that open with other words.

    The first words of a whole web page are its name, and what follows its site's menus; so pages of one layout that open alike
    may be versions of one page, those that do not are two.
    """
    if facts.titled.all():
        return np.zeros_like(facts.titled)
    low, high = facts.limits.opening_overlaps
    openings = facts.opening_overlap
    apart = np.where(openings >= 0, np.clip((high - openings) / (high - low), 0.0, 1.0), 0.0)
    least = _least_without_titles(facts)
    named = least + apart * np.maximum(facts.limits.opening_cover - least, 0.0)
    refused: Mask = _asked_without_titles(facts) & facts.lists & (apart > 0) & (facts.both < named)
    return refused


def _asked_without_titles(facts: PairFacts) -> Mask:
    limits = facts.limits
    contained = np.where(facts.lists, limits.words_contained, limits.untitled_contained)
    asked: Mask = ~facts.titled & (facts.better < contained)
    return asked


def _least_without_titles(facts: PairFacts) -> NDArray[np.float64]:
    limits = facts.limits
    return np.where(
        facts.lists,
        scaled(facts.amount, limits.words_amounts, limits.words_cover),
        scaled(facts.amount, limits.untitled_amounts, limits.untitled_cover),
    )


def _near_copy(facts: PairFacts) -> Mask:
    return facts.better >= facts.limits.near_copy


RULES: Final = (
    Rule(
        "too little covered",
        _covered_too_little,
        "few units may be a phrase that everybody uses; in a note of 100 units each touched clause costs much of the cover, a long page "
        "is contained only if most of it is; a late reprint is a whole copy, a late look-alike is the next issue of a series",
    ),
    Rule(
        "too little text in common",
        _too_short,
        "bodies that are nothing but template; a post of a dozen characters is whole, a titled page of so few has lost its text",
    ),
    Rule("numbers differ throughout", _numbers_differ, "daily figures", SERIES),
    Rule("same sentences with other numbers", _same_sentences, "the mark of a serial report", SERIES),
    Rule("same title on another day with other numbers", _same_title, "the same column, next issue", SERIES),
    Rule("titles nearly alike, numbers differ", _other_place, "the same form about another place", SERIES),
    Rule("titles nearly alike, days apart", _next_part, '"… (second part)", "… on Tuesday"', SERIES),
    Rule(
        "short text much alike, on another day",
        _short_form,
        "notices that are written from a form",
        SERIES,
    ),
    Rule("much the same again weeks later", _recurring, "what comes again every month", SERIES),
    Rule("unlike titles, days apart", _unlike_titles, "one form, two events", SERIES),
    Rule(
        "shared text is not what the titles are about",
        _off_topic,
        "link lists, disclaimers, adverts taken for the body",
        TITLES,
    ),
    Rule(
        "title-distinguishing terms occur only in unshared text, and numbers differ",
        _distinguished_by_numbers,
        "two reports of one form about two things",
        TITLES,
    ),
    Rule(
        "title-distinguishing terms occur only in unshared text",
        _distinguished,
        "the same without numbers",
        TITLES,
    ),
    Rule(
        "too little covered for pages without titles",
        _untitled,
        "without titles only the agreement of both sides speaks for a pair; whole English pages of one site share half their words by "
        "menus and lists",
    ),
    Rule(
        "first words of pages without titles differ",
        _untitled_openings,
        "the first words of a whole page are its name; two pages of one layout open with two names, versions of one page with the same",
    ),
)
