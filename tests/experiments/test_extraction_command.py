"""The command that trains the block model: a model from labelled pages, its figures, and what it says of bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from es_dedup.extraction import extract
from es_dedup.extraction.model import read_model
from es_dedup.settings.loading import ExtractionConfig
from experiments.extraction import train

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


def test_pages_that_are_left_out_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("catboost")
    pages = labelled(tmp_path / "labelled.jsonl", LAYOUTS, 4)
    with pages.open("a", encoding="utf-8") as out:
        out.write(json.dumps({"html": "<p>Something else.</p>", "text": "These words are not in the page."}))

    assert run(pages, "--output", tmp_path / "own.npz", "--trees", "2") == train.LEFT_OUT
    assert (
        "page labelled.jsonl:13: its gold text is not in its markup (F1 at best 0.00)\n"
        in capsys.readouterr().out
    )


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


def test_without_catboost_the_command_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "find_spec", lambda _name: None)
    with pytest.raises(SystemExit):
        run("none.jsonl", "--output", tmp_path / "own.npz")
    said = capsys.readouterr().err
    assert said == "error: training needs CatBoost: pip install -r experiments/requirements.txt\n"
    assert "catboost" in (Path(train.__file__).parents[1] / "requirements.txt").read_text("utf-8")
