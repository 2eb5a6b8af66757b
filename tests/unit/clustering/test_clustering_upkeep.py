"""Pages that come one by one, change and go, against a full run on what is left."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from clustering_cases import EARLIEST, Store, partition, random_edges, random_pages

from es_dedup.clustering import Neighbourhood, PageKey, component, place, repair
from es_dedup.model import Edge, Relation
from es_dedup.settings.loading import ClusterConfig

CONFIGS = (
    EARLIEST,
    ClusterConfig(order="longest"),
    ClusterConfig(order="shortest-url", preferred_sites=("b.cn",)),
)


def same(left: str, right: str, score: float = 0.9) -> Edge:
    return Edge(min(left, right), max(left, right), Relation.DUPLICATE, score)


def filled(order: str, *pairs: str) -> Store:
    """A store of one-letter pages, in canonical order of their letters, added in the order given."""
    store = Store()
    for name in order:
        edges = [same(*pair) for pair in pairs if name in pair and set(pair) - {name} <= store.keys.keys()]
        store.put(PageKey(name), edges)
    return store


def ids(store: Store) -> dict[str, str]:
    return {name: each.cluster_id for name, each in sorted(store.stored.items())}


@pytest.mark.parametrize("seed", range(10))
def test_pages_added_in_any_order_give_the_full_run(seed: int) -> None:
    print("seed", seed)
    draw = random.Random(seed)
    pages = random_pages(draw, draw.randrange(1, 40))
    edges = random_edges(draw, pages, draw.randrange(0, 90))
    store = Store(CONFIGS[seed % 3])
    draw.shuffle(pages)
    for page in pages:
        ready = {*store.keys, page.page_id}
        mine = [e for e in edges if page.page_id in (e.left, e.right) and {e.left, e.right} <= ready]
        store.put(page, mine)
        store.check()
        assert partition(store.stored) == store.full()


@pytest.mark.parametrize("seed", range(10))
def test_any_history_of_changes_gives_the_full_run_on_what_is_left(seed: int) -> None:
    print("seed", seed)
    draw = random.Random(1000 + seed)
    store = Store(CONFIGS[seed % 3])
    for _ in range(60):
        _step(draw, store)
        store.check()
        assert partition(store.stored) == store.full()


@pytest.mark.parametrize("seed", range(10))
def test_beyond_the_bound_clusters_stay_stars_and_a_recluster_heals_them(seed: int) -> None:
    print("seed", seed)
    draw = random.Random(2000 + seed)
    store = Store(CONFIGS[seed % 3], limit=draw.randrange(1, 8))
    for _ in range(60):
        _step(draw, store)
        store.check()
    near = Neighbourhood(tuple(store.keys.values()), tuple(store.edges.values()), store.stored)
    store.assign_many(repair(near, store.config).assignments)
    store.check()
    assert partition(store.stored) == store.full()


def _step(draw: random.Random, store: Store) -> None:
    """One random change: a page added, added again, updated or removed, or several added at once."""
    if store.keys and draw.random() < 0.3:
        change = store.remove(draw.choice(sorted(store.keys)))
    elif draw.random() < 0.15:
        fresh = [p for p in random_pages(draw, 4) if p.page_id not in store.keys]
        everything = [*store.keys.values(), *fresh]
        edges = [
            e for e in random_edges(draw, everything, 12) if {e.left, e.right} & {p.page_id for p in fresh}
        ]
        change = store.put_all(fresh, edges)
    else:
        # Few ids, so that removed pages come back under the id their old cluster may still bear.
        page = random_pages(draw, 1)[0]
        name = f"p{draw.randrange(25):03}"
        page = PageKey(name, page.published, page.site, page.url, page.length)
        others = [other for other in store.keys if other != name]
        beside = draw.sample(others, min(len(others), draw.randrange(4)))
        edges = [
            Edge(min(name, other), max(name, other), draw.choice(list(Relation)), draw.random())
            for other in beside
        ]
        change = store.put(page, edges)
    assert list(change.assignments) == sorted(change.assignments, key=lambda each: each.page_id)
    used = {each.cluster_id for each in store.stored.values()}
    assert not used & change.retired.keys()
    assert set(change.retired.values()) <= used


def test_an_earlier_page_takes_over_and_the_id_stays() -> None:
    store = filled("bca", "bc", "ab", "ac")
    assert partition(store.stored) == {"a": "a", "b": "a", "c": "a"}
    assert ids(store) == {"a": "b", "b": "b", "c": "b"}


def test_when_the_canonical_document_goes_the_largest_part_keeps_the_id() -> None:
    store = filled("abcde", "ab", "ac", "ad", "ae", "bd", "ce", "cd")
    change = store.remove("a")
    assert partition(store.stored) == {"b": "b", "c": "c", "d": "b", "e": "c"}
    assert ids(store) == {"b": "a", "c": "c", "d": "a", "e": "c"}
    assert change.retired == {}


def test_a_page_left_alone_gets_its_own_id_and_the_old_one_is_retired() -> None:
    store = filled("ab", "ab")
    assert store.remove("a").retired == {"a": "b"}
    assert ids(store) == {"b": "b"}


def test_an_updated_page_takes_its_own_id_along() -> None:
    store = filled("abc", "ab", "ac", "bc")
    store.put(PageKey("a"), [])
    assert ids(store) == {"a": "a", "b": "b", "c": "b"}


def test_a_page_that_comes_back_gets_its_id_from_those_it_left() -> None:
    store = filled("abc", "ab", "ac", "bc")
    store.remove("a")
    assert ids(store) == {"b": "a", "c": "a"}
    store.put(PageKey("a"), [])
    assert ids(store) == {"a": "a", "b": "b", "c": "b"}


def test_when_clusters_merge_the_smaller_id_wins() -> None:
    store = filled("bcde", "bc", "de")
    change = store.put(PageKey("a"), [same("a", "b"), same("a", "d"), same("a", "c"), same("a", "e")])
    assert set(ids(store).values()) == {"b"}
    assert change.retired == {"d": "b"}


def test_placing_needs_no_more_than_the_direct_neighbours() -> None:
    store = filled("abc", "ab", "bc")
    edge = same("b", "d")
    keys = tuple(PageKey(name) for name in "abd")
    change = place("d", Neighbourhood(keys, (edge,), store.assignments("ab")), EARLIEST)
    assert change is not None
    assert [(each.page_id, each.canonical) for each in change.assignments] == [("d", "d")]


@pytest.mark.parametrize(
    ("page", "edges", "keys", "known"),
    [
        ("a", ("ab",), "ab", "b"),  # an earlier page pushes a canonical document off its place
        ("c", ("ac",), "c", "a"),  # the neighbour's key is missing
        ("c", ("ac",), "ac", ""),  # the neighbour's assignment is missing
        ("b", ("ab",), "ab", "ab"),  # the page is placed already
    ],
)
def test_what_cannot_be_placed_alone_is_not_placed(
    page: str, edges: tuple[str], keys: str, known: str
) -> None:
    store = filled("abc")
    near = Neighbourhood(
        tuple(PageKey(name) for name in keys), tuple(same(*pair) for pair in edges), store.assignments(known)
    )
    assert place(page, near, EARLIEST) is None


def test_a_member_that_would_rather_have_the_new_page_calls_for_repair() -> None:
    store = filled("bc", "bc")
    near = Neighbourhood((PageKey("a"), PageKey("b"), PageKey("c")), (same("a", "c"),), store.stored)
    assert place("a", near, EARLIEST) is None
    without_chief = Neighbourhood((PageKey("a"), PageKey("c")), (same("a", "c"),), store.stored)
    assert place("a", without_chief, EARLIEST) is None


def test_a_page_that_stays_needs_an_assignment() -> None:
    with pytest.raises(ValueError, match="no assignment"):
        repair(Neighbourhood((PageKey("a"), PageKey("b")), (), {}), EARLIEST, loose={"a"})


def test_a_component_is_read_to_its_bound() -> None:
    store = filled("abcdef", "ab", "bc", "cd", "ef")
    pages, edges, complete = component(["a"], store.edges_of, 10)
    assert (pages, complete) == (set("abcd"), True)
    assert {(e.left, e.right) for e in edges} == {("a", "b"), ("b", "c"), ("c", "d")}
    assert component(["a"], store.edges_of, 2)[2] is False
    assert component(["e"], store.edges_of, 2)[2] is True


def test_a_large_component_is_read_once_however_many_of_its_pages_are_touched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"p{n:03d}" for n in range(300)]
    pages = [PageKey(name) for name in names]
    edges = [same(names[0], name) for name in names[1:]]
    asked: list[int] = []
    read = Store.edges_of

    def edges_of(self: Store, page_ids: Iterable[str]) -> list[Edge]:
        wanted = list(page_ids)
        asked.append(len(wanted))
        return read(self, wanted)

    monkeypatch.setattr(Store, "edges_of", edges_of)
    store = Store(limit=50)
    store.put_all(pages, edges)
    assert len({each.cluster_id for each in store.stored.values()}) == 1
    assert sum(asked) <= 4 * len(names)
