"""Clauses of a text: their places, and that width, case, script and punctuation make no difference."""

from __future__ import annotations

from typing import Final

from hypothesis import given, settings

from es_dedup.decision.clauses import clauses_of
from es_dedup.text.normalise import normalise
from tests.texts import mixed_texts

MOST: Final = 200_000


def plain(text: str) -> str:
    """The letters, characters and digits of a clause."""
    return "".join(filter(str.isalnum, normalise(text)))


def clauses(text: str) -> list[tuple[int, str]]:
    """Hash and text of each clause."""
    return [(digest, text[start:end]) for digest, start, end in clauses_of(text, MOST)]


@settings(max_examples=150, deadline=None)
@given(mixed_texts)
def test_places_ascend_and_equal_hashes_are_equal_clauses(text: str) -> None:
    found = clauses_of(text, MOST)
    places = [place for _, *each in found for place in each]
    assert places == sorted(places)
    known: dict[int, str] = {}
    for digest, clause in clauses(text):
        assert clause == clause.lstrip() != ""
        assert plain(known.setdefault(digest, clause)) == plain(clause)


def test_clauses_are_found_through_width_case_and_script() -> None:
    left = clauses("前面一句。這座圖書館重新開放，ABC公司淨利潤為12.5%。")
    right = clauses("这座图书馆重新开放；ＡＢＣ公司净利润为１２．５％！后面。")
    assert [text for _, text in left[1:]] == ["這座圖書館重新開放", "ABC公司淨利潤為12.5%"]
    assert [text for _, text in right[:2]] == ["这座图书馆重新开放", "ＡＢＣ公司净利润为１２．５％"]
    assert [digest for digest, _ in left[1:]] == [digest for digest, _ in right[:2]]


def test_a_number_does_not_end_a_clause() -> None:
    ((_, text),) = clauses("Rates rose 3.5 points today.")
    assert text == "Rates rose 3.5 points today"


def test_beyond_the_limit_nothing_is_looked_at() -> None:
    assert clauses_of(" " * 100 + "\n远处的一个分句。", 100) == []
