"""Labelled pages, their sites and weights, and trees grown on them."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from es_dedup.errors import InputError
from es_dedup.extraction.model import default_model
from experiments.extraction.continuation import read_pages, retrain
from experiments.extraction.evaluate import interval, page_agreement
from experiments.extraction.fitting import (
    MAX_PER_SITE,
    Settings,
    Trainer,
    export_trees,
    fit_trees,
    page_weights,
)
from experiments.extraction.odds import TokenCounts
from experiments.extraction.pages import (
    FOLDS,
    LabelledPage,
    fold_of,
    read_labelled,
    site_of,
    source_of,
)

if TYPE_CHECKING:
    from pathlib import Path

WORDS = "ferry council debate price storm ticket bridge river morning harbour".split()


def _row(number: int, **more: Any) -> dict[str, Any]:
    text = "\n".join(
        " ".join(WORDS[(number + step) % 10 : step + 5]).capitalize()
        + f" and {number} more, they said. So it went on."
        for step in range(5)
    )
    body = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    links = "".join(f"<li><a href=/{link}>Link {link}</a></li>" for link in range(6))
    html = f"<body><ul class=menu>{links}</ul><div class=story>{body}</div><div class=foot>All rights reserved {number}</div>"
    return {
        "id": f"p{number}",
        "html_base64": base64.b64encode(html.encode()).decode(),
        "text": text,
        "site": f"site{number}.example",
        **more,
    }


@pytest.fixture
def pages(tmp_path: Path) -> list[LabelledPage]:
    rows = [_row(number) for number in range(30)] + [_row(99, text="")]
    path = tmp_path / "pages-own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf8")
    return list(read_labelled(path))


def test_pages_with_text_are_read_and_labelled(pages: list[LabelledPage]) -> None:
    assert len(pages) == 30
    assert {page.source for page in pages} == {"own"}
    for page in pages:
        texts = [page.page.blocks.text(place) for place in range(len(page.labels))]
        assert [text.endswith("went on.") for text in texts] == (page.labels > 0.5).tolist()
        assert page_agreement(page, page.labels, 0.0) == 1


@pytest.mark.parametrize(
    ("row", "site"),
    [({"id": "a", "site": "www.news.example.com"}, "example.com"), ({"id": "a", "url": "https://a.b.co.uk/x"}, "b.co.uk"),
     ({"id": "gne/163/1"}, "163"), ({"id": "cctv/7"}, "cctv"), ({"id": "a", "site": "board.example (phpBB)"}, "board.example")],
)  # fmt: skip
def test_pages_of_one_publisher_have_one_site(row: dict[str, Any], site: str) -> None:
    assert site_of(row) == site
    assert 0 <= fold_of(site) < FOLDS


@pytest.mark.parametrize(
    ("row", "source"),
    [({"id": "1", "source": "blogs"}, "blogs"), ({"id": "gne/163/1"}, "gne"), ({"id": "mixed/1", "kind": "thread"}, "mixed-thread"), ({"id": "1"}, "mixed")],
)  # fmt: skip
def test_the_source_is_named_by_the_row_or_its_id_or_its_file(row: dict[str, Any], source: str) -> None:
    assert source_of(row, "mixed") == source


def test_of_a_site_with_many_pages_some_are_used_and_weigh_as_many(pages: list[LabelledPage]) -> None:
    many = [replace(pages[place % 30], site="one.example") for place in range(4 * MAX_PER_SITE)]
    weights = page_weights([*many, replace(pages[0], reached=0.0)])

    assert (weights[:-1] > 0).sum() == MAX_PER_SITE
    assert weights[-1] == 0
    assert page_weights(pages).min() == 1


def test_odds_say_which_names_hold_main_text(pages: list[LabelledPage]) -> None:
    odds = TokenCounts(pages).odds()

    assert odds.names["story"] > 0 > odds.names["menu"]
    assert not TokenCounts(pages).odds({page.site for page in pages[2:]}).names  # too few sites


def test_an_interval_is_as_wide_as_sites_differ(pages: list[LabelledPage]) -> None:
    named = [replace(page, site=site) for page, site in zip(pages, "aabb", strict=False)]
    low, high = interval(named, [0.2, 0.4, 0.8, 1.0])["own"]
    assert (low, high) == (0.3, 0.9)  # one of both sites twice
    low, high = interval([replace(page, site="one") for page in named], [0.2, 0.4, 0.8, 1.0])["own"]
    assert (low, high) == (0.6, 0.6)


def test_trained_trees_find_main_text_on_other_sites_twice_alike(pages: list[LabelledPage]) -> None:
    pytest.importorskip("catboost")
    settings = Settings(trees=10, rate=0.3)
    one, two = (Trainer(pages, settings).fit() for _ in range(2))

    assert (
        np.mean([page_agreement(page, found, 0.0) for page, found in zip(pages, one.outside, strict=True)])
        > 0.95
    )
    assert one.model is not None
    assert two.model is not None
    assert np.array_equal(one.model.trees.leaves, two.model.trees.leaves)


def test_trees_say_what_the_trainer_says() -> None:
    catboost = pytest.importorskip("catboost")
    random = np.random.default_rng(3)
    rows = random.normal(size=(400, 5)).astype(np.float32)
    labels = (rows[:, 0] + rows[:, 1] * rows[:, 2] > 0).astype(float)
    model = catboost.CatBoostClassifier(
        iterations=20,
        depth=4,
        loss_function="CrossEntropy",
        verbose=False,
        allow_writing_files=False,
        thread_count=1,
    )
    model.fit(catboost.Pool(rows, labels))

    exported = export_trees(model, "abcde")
    assert exported.scores(rows) == pytest.approx(
        model.predict(rows, prediction_type="RawFormulaVal"), abs=1e-4
    )
    few = Settings(trees=5)
    assert np.array_equal(
        fit_trees(rows, labels, np.ones(400), "abcde", few).leaves,
        fit_trees(rows, labels, np.ones(400), "abcde", few).leaves,
    )


def test_whole_sources_are_left_out_with_their_sites(pages: list[LabelledPage]) -> None:
    pytest.importorskip("catboost")
    sources = ["one-article/a", "one-thread/b", "two+comments", "three"]
    named = [replace(page, source=sources[place % 4]) for place, page in enumerate(pages)]
    named.append(replace(pages[0], source="three"))  # of a site that source one has, too
    trainer = Trainer(named, Settings(trees=10, rate=0.3, blocks=4), by_source=True)
    found = trainer.fit(final=False)

    assert trainer.names == ["one", "three", "two"]
    assert trainer.outside(1).tolist() == [
        place not in range(3, 30, 4) and place % 30 > 0 for place in range(31)
    ]
    assert all(map(len, found.outside))
    assert found.model is None


def test_a_model_goes_on_from_where_it_was(pages: list[LabelledPage]) -> None:
    pytest.importorskip("catboost")
    model, pages = default_model(), [replace(page, kind="thread") for page in pages]
    found = retrain(pages, model, settings=Settings(trees=8))

    assert len(found.model.trees.leaves) == len(model.trees.leaves) + 8
    assert found.total.out_of_fold >= found.total.before
    assert found.total.pages == 30
    assert len(found.sites) == 30
    assert found.model.read(pages[0].page).thread > model.read(pages[0].page).thread


def test_pages_that_do_not_hold_their_gold_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(base64.b64decode(_row(1)["html_base64"]))
    rows = [
        {"id": "a", "file": "page.html", "text": _row(1)["text"]},
        {"html": "<p>A short line.</p>", "text": "Other words, none of which stand in the page."},
        {"id": "b", "html": "<script>1</script>", "text": "Words."},
        {"id": "c", "html": "<p>not labelled yet</p>"},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf8")
    found, left_out = read_pages([path])

    assert [page.id for page in found] == ["a"]
    assert left_out == [
        "page own.jsonl:2: its gold text is not in its markup (F1 at best 0.00)", "page b: no text in its markup",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [("[1]", "own.jsonl:1: is no JSON object"), ('{"text": "a"}\n{', "own.jsonl:1: has no markup"), ("\n{", "own.jsonl:2: is no JSON"),
     ('{"id": "x", "text": "a", "html_base64": "?"}', "page x: "), ('{"id": "x", "text": "a", "file": "none"}', "page x: .*none"),
     (b"\xff", "own.jsonl: .*codec"), (None, "own.jsonl: No such file")],
)  # fmt: skip
def test_bad_rows_are_named(content: str | bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(InputError, match=said):
        read_pages([path])
