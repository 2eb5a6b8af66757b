"""Results of candidate queries on every index; part of ``FeatureIndexContract``."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import pytest

from es_dedup.model import CandidateQuery, CandidateResult, TermGroup
from es_dedup.testing.builders import candidate_query, copies, record
from es_dedup.testing.contract_fixtures import IndexFixtures, ids

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from es_dedup.index.port import Index

TERMS: Final = (*range(9), 1 << 47, (1 << 48) - 1)
QUERIES: Final = 60


def answer_of(pages: Mapping[str, Collection[int]], query: CandidateQuery) -> CandidateResult:
    """What ``candidates_many`` answers of pages with these terms, by counting."""
    weights: dict[int, Fraction] = {}
    groups: dict[int, TermGroup] = {}
    for group in query.groups:
        part = Fraction(1, max(1, group.min_shared))
        for term in group.terms:
            if part >= weights.get(term, 0):  # of several groups that where it weighs most
                weights[term], groups[term] = part, group
    postings = Counter(term for terms in pages.values() for term in set(terms))
    capped = set()
    for term, group in groups.items():
        if postings[term] > (query.max_df if group.max_df is None else group.max_df):
            capped.add(term)
        if group.common_df is not None and postings[term] > group.common_df:
            weights[term] /= 2
    shared = {name: sum(weights.get(term, 0) for term in {*terms} - capped) for name, terms in pages.items()}
    found = sorted(
        (-weight, name) for name, weight in shared.items() if weight >= 1 and name != query.exclude
    )
    best = tuple(name for _, name in found[: query.limit])
    return CandidateResult(best, truncated=len(found) > query.limit, capped=frozenset(capped))


def some_query(rng: random.Random) -> CandidateQuery:
    """A query with any values."""
    groups = [
        TermGroup(
            tuple(rng.choices(TERMS, k=rng.randint(0, 5))),
            rng.randint(0, 4),
            common_df=rng.choice((None, 1, 4)),
            max_df=rng.choice((None, 1, 3, 9)),
        )
        for _ in range(rng.randint(0, 3))
    ]
    limit, most, exclude = rng.choice((1, 3, 50)), rng.choice((3, 5, 99)), rng.choice((None, "a", "unknown"))
    return CandidateQuery(tuple(groups), limit=limit, max_df=most, exclude=exclude)


class CandidateContract(IndexFixtures):
    """``candidates_many``."""

    @pytest.mark.parametrize("seed", range(3))
    def test_any_queries(self, index: Index, seed: int) -> None:
        rng = random.Random(seed)  # noqa: S311 - seeded, no secret
        pages = {name: rng.sample(TERMS, rng.randint(0, 8)) for name in "cabdhgfe"}
        index.put_many([record(name, terms) for name, terms in pages.items()])
        queries = [some_query(rng) for _ in range(QUERIES)]
        answers = [answer_of(pages, query) for query in queries]
        assert index.candidates_many(queries) == answers
        assert [index.candidates_many([query])[0] for query in queries[:5]] == answers[:5]
        assert index.candidates_many([]) == []

    def test_parts_that_do_not_divide_evenly_make_a_whole_too(self, index: Index) -> None:
        for least in (3, 7, 11, 13):
            index.put_many([record("a", range(least)), record("b", range(least - 1))])
            (answer,) = index.candidates_many([candidate_query(*range(2 * least), min_shared=least)])
            assert ids(answer) == ["a"]

    def test_asked_together_the_answers_are_the_same(self, index: Index) -> None:
        index.put_many([record("c", [4]), record("e", [4], content_hash=7), record("f", content_hash=7)])
        queries = [candidate_query(4), candidate_query(77), CandidateQuery(())]
        expected = index.candidates_many(queries), copies(index, 7, 9, limit=1)
        assert expected[1] == {7: ["e"]}
        assert index.candidates_with_copies(queries, [7, 9], limit=1) == expected
        assert index.candidates_with_copies([], [7]) == ([], {7: ["e", "f"]})
        assert index.candidates_with_copies([], []) == ([], {})

    def test_many_equal_candidates_are_cut_by_id(self, index: Index) -> None:
        index.put_many([record(f"p{number:03}", [5]) for number in reversed(range(300))])
        (answer,) = index.candidates_many([candidate_query(5, limit=10)])
        assert ids(answer) == [f"p{number:03}" for number in range(10)]
        assert answer.truncated
