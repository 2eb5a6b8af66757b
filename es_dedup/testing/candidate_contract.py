"""Results of candidate queries on every index; part of ``FeatureIndexContract``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from es_dedup.model import CandidateQuery, TermGroup
from es_dedup.testing.builders import candidate_query, copies, record
from es_dedup.testing.contract_fixtures import IndexFixtures, ids

if TYPE_CHECKING:
    from es_dedup.index.port import Index


def of_groups(*groups: TermGroup, max_df: int = 1000) -> CandidateQuery:
    """A candidate query with these groups."""
    return CandidateQuery(groups, max_df=max_df)


# 1 is found in four pages, 2 in three, 3 in two, 4 and 9 in one
PAGES: Final = {"c": (1, 2, 3, 4), "a": (1, 2, 3), "b": (1, 2, 9), "d": (1,)}
WHOLE: Final = (
    # by weight, then id
    (candidate_query(1, 2, 3), "acbd"),
    (candidate_query(9), "b"),
    (candidate_query(77), ""),
    # at least ``min_shared`` terms
    (candidate_query(1, 2, 3, min_shared=0), "acbd"),
    (candidate_query(1, 2, 3, min_shared=2), "acb"),
    (candidate_query(1, 2, 3, min_shared=3), "ac"),
    (candidate_query(1, 2, 3, min_shared=4), ""),
    # any one group is enough, and parts of several make a whole
    (of_groups(TermGroup((1, 2, 3, 4), 4), TermGroup((9, 1), 2), TermGroup((1, 77), 2)), "bca"),
    (of_groups(TermGroup((2, 77), 2), TermGroup((9, 3), 3)), ""),
    # common terms count half
    (of_groups(TermGroup((1, 2, 3), 2, 2)), "ac"),
    (of_groups(TermGroup((1, 2, 3), 2, 3)), "ac"),
    (of_groups(TermGroup((1, 2), 1, 0), TermGroup((9,), 2)), "bac"),
    # terms that are repeated count once
    (of_groups(TermGroup((4, 4, 4), 2), TermGroup((9, 9), 1), TermGroup((9,), 1)), "b"),
    # without terms nothing answers
    (of_groups(), ""),
    (of_groups(TermGroup(())), ""),
    (of_groups(TermGroup((), 0)), ""),
    # the page that asks is never an answer
    (candidate_query(1, 2, 3, exclude="a", limit=3), "cbd"),
    (candidate_query(1, exclude="unknown"), "abcd"),
)
"""Queries with their candidates, of which none is cut off and no term is left out."""
CAPPED: Final = (
    (candidate_query(1, 2, 3, max_df=3), "acb", {1}),
    (candidate_query(1, 2, 3, max_df=1), "", {1, 2, 3}),
    (candidate_query(1, 2, max_df=3), "abc", {1}),
    # groups keep their own limits
    (of_groups(TermGroup((1, 3), 2, max_df=4), TermGroup((2,), 1, max_df=2), max_df=1), "ac", {2}),
    (of_groups(TermGroup((1,), 1, max_df=3), TermGroup((2,), 1), max_df=3), "abc", {1}),
    # of several groups the limit is that where a term counts most
    (
        of_groups(TermGroup((1,), 2, max_df=9), TermGroup((1,), 1, max_df=3), TermGroup((2, 3), 2)),
        "ac",
        {1},
    ),
)
"""Queries with their candidates, and terms that are left out."""


class CandidateContract(IndexFixtures):
    """``candidates_many``."""

    @pytest.fixture
    def filled(self, index: Index) -> Index:
        index.put_many([record(page_id, terms) for page_id, terms in PAGES.items()])
        return index

    def test_one_answer_per_candidate_query_in_order(self, filled: Index) -> None:
        cases = [*((query, found, set[int]()) for query, found in WHOLE), *CAPPED]
        answers = filled.candidates_many([query for query, _, _ in cases])
        for answer, (query, found, capped) in zip(answers, cases, strict=True):
            assert ("".join(ids(answer)), answer.truncated, answer.capped) == (
                found,
                False,
                frozenset(capped),
            ), query
            assert filled.candidates_many([query]) == [answer]
        assert filled.candidates_many([]) == []

    def test_parts_that_do_not_divide_evenly_make_a_whole_too(self, index: Index) -> None:
        for least in (3, 7, 11, 13):
            index.put_many([record("a", range(least)), record("b", range(least - 1))])
            (answer,) = index.candidates_many([candidate_query(*range(2 * least), min_shared=least)])
            assert ids(answer) == ["a"]

    def test_asked_together_the_answers_are_the_same(self, filled: Index) -> None:
        filled.put_many([record("e", [4], content_hash=7), record("f", content_hash=7)])
        candidate_queries = [candidate_query(4), candidate_query(77), CandidateQuery(())]
        expected = filled.candidates_many(candidate_queries), copies(filled, 7, 9, limit=1)
        assert expected[1] == {7: ["e"]}
        assert filled.candidates_with_copies(candidate_queries, [7, 9], limit=1) == expected
        assert filled.candidates_with_copies([], [7]) == ([], {7: ["e", "f"]})
        assert filled.candidates_with_copies([], []) == ([], {})

    def test_at_most_limit_and_truncated_tells(self, filled: Index) -> None:
        for limit, expected in {1: "a", 2: "ac", 3: "acb", 4: "acbd"}.items():
            (answer,) = filled.candidates_many([candidate_query(1, 2, 3, limit=limit)])
            assert ("".join(ids(answer)), answer.truncated) == (expected, limit < 4)

    def test_many_equal_candidates_are_cut_by_id(self, index: Index) -> None:
        index.put_many([record(f"p{number:03}", [5]) for number in reversed(range(300))])
        (answer,) = index.candidates_many([candidate_query(5, limit=10)])
        assert ids(answer) == [f"p{number:03}" for number in range(10)]
        assert answer.truncated
