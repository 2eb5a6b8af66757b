"""The command ``idf``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.testing import CliRunner

from es_dedup.cli.main import app

if TYPE_CHECKING:
    from pathlib import Path


def test_a_list_is_not_replaced_by_one_of_no_words(tmp_path: Path) -> None:
    words, pages, empty = tmp_path / "words.idf", tmp_path / "pages", tmp_path / "empty"
    empty.mkdir()
    pages.mkdir()
    (pages / "a.txt").write_text("大坝的水位在夜间上升，值班员打开了闸门。", encoding="utf-8")
    said = CliRunner().invoke(app, ["idf", str(pages), "--output", str(words)])
    assert said.exit_code == 0
    assert " words of 1 pages: " in said.stdout
    before = words.read_bytes()
    said = CliRunner().invoke(app, ["idf", str(empty), "--output", str(words)])
    assert said.exit_code == 1
    assert "no words to learn from" in said.stderr
    assert words.read_bytes() == before
