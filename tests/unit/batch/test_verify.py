"""Comparison of candidate pairs: both sides see the same, and edges point from the smaller id."""

from collections.abc import Iterator
from itertools import combinations
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from es_dedup.batch.corpus import load_corpus
from es_dedup.decision.comparison import PagePairs, Pages, RelatedRows, compare
from es_dedup.decision.rules import RELATIONS
from es_dedup.decision.statistics import Statistics
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.model import Edge
from es_dedup.settings import Settings
from tests.samples import pages

SETTINGS: Final = Settings()
pytestmark = pytest.mark.usefixtures("both_paths")


@pytest.fixture(scope="module")
def scanned() -> Iterator[Deduplicator]:
    with Deduplicator.open(":memory:") as dedup:
        dedup.scan(pages())
        yield dedup


@pytest.fixture(scope="module", params=["learned", "nothing-learned"])
def statistics(scanned: Deduplicator, request: pytest.FixtureRequest) -> Statistics:
    return scanned._statistics() if request.param == "learned" else Statistics.empty()


@pytest.fixture(scope="module")
def corpus(scanned: Deduplicator) -> Pages:
    return load_corpus(scanned._index).pages


def all_pairs(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every pair of rows once."""
    left, right = zip(*combinations(range(count), 2), strict=True)
    return np.array(left), np.array(right)


def related(
    corpus: Pages, left: NDArray[np.int64], right: NDArray[np.int64], statistics: Statistics
) -> list[Edge]:
    """The related ones of some pairs of rows."""
    compared = compare(PagePairs(corpus, left, corpus, right), statistics, SETTINGS)
    return compared.related_rows().edges(corpus.ids, corpus.ids)


def test_the_judge_says_the_same_from_both_sides(corpus: Pages, statistics: Statistics) -> None:
    left, right = all_pairs(len(corpus.ids))
    found = related(corpus, left, right, statistics)
    assert len(found) > 100
    assert found == related(corpus, right, left, statistics)


def test_the_candidates_of_the_join_hold_every_related_pair(scanned: Deduplicator, corpus: Pages) -> None:
    left, right = all_pairs(len(corpus.ids))
    wanted = {(edge.left, edge.right) for edge in related(corpus, left, right, scanned._statistics())}
    found = {(edge.left, edge.right) for edge in scanned._index.edges_of(corpus.ids)}
    assert found <= wanted
    assert len(wanted - found) <= len(wanted) // 100


class TestRelatedRows:
    def test_edges_point_from_the_smaller_id(self) -> None:
        contains = RELATIONS.index(RELATIONS[3])
        verified = RelatedRows(
            np.array([0, 1]), np.array([1, 2]), np.array([contains, contains], dtype=np.int8), np.array([0.51234567, 1])
        )  # fmt: skip
        first, second = verified.edges(["b", "a", "c"], ["b", "a", "c"])
        assert (first.left, first.right, first.relation, first.score) == ("a", "b", "contained", 0.5123)
        assert (second.left, second.right, second.relation, second.score) == ("a", "c", "contains", 1.0)

    def test_parts_join_and_nothing_is_something(self) -> None:
        empty = RelatedRows.concatenate([])
        assert empty.edges([], []) == []
        assert len(RelatedRows.concatenate([empty, empty]).left) == 0
