"""Labels of blocks, labelled pages with their sites and weights, trees grown on them, and the command that does it."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from es_dedup.errors import InputError
from es_dedup.extraction import extract
from es_dedup.extraction.block_model import default_model, read_model
from es_dedup.settings.loading import ExtractionConfig
from experiments.extraction import train
from experiments.extraction.continuation import read_pages, retrain
from experiments.extraction.evaluate import page_agreement
from experiments.extraction.fitting import (
    MAX_PER_SITE,
    Settings,
    Trainer,
    export_trees,
    fit_trees,
    page_weights,
)
from experiments.extraction.labels import block_labels, head_lines
from experiments.extraction.pages import FOLDS, LabelledPage, fold_of, read_labelled, site_of

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


def test_of_a_site_with_many_pages_some_are_used_and_weigh_as_many(pages: list[LabelledPage]) -> None:
    many = [replace(pages[place % 30], site="one.example") for place in range(4 * MAX_PER_SITE)]
    weights = page_weights([*many, replace(pages[0], reached=0.0)])

    assert (weights[:-1] > 0).sum() == MAX_PER_SITE
    assert weights[-1] == 0
    assert page_weights(pages).min() == 1


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


SAMPLES = Path(__file__).parents[2] / "samples"
LAYOUTS = ("zhportal", "enmag", "forum")


def labelled(path: Path, layouts: tuple[str, ...], most: int, **more: Any) -> Path:
    """Write labelled sample pages, so many of each layout, that are named as files."""
    with (SAMPLES / "truth.jsonl").open(encoding="utf-8") as lines:
        known = [row for row in map(json.loads, lines) if len(row["text"]) > 300]
    rows = [
        {key: row[key] for key in ("url", "text")} | {"file": str(SAMPLES / "pages" / row["id"])} | more
        for layout in layouts
        for row in [row for row in known if row["id"].startswith(layout)][:most]
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


def run(*arguments: str | Path) -> int:
    return train.main([*map(str, arguments)])


def test_training_is_continued_and_the_model_is_used_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("catboost")
    model, figures = tmp_path / "own.npz", tmp_path / "figures.json"
    pages = labelled(tmp_path / "labelled.jsonl", LAYOUTS, 4)
    assert run(pages, "--output", model, "--json", figures) == 0
    shown = capsys.readouterr().out.splitlines()

    assert shown[0].split() == "site pages F1 before F1 out of fold missed".split()
    assert shown[4].split()[:2] == ["all", "12"]
    assert shown[-1].endswith(f'extraction.model = "{model}"')
    rows = json.loads(figures.read_text("utf-8"))
    assert [row["pages"] for row in rows.values()] == [4, 4, 4, 12]
    assert rows["all"]["out_of_fold"] > 0.9
    page = (SAMPLES / "pages" / "zhportal" / "marathon.html").read_bytes()
    assert extract(page, config=ExtractionConfig(model=str(model))).text


def test_from_scratch_the_model_knows_these_pages_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("catboost")
    monkeypatch.setattr(train, "FEWEST_SITES", 3)
    articles = labelled(tmp_path / "pages-articles.jsonl", ("zhportal", "enmag", "ennews"), 4, kind="article")
    threads = labelled(tmp_path / "pages-threads.jsonl", ("forum",), 4, kind="thread")
    rendered = tmp_path / "rendered"
    rendered.mkdir()
    labelled(rendered / "hexo-next.jsonl", ("forum",), 6, kind="thread")
    model, figures = tmp_path / "own.npz", tmp_path / "figures.json"
    arguments = (articles, threads, "--rendered", rendered, "--per-theme", "3", "--trees", "10")

    assert run(*arguments, "--fresh", "--output", model) == 0
    assert len(read_model(model.read_bytes()).trees.leaves) == 10
    assert run(*arguments, "--evaluate", "--json", figures) == 0
    assert {name: row["pages"] for name, row in json.loads(figures.read_text("utf-8"))["out_of_fold"].items()} == {
        "articles": 12, "rendered-thread": 3, "threads": 4,
    }  # fmt: skip
    assert run(*arguments, "--evaluate", "sources") == 0
    assert " s  fold rendered\n" in capsys.readouterr().out


def test_wrong_input_is_an_error_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, few, model = tmp_path / "pages.jsonl", tmp_path / "few.jsonl", tmp_path / "own.npz"
    few.write_text("{}", encoding="utf-8")
    labelled(pages, LAYOUTS, 2)
    monkeypatch.setattr(train, "find_spec", lambda _name: True)
    cases: list[tuple[tuple[str | Path, ...], int, str]] = [
        ((few, "--output", model), 1, "error: labelled pages: 0 to learn from, at least 5 are needed\n"),
        ((pages, "--output", model, "--fresh"), 1, "of 3 sites; a model from scratch needs 20"),
        ((pages,), 2, "either --output or --evaluate is needed"),
        ((pages, "--output", model, "--evaluate"), 2, "either --output or --evaluate is needed"),
        ((pages, "--output", model, "--rendered", tmp_path), 2, "--rendered needs --fresh or --evaluate"),
        ((pages, "--output", tmp_path / "none" / "own.npz"), 2, "there is no folder"),
    ]
    for arguments, code, said in cases:
        with pytest.raises(SystemExit) as ended:
            run(*arguments)
        assert ended.value.code == code, arguments
        assert said in capsys.readouterr().err, arguments
    monkeypatch.setattr(train, "FEWEST_SITES", 1)
    with pytest.raises(SystemExit):
        run(pages, "--evaluate", "sources")
    assert "of one source" in capsys.readouterr().err
    assert not model.exists()
