"""Coverage reference against examples worked by hand."""

import pytest

from tests.reference import coverage
from tests.reference.coverage import Sketch


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("网页 web2.0页", ["网", "页", "web2", "0", "页"]),
        ("a-b_c", ["a", "b", "c"]),
        ("3.5%", ["3", "5"]),
        ("ひらカナ한글", ["ひ", "ら", "カ", "ナ", "한", "글"]),
        ("2024年5月", ["2024", "年", "5", "月"]),
        ("été ñ", ["été", "ñ"]),
        ("\U00020000\U0002a6d6x", ["\U00020000", "\U0002a6d6", "x"]),
        ("二〇二四", ["二", "〇", "二", "四"]),
        ("a〇b", ["a〇b"]),  # U+3007 is outside the ranges, yet alphanumeric
        ("ア・ー", ["ア", "・", "ー"]),  # inside the kana range
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert coverage.tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("甲乙丙丁", []),
        ("甲乙丙丁戊", [("甲", "乙", "丙", "丁", "戊")]),
        ("甲，乙。丙\n丁 戊己", [("甲", "乙", "丙", "丁", "戊"), ("乙", "丙", "丁", "戊", "己")]),
        ("a b c", []),
        ("a b c d e", [("a", "b", "c", "d"), ("b", "c", "d", "e")]),
        # starts with a word: 4 tokens; starts with an ideograph: 5, of which only the first fits
        ("ab甲乙丙丁", [("ab", "甲", "乙", "丙")]),
        ("甲ab乙丙丁", [("甲", "ab", "乙", "丙", "丁"), ("ab", "乙", "丙", "丁")]),
        ("a a a a a", [("a", "a", "a", "a"), ("a", "a", "a", "a")]),
    ],
)
def test_grams(text: str, expected: list[tuple[str, ...]]) -> None:
    assert coverage.grams(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("。。，\n", []),
        ("甲乙。丙！丁？戊；己，庚：辛…壬", ["甲乙", "丙", "丁", "戊", "己", "庚", "辛", "壬"]),
        ("a!b?c;d\ne", ["a", "b", "c", "d", "e"]),
        ("价格3.5元,时间10:30.", ["价格3.5元", "时间10:30"]),
        ("1,234,567", ["1,234,567"]),
        ("看example.com和v2.1", ["看example.com和v2.1"]),
        ("a,b", ["a", "b"]),
        ("a:b", ["a", "b"]),
        ("a. b", ["a", " b"]),
        ("甲.乙", ["甲", "乙"]),
        ("é.a", ["é", "a"]),
        ("3，5", ["3", "5"]),  # only the ASCII comma joins digits
        ("1..2", ["1", "2"]),
        ("3.", ["3"]),
        ("甲、乙(丙)", ["甲、乙(丙)"]),
    ],
)
def test_clause_texts(text: str, expected: list[str]) -> None:
    assert coverage.clause_texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024年5月", "#年#月"),
        ("二〇二四年五月", "#年#月"),
        ("三十五人", "#人"),
        ("一个人", "#个人"),
        ("一旦", "一旦"),
        ("万一", "#"),
        ("12万人", "##人"),  # digits and Chinese numerals are separate runs
        ("3.5", "#.#"),
        ("v2", "v#"),
        ("一 年", "一 年"),
        ("一、二、三", "一、二、三"),
        ("第一", "第一"),
    ],
)
def test_mask_digits(text: str, expected: str) -> None:
    assert coverage.mask_digits(text) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (Sketch((1, 2, 3), None), Sketch((2, 3, 4, 5), None), (2 / 3, 2 / 4)),
        (Sketch((1, 2, 3), 3), Sketch((2, 3, 4, 5), None), (2 / 3, 1.0)),  # cut at 3: 4 and 5 are out
        (Sketch((1, 2, 3), 3), Sketch((1, 2), 2), (1.0, 1.0)),  # cut at 2
        (Sketch((), None), Sketch((2, 3), None), (0.0, 0.0)),
        (Sketch((1,), 1), Sketch((2, 3), None), (0.0, 0.0)),  # nothing of the right is left after the cut
    ],
)
def test_sketch_cover(left: Sketch, right: Sketch, expected: tuple[float, float]) -> None:
    assert coverage.sketch_cover(left, right) == expected
    assert coverage.sketch_cover(right, left) == expected[::-1]


def test_sketch_cover_with_weights() -> None:
    left, right = Sketch((1, 2, 3), None), Sketch((2, 3, 4, 5), None)
    # shared 2 and 3 weigh 0.5 + 1; not shared: 0.25 on the left, 0 + 1 on the right
    assert coverage.sketch_cover(left, right, {2: 0.5, 1: 0.25, 4: 0.0}) == (1.5 / 1.75, 1.5 / 2.5)
    assert coverage.sketch_cover(left, right, {2: 0.0, 3: 0.0}) == (0.0, 0.0)
    assert coverage.sketch_cover(left, right, {1: 0.0, 4: 0.0, 5: 0.0}) == (1.0, 1.0)
    assert coverage.sketch_cover(right, right, {2: 0.0, 3: 0.0, 4: 0.0, 5: 0.0}) == (0.0, 0.0)


def test_clause_cover_counts_distinct_clauses_by_length() -> None:
    inner = [("甲", "乙"), ("甲", "乙"), ("abc",), ("丙",)]  # lengths 2, 3, 1
    outer = [("甲", "乙"), ("丙",), ("丁", "戊", "己")]
    assert coverage.clause_cover(inner, outer) == 3 / 6
    assert coverage.clause_cover(outer, inner) == 3 / 6
    assert coverage.clause_cover([], outer) == 0.0
    assert coverage.clause_cover(inner, []) == 0.0
