"""Edited copies: from a seed, of the kinds that are asked for, and never more than they say."""

import random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.mutations import LEAST_CHARS, Rates, mutate
from tests.texts import article

TEXT: Final = article(1, sentences=20)
ENGLISH: Final = " ".join(
    f"The {word} of the harbour town was opened by its mayor on a cold {word} morning."
    for word in "bridge valley market school winter river garden letter station coast mountain".split()
)
NONE: Final = Rates(title=0, head=0, tail=0, block=0, cut=0, recut=0, punctuation=0, small=(0, 0))


def test_the_same_seed_gives_the_same_copy() -> None:
    copies = [mutate(TEXT, "海港清晨迎来新船", random.Random(7), [ENGLISH]) for _ in range(2)]
    assert copies[0] == copies[1]
    assert mutate(TEXT, "海港清晨迎来新船", random.Random(8), [ENGLISH]) != copies[0]


def test_without_any_edit_the_page_is_left_as_it_is() -> None:
    copy = mutate(TEXT, "海港", random.Random(1), rates=NONE)
    assert (copy.text, copy.title, copy.kept) == (TEXT, "海港", 1.0)


@given(st.text(min_size=LEAST_CHARS, max_size=300), st.text(max_size=40), st.integers(0, 1000))
def test_any_text_can_be_edited(text: str, title: str, seed: int) -> None:
    copy = mutate(text, title, random.Random(seed), [TEXT])
    assert 0 < copy.kept <= 1
    assert "small" in copy.kinds


def test_a_text_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        mutate("短。", "", random.Random(1))
