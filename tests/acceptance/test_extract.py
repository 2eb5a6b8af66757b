"""``extract``: main texts of a folder, by one extractor or several, with figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from es_dedup.cli.main import app
from es_dedup.evaluation.extractors import PageTexts, installed_peers, summarise

SAMPLES = Path(__file__).parents[2] / "samples" / "pages"


def run(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sample pages, one of them with a gold text, and a file that is no page."""
    for name in ("marathon", "bridge-opening"):
        (tmp_path / f"{name}.html").write_bytes((SAMPLES / "zhportal" / f"{name}.html").read_bytes())
    text = json.loads(run("--json", "quality", "extract", str(tmp_path / "marathon.html")))["text"]
    (tmp_path / "marathon.txt").write_text(text, encoding="utf-8")
    (tmp_path / "notes.md").write_text("x", encoding="utf-8")
    return tmp_path


def test_each_page_has_a_line_and_the_extractor_its_figures(folder: Path) -> None:
    shown = run("quality", "extract", str(folder)).splitlines()
    assert [line.split("\t")[0] for line in shown] == [
        "page", "bridge-opening.html", "marathon.html", "", "extractor", "blocks",
    ]  # fmt: skip
    gold = shown[2].split("\t")[2]
    assert gold == "1.000"
    assert shown[1].split("\t")[2] == "-"


def test_json_has_pages_and_then_extractors(folder: Path) -> None:
    rows = [
        json.loads(line)
        for line in run("--json", "quality", "extract", str(folder), "--extractor", "plain").splitlines()
    ]
    assert [row.get("page") for row in rows] == ["bridge-opening.html", "marathon.html", None]
    assert rows[1]["gold"]["plain"] < 1
    assert rows[2]["extractor"] == "plain"
    assert (rows[2]["pages"], rows[2]["gold_pages"], rows[2]["empty"]) == (2, 1, 0)


def test_compare_shows_the_installed_ones_beside_it(folder: Path) -> None:
    rows = [
        json.loads(line)
        for line in run("--json", "quality", "extract", "--compare", str(folder)).splitlines()
    ]
    names = [row["extractor"] for row in rows if "extractor" in row]
    assert names == ["blocks", *installed_peers()]
    shown = run("quality", "extract", "--compare", str(folder))
    assert shown.startswith("page\tblocks chars")
    assert all(f"\n{name}\t2\t" in shown for name in names)


def test_a_folder_without_pages_is_an_error(tmp_path: Path) -> None:
    assert "no page files" in run("quality", "extract", str(tmp_path), code=1)


def test_no_pages_have_no_figures() -> None:
    assert summarise([]) == []
    one = PageTexts("a", {"x": 3}, {"x": 1.0}, {}, {"x": 2.0})
    assert summarise([one])[0].gold_f1 is None
