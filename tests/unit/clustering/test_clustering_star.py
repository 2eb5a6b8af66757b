"""The canonical order and the partition of a whole set of pages."""

import random
from datetime import UTC, datetime

import pytest
from clustering_cases import EARLIEST, partition, random_edges, random_pages, slow_partition
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.clustering.constraints import ClusterRules
from es_dedup.clustering.order import NEVER, PageKey, canonical_order, instant, sort_key
from es_dedup.clustering.star import cluster_all, containment, join_stars
from es_dedup.model import Edge, Relation
from es_dedup.settings.loading import ClusterConfig

LATEST = ClusterConfig(order="latest")
CONFIGS = (
    EARLIEST,
    ClusterConfig(order="longest"),
    LATEST,
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


def dated(**times: str) -> list[PageKey]:
    """Pages by id, each with its time."""
    return [PageKey(name, when) for name, when in times.items()]


SIZES = [PageKey("a", length=3), PageKey("b", url="xx", length=9), PageKey("c", url="x", length=9)]
SITES = [PageKey("a", "2001-01-01", "z.cn"), PageKey("b", "", "x.cn"), PageKey("c", "2024-01-01", "y.cn")]


@pytest.mark.parametrize(
    ("config", "pages", "order"),
    [
        # A day without a time counts as its end; pages without a day come last, and ids decide between equals.
        (EARLIEST, dated(d="", c="2024-01-02", b="2024-01-02T00:00:00", a="?", e="2024-01-02T07:59:00+08:00"), "ebcad"),
        (EARLIEST, dated(a="2024-05-01", b="2024-05-01T00:00:00", c="2024-05-01T18:30:00"), "cab"),
        (EARLIEST, dated(a="2024-05-01", d="2024-05-02T00:00:00+00:00", e="1970-01-01T00:00:00", f="9999-12-31T10:00:00"), "adef"),
        (LATEST, dated(a="?", b="2024-01-02", c="2024-01-02T00:00:01", d="2024-01-03T07:59:00+08:00", e="9999-12-31"), "dcbae"),
        (EARLIEST, SIZES, "bca"),
        (ClusterConfig(order="longest"), SIZES, "bca"),
        (ClusterConfig(order="shortest-url"), SIZES, "cba"),
        (ClusterConfig(preferred_sites=("y.cn", "www.X.cn")), SITES, "cba"),
    ],
)  # fmt: skip
def test_the_canonical_order(config: ClusterConfig, pages: list[PageKey], order: str) -> None:
    assert [page.page_id for page in canonical_order(pages, ClusterRules(config))] == list(order)


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
    assert canonical_order(pages, ClusterRules(config)) == expected


@pytest.mark.parametrize("seed", range(10))
def test_the_partition_is_that_of_the_definition_in_any_input_order(seed: int) -> None:
    print("seed", seed)
    draw = random.Random(seed)
    pages = random_pages(draw, draw.randrange(0, 60))
    edges = random_edges(draw, pages, draw.randrange(0, 200))
    config = CONFIGS[seed % 4]
    found = cluster_all(pages, edges, ClusterRules(config))
    assert partition(found) == slow_partition(pages, edges, config)
    assert list(found) == [page.page_id for page in canonical_order(pages, ClusterRules(config))]
    verified = {(edge.left, edge.right): edge for edge in edges if edge.relation.same}
    for name, each in found.items():
        edge = verified.get((min(name, each.canonical), max(name, each.canonical)))
        same = (
            (Relation.EXACT, 1.0) if name == each.canonical or edge is None else (edge.relation, edge.score)
        )
        assert (each.cluster_id, each.relation, each.score) == (each.canonical, *same)
    for _ in range(3):
        draw.shuffle(pages)
        draw.shuffle(edges)
        assert cluster_all(pages, edges, ClusterRules(config)) == found


def test_two_pages_are_not_joined_by_a_third() -> None:
    pages = [PageKey(name) for name in "abc"]
    edges = [Edge("a", "b", Relation.DUPLICATE, 0.8), Edge("b", "c", Relation.EXACT, 1.0)]
    assert partition(cluster_all(pages, edges, ClusterRules(EARLIEST))) == {"a": "a", "b": "a", "c": "c"}


def test_a_page_joins_the_canonical_document_it_agrees_with_most() -> None:
    pages = [PageKey(name) for name in "abcx"]
    edges = [Edge("a", "x", Relation.DUPLICATE, 0.9), Edge("b", "x", Relation.EXACT, 0.5)]
    assert cluster_all(pages, edges, ClusterRules(EARLIEST))["x"].canonical == "b"
    for score, canonical in ((0.7, "b"), (0.84, "a")):  # less than a step apart, the earlier one
        edges = [Edge("a", "x", Relation.DUPLICATE, score), Edge("b", "x", Relation.DUPLICATE, 0.86)]
        assert cluster_all(pages, edges, ClusterRules(EARLIEST))["x"].canonical == canonical
    edges = [Edge("b", "x", Relation.DUPLICATE, 0.8), Edge("a", "x", Relation.DUPLICATE, 0.8)]
    assert cluster_all(pages, edges, ClusterRules(EARLIEST))["x"].canonical == "a"


def test_of_several_edges_between_two_pages_the_strongest_counts() -> None:
    pages = [PageKey("a"), PageKey("b")]
    edges = [Edge("a", "b", Relation.DUPLICATE, 1.0), Edge("a", "b", Relation.EXACT, 0.2)]
    edges += [Edge("b", "a", Relation.EXACT, 0.4), Edge("a", "b", Relation.CONTAINS, 1.0)]
    found = cluster_all(pages, edges, ClusterRules(EARLIEST))["b"]
    assert (found.relation, found.score) == (Relation.EXACT, 0.4)


def test_edges_to_pages_that_are_gone_and_to_oneself_are_passed_over() -> None:
    edges = [Edge("a", "x", Relation.EXACT, 1.0), Edge("a", "a", Relation.EXACT, 1.0)]
    assert partition(cluster_all([PageKey("a")], edges, ClusterRules(EARLIEST))) == {"a": "a"}
    assert cluster_all([], edges, ClusterRules(EARLIEST)) == {}
    assert join_stars((), ()).canonical == []


def test_a_page_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="occurs twice"):
        cluster_all([PageKey("a"), PageKey("a", "2024-01-01")], (), ClusterRules(EARLIEST))


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
    found = cluster_all(pages, edges, ClusterRules(EARLIEST))
    assert containment(edges, found) == {"c": ("a", "e")}
