"""Segmentation: both libraries behind one interface, whatever the text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from es_dedup import Deduplicator, Page, Settings
from es_dedup.detectors.features import featurise, pack
from es_dedup.detectors.registry import create_detectors
from es_dedup.errors import ConfigError, SettingsDiffer, SettingsMismatch
from es_dedup.index.factory import features_of
from es_dedup.model import Content
from es_dedup.settings import load_settings
from es_dedup.text.normalise import normalise, normalise_many
from es_dedup.text.segment import search_text, segmenter, words
from es_dedup.text.words import content_words
from tests.texts import SENTENCES, ZH, page_texts

if TYPE_CHECKING:
    from pathlib import Path

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
    with pytest.raises(ConfigError, match="must be one of rjieba, jieba, rjieba-hmm, jieba-hmm, got 'other'"):
        segmenter("other")
    with pytest.raises(
        ConfigError,
        match=r"words\.segmenter .*: must be one of 'rjieba', 'jieba', 'rjieba-hmm' or 'jieba-hmm'",
    ):
        load_settings(overrides={"words.segmenter": "other"})


def test_one_that_is_not_installed_is_not_replaced_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = segmenter.__wrapped__
    for name, other in (NAMES, NAMES[::-1]):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ConfigError, match=f"{name} cannot be imported .* or choose {other}"):
            fresh(name)


def test_jieba_tags_words_as_its_own_tagger_does() -> None:
    posseg = pytest.importorskip("jieba.posseg")
    text = normalise("".join(ZH))
    ours, found = segmenter("jieba"), posseg.lcut(text, HMM=False)
    assert ours.cut(text) == [pair.word for pair in found]
    tags = {pair.word: pair.flag for pair in found}
    assert [ours.tag(word) for word in tags if word.isalpha()] == [
        tags[word] for word in tags if word.isalpha()
    ]


WORD_METHODS = ("multi_simhash", "dwdcs", "dwswn", "simhash")


@pytest.mark.parametrize("method", WORD_METHODS)
def test_methods_of_words_use_the_segmenter_of_the_settings(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here jieba is made to cut everything into characters: only features made with it change."""
    monkeypatch.setattr(segmenter("jieba"), "cut", list)
    content = Content("".join(ZH) * 6)
    found = {}
    for name in NAMES:
        chosen = Settings.model_validate(
            {"detectors": (method,), "words": {"segmenter": name}, "simhash": {"features": "words"}}
        )
        detector = create_detectors(chosen)[method]
        found[name] = detector.pack(detector.featurise(content))
        table = featurise([content.text], [""], chosen)
        assert pack(table)  # the pass over all methods, too
        found[f"{name} table"] = bytes(table.fingerprints)
    assert found["rjieba"] != found["jieba"]
    assert (found["rjieba table"] != found["jieba table"]) == (method == "simhash")


def test_an_index_records_the_segmenter_and_searches_with_it(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    by_jieba = load_settings(overrides={"words.segmenter": "jieba"})
    assert features_of(by_jieba)["words.segmenter"] == "jieba"
    with Deduplicator.open(path, settings=by_jieba) as dedup:
        dedup.add(Page("a", text="".join(ZH) * 3))
    with pytest.raises(SettingsMismatch, match=r"words\.segmenter"):
        Deduplicator.open(path, settings=Settings())
    with Deduplicator.open(path, settings=Settings(), read_only=True) as dedup:
        with pytest.warns(SettingsDiffer, match="segmenter is jieba in the index and rjieba now"):
            dedup.search("泵站")
        assert [hit.page_id for hit in dedup.search("泵站").hits] == ["a"]


@pytest.mark.parametrize("name", ["rjieba-hmm", "jieba-hmm"])
def test_the_model_finds_words_that_are_not_in_the_dictionary(name: str) -> None:
    found, plain = segmenter(name), segmenter(name.partition("-")[0])
    text = "小明硕士毕业。李宗仁和欧阳铁蛋。"
    assert "小明" in found.cut(text)
    assert plain.cut(text)[:2] == ["小", "明"]
    assert "".join(found.cut(text)) == text
    assert found.tag("小明") == "nr"
    assert plain.tag("小明") == "x"
    assert found.tag("毕业") == plain.tag("毕业")
    assert (found.name, segmenter(name)) == (name, found)


def test_content_words_of_both_are_the_same_in_plain_prose() -> None:
    batch = normalise_many(ZH)
    assert content_words(batch, "rjieba").vocabulary == content_words(batch, "jieba").vocabulary


@pytest.mark.parametrize("name", NAMES)
def test_search_text_is_words_with_a_letter_or_digit(name: str) -> None:
    assert words("泵站,完成 2026! ", name) == ["泵站", "完成", "2026"]
    assert search_text("泵站，完成", name) == "泵站 完成"
