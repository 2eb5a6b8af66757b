"""``python -m experiments extractors``: main texts of a folder by several extractors, with figures."""

from pathlib import Path

import pytest

from es_dedup.cli.main import app
from es_dedup.extraction import extract
from experiments import extractors
from experiments.extractors import agreement
from tests.commands import ran, rows

extractors.register(app)

SAMPLES = Path(__file__).parents[2] / "samples" / "pages"


def test_agreement_is_the_f1_of_grams() -> None:
    assert agreement("", "") == agreement("a b c", "abc") == 1
    assert agreement("", "abcdef") == agreement("abcde", "vwxyz") == 0
    assert agreement("abcdef", "abcdefgh") == pytest.approx(2 * 2 / 6)


def test_a_folder_has_a_row_for_each_page_and_extractor(tmp_path: Path) -> None:
    for name in ("marathon", "bridge-opening"):
        (tmp_path / f"{name}.html").write_bytes((SAMPLES / "zhportal" / f"{name}.html").read_bytes())
    (tmp_path / "marathon.txt").write_text(extract((tmp_path / "marathon.html").read_bytes()).text, "utf-8")
    (tmp_path / "notes.md").write_text("x", encoding="utf-8")
    found = rows("extractors", tmp_path)
    pages, figures = ([row for row in found if key in row] for key in ("page", "extractor"))
    assert [row["page"] for row in pages] == ["bridge-opening.html", "marathon.html"]
    assert pages[1]["gold"]["blocks"] == figures[0]["gold_f1"] == 1
    assert pages[0]["gold"] == {}
    assert [(row["pages"], row["gold_pages"], row["empty"]) for row in figures] == [(2, 1, 0)] * len(figures)
    shown = ran("extractors", tmp_path).output
    assert shown.startswith("page\tblocks chars")
    assert all(f"\n{row['extractor']}\t2\t" in shown for row in figures)


def test_a_folder_without_pages_is_an_error(tmp_path: Path) -> None:
    assert "no page files" in ran("extractors", tmp_path, code=1).output
