"""``es-dedup label`` as a process: answers, taking back, going on, and what the file is good for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from es_dedup.evaluation import read_labels

CODE: Final = "from es_dedup.cli.main import run; run()"
ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = str(ROOT / "samples" / "pages")


def label(said: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with these lines on standard input."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ES_DEDUP_")}
    return subprocess.run(
        [sys.executable, "-c", CODE, "label", PAGES, *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        input=said,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def rows(folder: Path) -> list[dict[str, Any]]:
    """Lines of the file of labels."""
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


def test_answers_are_kept_taken_back_and_gone_on_with(tmp_path: Path) -> None:
    done = label("y\nn\nwhat\nu\nc\ns\np\n", tmp_path, "--count", "6")
    assert done.returncode == 0, done.stderr
    first = rows(tmp_path)
    assert [row["label"] for row in first] == ["dup", "contain", "partial"]
    assert first[1]["relation"] in ("contains", "contained")
    assert "relation" not in first[0]
    assert "no such answer: 'what'" in done.stderr
    assert "3 labels written to labels.jsonl, 0 were there" in done.stdout
    assert all(row["id_a"] in done.stdout for row in first)
    again = label("n\nq\n", tmp_path, "--count", "6")
    assert "1 labels written to labels.jsonl, 3 were there" in again.stdout
    later = rows(tmp_path)
    assert later[:3] == first
    pairs = read_labels(tmp_path / "labels.jsonl")
    assert len({each.pair for each in pairs}) == 4


def test_only_a_jsonl_file_is_written(tmp_path: Path) -> None:
    done = label("y\n", tmp_path, "--output", "labels.tsv")
    assert done.returncode == 2
    assert ".jsonl" in done.stderr
    assert not list(tmp_path.iterdir())
