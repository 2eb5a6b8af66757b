"""Methods side by side: the join of candidate terms, costs, thresholds, and where one stands alone."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.detectors.registry import create_detectors, detector_names
from es_dedup.evaluation import labelled
from es_dedup.evaluation.labels import LabelledPair
from es_dedup.model import CandidateQuery, Page, Relation, TermGroup, Verdict
from es_dedup.model.annotations import Label
from es_dedup.settings import Settings
from experiments.comparison import compare
from experiments.methods import Cost, MethodRun, run_method, run_rules
from experiments.self_join import self_join
from tests.experiments.comparator_cases import real_pages
from tests.texts import article

FREE: Final = Cost(1.0, 8.0, 4.0, 2.0, 0.5, 100.0)


class Plan:
    """A method whose features are its candidate query plan: groups of (terms, least) to ask, and terms to store."""

    name, version = "plan", 1

    def __init__(self, max_df: int = 1000) -> None:
        self._max_df = max_df

    def terms(self, features: Any) -> tuple[int, ...]:
        return tuple(features[0])

    def candidate_query(self, features: Any) -> CandidateQuery | None:
        groups = tuple(TermGroup(tuple(terms), least) for terms, least in features[1])
        return CandidateQuery(groups, max_df=self._max_df) if groups else None


TERMS: Final = st.sets(st.integers(0, 8), max_size=5).map(sorted)
GROUPS: Final = st.lists(st.tuples(TERMS.filter(bool), st.integers(1, 3)), max_size=3)
CORPUS: Final = st.lists(st.one_of(st.none(), st.tuples(TERMS, GROUPS)), max_size=7)


def slow_join(pages: Sequence[Any], max_df: int) -> tuple[set[tuple[int, int]], int]:
    """Candidate pairs and answers, page by page."""
    stored = {at: set(page[0]) for at, page in enumerate(pages) if page}
    parts = [
        {
            term: max(Fraction(1, least) for queried, least in page[1] if term in queried)
            for queried, _ in page[1]
            for term in queried
        }
        if page
        else {}
        for page in pages
    ]
    df = {term: sum(term in each for each in stored.values()) for each in stored.values() for term in each}
    found = {
        (query, other)
        for query, queried in enumerate(parts)
        for other, terms in stored.items()
        if other != query
        and sum(part for term, part in queried.items() if term in terms and df[term] <= max_df) >= 1
    }
    return {(min(pair), max(pair)) for pair in found}, len(found)


@settings(max_examples=300)
@given(CORPUS, st.sampled_from([1, 2, 1000]))
def test_the_join_gives_what_each_query_would_be_answered(pages: list[Any], max_df: int) -> None:
    join = self_join(Plan(max_df), pages)  # type: ignore[arg-type]
    expected, answers = slow_join(pages, max_df)
    assert set(zip(join.left.tolist(), join.right.tolist(), strict=True)) == expected
    assert len(join.left) == len(expected)
    assert join.found == answers
    assert join.queried == sum(bool(page and page[1]) for page in pages)
    assert join.terms == sum(len(page[0]) for page in pages if page)


def run_of(name: str, scores: Mapping[tuple[str, str], float], threshold: float = 0.5) -> MethodRun:
    """A run whose candidates are exactly the pairs with a score."""
    verdicts = {
        pair: Verdict(
            name, Relation.DUPLICATE if score >= threshold else Relation.DIFFERENT, score, {"s": score}
        )
        for pair, score in scores.items()
    }
    return MethodRun(name, verdicts, frozenset(scores), {}, FREE)


def pairs(*labels: str) -> list[LabelledPair]:
    """Labelled pairs of pages of their own: a0-b0, a1-b1 and so on."""
    return [labelled(f"a{at}", f"b{at}", Label(label)) for at, label in enumerate(labels)]


def test_threshold_and_area_by_hand() -> None:
    labels = pairs("dup", "dup", "diff", "contain", "partial", "dup")
    scored = {f"a{at}": score for at, score in enumerate((0.9, 0.8, 0.8, 0.6, 0.99))}
    run = run_of("m", {(a, a.replace("a", "b")): score for a, score in scored.items()})
    figures = compare([run], labels, 12, folds=3).methods["m"]
    assert math.isclose(figures.average_precision, 0.25 + 0.25 * 2 / 3 + 0.25 * 0.75)
    assert (figures.candidates.hits, figures.candidates.total) == (3, 4)
    assert (figures.own.positive.hits, figures.own.diff.hits, figures.own.partial.hits) == (3, 1, 1)
    assert figures.threshold == 0.6
    bounded = compare([run], labels, 12, folds=3, max_merged_diff=0.0).methods["m"]
    assert bounded.threshold == 0.9
    assert bounded.tuned is not None
    assert bounded.tuned.in_sample.diff.hits == 0


def test_a_method_of_rules_finds_only_what_it_merges() -> None:
    labels = pairs("dup", "diff")
    run = run_of("m", {each.pair: 0.4 for each in labels})
    ruled = MethodRun("m", run.verdicts, run.candidates, {}, FREE, rules=True)
    assert run.score(labels[0].pair) == 0.4
    assert ruled.score(labels[0].pair) is None
    assert compare([ruled], labels, 4).methods["m"].candidates.hits == 1


def test_who_alone_is_right_or_wrong_is_named_with_every_score() -> None:
    labels = pairs("dup", "dup", "dup", "diff", "diff", "partial")
    high = {labels[0].pair: 0.9, labels[1].pair: 0.9}
    runs = [
        run_of("a", high),
        run_of("b", high | {labels[2].pair: 0.8}),
        run_of("c", high | {labels[3].pair: 0.9}),
    ]
    found = compare(runs, labels, 12)
    assert [(each.method, each.right, each.pair) for each in found.alone] == [
        ("b", True, labels[2]),
        ("c", False, labels[3]),
    ]
    assert found.alone[0].scores == {"a": None, "b": 0.8, "c": None}
    assert found.as_dict()["alone"][0]["evidence"] == {"s": 0.8}
    assert found.as_dict()["alone"][0]["shares"] is None
    assert compare(runs[:2], labels, 12).alone == ()


@pytest.mark.parametrize(
    "name",
    [name for name in detector_names() if name != "ccdet_idf"],  # among 60 pages all it shares is frequent
)
def test_every_method_runs_alone_on_real_pages(name: str) -> None:
    pages = dict(list(real_pages().items())[:60])
    ids = list(pages)
    labels = [labelled(ids[0], ids[1], Label.DUP), labelled(ids[0], "not there", Label.DIFF)]
    run = run_method(create_detectors(Settings(detectors=(name,)))[name], ids, list(pages.values()), labels)
    assert run.name == name
    assert set(run.verdicts) == {labels[0].pair}
    assert run.candidates == {labels[0].pair}  # the first two pages have the same text
    assert run.verdicts[labels[0].pair].score == 1.0
    assert run.cost.bytes > 0
    assert run.cost.features_ms > 0
    assert run.cost.candidates >= 0
    assert sum(run.skipped.values()) < len(ids)


def test_the_judge_runs_as_one_of_the_methods() -> None:
    pages = [Page("a", text=article(1)), Page("b", text=article(1) + "又及。"), Page("c", text=article(2))]
    labels = [labelled("a", "b", Label.DUP), labelled("a", "c", Label.DIFF), labelled("a", "zz", Label.DUP)]
    with Deduplicator.open(":memory:") as dedup:
        run = run_rules(dedup, pages, labels)
    assert set(run.verdicts) == {("a", "b"), ("a", "c")}
    assert run.verdicts["a", "b"].relation is Relation.DUPLICATE
    assert ("a", "b") in run.candidates
    assert run.cost.bytes > 100
    found = compare([run], labels, 3).methods["rules"]
    assert (found.own.positive.hits, found.own.positive.total, found.own.diff.hits) == (1, 2, 0)
