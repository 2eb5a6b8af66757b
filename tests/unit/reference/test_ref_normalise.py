"""Normalisation reference: one example per rule, and where idempotence holds."""

import pytest

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
