"""The evaluation runner: what it asks an index, and what it makes of the answers."""

from collections.abc import Iterator

import pytest

from es_dedup import Deduplicator
from es_dedup.evaluation import Label, LabelledPair
from es_dedup.evaluation.runner import Threshold, measure, report
from es_dedup.model import Page
from tests.texts import article

LABELS = (
    LabelledPair("a", "b", Label.DUP),
    LabelledPair("a", "c", Label.DIFF),
    LabelledPair("b", "zzz", Label.DUP),
)


@pytest.fixture
def filled() -> Iterator[Deduplicator]:
    """An index with two equal pages and another."""
    with Deduplicator.open(":memory:") as dedup:
        dedup.scan([Page(page_id, text=article(seed)) for page_id, seed in (("a", 1), ("b", 1), ("c", 2))])
        yield dedup


def test_every_method_is_asked_about_every_pair_that_is_stored(filled: Deduplicator) -> None:
    measured = measure(filled, LABELS)
    assert {name: sorted(found) for name, found in measured.decisions.items()} == {
        name: [("a", "b"), ("a", "c")] for name in ("rules", "simhash", "ccdet", "coverage")
    }
    assert measured.missing == ("zzz",)
    assert measured.candidates == {"index": {("a", "b")}}
    assert measured.clusters == {"a": "a", "b": "a", "c": "c"}


def test_measures_keep_their_thresholds(filled: Deduplicator) -> None:
    measured = measure(filled, LABELS)
    found = measured.measures["a", "b"]
    names = ("rules.score", "ccdet.score", "ccdet.ccs", "coverage.score", "simhash.hamming_distance")
    assert [found[name] for name in names] == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert measured.thresholds["ccdet.ccs"] == Threshold("min_ccs", 0.6, at_least=True)
    assert measured.thresholds["simhash.hamming_distance"] == Threshold(
        "max_hamming_distance", 3, at_least=False
    )


def test_methods_may_be_chosen_and_progress_is_told(filled: Deduplicator) -> None:
    told: list[tuple[int, int]] = []
    measured = measure(filled, LABELS, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert set(report(measured, LABELS, []).methods) == {"rules"}
