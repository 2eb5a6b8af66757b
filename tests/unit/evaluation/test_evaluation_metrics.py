"""Measures against figures computed by hand and against naive implementations."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.evaluation import BCubed, Label, LabelledPair, PairScores, Share, evaluate, wilson
from es_dedup.evaluation.metrics import bcubed, candidate_recall, connected, pair_scores, right_relations
from es_dedup.model import Relation

DUP, CONTAIN, PARTIAL, DIFF = Label

LABELS = (
    LabelledPair("a", "b", DUP),
    LabelledPair("a", "c", DUP),
    LabelledPair("a", "d", CONTAIN, Relation.CONTAINS),
    LabelledPair("a", "e", CONTAIN, Relation.CONTAINED),
    LabelledPair("b", "f", PARTIAL),
    LabelledPair("c", "g", DIFF),
    LabelledPair("d", "h", DIFF),
    LabelledPair("e", "h", DIFF),
)
JUDGED = {
    ("a", "b"): Relation.EXACT,
    ("a", "c"): Relation.CONTAINS,
    ("a", "d"): Relation.CONTAINS,
    ("a", "e"): Relation.CONTAINS,
    ("b", "f"): Relation.DUPLICATE,
    ("c", "g"): Relation.DUPLICATE,
    ("d", "h"): Relation.DIFFERENT,
    ("x", "y"): Relation.EXACT,
}


def test_pair_scores_keep_partial_pairs_apart() -> None:
    found = pair_scores(LABELS, JUDGED)
    assert found == PairScores(positive=Share(4, 4), diff=Share(1, 3), partial=Share(1, 1))
    assert found.recall == 1.0
    assert found.precision == 0.8
    assert found.f1 == pytest.approx(8 / 9)


def test_relations_are_right_by_class() -> None:
    assert right_relations(LABELS, JUDGED) == Share(5, 8)


def test_candidate_recall_looks_at_positive_pairs_only() -> None:
    assert candidate_recall(LABELS, {("a", "b"), ("a", "d"), ("c", "g")}) == Share(2, 4)


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (21, 30, 0.5212, 0.8334),
    ],
)
def test_wilson_intervals(hits: int, total: int, low: float, high: float) -> None:
    assert wilson(hits, total) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 500), st.integers(0, 500))
def test_wilson_bounds_enclose_the_share_and_mirror(hits: int, misses: int) -> None:
    total = hits + misses
    low, high = wilson(hits, total)
    assert 0.0 <= low <= high <= 1.0
    assert not total or low <= hits / total <= high
    assert wilson(misses, total) == pytest.approx((1 - high, 1 - low))


def test_a_page_without_cluster_stands_alone() -> None:
    assert bcubed({}, {"a": 1, "b": 1}) == BCubed(1.0, 0.5, 2)
    assert bcubed({"a": None}, {"a": 1, "b": 1}) == BCubed(1.0, 0.5, 2)
    assert bcubed({"a": 1}, {}) == BCubed(1.0, 1.0, 0)
    assert BCubed(0.0, 0.0, 1).f1 == 0.0


pages = st.dictionaries(st.sampled_from("abcdefghij"), st.tuples(st.integers(0, 3), st.integers(0, 3)))


@given(pages)
def test_bcubed_is_the_mean_over_pages_of_shared_shares(placed: dict[str, tuple[int, int]]) -> None:
    clusters = {page: cluster for page, (cluster, _) in placed.items()}
    groups = {page: group for page, (_, group) in placed.items()}
    precision = recall = 0.0
    for page in placed:
        cluster = {other for other in placed if clusters[other] == clusters[page]}
        group = {other for other in placed if groups[other] == groups[page]}
        precision += len(cluster & group) / len(cluster) / len(placed)
        recall += len(cluster & group) / len(group) / len(placed)
    found = bcubed(clusters, groups)
    if placed:
        assert (found.precision, found.recall) == pytest.approx((precision, recall))


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12))))
def test_connected_pages_share_the_smallest_id(numbers: list[tuple[int, int]]) -> None:
    found = connected(("z",), [(f"{left:02}", f"{right:02}") for left, right in numbers])
    reach = {page: {page} for page in found}
    for _ in reach:
        for left, right in numbers:
            both = reach[f"{left:02}"] | reach[f"{right:02}"]
            reach[f"{left:02}"] = reach[f"{right:02}"] = both
    assert found == {page: min(others) for page, others in reach.items()}


def test_a_report_holds_all_figures_and_is_json_ready() -> None:
    clusters = dict.fromkeys("abc", "a")
    report = evaluate(LABELS, {"rules": JUDGED, "simhash": {}}, {"index": {("a", "b")}}, clusters)
    value = json.loads(json.dumps(report.as_dict()))
    assert value["pairs"] == 8
    assert value["labels"] == {"dup": 2, "contain": 2, "partial": 1, "diff": 3}
    assert value["candidates"]["index"]["value"] == 0.25
    assert value["methods"]["rules"]["pairs"]["precision"] == 0.8
    assert value["methods"]["rules"]["pairs"]["merged_diff"]["hits"] == 1
    assert value["methods"]["simhash"]["pairs"]["precision"] is None
    assert value["methods"]["rules"]["relations"]["value"] == 0.625
    assert value["clusters"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "pages": 8}
    assert evaluate(LABELS, {}).as_dict()["clusters"] is None
