"""The block model: its trees, its file, what it makes of pages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from es_dedup.extraction.block_characters import UNITS, read_characters
from es_dedup.extraction.block_features import block_features
from es_dedup.extraction.block_model import BlockModel, Trees, agreed, default_model, read_model
from es_dedup.extraction.block_selection import best_set, choose
from es_dedup.extraction.blocks import read_blocks
from es_dedup.extraction.page_columns import About, Page, read_page
from es_dedup.extraction.token_odds import Odds, part_tokens
from experiments.extraction.model_file import model_bytes

STORY = "The ferry runs again from Monday, the council said after a long debate. Tickets cost the same as before the storm, and children ride free. "
PAGE = (
    "<body><nav><ul><li><a href=/>Home</a><li><a href=/news>News</a></ul></nav><div class=article><h1>Ferry runs again</h1>"
    f"<p>{STORY}<p>{STORY[:90]}<p>{STORY[20:]}</div><div class=sidebar><h3>Related</h3><a href=/1>Bridge closed</a><br><a href=/2>Storm passed</a></div>"
    "<footer>All rights reserved</footer>"
)


def _page(markup: str) -> Page:
    return read_page(read_blocks(html.document_fromstring(markup)), About("Ferry runs again"))


def test_an_article_is_told_from_what_is_around_it() -> None:
    page = _page(PAGE)
    reading = default_model().read(page)
    kept = [
        page.blocks.text(int(place)) for place in np.flatnonzero(choose(reading, page.characters.lengths))
    ]

    assert sum("tickets" in text.lower() for text in kept) == 3
    assert not {"Home", "News", "Bridge closed", "All rights reserved"} & set(kept)
    assert reading.thread < 0.5


def test_a_written_model_says_the_same_and_equal_models_are_equal_bytes() -> None:
    page = _page(PAGE)
    data = model_bytes(default_model())
    again = read_model(data)

    assert model_bytes(again) == data
    assert np.array_equal(again.read(page).blocks, default_model().read(page).blocks)


def test_a_model_for_other_numbers_is_refused() -> None:
    model = default_model()
    other = BlockModel(model.kind, Trees(("x",), *_tree(1, 1)), model.odds, model.thread_odds)

    with pytest.raises(ValueError, match="train it again"):
        other.read(_page(PAGE))


def _tree(trees: int, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    random = np.random.default_rng(trees * 100 + depth)
    return (
        random.integers(0, 3, (trees, depth)).astype(np.int32),
        random.normal(size=(trees, depth)).astype(np.float32),
        random.normal(size=(trees, 1 << depth)).astype(np.float32),
        0.25,
    )


@pytest.mark.parametrize(("trees", "depth"), [(1, 1), (3, 2), (7, 6)])
def test_trees_are_summed_as_by_a_walk_from_the_root(trees: int, depth: int) -> None:
    model = Trees(("a", "b", "c"), *_tree(trees, depth))
    rows = np.random.default_rng(1).normal(size=(20, 3)).astype(np.float32)
    for row, score in zip(rows, model.scores(rows), strict=True):
        slowly = model.bias
        for tree in range(trees):
            leaf = sum(
                int(row[model.columns[tree, level]] > model.borders[tree, level]) << level
                for level in range(depth)
            )
            slowly += float(model.leaves[tree, leaf])
        assert score == pytest.approx(slowly, abs=1e-5)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 500)), min_size=1, max_size=9))
def test_no_other_set_has_a_higher_expected_agreement(rows: list[tuple[float, int]]) -> None:
    chances, lengths = (
        np.array([chance for chance, _ in rows]),
        np.array([float(length) for _, length in rows]),
    )

    def expected(chosen: np.ndarray) -> float:
        gained = (chances * lengths)[chosen].sum()
        return float(2 * gained / (lengths[chosen].sum() + (chances * lengths).sum())) if gained else 0.0

    best = max(
        expected(np.array([bool(bits >> place & 1) for place in range(len(rows))]))
        for bits in range(1 << len(rows))
    )
    assert expected(best_set(chances, lengths)) == pytest.approx(best)


@settings(max_examples=100)
@given(st.lists(st.text(alphabet="ab 中文12.,", max_size=40), min_size=1, max_size=6))
def test_characters_of_blocks_are_counted_apart(texts: list[str]) -> None:
    together = read_characters(texts)
    for place, text in enumerate(texts):
        assert together.counts[place] @ UNITS == pytest.approx(read_characters([text]).counts[0] @ UNITS)
        assert sorted(together.words[together.word_blocks == place].tolist()) == sorted(
            read_characters([text]).words.tolist()
        )


def test_names_are_read_as_words_as_first_letters_and_as_a_whole() -> None:
    found = frozenset().union(*map(part_tokens, ("postBody", "entry-contents", "#main")))
    assert found == {
        *("postbody", "post", "body", "entry-contents", "entry", "contents", "conte*", "#main", "main")
    }


def test_blocks_with_one_path_are_drawn_together_in_threads_most() -> None:
    page = _page(
        "<body><div class=post><p>One is here.</div><div class=post><p>Two is here.</div><h2>Three</h2>"
    )
    columns = block_features(page, Odds())
    scores = np.array([4.0, -2.0, -3.0])

    assert agreed(scores, page, columns, 1.0) == pytest.approx([2.5, -0.5, -3.0])
    assert agreed(scores, page, columns, 0.0) == pytest.approx([3.55, -1.55, -3.0])
