"""Results of candidate queries on every index; part of ``FeatureIndexContract``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_dedup.model import CandidateQuery, TermGroup
from es_dedup.testing.builders import candidate_query, copies, record
from es_dedup.testing.contract_fixtures import IndexFixtures, ids

if TYPE_CHECKING:
    from es_dedup.index.port import Index


class CandidateContract(IndexFixtures):
    """``candidates_many``."""

    @pytest.fixture
    def filled(self, index: Index) -> Index:
        index.put_many(
            [
                record("c", [1, 2, 3, 4]),
                record("a", [1, 2, 3]),
                record("b", [1, 2, 9]),
                record("d", [1]),
            ]
        )
        return index

    def test_order_is_by_weight_then_id(self, filled: Index) -> None:
        (answer,) = filled.candidates_many([candidate_query(1, 2, 3)])
        assert answer.candidates == (
            "a",
            "c",
            "b",
            "d",
        )
        assert (answer.truncated, answer.capped_terms) == (False, 0)

    def test_one_answer_per_candidate_query_in_order(self, filled: Index) -> None:
        answers = filled.candidates_many(
            [candidate_query(9), candidate_query(77), candidate_query(4), candidate_query(9)]
        )
        assert [ids(answer) for answer in answers] == [["b"], [], ["c"], ["b"]]
        assert filled.candidates_many([]) == []

    def test_at_least_min_shared_terms(self, filled: Index) -> None:
        for least, expected in {1: 4, 2: 3, 3: 2, 4: 0, 0: 4}.items():
            (answer,) = filled.candidates_many([candidate_query(1, 2, 3, min_shared=least)])
            assert len(answer.candidates) == expected, least

    def test_any_one_group_is_enough_and_parts_of_several_make_a_whole(self, filled: Index) -> None:
        groups = (TermGroup((1, 2, 3, 4), 4), TermGroup((9, 1), 2), TermGroup((1, 77), 2))
        (answer,) = filled.candidates_many([CandidateQuery(groups)])
        assert answer.candidates == ("b", "c", "a")
        (answer,) = filled.candidates_many([CandidateQuery((TermGroup((2, 77), 2), TermGroup((9, 3), 3)))])
        assert answer.candidates == ()

    def test_common_terms_of_a_group_count_half(self, filled: Index) -> None:
        # 1 and 2 are found in more than two pages
        (answer,) = filled.candidates_many([CandidateQuery((TermGroup((1, 2, 3), 2, 2),))])
        assert answer.candidates == ("a", "c")
        (answer,) = filled.candidates_many([CandidateQuery((TermGroup((1, 2, 3), 2, 3),))])
        assert answer.candidates == ("a", "c")
        (answer,) = filled.candidates_many([CandidateQuery((TermGroup((1, 2), 1, 0), TermGroup((9,), 2)))])
        assert answer.candidates == ("b", "a", "c")

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

    def test_terms_that_are_repeated_count_once(self, filled: Index) -> None:
        (answer,) = filled.candidates_many(
            [CandidateQuery((TermGroup((4, 4, 4), 2), TermGroup((9, 9), 1), TermGroup((9,), 1)))]
        )
        assert answer.candidates == ("b",)

    def test_without_terms_nothing_answers(self, filled: Index) -> None:
        for groups in ((), (TermGroup(()),), (TermGroup((), 0),)):
            (answer,) = filled.candidates_many([CandidateQuery(groups)])
            assert (answer.candidates, answer.truncated, answer.capped_terms) == ((), False, 0)

    def test_at_most_limit_and_truncated_tells(self, filled: Index) -> None:
        for limit, expected in {1: "a", 2: "ac", 3: "acb", 4: "acbd"}.items():
            (answer,) = filled.candidates_many([candidate_query(1, 2, 3, limit=limit)])
            assert ("".join(ids(answer)), answer.truncated) == (expected, limit < 4)

    def test_terms_above_max_df_are_left_out_and_counted(self, filled: Index) -> None:
        (answer,) = filled.candidates_many([candidate_query(1, 2, 3, max_df=3)])
        assert answer.candidates == ("a", "c", "b")
        assert (answer.capped, answer.capped_terms) == (frozenset({1}), 1)
        assert filled.candidates_many([candidate_query(1, 2, 3, max_df=1)])[0].capped_terms == 3

    def test_candidate_queries_of_one_call_keep_their_own_limits(self, filled: Index) -> None:
        answers = filled.candidates_many(
            [candidate_query(1, 2, max_df=3), candidate_query(1, 2), candidate_query(1, 2, max_df=1)]
        )
        assert [len(answer.candidates) for answer in answers] == [3, 4, 0]

    def test_groups_keep_their_own_limits(self, filled: Index) -> None:
        """1 is found in four pages, 2 in three, 3 in two."""
        groups = (TermGroup((1, 3), 2, max_df=4), TermGroup((2,), 1, max_df=2))
        (answer,) = filled.candidates_many([CandidateQuery(groups, max_df=1)])
        assert answer.candidates == ("a", "c")
        assert answer.capped == {2}
        (answer,) = filled.candidates_many(
            [CandidateQuery((TermGroup((1,), 1, max_df=3), TermGroup((2,), 1)), max_df=3)]
        )
        assert ([*answer.capped], ids(answer)) == ([1], ["a", "b", "c"])

    def test_of_several_groups_the_limit_is_that_where_a_term_counts_most(self, filled: Index) -> None:
        groups = (TermGroup((1,), 2, max_df=9), TermGroup((1,), 1, max_df=3), TermGroup((2, 3), 2))
        (answer,) = filled.candidates_many([CandidateQuery(groups)])
        assert (ids(answer), [*answer.capped]) == (["a", "c"], [1])

    def test_exclude_is_never_returned(self, filled: Index) -> None:
        (answer,) = filled.candidates_many([candidate_query(1, 2, 3, exclude="a", limit=3)])
        assert ids(answer) == ["c", "b", "d"]
        assert not answer.truncated
        assert len(filled.candidates_many([candidate_query(1, exclude="unknown")])[0].candidates) == 4

    def test_many_equal_candidates_are_cut_by_id(self, index: Index) -> None:
        index.put_many([record(f"p{number:03}", [5]) for number in reversed(range(300))])
        (answer,) = index.candidates_many([candidate_query(5, limit=10)])
        assert ids(answer) == [f"p{number:03}" for number in range(10)]
        assert answer.truncated
