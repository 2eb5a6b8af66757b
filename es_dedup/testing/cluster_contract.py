"""Clusters and statistics on every index; part of ``FeatureIndexContract``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from es_dedup.model import Relation, Scope
from es_dedup.model.cluster_changes import ClusterChange, Cursor
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery, ClusterSummary
from es_dedup.testing.builders import assignment, edge, record
from es_dedup.testing.contract_fixtures import IndexFixtures

if TYPE_CHECKING:
    from es_dedup.index.port import Index

    _Known = dict[str, tuple[str | None, str | None, Relation | None, float | None]]


class ClusterContract(IndexFixtures):
    """Edges, assignments, lists and changes of clusters, statistics."""

    # --- put_edges and edges_of

    def test_edges_come_back_ordered_and_each_once(self, index: Index) -> None:
        edges = [edge("b", "c", Relation.CONTAINS, 0.25), edge("a", "c"), edge("a", "b", Relation.EXACT, 1.0)]
        index.put_edges(edges)
        assert index.edges_of(["a", "b", "c"]) == sorted(edges, key=lambda one: (one.left, one.right))

    def test_all_that_touch_any_of_the_pages(self, index: Index) -> None:
        index.put_edges([edge("a", "b"), edge("b", "c"), edge("c", "d")])
        assert index.edges_of(["b"]) == [edge("a", "b"), edge("b", "c")]
        assert index.edges_of(["a", "d"]) == [edge("a", "b"), edge("c", "d")]
        index.put_edges([])
        assert index.edges_of(["unknown", "bad\ud800"]) == index.edges_of([]) == []

    def test_the_same_two_pages_replace(self, index: Index) -> None:
        index.put_edges([edge("a", "b", Relation.EXACT)])
        index.put_edges([edge("a", "b", Relation.CONTAINED, 0.5)])
        assert index.edges_of(["a"]) == [edge("a", "b", Relation.CONTAINED, 0.5)]

    def test_deleting_a_page_removes_its_edges(self, index: Index) -> None:
        index.put_many([record("a"), record("b"), record("c")])
        index.put_edges([edge("a", "b"), edge("a", "c"), edge("b", "c")])
        index.delete_many(["b"])
        assert index.edges_of(["a", "b", "c"]) == [edge("a", "c")]

    def test_replacing_a_page_keeps_its_edges(self, index: Index) -> None:
        index.put_many([record("a"), record("b")])
        index.put_edges([edge("a", "b")])
        index.put_many([record("a", [1])])
        assert index.edges_of(["a"]) == [edge("a", "b")]

    def test_edges_make_no_pages(self, index: Index) -> None:
        index.put_edges([edge("a", "b")])
        assert (index.count(), index.get_many(["a"]), list(index.scan())) == (0, {}, [])

    # --- assign_many, assignments, members and clusters

    @pytest.fixture
    def grouped(self, index: Index) -> Index:
        index.assign_many(
            [
                assignment("b", "a"),
                assignment("z"),
                assignment("a"),
                assignment("d"),
                assignment("e", "d"),
                assignment("c", "a", Relation.EXACT, 1.0),
            ]
        )
        return index

    def test_assignments_by_page_id(self, grouped: Index) -> None:
        assert grouped.assignments(["a", "b", "x"]) == {"a": assignment("a"), "b": assignment("b", "a")}
        assert grouped.assignments([]) == {}

    def test_an_earlier_assignment_is_replaced(self, grouped: Index) -> None:
        grouped.assign_many([assignment("b", "d")])
        assert grouped.assignments(["b"]) == {"b": assignment("b", "d")}
        assert [one.page_id for one in grouped.members(["a"])["a"]] == ["a", "c"]

    def test_the_last_of_a_batch_wins(self, index: Index) -> None:
        index.assign_many([assignment("b", "a"), assignment("b", "d")])
        assert index.assignments(["b"])["b"].cluster_id == "d"

    def test_members_by_cluster_ordered_by_page(self, grouped: Index) -> None:
        found = grouped.members(["d", "a", "unknown"])
        assert {key: [one.page_id for one in part] for key, part in found.items()} == {
            "a": ["a", "b", "c"],
            "d": ["d", "e"],
        }

    def test_clusters_by_id_and_members_by_page(self, grouped: Index) -> None:
        assert [[one.page_id for one in part] for part in grouped.clusters()] == [
            ["a", "b", "c"],
            ["d", "e"],
            ["z"],
        ]

    def test_clusters_of_a_least_size_and_after_an_id(self, grouped: Index) -> None:
        for least, expected in ((1, "adz"), (2, "ad"), (3, "a"), (4, "")):
            assert "".join(part[0].cluster_id for part in grouped.clusters(min_size=least)) == expected
        assert [part[0].cluster_id for part in grouped.clusters(after="a")] == ["d", "z"]
        assert list(grouped.clusters(after="z")) == []

    def test_many_clusters(self, index: Index) -> None:
        names = [f"page-{number:04}" for number in range(1200)]
        index.assign_many([assignment(name) for name in reversed(names)])
        assert [part[0].page_id for part in index.clusters()] == names

    def test_a_cluster_outlives_the_page_whose_id_it_bears(self, grouped: Index) -> None:
        grouped.put_many([record("a"), record("b"), record("c")])
        grouped.delete_many(["a"])
        assert grouped.assignments(["a", "b"]) == {"b": assignment("b", "a")}
        assert [one.page_id for one in grouped.members(["a"])["a"]] == ["b", "c"]

    def test_replacing_a_page_keeps_its_assignment(self, grouped: Index) -> None:
        grouped.put_many([record("b", [1])])
        assert grouped.assignments(["b"]) == {"b": assignment("b", "a")}

    def test_records_and_assignments_together(self, grouped: Index) -> None:
        names = ["b", "a", "unknown", "c"]
        grouped.put_many(record(name) for name in ("a", "b", "stored only"))
        grouped.assign_many([assignment("assigned only")])
        names += ["stored only", "assigned only"]
        both = grouped.pages_and_assignments(names)[:2]
        assert both == (grouped.get_many(names), grouped.assignments(names))
        assert "stored only" in both[0]
        assert "assigned only" in both[1]
        assert grouped.pages_and_assignments([]) == ({}, {}, {})

    def test_edges_and_members_together(self, grouped: Index) -> None:
        grouped.put_edges([edge("a", "b"), edge("d", "e")])
        for pages_, clusters in ((["b", "z"], ["d", "unknown"]), (["a", "e"], []), ([], ["a"]), ([], [])):
            both = grouped.edges_and_members(pages_, clusters)
            assert both == (grouped.edges_of(pages_), grouped.members(clusters))

    # --- list_clusters, cluster_sizes and duplicate_counts

    @pytest.fixture
    def listed(self, index: Index) -> Index:
        """Clusters ``a`` of four pages (one not stored), ``d`` and ``f`` of two, and ``z`` alone."""
        times = {
            "a": "2026-03-01",
            "b": "2026-03-09T10:00",
            "d": "2026-04-01",
            "e": "2026-03-31",
            "z": "2027",
        }
        sites = {"b": "y.org", "e": "y.org"}
        index.put_many(
            [
                record(name, published=times.get(name, ""), site=sites.get(name, "x.org"))
                for name in "abcdefgz"
            ]
        )
        index.assign_many([assignment(name) for name in "adfz"])
        exact = [assignment(name, "a", Relation.EXACT, 1.0) for name in ("c", "gone")]
        index.assign_many([assignment("b", "a", score=0.75), *exact, assignment("e", "d", score=0.5)])
        index.assign_many([assignment("g", "f", Relation.EXACT, 1.0)])
        return index

    def test_lists_in_an_order_and_where_they_go_on(self, listed: Index) -> None:
        march = Scope(published_from="2026-03-31", published_to="2026-03")
        for query, expected in (
            (ClusterQuery(), "adf"),
            (ClusterQuery(1), "adfz"),
            (ClusterQuery(3), "a"),
            (ClusterQuery(order=ClusterOrder.LARGEST), "adf"),
            (ClusterQuery(1, order=ClusterOrder.NEWEST), "zdaf"),
            (ClusterQuery(order=ClusterOrder.CONFIDENCE), "daf"),
            (ClusterQuery(relation=Relation.EXACT), "af"),
            (ClusterQuery(relation=Relation.DUPLICATE, order=ClusterOrder.NEWEST), "da"),
            (ClusterQuery(scope=Scope(site="y.org")), "ad"),
            (ClusterQuery(scope=Scope(site="y.org", published_to="2026-03-09")), "a"),
            (ClusterQuery(scope=march, order=ClusterOrder.LARGEST), "d"),
            (ClusterQuery(scope=Scope(site="y.org"), order=ClusterOrder.NEWEST), "da"),
            (ClusterQuery(scope=Scope(site="none"), order=ClusterOrder.CONFIDENCE), ""),
        ):
            found = listed.list_clusters(query)
            assert "".join(each.id for each in found) == expected, query
            for at, each in enumerate(found):
                after = query.after(query.cursor(each))
                assert listed.list_clusters(query, after=after, limit=1) == found[at + 1 : at + 2]

    def test_many_pages_alone_hide_no_cluster(self, index: Index) -> None:
        names = [f"s{number:02}" for number in range(40)]
        index.put_many([record(name) for name in [*names, "t", "t1", "u", "u1"]])
        index.assign_many([assignment(name) for name in [*names, "t", "u"]])
        index.assign_many([assignment(f"{name}1", name, Relation.EXACT, 1.0) for name in "tu"])
        for query in map(partial(ClusterQuery, 2, None, Scope()), ClusterOrder):
            (first,) = index.list_clusters(query, limit=1)
            (second,) = index.list_clusters(query, after=query.after(query.cursor(first)), limit=1)
            assert (first.id, second.id) == ("t", "u")
            assert index.list_clusters(query, after=query.after(query.cursor(second)), limit=1) == []

    def test_what_a_list_says(self, listed: Index) -> None:
        assert listed.list_clusters(ClusterQuery(1, order=ClusterOrder.NEWEST)) == [
            ClusterSummary("z", "z", 1, "2027", 1.0, "z"),
            ClusterSummary("d", "d", 2, "2026-04-01", 0.5, "e"),
            ClusterSummary("a", "a", 4, "2026-03-09T10:00", 0.75, "b"),
            ClusterSummary("f", "f", 2, "", 1.0, "g"),
        ]
        assert listed.list_clusters(ClusterQuery(3)) == [ClusterSummary("a", "a", 4, "", 0.75, "b")]

    def test_sizes_and_duplicates_by_site_and_month(self, listed: Index) -> None:
        assert listed.cluster_sizes() == {1: 1, 2: 2, 4: 1}
        sites, months = listed.duplicate_counts()
        assert sites == {"x.org": 2, "y.org": 2}
        assert months == {"2026-03": 2, "": 2}

    # --- changes and changes_end

    def test_all_assignments_are_changes(self, index: Index) -> None:
        assert list(index.changes()) == []
        index.assign_many([assignment("a"), assignment("b", "a", Relation.CONTAINED, 0.25)])
        assert _now(index, None) == {
            "a": ("a", "a", Relation.EXACT, 1.0),
            "b": ("a", "a", Relation.CONTAINED, 0.25),
        }

    def test_only_what_comes_after_a_place(self, index: Index) -> None:
        index.assign_many([assignment("a"), assignment("b", "a")])
        place = index.changes_end()
        assert list(index.changes(place)) == []
        index.assign_many([assignment("c", "a"), assignment("b", "c")])
        assert {page: now[0] for page, now in _now(index, place).items()} == {"b": "c", "c": "a"}

    def test_a_page_comes_once_at_the_place_of_its_last_change(self, index: Index) -> None:
        for name in "abc":
            index.assign_many([assignment(name)])
        index.assign_many([assignment("a", "c")])
        assert [change.page_id for change in index.changes()] == ["b", "c", "a"]

    def test_going_on_from_any_change(self, index: Index) -> None:
        for name in "abcd":
            index.assign_many([assignment(name)])
        found = list(index.changes())
        for number, change in enumerate(found, 1):
            assert list(index.changes(Cursor.parse(change.cursor))) == found[number:]

    def test_a_removed_page_comes_without_a_cluster(self, index: Index) -> None:
        index.put_many([record("a"), record("b")])
        index.assign_many([assignment("a"), assignment("b", "a")])
        place = index.changes_end()
        index.delete_many(["b"])
        assert _now(index, place) == {"b": (None, None, None, None)}
        assert (index.assignments(["b"]), list(index.members(["a"])["a"])) == ({}, [assignment("a")])
        index.assign_many([assignment("b")])
        assert _now(index, place)["b"][0] == "b"

    def test_replacing_all_gives_the_difference_or_a_reset(self, index: Index) -> None:
        index.assign_many([assignment("a"), assignment("b", "a"), assignment("c")])
        known = _now(index, None)
        place = index.changes_end()
        index.replace_all([], [assignment("a"), assignment("b")])
        for change in index.changes(place):
            _apply(known, change)
        assert {page: now[0] for page, now in known.items() if now[0] is not None} == {"a": "a", "b": "b"}

    def test_a_place_of_another_log_gives_a_reset_and_everything(self, index: Index) -> None:
        index.assign_many([assignment("a"), assignment("b", "a")])
        for place in (Cursor("other", 0), replace(index.changes_end(), place=10**9)):
            first, *others = index.changes(place)
            assert first.reset
            assert {change.page_id for change in others} == {"a", "b"}
            assert list(index.changes(Cursor.parse(first.cursor))) == others

    # --- load_statistics and save_statistics

    def test_the_last_snapshot_is_loaded(self, index: Index) -> None:
        assert index.load_statistics() is None
        for snapshot in (b"earlier", b"", b"\x00" * 10, bytes(range(256)) * 5000):
            index.save_statistics(snapshot, {"of": str(len(snapshot)), "else": None})
            assert index.load_statistics() == snapshot
            assert index.notes(["of", "else"]) == {"of": str(len(snapshot)), "else": None}


def _now(index: Index, place: Cursor | None) -> _Known:
    known: _Known = {}
    for change in index.changes(place):
        _apply(known, change)
    return known


def _apply(known: _Known, change: ClusterChange) -> None:
    if change.page_id is None:
        known.clear()
    else:
        known[change.page_id] = change.cluster_id, change.canonical, change.relation, change.score
