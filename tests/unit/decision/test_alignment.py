"""Clauses of a text, and texts aligned by them: all of both in order, what only one has marked, within bounded time."""

import time
from typing import Final

import pytest
from hypothesis import given, settings

from es_dedup.decision.alignment import AlignedRow, aligned, clauses_of
from es_dedup.decision.statistics import Statistics
from es_dedup.text.normalise import normalise
from tests.texts import mixed_texts, pages_of_texts
from tests.unit.decision.decision_cases import Small, learned, lines

NOTHING: Final = Statistics.empty()
SECONDS: Final = 60
"""For two texts of 2 MB, on a busy machine; alone it takes a few seconds."""


def whole(rows: list[AlignedRow]) -> tuple[str, str]:
    """Both texts."""
    left, right = (
        "".join(piece.text for row in rows for piece in (row.left, row.right)[side]) for side in (0, 1)
    )
    return left, right


def only(rows: list[AlignedRow]) -> tuple[list[str], list[str]]:
    """What only one text has, of each."""
    left, right = ([p.text for row in rows for p in (row.left, row.right)[side] if p.only] for side in (0, 1))
    return left, right


@settings(max_examples=150)
@given(pages_of_texts, pages_of_texts)
def test_rows_have_all_of_both_texts(first: list[str], second: list[str]) -> None:
    left, right = "\n".join((*first, *second)), "\n".join((*second, *first[:1]))
    assert whole(aligned(left, right, NOTHING)) == (left, right)


@settings(max_examples=100)
@given(mixed_texts)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert only(aligned(text, text, NOTHING)) == ([], [])


def test_chinese_differs_by_characters() -> None:
    left = "本报讯，长江三桥昨日通车，全长2100米。市民纷纷前往。"
    right = "本報訊，长江二桥昨日通车，全长1800米。新增一句话。市民纷纷前往。"
    rows = aligned(left, right, NOTHING)
    assert only(rows) == (["三", "2100"], ["二", "1800", "新增一句话。"])
    assert [row.same for row in rows] == [True, False, False, False, True]


def test_english_differs_by_words() -> None:
    left = "The ferry ran aground at noon on Monday. All 214 passengers were taken off. Bye."
    right = "The ferry ran aground at noon on Tuesday. All 12 passengers were taken off. Nobody was hurt, he said."
    rows = aligned(left, right, NOTHING)
    assert only(rows) == (["Monday", "214", "Bye."], ["Tuesday", "12", "Nobody was hurt, he said."])


def test_texts_without_a_clause() -> None:
    assert aligned("", "", NOTHING) == []
    assert only(aligned("。，", "!!", NOTHING)) == (["。，"], ["!!"])
    assert only(aligned("", "abc", NOTHING)) == ([], ["abc"])


def test_template_is_told_apart() -> None:
    notice = lines(77, 3)
    pages = [Small((*lines(200 + n, 5), *notice), lines(200 + n, 1)[0][:10]) for n in range(12)]
    left, right = ("".join(pages[row].lines) for row in (0, 1))
    rows = aligned(left, right, learned(pages))
    assert sum(piece.template for row in rows for piece in row.left) == 1


@pytest.mark.parametrize("kind", ["edited", "repeated", "one clause"])
def test_two_megabytes_take_bounded_time(kind: str) -> None:
    sentences = [f"sentence {n * 7919 % 100_003} of {n % 97} ships in the harbour. " for n in range(45_000)]
    text = "".join(sentences)
    left, right = {
        "edited": (
            text,
            "".join(each if n % 9 else each.replace("ships", "boats") for n, each in enumerate(sentences)),
        ),
        "repeated": ("same line here.\n" * 130_000, "same line here.\nother line.\n" * 70_000),
        "one clause": ("x y " * 500_000, "y x z " * 330_000),
    }[kind]
    begun = time.process_time()
    rows = aligned(left, right, NOTHING)
    assert time.process_time() - begun < SECONDS
    assert whole(rows) == (left, right)


MOST: Final = 200_000


def plain(text: str) -> str:
    """The letters, characters and digits of a clause."""
    return "".join(filter(str.isalnum, normalise(text)))


def clauses(text: str) -> list[tuple[int, str]]:
    """Hash and text of each clause."""
    return [(digest, text[start:end]) for digest, start, end in clauses_of(text, MOST)]


@settings(max_examples=150)
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
