"""The walk over the tree gives the blocks that plain recursion gives, on pages of all kinds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.extraction.document import build, parse
from es_dedup.extraction.guard import Deadline
from es_dedup.extraction.trim import trim
from tests.reference.blocks import blocks

PIECES = st.sampled_from(
    ["<p>", "</p>", "<div class=a>", "</div>", "<b>", "</b>", "<a href=/x>", "</a>", "<br>", "<pre>", "</pre>", "<li>", "<ul>", "</ul>", "<table><tr><td>", "</table>",
     "<span>", "</span>", "<svg><g>", "</svg>", "<select><option>", "</select>", "<button>", "</button>", "<ruby>字<rt>zi</rt></ruby>", "<img alt=x>", "<textarea>",
     " ", "\n", "one line\nanother", "一行\n又一行", "text, and more.", "&nbsp;", "&#8203;", "\u3000"]
)  # fmt: skip
SAMPLES = sorted((Path(__file__).parents[3] / "samples" / "pages").glob("*/*.html"))


def check(markup: str) -> None:
    root = parse(markup)
    if root is None:
        return
    found = build(root, Deadline(60)).blocks
    assert [(block.text, block.chars, block.link_chars, block.links, block.led) for block in found] == blocks(
        root
    )


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=40))
def test_any_markup(pieces: list[str]) -> None:
    check("<body>" + "".join(pieces))


@pytest.mark.parametrize("path", SAMPLES[::4], ids=lambda path: path.stem)
def test_sample_pages(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")
    trimmed = trim(text)
    check(trimmed.markup if trimmed else text)


def test_there_are_sample_pages() -> None:
    assert len(SAMPLES) > 20
