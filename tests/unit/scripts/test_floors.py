"""The quality gate: what passes, what breaks it, and what pinning refuses."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.errors import InputError
from es_dedup.evaluation import EvaluationReport, Label, LabelledPair, evaluate
from es_dedup.model import Relation
from scripts.floors import FloorLowered, Floors, check, pin, read_floors

LABELS = [LabelledPair(f"{at:02}a", f"{at:02}b", Label.DUP if at < 10 else Label.DIFF) for at in range(20)]
MERGED = Relation.DUPLICATE


def report(found: int, wrong: int, labels: list[LabelledPair] = LABELS) -> EvaluationReport:
    """``found`` of ten positive pairs and ``wrong`` of ten diff pairs merged."""
    merged = [*LABELS[:found], *LABELS[10 : 10 + wrong]]
    clusters = {page: each.left for each in merged for page in each.pair}
    candidates = {"index": {each.pair for each in LABELS[:found]}}
    return evaluate(labels, {"rules": {each.pair: MERGED for each in merged}}, candidates, clusters)


def test_a_report_passes_what_it_pinned_itself() -> None:
    floors = pin(report(8, 2))
    assert check(report(8, 2), floors) == []
    assert check(report(10, 0), floors) == []
    assert floors.pairs == 20
    assert floors.floors["rules"] == {
        "f1": 0.8,
        "max_merged_diff": 0.2,
        "precision": 0.8,
        "recall": 0.8,
        "relation_accuracy": 0.8,
    }
    assert floors.floors["candidates:index"] == {"recall": 0.8}
    assert set(floors.floors["clusters"]) == {"bcubed_f1", "bcubed_precision", "bcubed_recall"}


def test_one_flipped_pair_is_tolerated_and_two_are_not() -> None:
    floors = pin(report(8, 2))
    assert check(report(7, 2), floors) == []
    assert check(report(8, 3), floors) == []
    problems = check(report(6, 2), floors)
    assert "rules: recall 0.6000 is below its floor 0.8000 by more than one pair" in problems
    assert any(problem.startswith("candidates:index: recall") for problem in problems)
    problems = check(report(8, 4), floors)
    assert "rules: max_merged_diff 0.4000 is above its ceiling 0.2000 by more than one pair" in problems
    assert any("precision" in problem for problem in problems)


@given(st.integers(0, 10), st.integers(0, 10))
def test_every_report_passes_its_own_floors(found: int, wrong: int) -> None:
    floors = pin(report(found, wrong))
    assert check(report(found, wrong), floors) == []
    assert pin(report(found, wrong), floors) == floors


def test_other_labels_break_the_gate_before_any_figure() -> None:
    floors = pin(report(8, 2))
    changed = [*LABELS[:-1], LabelledPair("19a", "19b", Label.PARTIAL)]
    problems = check(report(0, 9, changed), floors)
    assert len(problems) == 1
    assert "the labels have changed" in problems[0]
    assert "the labels have changed" in check(report(8, 2, LABELS[:-1]), floors)[0]


def test_what_was_pinned_and_is_not_measured_breaks_the_gate() -> None:
    floors = pin(report(8, 2))
    without = evaluate(LABELS, {})
    problems = check(without, floors)
    assert "rules: recall was not measured, pinned is 0.8000" in problems
    assert len(problems) == sum(len(bounds) for bounds in floors.floors.values())
    assert check(report(8, 2), Floors(floors.labels_sha256, floors.pairs, {"rules": {"speed": 0.5}})) == [
        "rules: speed was not measured, pinned is 0.5000"
    ]


def test_pinning_again_raises_floors_but_never_lowers_them_unasked() -> None:
    old = pin(report(8, 2))
    assert pin(report(9, 1), old).floors["rules"]["recall"] == 0.9
    # Even what the check tolerates is not lowered: else ten tolerated losses would add up.
    with pytest.raises(FloorLowered, match=r"rules: recall 0\.8000 would become 0\.7000"):
        pin(report(7, 2), old)
    with pytest.raises(FloorLowered, match=r"rules: max_merged_diff 0\.2000 would become 0\.3000"):
        pin(report(8, 3), old)
    with pytest.raises(FloorLowered, match="no longer measured"):
        pin(evaluate(LABELS, {}), old)
    assert pin(report(7, 3), old, allow_lower=True).floors["rules"]["recall"] == 0.7
    assert pin(evaluate(LABELS, {}), old, allow_lower=True).floors == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        ('{"labels_sha256": "x", "pairs": 1}', "floors must map"),
        (
            '{"labels_sha256": 1, "pairs": true, "floors": {}, "more": 1}',
            "unknown key 'more'; labels_sha256 .*; pairs",
        ),
        ('{"labels_sha256": "x", "pairs": 1, "floors": {"rules": 1}}', "floors must map"),
        (
            '{"labels_sha256": "x", "pairs": 1, "floors": {"rules": {"recall": 1.5}}}',
            "floors.rules.recall must be",
        ),
        ('{"labels_sha256": "x", "pairs": 1, "floors": {"rules": {"f1": NaN}}}', "floors.rules.f1 must be"),
        ('{"labels_sha256": "x", "pairs": 1, "floors": {"rules": {"f1": true}}}', "floors.rules.f1 must be"),
    ],
)
def test_a_broken_file_of_floors_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "floors.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_floors(path)
