"""Segmentation: jieba and the native core behind one interface, whatever the text."""

from random import Random

import pytest
from hypothesis import given, settings

from es_dedup import native
from es_dedup.text.normalise import encode, normalise
from es_dedup.text.segment import JiebaSegmenter, NativeSegmenter, Segmenter, search_text, segmenter, words
from tests.texts import page_texts

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
    assert type(fresh()) is NativeSegmenter
    monkeypatch.setattr(native, "core", None)
    assert type(fresh()) is JiebaSegmenter


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


def test_a_word_has_its_tag_in_the_dictionary() -> None:
    assert segmenter().cut("小明硕士毕业。")[:2] == ["小", "明"]
    assert (segmenter().tag("小明"), segmenter().tag("毕业")) == ("x", "n")


def test_search_text_is_words_with_a_letter_or_digit() -> None:
    assert words("泵站,完成 2026! ") == ["泵站", "完成", "2026"]
    assert search_text("泵站，完成") == "泵站 完成"
    assert search_text("привет, über_café covid-19 t恤") == "привет über café covid 19 t 恤"


def test_long_runs_of_letters_are_cut_as_jieba_cuts_them() -> None:
    segmenter, random = JiebaSegmenter(), Random(3)
    runs = ["x" * length for length in (15, 16, 1_031, 1_032, 1_033, 2_000)]
    for _ in range(60):
        text = "".join(
            random.choices([*runs, "卡拉ok", "at&t", "t恤", "c++", "你好", ".5%", "é", " ", "的"], k=6)
        )
        assert segmenter.cut(text) == segmenter._tokenizer.lcut(text, HMM=False)
    assert len(segmenter.cut("x" * 1_000_000)) == 1  # jieba itself takes half a minute
