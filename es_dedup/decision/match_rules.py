"""The rules that reject a pair, in the order in which they apply.

Near-identical text is no proof (two pages may share nothing but a disclaimer), and half a text may be (a truncated copy). So the
rules test: is enough covered, is it enough text, do the numbers agree, are the pages issues of a series, is the shared text what the
titles speak of, do title-distinguishing terms occur only in unshared text? The first rule that rejects gives the reason; a pair that none
rejects is accepted. docs/benchmarks/rule-effects.md has the measured effect of each.
"""

# ruff: noqa: PLR2004 - thresholds stand in the list of rules

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.decision.conditions import Fact, Rule
from es_dedup.decision.pair_facts import SEVERAL, PairFacts, untitled_cover
from es_dedup.decision.thresholds import LONG_UNITS, SERIES, TITLES, TITLES_AGREE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RECURRING_DAYS: Final = 30
SHORT_UNITS: Final = 100  # below: a notice


def _contained_without_titles(facts: PairFacts) -> Floats:
    thresholds = facts.thresholds
    in_words = np.where(facts.menus, thresholds.near_copy, facts.min_cover)
    return np.where(facts.in_words, in_words, thresholds.untitled_contained)


BETTER: Final = Fact("better_cover", "coverage of the better covered page")
LESSER: Final = Fact("lesser_cover", "coverage of the less covered page")
UNITS: Final = Fact("shared_tokens", "units in common, boilerplate discounted")
COMPARED_UNITS: Final = Fact(
    "compared_tokens", "units in common, boilerplate counted in untitled near copies only"
)
DAYS: Final = Fact(
    "days", "days between the publications; 0 when one is unknown, or without titles and signs of a series"
)
TITLED: Final = Fact("titled", "both pages have titles", "a title is missing, or says nothing")
TITLE_OVERLAP: Final = Fact("title_overlap", "overlap of the titles")
ABOUT_TITLE: Final = Fact("about_title", "how much the shared text is about the titles")
DISTINGUISHED: Final = Fact(
    "distinguishing", "share of the title-distinguishing terms that occur only in unshared text"
)
NUMBERS: Final = Fact("conflicting_numbers", "numbers that the other page lacks, the fewer of both pages")
NUMBERS_SHARE: Final = Fact("conflicting_share", "their share of a page's numbers, the lesser of both")
OTHER_CLAUSES: Final = Fact("clauses_with_other_numbers", "clauses equal but for their numbers")
SAME_CLAUSES: Final = Fact("clauses_with_same_numbers", "clauses with numbers that are equal")
NUMBERS_AGREE: Final = Fact(
    "numbers_agree", "numbers of the common clauses agree", "numbers of the common clauses do not agree"
)
DUPLICATES: Final = Fact(
    "would_be_duplicates",
    "both pages are covered enough for duplicates",
    "a page is covered too little for duplicates",
)
EXACT: Final = Fact("exact", "texts are equal", "texts differ")
COPY: Final = Fact("copy", "texts are equal, and titles do not differ", "texts or titles differ")
QUOTED: Final = Fact("quoted", "a quoted note or passage", "no quoted note or passage")
MENUS: Final = Fact("menus", "both pages carry menus", "a page carries no menus")
TEMPLATE: Final = Fact("template", "most common clauses are boilerplate", "most common clauses are content")

REQUIRED: Final = Fact("min_cover", "required coverage")
LEAST_UNITS: Final = Fact("min_tokens", "least units in common")
NEAR_COPY: Final = Fact(
    "near_copy", "coverage of a near copy", compute=lambda facts: facts.thresholds.near_copy
)
LEAST_ABOUT: Final = Fact("min_about_title", compute=lambda facts: facts.thresholds.about_title)
CONTAINED: Final = Fact("untitled_contained", compute=_contained_without_titles)
LEAST_UNTITLED: Final = Fact(
    "min_both_untitled",
    compute=lambda facts: untitled_cover(facts.shared_tokens, facts.in_words, facts.thresholds),
)
RULES: Final = (
    Rule(
        "too little own text in common",
        (COPY.no,),
        ((COMPARED_UNITS < LEAST_UNITS,),),
        "what else is shared is boilerplate, or nothing is: such texts are duplicates only when they are equal or, without titles, near "
        "copies; a post of a dozen characters can be complete, but a titled page of that length has lost its text",
    ),
    Rule(
        "too little covered",
        (),
        ((BETTER < REQUIRED,),),
        "a few shared units may be a common phrase; in a note of about 100 units, each edited clause costs much "
        "coverage, so it needs less; a long page needs most of its text covered to be contained; a reprint published "
        "days later is a complete copy, while a page that is only similar is usually the next issue of a series",
    ),
    Rule(
        "numbers differ throughout",
        (BETTER < NEAR_COPY,),
        ((NUMBERS >= SEVERAL, NUMBERS_SHARE >= 0.4, NUMBERS_AGREE.no, DUPLICATES.yes),),
        "daily figures",
        SERIES,
    ),
    Rule(
        "another number in a short text without title",
        (TITLED.no, MENUS.no),
        ((UNITS < LONG_UNITS, OTHER_CLAUSES >= 1), (UNITS < SHORT_UNITS, NUMBERS >= 1, TEMPLATE.yes)),
        "warnings, price lists and bond issues follow a template, and without titles only their numbers distinguish them; "
        "a reprint keeps them",
        SERIES,
    ),
    Rule(
        "same sentences with other numbers",
        (),
        ((OTHER_CLAUSES >= SEVERAL, OTHER_CLAUSES >= SAME_CLAUSES),),
        "typical of serial reports",
        SERIES,
    ),
    Rule(
        "same title on another day with other numbers",
        (DAYS >= 1,),
        ((TITLE_OVERLAP >= TITLES_AGREE, NUMBERS >= 2, NUMBERS_AGREE.no),),
        "the next issue of the same column; if both report the same figures, it is an update instead",
        SERIES,
    ),
    Rule(
        "much the same again on another day",
        (DAYS >= 1, DUPLICATES.yes, EXACT.no),
        ((UNITS < SHORT_UNITS, LESSER < 0.85), (UNITS < LONG_UNITS, DAYS >= RECURRING_DAYS)),
        "notices that follow a template, and those that recur every month",
        SERIES,
    ),
    Rule(
        "shared text is not what the titles are about",
        (TITLED.yes, QUOTED.no),
        ((ABOUT_TITLE < LEAST_ABOUT,),),
        "link lists, disclaimers or advertisements extracted as the body",
        TITLES,
    ),
    Rule(
        "title-distinguishing terms occur only in unshared text",
        (TITLED.yes, QUOTED.no),
        (
            (DISTINGUISHED >= 0.5, NUMBERS >= SEVERAL, BETTER < NEAR_COPY),
            (DISTINGUISHED >= 1, UNITS < LONG_UNITS),
            (DISTINGUISHED >= 1, TITLE_OVERLAP < TITLES_AGREE),
        ),
        "two reports or adverts that follow one template but have different subjects; titles that agree may differ in spelling",
        TITLES,
    ),
    Rule(
        "too little covered for pages without titles",
        (TITLED.no, BETTER < CONTAINED),
        ((LESSER < LEAST_UNTITLED,),),
        "without titles, both pages must be covered; two pages with menus share those with every other page of the site",
    ),
)
