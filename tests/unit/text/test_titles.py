"""Titles: the headline, its terms, and where they begin in the body."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.text.normalise import normalise_many
from es_dedup.text.titles import MAX_TERMS, UNTITLED_TOKENS, headline, term_masks, title_terms
from es_dedup.text.tokens import tokenise
from tests.texts import article, mixed_texts


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("", ""),
        ("城南泵站完成检修", "城南泵站完成检修"),
        ("城南泵站完成检修 - 某某网", "城南泵站完成检修"),
        ("某某网_新闻_城南泵站完成检修", "城南泵站完成检修"),
        ("城南泵站完成检修|水务｜某某网", "城南泵站完成检修"),
        ("城南泵站完成检修-某某网", "城南泵站完成检修"),
        ("【图文】（快讯）城南泵站完成检修", "城南泵站完成检修"),
        ("[视频]", "[视频]"),
        ("Quay reopens after repairs | The Harbour Post", "Quay reopens after repairs"),
        ("Covid-19 cases fall - News", "Covid-19 cases fall"),
    ],
)
def test_the_headline_is_the_longest_segment_without_marks_in_front(title: str, expected: str) -> None:
    assert headline(title) == expected


@pytest.mark.parametrize("unit", ["- ", "【a】", "a - "])
def test_a_hostile_title_takes_no_time(unit: str) -> None:
    start = time.process_time()
    headline("x" + unit * (30_000 // len(unit)) + "y")
    assert time.process_time() - start < 1.0


def terms_of(title: str, text: str) -> tuple[list[int], bool, list[int]]:
    """Title terms, whether there was a title, and the masks over the body."""
    body = tokenise(normalise_many([text]))
    terms, offsets, titled = title_terms([title], body)
    return terms.tolist(), bool(titled[0]), term_masks(body, terms, offsets).tolist()


def test_terms_of_chinese_are_pairs_and_of_other_scripts_words() -> None:
    assert len(terms_of("泵站检修", "")[0]) == 3
    assert len(terms_of("Quay reopens", "")[0]) == 2
    assert len(terms_of("泵站 quay", "")[0]) == 2
    assert terms_of("the of and", "")[0] == []


def test_terms_are_distinct_in_order_of_appearance() -> None:
    once, twice = terms_of("泵站检修", "")[0], terms_of("泵站检修 泵站", "")[0]
    assert twice[:3] == once
    assert len(set(twice)) == len(twice)


def test_at_most_as_many_terms_as_a_mask_has_bits() -> None:
    assert len(terms_of(article(1, sentences=20).replace("。", "").replace("，", ""), "")[0]) == MAX_TERMS


def test_a_page_without_title_is_given_its_first_tokens() -> None:
    text = article(2)
    terms, titled, _ = terms_of("", text)
    assert not titled
    assert 0 < len(terms) <= UNTITLED_TOKENS
    assert terms == terms_of("", text[:60])[0]
    assert terms_of("？！", text)[:2] == (terms, False)


def test_masks_say_where_each_term_begins() -> None:
    terms, titled, masks = terms_of("泵站检修", "城南泵站昨日，检修泵站")
    assert titled
    assert len(terms) == 3
    assert masks == [0, 0, 1, 0, 0, 0, 4, 0, 1, 0]


def test_a_pair_of_characters_does_not_reach_over_a_clause_mark() -> None:
    assert terms_of("泵站", "泵，站")[2] == [0, 0]


@settings(max_examples=100)
@given(st.lists(st.tuples(mixed_texts, mixed_texts), max_size=5))
def test_terms_and_masks_do_not_depend_on_other_pages(pages: list[tuple[str, str]]) -> None:
    body = tokenise(normalise_many([text for _, text in pages]))
    terms, offsets, titled = title_terms([title for title, _ in pages], body)
    masks = term_masks(body, terms, offsets)
    for page, (title, text) in enumerate(pages):
        alone = terms_of(title, text)
        assert terms[offsets[page] : offsets[page + 1]].tolist() == alone[0]
        assert bool(titled[page]) == alone[1]
        assert masks[body.offsets[page] : body.offsets[page + 1]].tolist() == alone[2]
