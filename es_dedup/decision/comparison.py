"""All detectors and the decision rules on many pairs at once, and the evidence of some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.decision import rules
from es_dedup.decision.pair_facts import PairContext
from es_dedup.decision.statistics import Statistics, spoken
from es_dedup.decision.thresholds import TITLES_AGREE, Thresholds, thresholds_of
from es_dedup.decision.voting import decided_by, outcome, reason, voters_of
from es_dedup.detectors.ccdet import Ccdet
from es_dedup.detectors.coverage import Coverage
from es_dedup.detectors.coverage_pairs import PairMeasures, Weights, measure, run_shares, uniform_weights
from es_dedup.detectors.features import FeatureTable, features_of
from es_dedup.detectors.packed_features import packed_detectors
from es_dedup.detectors.simhash import Simhash
from es_dedup.errors import DamagedData
from es_dedup.model import Edge, Number, PairDecision, Relation, Verdict
from es_dedup.text.ragged import take

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.decision.rules import PairDecisions
    from es_dedup.detectors.coverage_features import CoverageTable
    from es_dedup.detectors.port import Detector
    from es_dedup.settings import Settings

BLOCK: Final = 4096  # pairs measured at a time: about 30 MB of arrays
WORD_CHARS: Final = 2.5  # characters a unit of coverage: Chinese prose has 1.0 to 1.3, with commands and code 2, English 2.5 to 3.8
# of a page's characters in runs without a clause mark: menus, lists and tables printed in a row
MENU_SHARE: Final = 0.04
# of the text that untitled pages have in common, the share that is not template: more if a post is sent again, less if a form is filled in
OWN_TEXT: Final = 0.80
REJECTED: Final = -1  # in ``PairDecisions.rule``: no rule rejects, the methods do


@dataclass(frozen=True, slots=True)
class Pages:
    """Feature rows with the metadata that the decision rules use.

    Attributes:
        ids: page ids.
        table: their features.
        days: day of publication as a day number, 0 when unknown.
        named: named fields of each page, where they are at hand; an index that stores terms as text is queried by them.
    """

    ids: list[str]
    table: FeatureTable
    days: NDArray[np.int64]
    named: Sequence[Mapping[str, Any]] = ()

    def between(self, start: int, stop: int) -> Pages:
        """The pages from one row to before another, or to the last."""
        rows = slice(start, stop)
        table = self.table.take(np.arange(start, min(stop, len(self.ids))))
        return Pages(self.ids[rows], table, self.days[rows], self.named[rows])


@dataclass(frozen=True, slots=True)
class PagePairs:
    """Pairs of pages: the rows of two tables, pair by pair."""

    left: Pages
    left_rows: NDArray[np.int64]
    right: Pages
    right_rows: NDArray[np.int64]

    def __len__(self) -> int:
        """How many pairs."""
        return len(self.left_rows)


@dataclass(frozen=True, slots=True)
class PairComparison:
    """Compared pairs: the decisions with the measures they follow from, and what both rest on."""

    pairs: PagePairs
    statistics: Statistics
    settings: Settings
    measures: PairMeasures
    decisions: PairDecisions

    def related_rows(self) -> RelatedRows:
        """The related pairs by rows."""
        kept, decisions, pairs = self.decisions.rule == 0, self.decisions, self.pairs
        return RelatedRows(
            pairs.left_rows[kept], pairs.right_rows[kept], decisions.relation[kept], decisions.score(kept)
        )

    def related_pairs(self) -> Iterator[tuple[int, str]]:
        """The left row and the right page's id of each related pair."""
        related, pairs = self.decisions.rule == 0, self.pairs
        names = (pairs.right.ids[row] for row in pairs.right_rows[related].tolist())
        return zip(pairs.left_rows[related].tolist(), names, strict=True)


@dataclass(frozen=True, slots=True)
class RelatedRows:
    """Pairs that are related; every array has shape (pairs,).

    Attributes:
        left, right: rows.
        relation: index into ``RELATIONS``, never 0.
        score: agreement, in [0, 1].
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    relation: NDArray[np.int8]
    score: NDArray[np.float64]

    @classmethod
    def concatenate(cls, parts: Sequence[RelatedRows]) -> RelatedRows:
        """Several results as one."""
        rows = np.zeros(0, dtype=np.int64)
        nothing = cls(rows, rows, rows.astype(np.int8), rows.astype(np.float64))
        columns = ((each.left, each.right, each.relation, each.score) for each in (nothing, *parts))
        return cls(*map(np.concatenate, zip(*columns, strict=True)))

    def edges(self, left_ids: Sequence[str], right_ids: Sequence[str]) -> list[Edge]:
        """The pairs as edges, the smaller id on the left, by the ids of the rows of either side."""
        edges = []
        columns = self.left, self.right, self.relation, self.score
        for left, right, relation, score in zip(*(each.tolist() for each in columns), strict=True):
            kind, first, second = rules.RELATIONS[relation], left_ids[left], right_ids[right]
            if first > second:
                kind, first, second = kind.reversed, second, first
            edges.append(Edge(first, second, kind, round(score, 4)))
        return edges


def days_of(times: Iterable[str]) -> NDArray[np.int64]:
    """Day numbers of ISO 8601 times, 0 where there is none; shape (times,).

    Raises:
        DamagedData: other text.
    """
    try:
        days = [date.fromisoformat(each[:10]).toordinal() if each else 0 for each in times]
    except (ValueError, TypeError) as error:
        raise DamagedData("times of publication", str(error)) from error
    return np.array(days, dtype=np.int64)


def compare(
    pairs: PagePairs,
    statistics: Statistics,
    settings: Settings,
    thresholds: Thresholds | None = None,
    weights: Weights | None = None,
) -> PairComparison:
    """Measures and decisions of pairs.

    Args:
        pairs: the pages.
        statistics: what grams and clauses count.
        settings: who decides: the decision rules, or published methods in their place.
        thresholds: of the decision rules, in place of those of the settings.
        weights: those of the left table by these statistics, where they are at hand.
    """
    measures, context = measured(pairs, statistics, weights)
    decisions = rules.apply_rules(measures, context, thresholds or thresholds_of(settings.decision))
    by_rules = PairComparison(pairs, statistics, settings, measures, decisions)
    return by_rules if settings.decision.method == rules.BY_RULES else _decided_by_methods(by_rules)


def _decided_by_methods(comparison: PairComparison) -> PairComparison:
    """A comparison decided by ``decision.method``: the verdict of one method, or of several, is the relation of every pair.

    Pages whose texts are equal are exact, whatever the methods make of them. A pair of which every method skipped a page is
    different.
    """
    decisions, settings = comparison.decisions, comparison.settings
    equal = decisions.facts.exact
    rule = np.where(equal, 0, REJECTED).astype(np.int8)
    relation = np.where(equal, rules.RELATIONS.index(Relation.EXACT), 0).astype(np.int8)
    scores = equal.astype(np.float64)
    open_pairs = np.flatnonzero(~equal).tolist()
    verdicts = [verdicts_by(name, comparison, open_pairs) for name in voters_of(settings)]
    for pair, *votes in zip(open_pairs, *verdicts, strict=True):
        verdict = outcome(settings.decision.method, votes)
        if verdict is None:
            continue
        scores[pair] = verdict.score
        if verdict.relation is not Relation.DIFFERENT:
            rule[pair], relation[pair] = 0, rules.RELATIONS.index(verdict.relation)
    return replace(comparison, decisions=replace(decisions, rule=rule, relation=relation, scores=scores))


def measured(
    pairs: PagePairs, statistics: Statistics, weights: Weights | None = None
) -> tuple[PairMeasures, PairContext]:
    """Pairs measured by some statistics, and what else the decision rules know of them; arguments as of ``compare``."""
    ours, theirs = pairs.left.table, pairs.right.table
    left_rows, right_rows = pairs.left_rows, pairs.right_rows
    left_weights = weights or statistics.weights(ours.coverage)
    right_weights = left_weights if pairs.right is pairs.left else statistics.weights(theirs.coverage)
    measures = measure(ours.coverage, left_rows, theirs.coverage, right_rows, left_weights, right_weights)
    given = ours.coverage.titled[left_rows] & theirs.coverage.titled[right_rows]
    titled = statistics.titled(ours.coverage, left_rows) & statistics.titled(theirs.coverage, right_rows)
    same = (ours.hashes[left_rows] == theirs.hashes[right_rows]) & (ours.hashes[left_rows] != 0)
    # the names of two columns say nothing of their pages, but tell them apart if the texts speak of them
    if len(columns := np.flatnonzero(given & ~titled & ~same & (measures.title_overlap < TITLES_AGREE))):
        titled[columns] = spoken(ours.coverage, left_rows[columns]) & spoken(
            theirs.coverage, right_rows[columns]
        )
    ours_days, theirs_days = pairs.left.days[left_rows], pairs.right.days[right_rows]
    days = np.where((ours_days > 0) & (theirs_days > 0), np.abs(ours_days - theirs_days), 0)
    if len(untitled := np.flatnonzero((days > 0) & ~titled)):
        sides = take(ours.coverage, left_rows[untitled]), take(theirs.coverage, right_rows[untitled])
        days[untitled[~_of_a_series(measures, untitled, *sides)]] = 0
    in_words, menus = _untitled_in_words(pairs, titled)
    context = PairContext(
        np.diff(ours.coverage.title_offsets)[left_rows],
        np.diff(theirs.coverage.title_offsets)[right_rows],
        titled,
        days,
        same,
        in_words,
        menus,
    )
    return measures, context


def _of_a_series(
    measures: PairMeasures, pairs: NDArray[np.int64], left: CoverageTable, right: CoverageTable
) -> NDArray[np.bool_]:
    """Whether pages may be issues of a series: both have numbers that the other lacks, or template in common; shape (pairs,).

    Args:
        measures: of these pairs and others.
        pairs: the pairs asked about.
        left, right: their pages, row by row.
    """
    rows, plain = np.arange(len(pairs)), (uniform_weights(left), uniform_weights(right))
    common = measure(left, rows, right, rows, *plain).shared_tokens
    other_numbers = (measures.left.lost_numbers[pairs] > 0) & (measures.right.lost_numbers[pairs] > 0)
    return np.asarray(other_numbers | (measures.shared_tokens[pairs] < OWN_TEXT * common))


def _untitled_in_words(
    pairs: PagePairs, titled: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a pair lacks a title and both pages are written in words; and whether, of these, both carry menus. Shape (pairs,)."""
    sides = (pairs.left.table, pairs.left_rows), (pairs.right.table, pairs.right_rows)
    in_words = ~titled
    for table, rows in sides:
        in_words[in_words] = _of_words(table, rows[in_words])
    menus = in_words.copy()
    for table, rows in sides:
        menus[menus] = run_shares(table.coverage, rows[menus]) >= MENU_SHARE
    return in_words, menus


def _of_words(table: FeatureTable, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each page is in a language with words: a word counts two units and has more characters, a Chinese character counts one."""
    return table.lengths[rows] >= WORD_CHARS * np.maximum(table.coverage.tokens[rows], 1)


def pair_decisions(
    comparison: PairComparison, pairs: Sequence[int], *, verdicts: bool = True
) -> list[PairDecision]:
    """Some compared pairs with their evidence, in order, and each enabled detector's own verdicts when wanted."""
    decisions, rows = comparison.decisions, np.asarray(pairs, dtype=np.int64)
    pages, settings = comparison.pairs, comparison.settings
    by_rules, decider = settings.decision.method == rules.BY_RULES, decided_by(settings)
    ends = pages.left_rows[rows], pages.right_rows[rows]
    columns = (*ends, decisions.relation[rows], decisions.rule[rows], decisions.score(rows))
    of_methods = _verdicts(comparison, pairs) if verdicts else [()] * len(rows)
    found = []
    for left, right, relation, rule, score, method_verdicts, evidence in zip(
        *(column.tolist() for column in columns), of_methods, evidence_of(comparison, rows), strict=True
    ):
        named = rules.RELATIONS[relation]
        found.append(
            PairDecision(
                left=pages.left.ids[left],
                right=pages.right.ids[right],
                relation=named,
                score=round(score, 4),
                reason=rules.REASONS[rule] if by_rules else reason(settings, named, method_verdicts),
                evidence=evidence,
                verdicts=method_verdicts,
                decided_by=decider,
            )
        )
    return found


def evidence_of(comparison: PairComparison, rows: NDArray[np.int64]) -> Iterator[dict[str, Number]]:
    """What each of some pairs is decided by: numbers by name."""
    measures, facts, pairs = comparison.measures, comparison.decisions.facts, comparison.pairs

    def shares(column: NDArray[np.float64]) -> list[float]:
        return [round(value, 4) for value in column[rows].tolist()]

    def counts(column: NDArray[Any]) -> list[int]:
        return list(map(round, column[rows].tolist()))

    left_days = pairs.left.days[pairs.left_rows[rows]].tolist()
    right_days = pairs.right.days[pairs.right_rows[rows]].tolist()
    columns: dict[str, Sequence[Number]] = {
        "left_cover": shares(facts.left_cover),
        "right_cover": shares(facts.right_cover),
        "min_cover": shares(facts.min_cover),
        "min_both": shares(facts.min_both),
        "shared_tokens": counts(facts.shared_tokens),
        "compared_tokens": counts(facts.compared_tokens),
        "min_tokens": facts.min_tokens[rows].tolist(),
        "shared_clauses": counts(measures.shared_clauses),
        "discounted_clauses": counts(measures.discounted_clauses),
        "title_overlap": [None if share < 0 else share for share in shares(measures.title_overlap)],
        "titles_agree": (measures.title_overlap[rows] >= TITLES_AGREE).tolist(),
        "days_apart": [
            abs(left - right) if left > 0 and right > 0 else None
            for left, right in zip(left_days, right_days, strict=True)
        ],
        "about_title": shares(facts.about_title),
        "min_about_title": [facts.thresholds.about_title] * len(rows),
        "distinguishing": shares(facts.distinguishing),
        "left_other_numbers": counts(measures.left.lost_numbers),
        "right_other_numbers": counts(measures.right.lost_numbers),
        "clauses_with_other_numbers": counts(measures.other_numbers),
        "statistics": [comparison.statistics.version] * len(rows),
    }
    return (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))


def verdicts_by(name: str, comparison: PairComparison, pairs: Sequence[int]) -> Iterator[Verdict | None]:
    """Verdicts of one enabled method on some of the compared pairs; None where it skipped a page."""
    pages, settings = comparison.pairs, comparison.settings
    if name == Coverage.name:
        coverage = Coverage(settings.coverage)
        yield from (coverage.decide(comparison.measures, pair) for pair in pairs)
        return
    detector: Detector[Any]
    if name == Ccdet.name:
        detector = Ccdet(settings.ccdet, comparison.statistics.noise)
    else:
        detector = Simhash(settings.simhash) if name == Simhash.name else packed_detectors(settings)[name]
    sides = []
    for side, rows in ((pages.left, pages.left_rows), (pages.right, pages.right_rows)):
        asked = rows[np.asarray(pairs, dtype=np.int64)].tolist()
        distinct = list(dict.fromkeys(asked))
        features = dict(zip(distinct, features_of(side.table, detector, distinct), strict=True))
        sides.append([features[row] for row in asked])
    for left, right in zip(*sides, strict=True):
        yield None if left is None or right is None else detector.verify(left, right)


def _verdicts(comparison: PairComparison, pairs: Sequence[int]) -> list[tuple[Verdict, ...]]:
    """For each of some pairs the verdicts of the enabled methods that did not skip a page."""
    of_methods = (verdicts_by(name, comparison, pairs) for name in comparison.settings.detectors)
    return [
        tuple(verdict for verdict in verdicts if verdict is not None)
        for verdicts in zip(*of_methods, strict=True)
    ]
