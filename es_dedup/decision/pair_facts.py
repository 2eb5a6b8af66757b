"""Input of the decision rules: measures of pairs, and what follows from them, such as the cover that a pair has to reach."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.decision.thresholds import LONG_UNITS, MOST_SCATTERED, SERIES, TITLES_AGREE, Thresholds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.detectors.coverage_pairs import PairMeasures, Side

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

SEVERAL: Final = 3  # numbers, or clauses with numbers: fewer may be chance
LATE_LOG_DAYS: Final = 8.0  # doublings of a day after which a look-alike has to be a near copy
PASSAGE_UNITS: Final = 250  # more than two articles have in common by a form


@dataclass(frozen=True, slots=True)
class PairContext:
    """Context of pairs that is not measured; every array has shape (pairs,).

    Attributes:
        left_titles, right_titles: number of title terms of each page.
        titled: both pages have titles that say something of them.
        days: days between the publications; 0 when one is unknown, or without titles and signs of a series.
        exact: the texts are equal, see ``FeatureTable.hashes``.
        in_words: both are written in words (Latin and the like, not Chinese characters) and one has no title.
        menus: of these, pairs whose pages both carry menus, lists or tables.
    """

    left_titles: NDArray[np.int64]
    right_titles: NDArray[np.int64]
    titled: NDArray[np.bool_]
    days: NDArray[np.int64]
    exact: NDArray[np.bool_]
    in_words: NDArray[np.bool_]
    menus: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PairFacts(PairContext):
    """Facts that the rules ask of pairs, in addition to those inherited from ``PairContext``; every array has shape (pairs,).

    Attributes:
        left_cover, right_cover: weighted cover, in [0, 1]; ``better_cover`` is the greater one, ``lesser_cover`` the lesser one.
        min_cover: cover that the better covered page has to reach.
        min_both: cover that the less covered page has to reach for a duplicate rather than containment.
        min_tokens: shared units that the pair has to reach.
        about_title: how much the shared text is about the titles, from 0; 1.5 when it is and the titles are equal.
        distinguishing: share of the title-distinguishing terms that occur only in unshared text, the smaller of both sides.
        shared_tokens: shared units, boilerplate discounted.
        compared_tokens: the same, but of near copies without titles with boilerplate: rows of a form that are filled in alike are
            duplicates, however little is filled in.
        title_overlap: of the titles; negative where one is missing.
        conflicting_numbers: numbers that the other page lacks, the smaller of both sides; ``conflicting_share`` their share of a page's
            numbers, the smaller of both sides.
        clauses_with_same_numbers, clauses_with_other_numbers: clauses that are equal but for their numbers, with equal and with other
            numbers.
        numbers_agree: three clauses or more of both pages have the same numbers, and no clause has other ones: what else differs was added
            or left out, not replaced.
        template: most clauses in common are boilerplate.
        would_be_duplicates: both pages are covered enough for duplicates, whatever their lengths.
        copy: exact pairs whose titles are the same, or of which one has none: an equal body under two titles may be a site's notice.
        quoted: a note or a passage that stands as a whole in the other page, whatever the other page is about.
        thresholds: of the decision rules.
    """

    left_cover: Floats
    right_cover: Floats
    better_cover: Floats
    lesser_cover: Floats
    min_cover: Floats
    min_both: Floats
    min_tokens: Floats
    about_title: Floats
    distinguishing: Floats
    shared_tokens: Floats
    compared_tokens: Floats
    title_overlap: Floats
    conflicting_numbers: NDArray[np.int64]
    conflicting_share: Floats
    clauses_with_same_numbers: NDArray[np.int64]
    clauses_with_other_numbers: NDArray[np.int64]
    numbers_agree: Mask
    template: Mask
    would_be_duplicates: Mask
    quoted: Mask
    copy: Mask
    thresholds: Thresholds


def facts_of(measures: PairMeasures, known: PairContext, thresholds: Thresholds) -> PairFacts:
    """The facts about measured pairs."""
    left, right = measures.left, measures.right
    left_cover, right_cover = (np.where(known.exact, 1.0, side.cover) for side in (left, right))
    better, lesser = np.maximum(left_cover, right_cover), np.minimum(left_cover, right_cover)
    share = np.maximum(_about(left, known.left_titles), _about(right, known.right_titles))
    overlap = np.maximum(measures.title_overlap, 0.0)
    distinguishing = np.minimum(_distinguishing(left), _distinguishing(right))
    left_lost = left.lost_numbers / np.maximum(left.numbers, 1)
    right_lost = right.lost_numbers / np.maximum(right.numbers, 1)
    untitled_copies = ~known.titled & (lesser >= thresholds.copied_cover)
    same, other = measures.same_numbers, measures.other_numbers
    near_copies = ~known.titled & (lesser >= thresholds.near_copy)
    return PairFacts(
        **{each.name: getattr(known, each.name) for each in fields(known)},
        left_cover=left_cover,
        right_cover=right_cover,
        better_cover=better,
        lesser_cover=lesser,
        min_cover=required_coverage(measures, known, thresholds),
        # Of two pages that are covered equally, neither is contained in the other.
        min_both=np.minimum(np.maximum(thresholds.same_cover, thresholds.same_size * better), better),
        min_tokens=np.where(untitled_copies, thresholds.fewest_of_copies, thresholds.fewest_units),
        # a text without any word of either title is boilerplate, unless the titles agree
        about_title=share + np.where((share > 0) | (overlap >= TITLES_AGREE), overlap / 2, 0.0),
        distinguishing=distinguishing,
        shared_tokens=measures.shared_tokens,
        compared_tokens=np.where(near_copies, measures.tokens, measures.shared_tokens),
        title_overlap=measures.title_overlap,
        conflicting_numbers=np.minimum(left.lost_numbers, right.lost_numbers),
        conflicting_share=np.minimum(left_lost, right_lost),
        clauses_with_same_numbers=same,
        clauses_with_other_numbers=other,
        numbers_agree=(same >= SEVERAL) & (other == 0),
        template=2 * measures.discounted_clauses > measures.shared_clauses,
        would_be_duplicates=lesser >= thresholds.same_cover,
        quoted=_quoted(measures, known, distinguishing, thresholds),
        copy=known.exact & ~(known.titled & (overlap < TITLES_AGREE)),
        thresholds=thresholds,
    )


def _quoted(
    measures: PairMeasures, known: PairContext, distinguishing: Floats, thresholds: Thresholds
) -> Mask:
    """Pairs of articles (not boilerplate) that share a note or passage that neither title needs to mention.

    A note stands as a whole in a digest of many things: its body speaks of its own title, or it stands there to the last
    word and has words of both titles. A passage is so much text that no footer or disclaimer has it, and both bodies speak
    of their own titles; pages of one form share as much, but are of like size.
    """
    left_cover, right_cover = measures.left.cover, measures.right.cover
    better, both = np.maximum(left_cover, right_cover), np.minimum(left_cover, right_cover)
    left_own, right_own = _own(measures.left, known.left_titles), _own(measures.right, known.right_titles)
    own = np.where(left_cover >= right_cover, left_own, right_own)
    spoken = np.minimum(measures.left.shared_terms, measures.right.shared_terms)
    note = (own >= thresholds.own_title) | ((better >= thresholds.near_copy) & (spoken > 0))
    note &= (both < thresholds.same_cover) & (distinguishing < 1)
    passage = np.minimum(left_own, right_own) >= thresholds.own_title
    passage &= (both < thresholds.same_size * better) & (measures.shared_tokens >= PASSAGE_UNITS)
    return np.asarray((better >= thresholds.copied_cover) & (note | passage))


def _about(side: Side, terms: NDArray[np.int64]) -> Floats:
    """Share of this page's title terms that occur in the shared text.

    Of those that the samples do not show, the covered share is taken to.
    """
    unseen = np.maximum(side.title_terms - side.shared_terms - side.lost_terms, 0)
    return np.asarray((side.shared_terms + unseen * side.cover) / np.maximum(terms, 1))


def _own(side: Side, terms: NDArray[np.int64]) -> Floats:
    """Share of this page's title terms that occur in its body; near 0, the body is boilerplate and not the article."""
    return side.title_terms / np.maximum(terms, 1)


def _distinguishing(side: Side) -> Floats:
    """Share of the terms that only this title has which occur only in text that the other page lacks; 0 without any in the body."""
    return side.foreign_lost / np.maximum(side.foreign_terms, 1)


def required_coverage(measures: PairMeasures, known: PairContext, thresholds: Thresholds) -> Floats:
    """Coverage that the better covered page of each pair must reach, in [0, 1]; shape (pairs,).

    Pages of like size on different days may be two issues of a form: they need more, by the logarithm of the days,
    and it does not count for them that their losses are scattered, for another name in the same sentence is that too.

    A long untitled text in words needs less where its losses are scattered, as edits are. If a share p of the words is unedited,
    about p^4 of the sequences of four words survive and p^12 of the clauses of some twelve words. The square root of the ratio
    of gram cover to clause cover, p^-4, is then what the edits took from the gram cover. A missing passage costs both alike,
    so the ratio stays 1. With titles the pair would need no more, which is the least that it needs without. For other
    untitled texts, and for pages with menus, the last rule is stricter, so the lower value has no effect.
    """
    left, right = measures.left.cover, measures.right.cover
    better, both = np.maximum(left, right), np.minimum(left, right)
    alike = (known.days >= 1) & (both >= thresholds.same_cover * better)
    amount = measures.shared_tokens
    scattered = np.where(alike, 1.0, _scattered(measures, left >= right))
    needed = scaled(amount, thresholds.amounts, thresholds.needed_cover) * scattered**-thresholds.scattered
    if not known.titled.all():
        untitled = untitled_cover(amount, known.in_words, thresholds)
        edited = np.maximum(untitled / np.sqrt(scattered), np.minimum(untitled, needed))
        untitled = np.where(amount >= LONG_UNITS, edited, untitled)
        needed = np.where(known.titled, needed, untitled)
    if SERIES in thresholds.without:
        return needed
    late = np.where(alike, np.minimum(np.log2(1.0 + known.days) / LATE_LOG_DAYS, 1.0), 0.0)
    return np.asarray(needed + np.maximum(thresholds.near_copy - needed, 0.0) * late)


def untitled_cover(amount: Floats, in_words: NDArray[np.bool_], thresholds: Thresholds) -> Floats:
    """Coverage that pages without titles must reach, in [0, 1]; shape (pairs,)."""
    by_amount = scaled(amount, thresholds.untitled_amounts, thresholds.untitled_cover)
    return np.where(in_words, thresholds.words_cover, by_amount)


def scaled(amount: Floats, amounts: tuple[float, ...], covers: tuple[float, ...]) -> Floats:
    """Required coverage for an amount: piecewise linear in its logarithm, constant at both ends."""
    return np.interp(np.log2(np.maximum(amount, 1.0)), np.log2(amounts), covers)


def _scattered(measures: PairMeasures, by_left: NDArray[np.bool_]) -> Floats:
    """How scattered the losses of the better covered page are: its gram cover over its clause cover, from 1 to ``MOST_SCATTERED``.

    What is missing as a block takes grams and clauses alike. An edit takes the few grams around it, but the whole clause:
    where more clauses are lost than grams, the text is in place and was edited here and there.
    """
    left, right = measures.left, measures.right
    grams = np.where(by_left, left.gram_cover, right.gram_cover)
    clauses = np.where(by_left, left.clause_cover, right.clause_cover)
    return np.clip(grams / np.maximum(clauses, 1e-9), 1.0, MOST_SCATTERED)
