"""Common subsequence, feature sentences and punctuation strings, against the reference."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.model import Content
from es_dedup.text.normalise import normalise
from experiments.comparators.punctuation import MARKS
from experiments.comparators.spots import STOP_WORDS
from experiments.comparators.strings import MOST_CHARS, Text
from experiments.comparators.subsequence import common_subsequence
from tests.experiments.comparator_cases import (
    detector,
    features,
    pieces,
    worded_texts,
    words,
)
from tests.reference import sentences as slow
from tests.texts import page_texts

WEIGHTS: Final = (0.4, 0.2, 0.3, 0.1)


@settings(max_examples=300, deadline=None)
@given(st.text("甲乙丙ab", max_size=40), st.text("甲乙丙ab", max_size=40))
def test_the_common_subsequence_equals_the_reference(left: str, right: str) -> None:
    assert common_subsequence(left, right) == slow.common_subsequence(left, right)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("", "", 0),
        ("甲", "", 0),
        ("abcbdab", "bdcaba", 4),
        ("甲乙丙", "丙乙甲", 1),
        ("x" * 100, "x" * 64, 64),
    ],
)
def test_known_common_subsequences(left: str, right: str, expected: int) -> None:
    assert common_subsequence(left, right) == expected == common_subsequence(right, left)


def sentence(text: str, title: str = "", min_chars: int = 8) -> str | None:
    """The feature sentence by the reference, as much of it as is kept."""
    found = slow.feature_sentence(pieces(text), words(title), STOP_WORDS, WEIGHTS, min_chars)
    return found and found[:MOST_CHARS]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(worded_texts, worded_texts), min_size=1, max_size=3), st.sampled_from([2, 8]))
def test_feature_sentences_equal_the_reference(pages: list[tuple[str, str]], min_chars: int) -> None:
    method = detector("feature_sentence", feature_sentence__min_chars=min_chars)
    found: list[Any] = method.featurise_many([Content(text, title=title) for text, title in pages])
    expected = [sentence(text, title, min_chars) for text, title in pages]
    assert [each.text if isinstance(each, Text) else None for each in found] == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(page_texts, worded_texts), max_size=3), st.integers(0, 3), st.integers(1, 3))
def test_punctuation_strings_equal_the_reference(texts: list[str], before: int, after: int) -> None:
    method = detector(
        "punctuation", punctuation__before=before, punctuation__after=after, punctuation__min_marks=1
    )
    expected = [slow.punctuation_string(normalise(text), MARKS, before, after)[:MOST_CHARS] for text in texts]
    assert [each.text if isinstance(each, Text) else "" for each in features(method, *texts)] == expected


@pytest.mark.parametrize(
    "payload",
    [b"", b"\1\0\0\0\0", b"\2\1\0\0\0a", b"\1\1\0\0\0\xff", b"\1\2\0\0\0a", b"\1\1\4\0\0" + b"a" * 1025],
)
def test_damaged_texts_are_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"version|bytes|characters|decode"):
        detector("punctuation").unpack(payload)
