"""The evaluation runner: what it asks an index, and what it makes of the answers."""

from __future__ import annotations

from typing import Any

from es_dedup.evaluation import Label, LabelledPair
from es_dedup.evaluation.runner import Limit, measure, report, run
from es_dedup.model import Page

LABELS = (
    LabelledPair("a", "b", Label.DUP),
    LabelledPair("a", "c", Label.DIFF),
    LabelledPair("b", "zzz", Label.DUP),
)


def filled(fake_pipeline: Any) -> Any:
    """An index with two equal pages and another."""
    dedup = fake_pipeline.open(":memory:")
    dedup.scan([Page("a", text="x"), Page("b", text="x"), Page("c", text="y")])
    return dedup


def test_every_method_is_asked_about_every_pair_that_is_stored(fake_pipeline: Any) -> None:
    measured = measure(filled(fake_pipeline), LABELS)
    assert {name: sorted(found) for name, found in measured.decisions.items()} == {
        "rules": [("a", "b"), ("a", "c")],
        "ccdet": [("a", "b"), ("a", "c")],
    }
    assert measured.missing == ("zzz",)
    assert measured.candidates == {"index": {("a", "b")}}
    assert measured.clusters == {"a": "a", "b": "a", "c": "c"}


def test_measures_keep_their_limits(fake_pipeline: Any) -> None:
    measured = measure(filled(fake_pipeline), LABELS)
    assert measured.measures["a", "b"] == {
        "rules.score": 1.0,
        "ccdet.score": 1.0,
        "rules.cover": 1.0,
        "ccdet.ccs": 1.0,
    }
    assert measured.limits == {"ccdet.ccs": Limit("min_ccs", 0.6, at_least=True)}


def test_a_missing_page_counts_as_judged_different(fake_pipeline: Any) -> None:
    found = run(filled(fake_pipeline), LABELS)
    assert (found.methods["rules"].pairs.positive.hits, found.methods["rules"].pairs.positive.total) == (1, 2)


def test_methods_may_be_chosen_and_progress_is_told(fake_pipeline: Any) -> None:
    told: list[tuple[int, int]] = []
    measured = measure(filled(fake_pipeline), LABELS, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert set(report(measured, LABELS, []).methods) == {"rules"}
