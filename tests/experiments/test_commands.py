"""The commands of the experiments, as processes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.processes import ROOT, ended, without_settings

CORPUS: Final = ("--corpus", str(ROOT / "samples" / "pages"))
LABELS: Final = ("--labels", str(ROOT / "samples" / "labels.jsonl"))


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return ended(sys.executable, "-m", "experiments", *arguments, cwd=folder, env=without_settings())


def test_every_method_has_its_figures(tmp_path: Path) -> None:
    done = run("compare", "--json", *CORPUS, *LABELS, "--methods", "ccdet,minhash,rules", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found["methods"]) == ["ccdet", "minhash", "rules"]
    assert (found["pages"], found["pairs"]) == (200, 236)
    rules, minhash = found["methods"]["rules"], found["methods"]["minhash"]
    assert rules["own"]["merged_positive"]["hits"] == 148
    assert rules["own"]["merged_diff"]["hits"] <= 1, "two lists of the same links"
    assert minhash["tuned"]["out_of_fold"]["merged_positive"]["hits"] > 90
    assert any(pairs for _, pairs, _, _ in minhash["chances"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((*CORPUS, *LABELS, "--methods", "minhsh"), 2, "got 'minhsh'"),
        ((*CORPUS, *LABELS, "--methods", ","), 2, "got none"),
        ((*CORPUS, "--labels", "empty.tsv", "--methods", "minhash"), 1, "holds no labelled pair"),
        ((*CORPUS, "--labels", "other.tsv", "--methods", "minhash"), 1, "check --corpus"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    arguments: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "empty.tsv").write_text("id_a\tid_b\tlabel\n", encoding="utf-8")
    (tmp_path / "other.tsv").write_text("id_a\tid_b\tlabel\nx\ty\tdup\n", encoding="utf-8")
    done = run("compare", *arguments, folder=tmp_path)
    assert done.returncode == code
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_list_is_not_replaced_by_one_of_no_words(tmp_path: Path) -> None:
    words, pages, empty = tmp_path / "words.idf", tmp_path / "pages", tmp_path / "empty"
    empty.mkdir()
    pages.mkdir()
    (pages / "a.txt").write_text("大坝的水位在夜间上升，值班员打开了闸门。", encoding="utf-8")
    said = run("idf", str(pages), "--output", str(words), folder=tmp_path)
    assert said.returncode == 0, said.stderr
    assert " words of 1 pages: " in said.stdout
    before = words.read_bytes()
    said = run("idf", str(empty), "--output", str(words), folder=tmp_path)
    assert said.returncode == 1
    assert "no words to learn from" in said.stderr
    assert words.read_bytes() == before
