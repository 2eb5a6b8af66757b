"""The command ``idf`` of the experiments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ES_DEDUP_")}
    return subprocess.run(
        [sys.executable, "-m", "experiments", "idf", *map(str, arguments)],
        env=environment | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_a_list_is_not_replaced_by_one_of_no_words(tmp_path: Path) -> None:
    words, pages, empty = tmp_path / "words.idf", tmp_path / "pages", tmp_path / "empty"
    empty.mkdir()
    pages.mkdir()
    (pages / "a.txt").write_text("大坝的水位在夜间上升，值班员打开了闸门。", encoding="utf-8")
    said = run(pages, "--output", words)
    assert said.returncode == 0, said.stderr
    assert " words of 1 pages: " in said.stdout
    before = words.read_bytes()
    said = run(empty, "--output", words)
    assert said.returncode == 1
    assert "no words to learn from" in said.stderr
    assert words.read_bytes() == before
