"""Segmentation: both libraries behind one interface, whatever the text."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings

from es_dedup.text import segment
from es_dedup.text.normalise import normalise
from es_dedup.text.segment import (
    JiebaSegmenter,
    RjiebaSegmenter,
    Segmenter,
    search_text,
    segmenter,
    spaced,
    words,
)
from tests.texts import SENTENCES, ZH, page_texts

NAMES = ("rjieba", "jieba")


@pytest.mark.parametrize("name", NAMES)
def test_the_segmenter_of_a_name_is_built_once(name: str) -> None:
    found = segmenter(name)
    assert found.name == name
    assert segmenter(name) is found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["", " \n", *map(normalise, SENTENCES)])
def test_words_joined_give_the_text_again(name: str, text: str) -> None:
    found = segmenter(name).cut(text)
    assert isinstance(found, list)
    assert "".join(found) == text
    assert all(found)


@settings(max_examples=150, deadline=None)
@given(page_texts)
def test_random_texts_come_back_from_both(text: str) -> None:
    clean = normalise(text)
    assert ["".join(segmenter(name).cut(clean)) for name in NAMES] == [clean, clean]


def test_both_find_the_words_of_the_dictionary() -> None:
    text = normalise(ZH[0])
    assert segmenter("rjieba").cut(text) == segmenter("jieba").cut(text)
    assert {"泵站", "完成", "检修"} <= set(segmenter("jieba").cut(text))


def test_unknown_words_fall_into_characters_for_both() -> None:
    assert [segmenter(name).cut("龘靐齉") for name in NAMES] == [["龘", "靐", "齉"]] * 2


def test_an_unknown_name_is_refused_with_the_names_known() -> None:
    with pytest.raises(ValueError, match="use auto, rjieba or jieba"):
        segmenter("other")


def test_rjieba_is_taken_where_it_is_installed_and_jieba_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = segmenter.__wrapped__
    assert isinstance(fresh("auto"), RjiebaSegmenter)
    monkeypatch.setitem(sys.modules, "rjieba", None)
    assert isinstance(fresh("auto"), JiebaSegmenter)
    with pytest.raises(ImportError):
        fresh("rjieba")


@pytest.mark.parametrize("name", NAMES)
def test_search_text_is_words_with_a_letter_or_digit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(_: str = "auto") -> Segmenter:
        return segmenter(name)

    monkeypatch.setattr(segment, "segmenter", chosen)
    assert words("泵站,完成 2026! ") == ["泵站", "完成", "2026"]
    assert search_text("泵站，完成") == "泵站 完成"
    assert spaced(["泵站。", ""]) == ["泵站", ""]
