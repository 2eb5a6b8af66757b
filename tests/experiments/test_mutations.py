"""Edited copies: from a seed, of the kinds that are asked for, and never more than they say."""

from __future__ import annotations

import random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.mutations import BLOCK_CHARS, LEAST_CHARS, Rates, mutate
from tests.texts import article

TEXT: Final = article(1, sentences=20)
ENGLISH: Final = " ".join(
    f"The {word} of the harbour town was opened by its mayor on a cold {word} morning."
    for word in "bridge valley market school winter river garden letter station coast mountain".split()
)
NONE: Final = Rates(title=0, head=0, tail=0, block=0, cut=0, recut=0, punctuation=0, small=(0, 0))


def only(**rates: float) -> Rates:
    """Nothing but the named edits."""
    values = {
        name: getattr(NONE, name)
        for name in ("title", "head", "tail", "block", "cut", "recut", "punctuation")
    }
    return Rates(**{**values, **rates}, small=(0, 0))


def grams(text: str) -> set[str]:
    flat = "".join(text.split())
    return {flat[at : at + 5] for at in range(len(flat) - 4)}


def test_the_same_seed_gives_the_same_copy() -> None:
    copies = [mutate(TEXT, "海港清晨迎来新船", random.Random(7), [ENGLISH]) for _ in range(2)]
    assert copies[0] == copies[1]
    assert mutate(TEXT, "海港清晨迎来新船", random.Random(8), [ENGLISH]) != copies[0]


def test_without_any_edit_the_page_is_left_as_it_is() -> None:
    copy = mutate(TEXT, "海港", random.Random(1), rates=NONE)
    assert (copy.text, copy.title, copy.kept) == (TEXT, "海港", 1.0)


@pytest.mark.parametrize("text", [TEXT, ENGLISH])
@pytest.mark.parametrize("seed", range(5))
class TestKinds:
    def test_cut_keeps_the_beginning(self, text: str, seed: int) -> None:
        copy = mutate(text, "", random.Random(seed), rates=only(cut=1))
        assert text.startswith(copy.text)
        assert 0.35 <= len(copy.text) / len(text) < 1
        assert copy.kept == pytest.approx(len(copy.text) / len(text), abs=0.01)

    def test_a_lost_block_is_long_and_the_rest_stays(self, text: str, seed: int) -> None:
        copy = mutate(text, "", random.Random(seed), rates=only(block=1))
        assert grams(copy.text) - grams(text) == set() or len(grams(copy.text) - grams(text)) <= 4
        assert copy.text == text or BLOCK_CHARS <= len(text) - len(copy.text) <= len(text) / 2

    def test_lines_of_the_site_stand_outside_the_text(self, text: str, seed: int) -> None:
        copy = mutate(text, "", random.Random(seed), rates=only(head=1, tail=1))
        assert copy.text.count(text) == 1
        assert not copy.text.startswith(text)
        assert not copy.text.endswith(text)

    def test_recutting_changes_white_space_alone(self, text: str, seed: int) -> None:
        copy = mutate(text, "", random.Random(seed), rates=only(recut=1))
        assert "".join(copy.text.split()) == "".join(text.split())

    def test_a_changed_title_says_something(self, text: str, seed: int) -> None:
        title = "海港清晨迎来新船，市长出席" if text is TEXT else "Harbour town opens its new bridge today"
        copy = mutate(text, title, random.Random(seed), rates=only(title=1))
        assert copy.title.strip()
        assert copy.title != title
        assert copy.text == text


@given(st.text(min_size=LEAST_CHARS, max_size=300), st.text(max_size=40), st.integers(0, 1000))
def test_any_text_can_be_edited(text: str, title: str, seed: int) -> None:
    copy = mutate(text, title, random.Random(seed), [TEXT])
    assert 0 < copy.kept <= 1
    assert "small" in copy.kinds


def test_a_text_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        mutate("短。", "", random.Random(1))
