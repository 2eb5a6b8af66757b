"""Normalising: equal to the slow reference on every kind of text, and what that means in examples."""

import unicodedata
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_dedup.text.characters import _ODD, CJK, PLANE, SEPARATOR, WORD, kind_of, tables
from es_dedup.text.normalise import TextBatch, decode, encode, normalise, normalise_many
from es_dedup.text.simplify import simplify, traditional_characters
from scripts.traditional_characters import traditional_characters as characters_of_opencc
from tests.reference import coverage as slow_tokens
from tests.reference import normalise as slow
from tests.texts import SENTENCES, TRADITIONAL, every_character, invisible, mixed_texts, pages_of_texts


@settings(max_examples=300, deadline=None)
@given(mixed_texts | st.sampled_from(SENTENCES))
@example("ｶﾞ")
@example("ㄱㅏ")
@example("\u09c7\u09be")
@example("e\u180e\u0301")
@example("e\ud800\u0301")
@example("Ϲ Σ ΑΣ ΑΣ.")
@example("H‚Σ")
@example("\U000e0067a\U000110bd")
@example("\r\n\r\r\n \t\n")
def test_random_texts_equal_the_reference(text: str) -> None:
    assert normalise(text) == slow.normalise(text)


def test_every_character_alone_equals_the_reference() -> None:
    several = [c for c in every_character() if not 0xE000 <= ord(c) <= 0xF8FF and ord(c) < 0x32000]
    batch = normalise_many([f"a{c}b" for c in several])
    found = decode(batch.codes)
    places = batch.offsets.tolist()
    wrong = [
        f"U+{ord(c):04X}"
        for c, start, end in zip(several, places[:-1], places[1:], strict=True)
        if found[start:end] != slow.normalise(f"a{c}b")
    ]
    assert not wrong


def test_every_canonical_composition_happens() -> None:
    parts = [
        [chr(int(code, 16)) for code in unicodedata.decomposition(c).split()]
        for c in every_character()
        if unicodedata.decomposition(c) and not unicodedata.decomposition(c).startswith("<")
    ]
    pairs = ["".join(pair) for pair in parts if len(pair) == 2]
    assert len(pairs) > 900
    assert [ascii(pair) for pair in pairs if normalise(pair) != slow.normalise(pair)] == []


def test_every_invisible_character_is_known() -> None:
    assert [f"U+{ord(c):04X}" for c in every_character() if invisible(c) and not _ODD.match(c)] == []


@settings(max_examples=200, deadline=None)
@given(pages_of_texts)
def test_a_batch_gives_each_text_its_own_form(texts: list[str]) -> None:
    batch = normalise_many(texts)
    assert len(batch) == len(texts)
    assert [batch.string(page) for page in range(len(texts))] == [normalise(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \n\t\r\n ", ""),
        ("ＡＢＣ，１２３！", "abc,123!"),
        ("“a” ‘b’ c—d", "\"a\" 'b' c-d"),
        ("a  b\t\tc \r\n\r\n d", "a b c\nd"),
        ("句号。ＯＫ｡", "句号。ok。"),
        ("头\u200b发\ufeff\x00", "头发"),
        ("\ud800甲\udfff", "甲"),
        ("頭髮發乾", "头发发干"),
        ("ＳＴＲＡßＥ", "straße"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize("text", TRADITIONAL)
def test_traditional_and_simplified_pages_read_the_same(text: str) -> None:
    assert normalise(text) == normalise(simplify(text))
    assert normalise(text) != text.lower()


def test_simplification_looks_at_phrases() -> None:
    assert simplify("頭髮") == "头发"
    assert simplify("甦醒瞭解乾淨乾隆") == slow.to_simplified("甦醒瞭解乾淨乾隆")


def test_the_kept_list_of_traditional_characters_is_that_of_opencc() -> None:
    assert traditional_characters() == frozenset(characters_of_opencc())
    assert {"髮", "發", "瞭", "甦"} <= traditional_characters()


def test_codes_come_back_as_the_text() -> None:
    codes, offsets = encode(["ab", "", "甲\U00020000"])
    assert offsets.tolist() == [0, 2, 2, 4]
    assert TextBatch(codes, offsets).string(2) == "甲\U00020000"
    assert decode(codes) == "ab甲\U00020000"


@cache
def slow_kinds() -> list[int]:
    """The kind of every character by the reference; the same for both paths."""
    return [CJK if slow_tokens.is_cjk(c) else WORD if c.isalnum() else SEPARATOR for c in every_character()]


def test_kinds_of_characters_equal_the_reference() -> None:
    assert [kind_of(ord(c)) for c in every_character()] == slow_kinds()
    assert tables().kind.tolist() == slow_kinds()[:PLANE]
