"""Clusters and statistics on every index; part of ``FeatureIndexContract``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from es_dedup.model import Relation, Scope
from es_dedup.model.cluster_changes import Cursor
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery, ClusterSummary
from es_dedup.testing.builders import assignment, record
from es_dedup.testing.contract_fixtures import IndexFixtures

if TYPE_CHECKING:
    from es_dedup.index.port import Index


class ClusterContract(IndexFixtures):
    """Lists and changes of clusters, statistics."""

    # --- clusters and list_clusters

    def test_many_clusters(self, index: Index) -> None:
        names = [f"page-{number:04}" for number in range(1200)]
        index.assign_many([assignment(name) for name in reversed(names)])
        assert [part[0].page_id for part in index.clusters()] == names

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

    # --- changes and changes_end

    def test_a_page_comes_once_at_the_place_of_its_last_change(self, index: Index) -> None:
        for name in "abc":
            index.assign_many([assignment(name)])
        index.assign_many([assignment("a", "c")])
        assert [change.page_id for change in index.changes()] == ["b", "c", "a"]

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
