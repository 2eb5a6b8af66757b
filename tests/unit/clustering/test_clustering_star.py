"""The canonical order and the partition of a whole set of pages."""

import random
from datetime import UTC, datetime

import pytest
from clustering_cases import EARLIEST, partition, random_edges, random_pages, slow_partition
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.clustering import (
    NEVER,
    PageKey,
    build_clusters,
    canonical_order,
    cluster_all,
    containment,
    instant,
    join_stars,
    sort_key,
)
from es_dedup.model import Cluster, Edge, Member, Relation
from es_dedup.settings.loading import ClusterConfig

CONFIGS = (
    EARLIEST,
    ClusterConfig(order="longest"),
    ClusterConfig(order="latest"),
    ClusterConfig(order="shortest-url"),
    ClusterConfig(preferred_sites=("b.cn", "a.cn", "b.cn")),
)

keys = st.builds(
    PageKey,
    page_id=st.text("abAB甲", min_size=1, max_size=3),
    published=st.sampled_from(("", "2024-01-01", "2024-01-01T08:00+08:00", "2024-06-01T00:00:00Z", "?")),
    site=st.sampled_from(("", "a.cn", "b.cn")),
    url=st.text("u", max_size=3),
    length=st.integers(0, 3),
)


def order_of(config: ClusterConfig, *pages: PageKey) -> list[str]:
    return [page.page_id for page in canonical_order(pages, config)]


def test_earliest_puts_pages_without_time_last_and_breaks_ties_by_id() -> None:
    pages = [
        PageKey("d", ""),
        PageKey("c", "2024-01-02"),
        PageKey("b", "2024-01-02T00:00:00"),
        PageKey("a", "no time"),
        PageKey("e", "2024-01-02T07:59:00+08:00"),
    ]
    assert order_of(EARLIEST, *pages) == ["e", "b", "c", "a", "d"]


def test_latest_puts_times_before_days_and_pages_without_time_last() -> None:
    pages = [
        PageKey("a", "no time"),
        PageKey("b", "2024-01-02"),
        PageKey("c", "2024-01-02T00:00:01"),
        PageKey("d", "2024-01-03T07:59:00+08:00"),
        PageKey("e", "9999-12-31"),
    ]
    assert order_of(ClusterConfig(order="latest"), *pages) == ["d", "c", "b", "a", "e"]


def test_longest_and_shortest_url() -> None:
    pages = [
        PageKey("a", url="", length=3),
        PageKey("b", url="xx", length=9),
        PageKey("c", url="x", length=9),
    ]
    assert order_of(ClusterConfig(order="longest"), *pages) == ["b", "c", "a"]
    assert order_of(ClusterConfig(order="shortest-url"), *pages) == ["c", "b", "a"]


def test_a_day_without_time_counts_as_its_end() -> None:
    pages = [
        PageKey("a", "2024-05-01"),
        PageKey("b", "2024-05-01T00:00:00"),
        PageKey("c", "2024-05-01T18:30:00"),
        PageKey("d", "2024-05-02T00:00:00+00:00"),
        PageKey("e", "1970-01-01T00:00:00"),
        PageKey("f", "9999-12-31T10:00:00"),
    ]
    assert order_of(EARLIEST, *pages) == ["c", "a", "b", "d", "e", "f"]


def test_of_equal_pages_the_longer_comes_first() -> None:
    assert order_of(EARLIEST, PageKey("a", length=3), PageKey("b", length=9), PageKey("c", length=9)) == [
        "b",
        "c",
        "a",
    ]


def test_preferred_sites_come_before_everything_in_the_order_named() -> None:
    pages = [PageKey("a", "2001-01-01", "z.cn"), PageKey("b", "", "x.cn"), PageKey("c", "2024-01-01", "y.cn")]
    assert order_of(ClusterConfig(preferred_sites=("y.cn", "www.X.cn")), *pages) == ["c", "b", "a"]


def test_an_instant_counts_microseconds_from_1970() -> None:
    assert instant("1970-01-01") == 0
    assert instant("1970-01-01T00:00:01.000002+00:00") == 1_000_002
    assert instant("1969-12-31T23:00:00Z") == -3_600_000_000
    assert instant("1970-01-01T08:00:00+08:00") == 0
    assert instant("") == instant("gestern") == instant("2024-13-01") == NEVER
    assert instant("0001-01-01T00:00:00+14:00") < instant("9999-12-31T23:59:59-14:00") < NEVER


@given(st.datetimes(timezones=st.none() | st.just(UTC)))
def test_instants_order_as_times_do(moment: datetime) -> None:
    again = datetime.fromisoformat(moment.isoformat()).replace(tzinfo=UTC)
    assert instant(moment.isoformat()) / 1e6 == pytest.approx(again.timestamp())


@given(
    st.lists(keys, unique_by=lambda page: page.page_id, max_size=12), st.sampled_from(CONFIGS), st.randoms()
)
def test_the_order_is_that_of_the_sort_key_whatever_came_first(
    pages: list[PageKey], config: ClusterConfig, draw: random.Random
) -> None:
    expected = sorted(pages, key=sort_key(config))
    draw.shuffle(pages)
    assert canonical_order(pages, config) == expected


@pytest.mark.parametrize("seed", range(10))
def test_the_partition_is_that_of_the_definition_in_any_input_order(seed: int) -> None:
    print("seed", seed)
    draw = random.Random(seed)
    pages = random_pages(draw, draw.randrange(0, 60))
    edges = random_edges(draw, pages, draw.randrange(0, 200))
    config = CONFIGS[seed % 4]
    found = cluster_all(pages, edges, config)
    assert partition(found) == slow_partition(pages, edges, config)
    assert list(found) == [page.page_id for page in canonical_order(pages, config)]
    for _ in range(3):
        draw.shuffle(pages)
        draw.shuffle(edges)
        assert cluster_all(pages, edges, config) == found


@pytest.mark.parametrize("seed", range(10))
def test_every_member_has_its_own_edge_to_the_canonical_document(seed: int) -> None:
    print("seed", seed)
    draw = random.Random(seed)
    pages = random_pages(draw, 50)
    edges = random_edges(draw, pages, 150)
    verified = {(edge.left, edge.right): edge for edge in edges if edge.relation.same}
    for name, each in cluster_all(pages, edges, EARLIEST).items():
        if name == each.canonical:
            assert (each.relation, each.score) == (Relation.EXACT, 1.0)
        else:
            edge = verified[min(name, each.canonical), max(name, each.canonical)]
            assert (each.relation, each.score) == (edge.relation, edge.score)
        assert each.cluster_id == each.canonical


def test_two_pages_are_not_joined_by_a_third() -> None:
    pages = [PageKey(name) for name in "abc"]
    edges = [Edge("a", "b", Relation.DUPLICATE, 0.8), Edge("b", "c", Relation.EXACT, 1.0)]
    assert partition(cluster_all(pages, edges, EARLIEST)) == {"a": "a", "b": "a", "c": "c"}


def test_a_page_joins_the_canonical_document_it_agrees_with_most() -> None:
    pages = [PageKey(name) for name in "abcx"]
    edges = [Edge("a", "x", Relation.DUPLICATE, 0.9), Edge("b", "x", Relation.EXACT, 0.5)]
    assert cluster_all(pages, edges, EARLIEST)["x"].canonical == "b"
    for score, canonical in ((0.7, "b"), (0.84, "a")):  # less than a step apart, the earlier one
        edges = [Edge("a", "x", Relation.DUPLICATE, score), Edge("b", "x", Relation.DUPLICATE, 0.86)]
        assert cluster_all(pages, edges, EARLIEST)["x"].canonical == canonical
    edges = [Edge("b", "x", Relation.DUPLICATE, 0.8), Edge("a", "x", Relation.DUPLICATE, 0.8)]
    assert cluster_all(pages, edges, EARLIEST)["x"].canonical == "a"


def test_of_several_edges_between_two_pages_the_strongest_counts() -> None:
    pages = [PageKey("a"), PageKey("b")]
    edges = [Edge("a", "b", Relation.DUPLICATE, 1.0), Edge("a", "b", Relation.EXACT, 0.2)]
    edges += [Edge("b", "a", Relation.EXACT, 0.4), Edge("a", "b", Relation.CONTAINS, 1.0)]
    found = cluster_all(pages, edges, EARLIEST)["b"]
    assert (found.relation, found.score) == (Relation.EXACT, 0.4)


def test_edges_to_pages_that_are_gone_and_to_oneself_are_passed_over() -> None:
    edges = [Edge("a", "x", Relation.EXACT, 1.0), Edge("a", "a", Relation.EXACT, 1.0)]
    assert partition(cluster_all([PageKey("a")], edges, EARLIEST)) == {"a": "a"}
    assert cluster_all([], edges, EARLIEST) == {}
    assert join_stars((), ()).canonical == []


def test_a_page_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="occurs twice"):
        cluster_all([PageKey("a"), PageKey("a", "2024-01-01")], (), EARLIEST)


def test_containment_points_from_the_inner_cluster_to_the_outer_one() -> None:
    pages = [PageKey(name) for name in "abcde"]
    edges = [
        Edge("a", "b", Relation.DUPLICATE, 0.9),
        Edge("a", "c", Relation.CONTAINS, 0.9),
        Edge("b", "d", Relation.CONTAINS, 0.9),  # b is a member: its edges say nothing of the cluster
        Edge("c", "e", Relation.CONTAINED, 0.9),
        Edge("c", "gone", Relation.CONTAINED, 0.9),
        Edge("d", "e", Relation.DIFFERENT, 0.1),
    ]
    found = cluster_all(pages, edges, EARLIEST)
    assert containment(edges, found) == {"c": ("a", "e")}
    assert build_clusters(found.values(), edges) == [
        Cluster("a", "a", (Member("b", Relation.DUPLICATE, 0.9),)),
        Cluster("c", "c", (), ("a", "e")),
        Cluster("d", "d"),
        Cluster("e", "e"),
    ]
