"""Pairs that were read for this project: what is kept of them is sound, and the decision rules hold on them."""

import os
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from labelled import READ, read_sets
from measured_pairs import measured

from es_dedup.decision.thresholds import BALANCED
from es_dedup.evaluation import Label

FILES: Final = sorted(READ.glob("*.tsv"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_holds_ids_and_labels_and_nothing_else(file: Path) -> None:
    first, header, *lines = file.read_text(encoding="utf-8").splitlines()
    assert first.startswith("# sha256 of the labelled pages: ")
    assert len(first.rpartition(" ")[2]) == 64
    assert header == "set\tid_a\tid_b\tlabel"
    rows = [line.split("\t") for line in lines]
    assert all(len(row) == 4 and row[1] < row[2] and Label(row[3]) for row in rows)
    assert len({tuple(row[:3]) for row in rows}) == len(rows)
    assert max(map(len, lines)) < 90


def test_there_are_enough_of_each_kind() -> None:
    labels = Counter(
        (file.stem, line.rpartition("\t")[2])
        for file in FILES
        for line in file.read_text(encoding="utf-8").splitlines()[2:]
    )
    assert labels["look-alikes", "diff"] >= 150
    assert sum(count for (name, _), count in labels.items() if name == "short") == 100


@pytest.mark.data
def test_the_judge_merges_few_look_alikes_and_finds_short_copies() -> None:
    folder = Path(os.environ.get("ES_DEDUP_DATA", "nowhere"))
    if not folder.is_dir():
        pytest.skip("ES_DEDUP_DATA names no folder")
    scores = {each.name: each.score(BALANCED) for each in measured(read_sets(folder, READ))}
    alike = [score for name, score in scores.items() if name.endswith("look-alikes")]
    assert sum(score.merged for score in alike) <= 0.05 * sum(score.merged_of for score in alike)
    short = scores["short-zh, short"]
    assert short.recall is not None
    assert short.recall >= 0.79
