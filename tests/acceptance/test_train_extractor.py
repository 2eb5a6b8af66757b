"""``train-extractor``: a model from labelled pages, and what is said of bad ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from es_dedup.cli.main import app
from es_dedup.extraction import extract
from es_dedup.settings.loading import ExtractionConfig

SAMPLES = Path(__file__).parents[2] / "samples"


def run(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Twelve sample pages of three layouts with their texts, as files."""
    path = tmp_path / "labelled.jsonl"
    with (SAMPLES / "truth.jsonl").open(encoding="utf-8") as lines, path.open("w", encoding="utf-8") as out:
        for site in ("zhportal", "enmag", "forum"):
            lines.seek(0)
            rows = [
                row for row in map(json.loads, lines) if row["id"].startswith(site) and len(row["text"]) > 300
            ]
            for row in rows[:4]:
                kept = {key: row[key] for key in ("id", "url", "text")}
                out.write(json.dumps(kept | {"file": str(SAMPLES / "pages" / row["id"])}) + "\n")
    return path


def test_a_model_goes_on_learning_and_is_used_by_its_name(labelled: Path, tmp_path: Path) -> None:
    pytest.importorskip("catboost")
    model = tmp_path / "own.npz"
    shown = run("train-extractor", str(labelled), "--output", str(model)).splitlines()

    assert shown[0].split("\t") == ["site", "pages", "F1 before", "F1 out of fold", "missed"]
    assert [line.split("\t")[:2] for line in shown[4:5]] == [["all", "12"]]
    assert f'extraction.model = "{model}"' in shown[-1]
    page = (SAMPLES / "pages" / "zhportal" / "marathon.html").read_bytes()
    assert extract(page, config=ExtractionConfig(model=str(model))).text


def test_json_has_a_line_for_each_site_and_pages_left_out_are_named(labelled: Path, tmp_path: Path) -> None:
    pytest.importorskip("catboost")
    with labelled.open("a", encoding="utf-8") as out:
        out.write(json.dumps({"html": "<p>Something else.</p>", "text": "These words are not in the page."}))
    arguments = ("--json", "train-extractor", str(labelled), "--output", str(tmp_path / "own.npz"))
    shown = run(*arguments, code=3).splitlines()

    rows = [json.loads(line) for line in shown if line.startswith("{")]
    assert [row["pages"] for row in rows] == [4, 4, 4, 12]
    assert "page labelled.jsonl:13: its gold text is not in its markup (F1 at best 0.00)" in shown


def test_too_few_pages_are_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    pytest.importorskip("catboost")
    path = tmp_path / "few.jsonl"
    path.write_text("{}", encoding="utf-8")
    said = run("train-extractor", str(path), "--output", str(tmp_path / "own.npz"), code=1)

    assert said == "error: labelled pages: 0 to learn from, at least 5 are needed\n"
    assert not (tmp_path / "own.npz").exists()


def test_without_catboost_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "catboost", None)
    said = run("train-extractor", "none.jsonl", "--output", str(tmp_path / "own.npz"), code=1)

    assert said == "error: training the block model needs catboost: pip install 'es-dedup[train]'\n"
