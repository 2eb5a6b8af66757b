"""Shared clauses: their places match the texts, and their weights are those of the statistics."""

from __future__ import annotations

from typing import Final

from hypothesis import given, settings

from es_dedup.decision.spans import MOST_CHARS, shared_clauses
from es_dedup.decision.statistics import Statistics
from es_dedup.text.normalise import normalise
from tests.texts import mixed_texts, pages_of_texts
from tests.unit.decision.decision_cases import Small, learned, lines

NOTHING: Final = Statistics.empty()


def plain(text: str) -> str:
    """The letters, characters and digits of a clause."""
    return "".join(filter(str.isalnum, normalise(text)))


class TestPlaces:
    @settings(max_examples=150, deadline=None)
    @given(pages_of_texts, pages_of_texts)
    def test_match_both_texts(self, first: list[str], second: list[str]) -> None:
        left, right = "\n".join(first), "\n".join((*second, *first[:1]))
        found = shared_clauses(left, right, NOTHING)
        for clause in found:
            assert left[clause.left_start : clause.left_end] == clause.text
            assert clause.text.strip()
            assert 0 <= clause.right_start < clause.right_end <= len(right)
            assert 0.02 <= clause.weight <= 1
        assert [clause.left_start for clause in found] == sorted(clause.left_start for clause in found)

    @settings(max_examples=100, deadline=None)
    @given(mixed_texts)
    def test_a_text_shares_all_its_clauses_with_itself(self, text: str) -> None:
        for clause in shared_clauses(text, text, NOTHING):
            assert plain(text[clause.right_start : clause.right_end]) == plain(clause.text)
            assert clause.right_start <= clause.left_start, "the first place in the other text"

    def test_are_found_through_width_case_and_script(self) -> None:
        left = "前面一句。這座圖書館重新開放，ABC公司淨利潤為12.5%。"
        right = "这座图书馆重新开放；ＡＢＣ公司净利润为１２．５％！后面。"
        found = [(clause.text, right[clause.right_start : clause.right_end]) for clause in shared_clauses(left, right, NOTHING)]  # fmt: skip
        assert found == [
            ("這座圖書館重新開放", "这座图书馆重新开放"),
            ("ABC公司淨利潤為12.5%", "ＡＢＣ公司净利润为１２．５％"),
        ]

    def test_a_number_does_not_end_a_clause(self) -> None:
        (clause,) = shared_clauses("Rates rose 3.5 points today.", "rates rose 3.5 points today", NOTHING)
        assert clause.text == "Rates rose 3.5 points today"


class TestBounds:
    def test_empty_texts_share_nothing(self) -> None:
        assert shared_clauses("", "", NOTHING) == []
        assert shared_clauses("。，、", "。。\n", NOTHING) == []

    def test_beyond_the_limit_nothing_is_looked_at(self) -> None:
        far = " " * MOST_CHARS + "\n远处的一个分句。"
        assert shared_clauses(far, "远处的一个分句。", NOTHING) == []


def test_template_weighs_less() -> None:
    notice = lines(77, 3)
    pages = [Small((*lines(200 + n, 5), *notice), lines(200 + n, 1)[0][:10]) for n in range(12)]
    left, right = ("".join(pages[row].lines) for row in (0, 1))
    found = shared_clauses(left, right, learned(pages))
    assert len(found) == 6
    assert all(clause.weight < 0.5 for clause in found)
