"""Normalising: equal to the slow reference on every kind of text, and what that means in examples."""

import unicodedata
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_dedup.text.characters import _ODD, CJK, PLANE, SEPARATOR, WORD, kind_of, tables
from es_dedup.text.normalise import TextBatch, decode, encode, normalise, normalise_many
from es_dedup.text.simplify import characters, simplify
from scripts import simplified_characters as opencc
from tests.reference import coverage as slow_tokens
from tests.reference import normalise as slow
from tests.texts import SENTENCES, TRADITIONAL, every_character, invisible, mixed_texts, pages_of_texts


@settings(max_examples=300)
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


@settings(max_examples=200)
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


def test_the_kept_characters_are_those_of_opencc() -> None:
    known = opencc.characters()
    assert characters() == known
    assert {"髮", "發"} <= {*known.traditional}
    assert {"瞭", "甦"} <= {*known.by_phrase} <= {*known.in_phrases}


@cache
def telling_characters() -> list[str]:
    """Characters whose form depends on those beside them, and some that end such a dependence."""
    table, known = tables(), characters()
    slow_ones = [chr(code) for code in range(PLANE) if table.slow[code] and not 0xD800 <= code < 0xE000]
    return [
        *slow_ones,
        *known.in_phrases,
        *known.by_phrase * 5,
        *" \n\r\t\u3000，。<=eΑΣ甲\u200b\U0001f60a\U00020000\U00010400" * 20,
    ]


@settings(max_examples=1_000)
@example("\u2ff0\u52f3\u4e2d")
@example("e\u0301\r\ne\u0301\r\u200be\u0301  \n  e\u0301")  # runs so near that they are changed as one
@given(st.lists(st.deferred(lambda: st.sampled_from(telling_characters())), max_size=12).map("".join))
def test_neighbours_count_where_they_do_in_the_whole_text(text: str) -> None:
    assert normalise(text) == slow.normalise(text)


def test_phrases_of_the_simplifier_stay_whole() -> None:
    phrases = opencc.phrases()
    for text in (*phrases, "".join(phrases), "".join(reversed(phrases)), *map("".join, pairwise(phrases))):
        assert normalise(text) == slow.normalise(text)


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
