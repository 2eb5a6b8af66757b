"""Labels of blocks from gold text."""

from __future__ import annotations

import pytest

from experiments.extraction.labels import block_labels, head_lines

STORY = (
    "The ferry runs again from Monday, the council said after a long debate about its price.",
    "Tickets cost the same as before the storm.",
)


def _kept(texts: list[str], gold: str) -> list[bool]:
    return [share > 0.5 for share in block_labels(texts, gold)[0]]


def test_blocks_in_the_gold_text_are_labelled() -> None:
    assert _kept(
        ["Home", STORY[0], "Share", STORY[1], "Imprint and contact of the publisher"], "\n".join(STORY)
    ) == [False, True, False, True, False]


def test_of_a_text_that_stands_twice_the_one_in_order_is_meant() -> None:
    assert _kept([STORY[1], "Read more about it", *STORY], "\n".join(STORY)) == [False, False, True, True]


def test_a_block_of_which_half_is_gold_text_gets_half() -> None:
    labels, _ = block_labels(
        [STORY[0] + " Sign up for our newsletter, which comes each day in the early morning, if you like."],
        STORY[0],
    )

    assert labels[0] == pytest.approx(0.5, abs=0.05)


def test_title_and_byline_stand_before_the_first_paragraph() -> None:
    texts = ["Ferry runs again", "By A. Writer", STORY[0] + " " + STORY[1], "Short end."]
    labels, places = block_labels(texts, "\n".join(texts))

    assert head_lines(texts, labels, places).tolist() == [True, True, False, False]
