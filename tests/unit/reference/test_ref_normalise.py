"""Normalisation reference: one example per rule, and where idempotence holds."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference.normalise import normalise


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


@given(st.text(st.characters(codec=None)))
def test_result_holds_no_unwanted_character(text: str) -> None:
    result = normalise(text)
    assert not {unicodedata.category(c) for c in result.replace("\n", "")} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert all(line and line == " ".join(line.split()) for line in result.split("\n")) or result == ""
    assert not set(result) & set("“”„‟「」『』‘’‚‛‐‑‒–—―─｡！？；：，（）")


COMMON = "的一是不了人我在有他这中大来上国网页新闻报道時間後來發現頭髮乾淨裡面臺灣説說電腦。！？，、：；"
PLAIN = st.characters(max_codepoint=0xFFFF, exclude_categories=["Mn", "Mc", "Me", "Lo"])


@given(st.text(st.one_of(st.sampled_from(COMMON + "“”—…　\t\r\n\u200b"), PLAIN)))
@example("ΑΣ Σ")
@example("İ")
def test_idempotent_without_marks_and_rare_ideographs(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@given(st.text(st.characters(exclude_categories=["Lo"]).map(str.lower)))
def test_idempotent_on_lower_case_with_marks(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@pytest.mark.parametrize(
    ("text", "once", "twice"),
    [
        ("H\u0331", "h\u0331", "\u1e96"),  # only the lower-case letter composes with the mark
        ("\u85b4", "苧", "苎"),  # t2s takes two hops
        ("瀋落", "沈落", "沉落"),  # the simplified form is again a key of t2s
    ],
)
def test_known_exceptions_to_idempotence(text: str, once: str, twice: str) -> None:
    assert normalise(text) == once
    assert normalise(once) == twice
    assert normalise(twice) == twice
