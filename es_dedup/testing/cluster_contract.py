"""What every store of clusters and statistics must do.

An adapter supplies the fixtures ``store``, ``pages`` and ``statistics``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from es_dedup.model import Relation
from es_dedup.testing.builders import assignment, edge, record
from es_dedup.testing.contract_fixtures import StoreFixtures

if TYPE_CHECKING:
    from es_dedup.index.port import ClusterStore, FeatureIndex, Index, StatisticsStore


class EdgeContract(StoreFixtures):
    """``put_edges`` and ``edges_of``."""

    def test_edges_come_back_ordered_and_each_once(self, store: ClusterStore) -> None:
        edges = [edge("b", "c", Relation.CONTAINS, 0.25), edge("a", "c"), edge("a", "b", Relation.EXACT, 1.0)]
        store.put_edges(edges)
        assert store.edges_of(["a", "b", "c"]) == sorted(edges, key=lambda one: (one.left, one.right))

    def test_all_that_touch_any_of_the_pages(self, store: ClusterStore) -> None:
        store.put_edges([edge("a", "b"), edge("b", "c"), edge("c", "d")])
        assert store.edges_of(["b"]) == [edge("a", "b"), edge("b", "c")]
        assert store.edges_of(["a", "d"]) == [edge("a", "b"), edge("c", "d")]

    def test_the_same_two_pages_replace(self, store: ClusterStore) -> None:
        store.put_edges([edge("a", "b", Relation.EXACT)])
        store.put_edges([edge("a", "b", Relation.CONTAINED, 0.5)])
        assert store.edges_of(["a"]) == [edge("a", "b", Relation.CONTAINED, 0.5)]

    def test_unknown_pages_have_none(self, store: ClusterStore) -> None:
        store.put_edges([])
        assert store.edges_of(["a", "bad\ud800"]) == []
        assert store.edges_of([]) == []

    def test_deleting_a_page_removes_its_edges(self, store: ClusterStore, pages: FeatureIndex) -> None:
        pages.put_many([record("a"), record("b"), record("c")])
        store.put_edges([edge("a", "b"), edge("a", "c"), edge("b", "c")])
        pages.delete_many(["b"])
        assert store.edges_of(["a", "b", "c"]) == [edge("a", "c")]

    def test_replacing_a_page_keeps_its_edges(self, store: ClusterStore, pages: FeatureIndex) -> None:
        pages.put_many([record("a"), record("b")])
        store.put_edges([edge("a", "b")])
        pages.put_many([record("a", [1])])
        assert store.edges_of(["a"]) == [edge("a", "b")]

    def test_edges_make_no_pages(self, store: ClusterStore, pages: FeatureIndex) -> None:
        store.put_edges([edge("a", "b")])
        assert (pages.count(), pages.get_many(["a"]), list(pages.scan())) == (0, {}, [])


class AssignmentContract(StoreFixtures):
    """``assign_many``, ``assignments``, ``members`` and ``clusters``."""

    @pytest.fixture
    def grouped(self, store: ClusterStore) -> ClusterStore:
        store.assign_many(
            [
                assignment("b", "a"),
                assignment("z"),
                assignment("a"),
                assignment("d"),
                assignment("e", "d"),
                assignment("c", "a", Relation.EXACT, 1.0),
            ]
        )
        return store

    def test_assignments_by_page_id(self, grouped: ClusterStore) -> None:
        assert grouped.assignments(["a", "b", "x"]) == {"a": assignment("a"), "b": assignment("b", "a")}
        assert grouped.assignments([]) == {}

    def test_an_earlier_assignment_is_replaced(self, grouped: ClusterStore) -> None:
        grouped.assign_many([assignment("b", "d")])
        assert grouped.assignments(["b"]) == {"b": assignment("b", "d")}
        assert [one.page_id for one in grouped.members(["a"])["a"]] == ["a", "c"]

    def test_the_last_of_a_batch_wins(self, store: ClusterStore) -> None:
        store.assign_many([assignment("b", "a"), assignment("b", "d")])
        assert store.assignments(["b"])["b"].cluster_id == "d"

    def test_members_by_cluster_ordered_by_page(self, grouped: ClusterStore) -> None:
        found = grouped.members(["d", "a", "unknown"])
        assert {key: [one.page_id for one in part] for key, part in found.items()} == {
            "a": ["a", "b", "c"],
            "d": ["d", "e"],
        }

    def test_clusters_by_id_and_members_by_page(self, grouped: ClusterStore) -> None:
        assert [[one.page_id for one in part] for part in grouped.clusters()] == [
            ["a", "b", "c"],
            ["d", "e"],
            ["z"],
        ]

    @pytest.mark.parametrize(
        ("least", "expected"), [(1, ["a", "d", "z"]), (2, ["a", "d"]), (3, ["a"]), (4, [])]
    )
    def test_clusters_of_a_least_size(self, grouped: ClusterStore, least: int, expected: list[str]) -> None:
        assert [part[0].cluster_id for part in grouped.clusters(min_size=least)] == expected

    def test_clusters_resume_after_an_id(self, grouped: ClusterStore) -> None:
        assert [part[0].cluster_id for part in grouped.clusters(after="a")] == ["d", "z"]
        assert list(grouped.clusters(after="z")) == []

    def test_many_clusters(self, store: ClusterStore) -> None:
        names = [f"page-{number:04}" for number in range(1200)]
        store.assign_many([assignment(name) for name in reversed(names)])
        assert [part[0].page_id for part in store.clusters()] == names

    def test_a_cluster_outlives_the_page_whose_id_it_bears(
        self, grouped: ClusterStore, pages: FeatureIndex
    ) -> None:
        pages.put_many([record("a"), record("b"), record("c")])
        pages.delete_many(["a"])
        assert grouped.assignments(["a", "b"]) == {"b": assignment("b", "a")}
        assert [one.page_id for one in grouped.members(["a"])["a"]] == ["b", "c"]

    def test_replacing_a_page_keeps_its_assignment(self, grouped: ClusterStore, pages: FeatureIndex) -> None:
        pages.put_many([record("b", [1])])
        assert grouped.assignments(["b"]) == {"b": assignment("b", "a")}

    def test_records_and_assignments_together(self, grouped: ClusterStore, pages: FeatureIndex) -> None:
        names = ["b", "a", "unknown", "c"]
        pages.put_many(record(name) for name in ("a", "b", "stored only"))
        grouped.assign_many([assignment("assigned only")])
        names += ["stored only", "assigned only"]
        both = cast("Index", pages).known(names)[:2]
        assert both == (pages.get_many(names), grouped.assignments(names))
        assert "stored only" in both[0]
        assert "assigned only" in both[1]
        assert cast("Index", pages).known([]) == ({}, {}, {})

    def test_edges_and_members_together(self, grouped: ClusterStore) -> None:
        grouped.put_edges([edge("a", "b"), edge("d", "e")])
        for pages_, clusters in ((["b", "z"], ["d", "unknown"]), (["a", "e"], []), ([], ["a"]), ([], [])):
            both = grouped.around(pages_, clusters)
            assert both == (grouped.edges_of(pages_), grouped.members(clusters))


class ClusterStoreContract(EdgeContract, AssignmentContract):
    """All of ``ClusterStore``."""


class StatisticsStoreContract(StoreFixtures):
    """``load_statistics`` and ``save_statistics``."""

    def test_none_is_stored_at_first(self, statistics: StatisticsStore) -> None:
        assert statistics.load_statistics() is None

    @pytest.mark.parametrize("snapshot", [b"", b"\x00" * 10, bytes(range(256)) * 5000])
    def test_the_last_snapshot_is_loaded(self, statistics: StatisticsStore, snapshot: bytes) -> None:
        statistics.save_statistics(b"earlier")
        statistics.save_statistics(snapshot)
        assert statistics.load_statistics() == snapshot
