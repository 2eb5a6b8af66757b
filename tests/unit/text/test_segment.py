"""Segmentation: both libraries behind one interface, whatever the text."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings

from es_dedup import Deduplicator, Page, Settings, native
from es_dedup.detectors.features import featurise, pack
from es_dedup.detectors.registry import create_detectors
from es_dedup.errors import ConfigError, SettingsDiffer, SettingsMismatch
from es_dedup.index.factory import features_of
from es_dedup.model import Content
from es_dedup.settings import load_settings
from es_dedup.text.normalise import encode, normalise
from es_dedup.text.segment import JiebaSegmenter, NativeSegmenter, Segmenter, search_text, segmenter, words
from tests.texts import ZH, page_texts

NAMES = ("jieba", "jieba-hmm")
"""Values of the setting."""
needs_native = pytest.mark.skipif(native.core is None, reason="the native core is not installed")


@pytest.fixture(scope="module")
def both() -> tuple[Segmenter, Segmenter]:
    """Jieba's dictionary, read by the native core and by jieba itself."""
    return NativeSegmenter(), JiebaSegmenter()


@needs_native
def test_the_dictionary_is_read_by_the_native_core_where_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fresh = segmenter.__wrapped__
    assert type(fresh("jieba")) is NativeSegmenter
    monkeypatch.setattr(native, "core", None)
    found = fresh("jieba")
    assert (type(found), found.name) == (JiebaSegmenter, "jieba")


@needs_native
@settings(max_examples=150)
@given(page_texts)
def test_both_give_the_same_words_and_tags(both: tuple[Segmenter, Segmenter], text: str) -> None:
    """An index that is written with one is read with the other: whatever the text, both must agree."""
    for form in (normalise(text), text.encode(errors="ignore").decode() + "B超+5.6%\r\n3d打印 c++"):
        fast, plain = (segmenter.cut_codes(encode([form])[0]) for segmenter in both)
        words = fast.distinct()
        assert words == plain.distinct()
        assert fast.ids.tolist() == plain.ids.tolist()
        assert fast.starts.tolist() == plain.starts.tolist()
        assert "".join(words[at] for at in fast.ids.tolist()) == form
        assert [both[0].tag(word) for word in words] == [both[1].tag(word) for word in words]
        numbers = [number for number in fast.facts[:, 2].tolist() if number]
        assert len(set(numbers)) == len(numbers)


@needs_native
def test_a_dictionary_that_is_damaged_names_the_line() -> None:
    with pytest.raises(ValueError, match="line 2"):
        native.core.Dictionary("水泵 3 n\n检修\n")


def test_an_unknown_name_is_refused_with_the_names_known() -> None:
    with pytest.raises(ConfigError, match="must be one of jieba, jieba-hmm, got 'other'"):
        segmenter("other")
    with pytest.raises(ConfigError, match=r"words\.segmenter .*: must be one of 'jieba' or 'jieba-hmm'"):
        load_settings(overrides={"words.segmenter": "rjieba"})


WORD_METHODS = ("multi_simhash", "dwdcs", "simhash")


@pytest.mark.parametrize("method", WORD_METHODS)
def test_methods_of_words_use_the_segmenter_of_the_settings(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here jieba-hmm is made to cut everything into characters: only features made with it change."""
    monkeypatch.setattr(segmenter("jieba-hmm"), "cut", list)
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
    assert found["jieba"] != found["jieba-hmm"]
    assert (found["jieba table"] != found["jieba-hmm table"]) == (method == "simhash")


def test_an_index_records_the_segmenter_and_searches_with_it(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    by_model = load_settings(overrides={"words.segmenter": "jieba-hmm"})
    assert features_of(by_model)["words.segmenter"] == "jieba-hmm"
    with Deduplicator.open(path, settings=by_model) as dedup:
        dedup.add(Page("a", text="".join(ZH) * 3))
    other = load_settings(overrides={"words.segmenter": "jieba"})
    with pytest.raises(SettingsMismatch, match=r"words\.segmenter"):
        Deduplicator.open(path, settings=other)
    with Deduplicator.open(path, settings=other, read_only=True) as dedup:
        with pytest.warns(SettingsDiffer, match="segmenter is jieba-hmm in the index and jieba now"):
            dedup.search("泵站")
        assert [hit.page_id for hit in dedup.search("泵站").hits] == ["a"]


def test_the_model_finds_words_that_are_not_in_the_dictionary() -> None:
    found, plain = segmenter("jieba-hmm"), segmenter("jieba")
    text = "小明硕士毕业。李宗仁和欧阳铁蛋。"
    assert "小明" in found.cut(text)
    assert plain.cut(text)[:2] == ["小", "明"]
    assert "".join(found.cut(text)) == text
    assert found.tag("小明") == "nr"
    assert plain.tag("小明") == "x"
    assert found.tag("毕业") == plain.tag("毕业")


@pytest.mark.parametrize("name", NAMES)
def test_search_text_is_words_with_a_letter_or_digit(name: str) -> None:
    assert words("泵站,完成 2026! ", name) == ["泵站", "完成", "2026"]
    assert search_text("泵站，完成", name) == "泵站 完成"
    assert search_text("привет, über_café covid-19 t恤", name) == "привет über café covid 19 t 恤"


@pytest.mark.parametrize("hmm", [False, True])
def test_long_runs_of_letters_are_cut_as_jieba_cuts_them(*, hmm: bool) -> None:
    segmenter, random = JiebaSegmenter(hmm=hmm), Random(3)
    runs = ["x" * length for length in (15, 16, 1_031, 1_032, 1_033, 2_000)]
    for _ in range(60):
        text = "".join(
            random.choices([*runs, "卡拉ok", "at&t", "t恤", "c++", "你好", ".5%", "é", " ", "的"], k=6)
        )
        assert segmenter.cut(text) == segmenter._tokenizer.lcut(text, HMM=hmm)
    assert len(segmenter.cut("x" * 1_000_000)) == 1  # jieba itself takes half a minute
