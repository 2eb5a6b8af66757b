"""``tune --rule RULE``: labelled pairs with other thresholds of a rule."""

import json
from pathlib import Path

import pytest

from es_dedup.decision.conditions import IS
from es_dedup.decision.match_rules import RULES
from tests.commands import ran, rows
from tests.unit.decision.decision_cases import lines, numbered

NUMBERS = "numbers differ throughout"
STORY = lines(1, 12)


@pytest.fixture
def given(tmp_path: Path) -> tuple[str, ...]:
    """Two reports of one form with other numbers, and two copies; with their labels."""
    texts = {
        "a": (*STORY, *numbered(3, 4, 100)),
        "b": (*STORY, *numbered(4, 4, 200)),
        "c": lines(5, 12),
        "d": (*lines(5, 12), *lines(6, 1)),
    }
    pages, labels = tmp_path / "pages.jsonl", tmp_path / "labels.tsv"
    rows = [
        {"id": page, "text": "\n".join(text), "title": text[0][:10], "published": "2026-01-02"}
        for page, text in texts.items()
    ]
    pages.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    labels.write_text("id_a\tid_b\tlabel\na\tb\tdiff\nc\td\tdup\n", encoding="utf-8")
    return ("quality", "tune", str(labels), "--corpus", str(pages))


def test_an_unknown_rule_is_rejected_with_the_known_ones(given: tuple[str, ...]) -> None:
    said = " ".join(ran(*given, "--rule", "no such rule", code=2).stderr.replace("│", " ").split())
    assert "'no such rule'" in said
    assert f"'{NUMBERS}'" in said
    assert "'series'" in said


def test_rules_are_not_swept_where_methods_decide(given: tuple[str, ...]) -> None:
    refused = ran("--preset", "papers", *given, "--rule", NUMBERS, code=2)
    assert "no rule is asked" in refused.stderr


def test_tune_sweeps_each_threshold_of_a_rule(given: tuple[str, ...]) -> None:
    told = rows(*given, "--rule", NUMBERS, "--folds", "2")
    found = {each["measure"]: each for each in told}
    (rule,) = (each for each in RULES if each.name == NUMBERS)
    swept = [each for part in (rule.applies_if, *rule.rejects_if) for each in part if each.sign != IS]
    assert len(found) == len(swept) >= 3
    numbers = found[f"{NUMBERS} (1): conflicting_numbers ≥"]
    assert (numbers["now"], numbers["rejects"]) == (3, "above")
    assert numbers["current"]["merged_diff"]["value"] == 0.0
    assert numbers["settings"] == []
    assert found[f"{NUMBERS}: better_cover <"]["settings"] == ["decision.thresholds.near_copy"]
