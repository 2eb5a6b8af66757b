"""The references themselves, against examples worked by hand."""

import pytest

from tests.reference import ccdet, coverage
from tests.reference.coverage import Sketch
from tests.reference.normalise import normalise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ("没有句号", set()),
        ("甲乙。丙", {"甲乙"}),
        ("。甲。。乙。", {"甲", "乙"}),
        ("一二三四五六七八九十。", {"一二三四五六七八九十"}),
        ("零一二三四五六七八九十。", {"一二三四五六七八九十"}),
        ("甲。乙！丙？丁，戊。", {"甲", "乙！丙？丁，戊"}),
        ("甲 乙\n丙\u3000丁。", {"甲乙丙丁"}),
        ("甲。 \n 。", {"甲"}),
        ("同。同。", {"同"}),
    ],
)
def test_period_signatures(text: str, expected: set[str]) -> None:
    assert ccdet.period_signatures(text) == expected


@pytest.mark.parametrize(
    ("common", "left", "right", "relation"),
    [
        (3, 5, 5, "duplicate"),  # ccs exactly 0.6
        (2, 5, 5, "different"),  # 0.4
        (3, 5, 10, "duplicate"),  # clr exactly 0.5
        (3, 5, 11, "left_in_right"),
        (3, 11, 5, "right_in_left"),
        (2, 2, 9, "undecided"),  # too few features
        (1, 3, 3, "undecided"),  # too few in common
        (0, 30, 30, "undecided"),  # the guard comes before the similarity
        (2, 3, 3, "duplicate"),
    ],
)
def test_decide(common: int, left: int, right: int, relation: str) -> None:
    assert ccdet.decide(common, left, right).relation == relation


PAGES = {
    "a": frozenset({"x1", "x2", "x3", "legal"}),
    "b": frozenset({"x1", "x2", "y3", "legal"}),
    "c": frozenset({"z1", "z2", "z3", "legal"}),
    "d": frozenset({"x1", "x2", "x3", "w4"}),
}
SITES = {"a": "s", "b": "s", "c": "s", "d": "t"}


def test_site_rule_drops_lists_of_one_site_from_three_pages_up() -> None:
    assert ccdet.pruned_by_site(PAGES, SITES) == {"legal"}


def test_literal_rule_drops_same_site_pairs_but_not_single_pages() -> None:
    pages = {"a": frozenset({"p", "q"}), "b": frozenset({"p"}), "c": frozenset({"r"})}
    sites = {"a": "s", "b": "s", "c": "s"}
    assert ccdet.pruned_by_site(pages, sites, n_min=2) == {"p"}
    assert ccdet.pruned_by_site(pages, sites) == frozenset()


def test_share_of_the_most_frequent_site() -> None:
    sites = SITES | {"b": "t"}  # x1 is on s, t, t; legal on s, t, s
    assert ccdet.pruned_by_site(PAGES, sites) == frozenset()
    assert ccdet.pruned_by_site(PAGES, sites, s_min=2 / 3) == {"legal", "x1", "x2"}


def test_pages_without_label_share_no_site() -> None:
    assert ccdet.pruned_by_site(PAGES, {}) == frozenset()
    assert ccdet.pruned_by_site(PAGES, {"a": "s", "b": "s"}, s_min=0.6) == {"legal", "x1", "x2"}
    assert ccdet.pruned_by_site({i: frozenset({"f"}) for i in "abc"}, {"a": "b"}) == frozenset()


def test_recount_decides_which_counts_are_used() -> None:
    left = frozenset({"a", "b", "c", "n1", "n2"})
    right = frozenset({"a", "b", "c", "n1", "n2", "n3"})
    noise = frozenset({"n1", "n2", "n3"})
    assert ccdet.decide_pages(left, right, noise) == ("duplicate", 3, 1.0, 1.0)
    assert ccdet.decide_pages(left, right, noise, recount=False) == ("duplicate", 3, 0.6, 5 / 6)
    assert ccdet.decide_pages(left, right) == ("duplicate", 5, 1.0, 5 / 6)


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


def test_sketch_cover_with_weights() -> None:
    left, right = Sketch((1, 2, 3), None), Sketch((2, 3, 4, 5), None)
    # shared 2 and 3 weigh 0.5 + 1; not shared: 0.25 on the left, 0 + 1 on the right
    assert coverage.sketch_cover(left, right, {2: 0.5, 1: 0.25, 4: 0.0}) == (1.5 / 1.75, 1.5 / 2.5)
    assert coverage.sketch_cover(left, right, {2: 0.0, 3: 0.0}) == (0.0, 0.0)
    assert coverage.sketch_cover(left, right, {1: 0.0, 4: 0.0, 5: 0.0}) == (1.0, 1.0)
    assert coverage.sketch_cover(right, right, {2: 0.0, 3: 0.0, 4: 0.0, 5: 0.0}) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\r\r\nb", "a\nb"),
        ("a\ud800b\udfffc", "abc"),
        ("a\x00b\x07c\x7fd\x85e\x0bf\x0cg", "abcdefg"),
        ("\ufeffa\u200bb\u00adc\u200dd\u202ee", "abcde"),
        ("！？；：，（）", "!?;:,()"),
        ("甲．乙｡丙。丁︒", "甲.乙。丙。丁。"),
        ("Ａｂ１２ ﬁ ① ㎡", "ab12 fi 1 m2"),
        ("ｶﾞ", "ガ"),
        ("等…等……", "等...等......"),
        ("“a”„b‟「c」『d』", '"a""b""c""d"'),
        ("‘a’‚b‛", "'a''b'"),
        ("《a》〈b〉\"c\" 'd'", "《a》〈b〉\"c\" 'd'"),
        ("a‐b‑c‒d–e—f―g─h-i", "a-b-c-d-e-f-g-h-i"),
        ("ABC ÄÖ ΟΔΟΣ", "abc äö οδος"),
        ("漢語網頁", "汉语网页"),
        ("乾燥的乾坤", "干燥的乾坤"),  # by phrase, not by character
        ("頭髮發展", "头发发展"),
        ("甲\t \u3000\u00a0乙", "甲 乙"),
        ("甲\u2028乙\u2029丙", "甲 乙 丙"),
        ("  a  \n\n \t \n b\u3000\n", "a\nb"),
        (" \u200b ", ""),
        ("e\u200b\u0301", "é"),  # format characters leave before composition
        ("、·~￥", "、·~¥"),
    ],
)
def test_rules(text: str, expected: str) -> None:
    assert normalise(text) == expected
