"""``es-dedup quality label`` as a process: answers, taking back, going on, and what the file is good for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from es_dedup.decision.match_rules import RULES
from es_dedup.evaluation import read_labels
from tests.processes import ROOT, ended, without_settings

CODE: Final = "from es_dedup.cli.main import run; run()"
PAGES: Final = str(ROOT / "samples" / "pages")


def label(said: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command on the samples with these lines on standard input."""
    return run(said, folder, "quality", "label", PAGES, *arguments)


def run(said: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program with these lines on standard input."""
    command = (sys.executable, "-c", CODE, *arguments)
    return ended(*command, cwd=folder, env=without_settings(), input=said)


def rows(folder: Path) -> list[dict[str, Any]]:
    """Lines of the file of labels."""
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_answers_are_kept_taken_back_and_gone_on_with(tmp_path: Path) -> None:
    done = label("y\nn\nwhat\nu\nc\ns\np\n", tmp_path, "--count", "6")
    assert done.returncode == 0, done.stderr
    first = rows(tmp_path)
    assert [row["label"] for row in first] == ["dup", "contain", "partial"]
    assert first[1]["relation"] in ("contains", "contained")
    assert "relation" not in first[0]
    assert "no such answer: 'what'" in done.stderr
    assert "3 labels written to labels.jsonl, 0 were in it before" in done.stdout
    assert all(row["id_a"] in done.stdout for row in first)
    again = label("n\nq\n", tmp_path, "--count", "6")
    assert "1 labels written to labels.jsonl, 3 were in it before" in again.stdout
    later = rows(tmp_path)
    assert later[:3] == first
    pairs = read_labels(tmp_path / "labels.jsonl")
    assert len({each.pair for each in pairs}) == 4


def test_only_a_jsonl_file_is_written(tmp_path: Path) -> None:
    done = label("y\n", tmp_path, "--output", "labels.tsv")
    assert done.returncode == 2
    assert ".jsonl" in done.stderr
    assert not list(tmp_path.iterdir())


def test_machines_are_shown_the_pairs_with_their_texts_aligned(tmp_path: Path) -> None:
    note = "海港新船昨天清早到岸，众人前来观看。船长说这一次走了四十天，风浪不小。"
    other = "".join(
        f"第{word}处山村小学换了校车，孩子们都高兴。" for word in "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉"
    )
    pages = [{"id": "note", "text": note}, {"id": "long", "text": f"{other}\n{note}"}]
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, pages)), encoding="utf-8")
    done = run("q\n", tmp_path, "--json", "quality", "label", "pages.jsonl", "--chars", "100")
    shown, result = map(json.loads, done.stdout.splitlines())
    assert (shown["pair"], result) == ("1 of 1", {"asked": 1, "written": 0, "known": 0})
    assert {shown["left"]["page"], shown["right"]["page"]} == {"note", "long"}
    assert len(shown["explanation"]) == 3
    (nearest,) = shown["nearest"]
    assert any(f"(rule “{rule.name}”)" in nearest for rule in RULES)
    shared = "".join(piece["text"] for row in shown["rows"] for piece in row["left"] if not piece["only"])
    assert note in shared.replace("\n", "")


@pytest.mark.slow
def test_what_was_labelled_before_this_start_is_not_taken_back(tmp_path: Path) -> None:
    label("y\n", tmp_path, "--count", "1")
    done = label("u\nq\n", tmp_path, "--count", "2")
    assert "nothing to undo" in done.stderr
    assert len(rows(tmp_path)) == 1


def test_without_a_pair_in_doubt_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text('{"id": "a", "text": "One page alone."}\n', encoding="utf-8")
    done = run("", tmp_path, "quality", "label", "pages.jsonl")
    assert done.returncode == 0
    assert "no uncertain pairs" in done.stderr


def test_a_file_without_a_last_line_end_is_gone_on_with(tmp_path: Path) -> None:
    label("y\n", tmp_path, "--count", "1")
    file = tmp_path / "labels.jsonl"
    file.write_bytes(file.read_bytes().rstrip())
    label("n\nu\nn\n", tmp_path, "--count", "1")
    assert [row["label"] for row in rows(tmp_path)] == ["dup", "diff"]
