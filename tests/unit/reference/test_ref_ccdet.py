"""CCDet reference against examples worked by hand."""

import pytest

from tests.reference import ccdet
from tests.reference.ccdet import Limits


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


def test_window_is_a_number_of_characters() -> None:
    assert ccdet.period_signatures("abcdef。g。", window=3) == {"def", "g"}


def test_measures() -> None:
    assert ccdet.ccs(3, 4, 6) == 0.75
    assert ccdet.clr(4, 6) == ccdet.clr(6, 4) == 4 / 6
    assert ccdet.ccs(0, 0, 5) == 0.0
    assert ccdet.clr(0, 0) == 0.0


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


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 20])
def test_hits_needed_at_six_tenths(n: int) -> None:
    """The row 1,2,2,3,6,12 of the note, section 1.2."""
    needed = {1: 1, 2: 2, 3: 2, 5: 3, 10: 6, 20: 12}[n]
    limits = Limits(min_features=1, min_common=1)
    accepted = [c for c in range(1, n + 1) if ccdet.decide(c, n, n, limits).relation == "duplicate"]
    assert accepted[0] == needed


PAGES = {
    "a": frozenset({"x1", "x2", "x3", "legal"}),
    "b": frozenset({"x1", "x2", "y3", "legal"}),
    "c": frozenset({"z1", "z2", "z3", "legal"}),
    "d": frozenset({"x1", "x2", "x3", "w4"}),
}
SITES = {"a": "s", "b": "s", "c": "s", "d": "t"}


def test_posting_lists() -> None:
    lists = ccdet.posting_lists(PAGES)
    assert lists["legal"] == {"a", "b", "c"}
    assert lists["x3"] == {"a", "d"}
    assert sum(len(ids) for ids in lists.values()) == 16


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


def test_idf_rule() -> None:
    # df: legal, x1, x2 in 3 of 4 pages, ln(4/3) = 0.2877; x3 in 2, ln 2 = 0.6931; rest in 1, 1.3863
    assert ccdet.pruned_by_idf(PAGES, 0.0) == frozenset()
    assert ccdet.pruned_by_idf(PAGES, 0.29) == {"legal", "x1", "x2"}
    assert ccdet.pruned_by_idf(PAGES, 0.7) == {"legal", "x1", "x2", "x3"}


def test_recount_decides_which_counts_are_used() -> None:
    left = frozenset({"a", "b", "c", "n1", "n2"})
    right = frozenset({"a", "b", "c", "n1", "n2", "n3"})
    noise = frozenset({"n1", "n2", "n3"})
    assert ccdet.decide_pages(left, right, noise) == ("duplicate", 3, 1.0, 1.0)
    assert ccdet.decide_pages(left, right, noise, recount=False) == ("duplicate", 3, 0.6, 5 / 6)
    assert ccdet.decide_pages(left, right) == ("duplicate", 5, 1.0, 5 / 6)


def test_recount_decides_the_guard_and_the_direction() -> None:
    left = frozenset({"a", "b", "n1", "n2", "n3", "n4", "n5"})
    right = frozenset({"a", "b", "c"})
    noise = frozenset({"n1", "n2", "n3", "n4", "n5"})
    assert ccdet.decide_pages(left, right, noise).relation == "undecided"
    assert ccdet.decide_pages(left, right, noise, recount=False).relation == "right_in_left"
    assert ccdet.decide_pages(left, right, noise, limits=Limits(min_features=2)).relation == "duplicate"


def test_decide_all_lists_pairs_with_a_surviving_common_feature() -> None:
    without = ccdet.decide_all(PAGES)
    assert list(without) == [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]
    pruned = ccdet.decide_all(PAGES, ccdet.pruned_by_site(PAGES, SITES))
    assert list(pruned) == [("a", "b"), ("a", "d"), ("b", "d")]
    assert pruned["a", "b"] == ("duplicate", 2, 2 / 3, 1.0)
    assert pruned["a", "d"] == ("duplicate", 3, 1.0, 0.75)
    assert pruned["b", "d"] == ("duplicate", 2, 2 / 3, 0.75)
