"""Numbers: what counts as one, what a clause reads like without them, which of them are kept."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.text.normalise import normalise, normalise_many
from es_dedup.text.numbers import masked_clause_hashes, number_runs, number_tokens
from es_dedup.text.tokens import tokenise
from tests.reference import coverage as slow


def numbers_of(text: str) -> list[str]:
    """The number tokens of a text."""
    batch = normalise_many([text])
    tokens = tokenise(batch)
    raw = batch.string(0)
    return [raw[tokens.starts[i] : tokens.ends[i]] for i in number_tokens(batch, tokens).nonzero()[0]]


def masked(text: str) -> list[int]:
    """Masked hash of each clause; 0 without numbers."""
    batch = normalise_many([text])
    tokens = tokenise(batch)
    return [int(value) for value in masked_clause_hashes(tokens, number_tokens(batch, tokens))[0]]


def runs(*texts: str) -> list[tuple[int, int]]:
    """Hash and page of each number with the token after it."""
    batch = normalise_many(texts)
    tokens = tokenise(batch)
    hashes, pages = number_runs(batch, tokens, number_tokens(batch, tokens))
    return list(zip(hashes.tolist(), pages.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026年第3期", ["2026", "3"]),
        ("二〇二六年", ["二", "〇", "二", "六"]),
        ("三十五人", ["三", "十", "五"]),
        ("一个人", ["一"]),
        ("一旦", []),
        ("第一", []),
        ("万一", ["万", "一"]),
        ("v2和3D", []),
        ("12.5%", ["12", "5"]),
        ("一，二", []),  # a clause mark stands between
        ("５０个", ["50"]),
        ("", []),
    ],
)
def test_digit_runs_numeral_runs_and_counted_numerals_are_numbers(text: str, expected: list[str]) -> None:
    assert numbers_of(text) == expected


@pytest.mark.parametrize(
    ("grouped", "plain"),
    [
        ("488,636股", "488636股"),
        ("2，038，000股", "2038000股"),
        ("共1,250.5元，12,000人", "共1250.5元，12000人"),
        ("1,250 dollars, 3,000,000 more", "1250 dollars, 3000000 more"),
    ],
)
def test_thousands_set_apart_by_commas_are_one_number(grouped: str, plain: str) -> None:
    assert runs(grouped) == runs(plain)


@pytest.mark.parametrize("text", ["12,34号", "1234,567号", "488.636股", "1,2号", "488、636股", "488, 636股"])
def test_other_commas_and_points_join_nothing(text: str) -> None:
    assert runs(text) != runs(re.sub(r"\D+(?=\d)", "", text))


DIGIT_TEXTS = st.text(st.sampled_from("甲乙丙旬 -0159"), min_size=1, max_size=30)


@settings(max_examples=300)
@given(DIGIT_TEXTS, st.randoms(use_true_random=False))
def test_clauses_that_differ_in_their_digits_alone_are_equal_once_masked(
    text: str, rng: random.Random
) -> None:
    other = re.sub(r"\d+", lambda found: str(rng.randrange(10**6)), text)
    assert slow.masked_clauses(normalise(text)) == slow.masked_clauses(normalise(other))
    assert masked(text) == masked(other)


@settings(max_examples=200)
@given(DIGIT_TEXTS, DIGIT_TEXTS)
def test_what_the_reference_masks_alike_the_kernel_masks_alike(left: str, right: str) -> None:
    pairs = list(zip(slow.masked_clauses(normalise(left)), masked(left), strict=True))
    pairs += zip(slow.masked_clauses(normalise(right)), masked(right), strict=True)
    by_clause: dict[slow.Clause, set[int]] = {}
    for clause, value in pairs:
        by_clause.setdefault(clause, set()).add(value)
    assert all(len(values) == 1 for values in by_clause.values())


def test_serial_sentences_agree_only_once_masked() -> None:
    left, right = "昨日成交12亿元，涨3.1%", "昨日成交9亿元，涨12%"
    assert masked(left) == masked(right)
    assert {value for value, _ in runs(left)}.isdisjoint({value for value, _ in runs(right)})


def test_a_number_is_kept_with_the_token_after_it() -> None:
    (year,), (people,), (again,) = runs("约300年"), runs("约300人"), runs("共300人")
    assert year != people
    assert people == again
    assert runs("约300，人")[0] != people  # the clause ends between


def test_the_date_of_an_agency_dateline_is_no_number_of_the_report() -> None:
    assert runs("新社3月5日电 共7人") == runs("新社4月16日电 共7人") == runs("共7人")
    assert runs("新社3月5日讯") == []
    assert len(runs("3月5日开工")) == 2


@pytest.mark.parametrize(
    ("page", "following"),
    [("新社3月5日", "电话公司"), ("共计5", "日电"), ("工期3月", "5日电"), ("第5日\n", "讯")],
)
def test_a_dateline_never_reaches_into_the_next_page(page: str, following: str) -> None:
    assert [value for value, at in runs(page, following) if at == 0] == [value for value, _ in runs(page)]
