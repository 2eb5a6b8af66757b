"""Commands on a terminal: progress with rate and time left, and an end in time when they are interrupted."""

import json
import re
import sqlite3
import time
from pathlib import Path
from typing import Final

import pytest

from tests.terminal import CTRL_C, Terminal
from tests.texts import article

PAGES: Final = 40_000
STOP_SECONDS: Final = 30.0
"""From Ctrl-C to the end when eight others share two cores; two seconds on an idle machine."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many short pages in one file."""
    path = tmp_path_factory.mktemp("corpus") / "many.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for number in range(PAGES):
            text = article(number, sentences=5)
            stream.write(json.dumps({"id": f"p{number:06}", "text": text}, ensure_ascii=False) + "\n")
    return path


@pytest.mark.slow
def test_an_interrupted_scan_ends_soon_and_says_what_is_saved_and_how_to_go_on(
    corpus: Path, tmp_path: Path
) -> None:
    with Terminal("scan", str(corpus), folder=tmp_path) as terminal:
        shown = terminal.until(r"making features: ([\d,]+) of about ([\d,]+) \(([\d,]+)/s, ([\d,]+) s left\)")
        assert abs(int(shown[2].replace(",", "")) - PAGES) < PAGES / 10
        pressed = time.monotonic()
        terminal.press(CTRL_C)
        code = terminal.finish()
        took = time.monotonic() - pressed
    assert code == 130
    (line,) = [line for line in terminal.text.splitlines() if "interrupted" in line]
    stored = re.search(
        r"interrupted; ([\d,]+) pages are stored in es-dedup.db. To go on, run the same command again: es-dedup scan ",
        line,
    )
    assert stored, line
    with sqlite3.connect(tmp_path / "es-dedup.db") as index:
        assert index.execute("SELECT count(*) FROM pages").fetchone()[0] == int(stored[1].replace(",", ""))
    assert "Traceback" not in terminal.text
    assert took < STOP_SECONDS


@pytest.mark.slow
def test_a_search_makes_its_index_once(tmp_path: Path, corpus: Path) -> None:
    with corpus.open(encoding="utf-8") as stream:
        (tmp_path / "some.jsonl").write_text("".join(next(stream) for _ in range(1500)), encoding="utf-8")
    word = article(0, sentences=6)[:4]
    with Terminal("scan", "some.jsonl", folder=tmp_path) as terminal:
        assert terminal.finish() == 0
    assert "indexing" not in terminal.text
    with Terminal("search", word, folder=tmp_path) as terminal:
        assert terminal.finish() == 0
    assert "0 of 1,500 pages are searchable so far" in terminal.text
    assert re.search(r"indexing texts for search: 1,500 of 1,500 \(", terminal.text)
    with sqlite3.connect(tmp_path / "es-dedup.db") as index:
        assert index.execute("SELECT value FROM meta WHERE name = 'fulltext_row'").fetchone()[0] == 1500
    with Terminal("search", word, folder=tmp_path) as terminal:
        assert terminal.finish() == 0
    assert "indexing" not in terminal.text
