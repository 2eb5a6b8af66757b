"""Pages that come one by one, change and go, against a full run on what is left."""

import random
from collections.abc import Iterable

import pytest
from clustering_cases import EARLIEST, Store, override, partition, random_edges, random_pages, slow_partition

from es_dedup.clustering.constraints import ClusterRules, constraints_of, contradiction
from es_dedup.clustering.order import PageKey
from es_dedup.clustering.repair import component, repair
from es_dedup.clustering.star import cluster_all
from es_dedup.model import Edge, Relation
from es_dedup.model.overrides import OverrideKind
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


@pytest.mark.parametrize("seed", range(20))
def test_any_history_gives_the_full_run_on_what_is_left(seed: int) -> None:
    """With and without overrides; beyond the bound clusters stay stars, and a full repair heals them."""
    print("seed", seed)
    draw = random.Random(1000 + seed)
    store = Store(CONFIGS[seed % 3], limit=draw.choice((2000, 2000, 1, 3, 7)))
    for _ in range(60):
        step(draw, store, overrides=seed % 2 == 1)
        store.check()
        holds(store)
        if store.limit == 2000:
            assert partition(store.stored) == store.full()
    if not store.overrides:
        edges = store.edges_of(store.keys)
        store.assign_many(
            repair(store.keys.values(), edges, store.stored, ClusterRules(store.config)).assignments
        )
        store.check()
        assert partition(store.stored) == store.full()
    edges = random_edges(draw, [*store.keys.values()], 30)
    found = cluster_all(
        store.keys.values(), edges, ClusterRules(store.config, constraints_of(store.overrides))
    )
    assert partition(found) == slow_partition(store.keys.values(), edges, store.config, store.overrides)


def step(draw: random.Random, store: Store, *, overrides: bool) -> None:
    """A random change: pages added, updated or removed, an override recorded or undone; few ids, so that they meet again."""
    name, chance = f"p{draw.randrange(20 if overrides else 60):03}", draw.random()
    if overrides and chance < 0.1 and store.overrides:
        change = store.decide(draw.sample(store.overrides, len(store.overrides) - 1))
    elif overrides and chance < 0.3:
        kind = draw.choice(("different", "same", "canonical"))
        numbers = draw.sample(range(20), 1 if kind == "canonical" else 2)
        new = override(kind, *(f"p{number:03}" for number in numbers))
        if new in store.overrides or contradiction(store.overrides, new):
            return
        change = store.decide([*store.overrides, new])
    elif chance < 0.5 and store.keys:
        change = store.remove(draw.choice(sorted(store.keys)))
    elif chance < 0.6:
        fresh = [page for page in random_pages(draw, 4) if page.page_id not in store.keys]
        edges = random_edges(draw, [*store.keys.values(), *fresh], 12)
        ids = {page.page_id for page in fresh}
        change = store.put_all(fresh, [edge for edge in edges if {edge.left, edge.right} & ids])
    else:
        page = random_pages(draw, 1)[0]._replace(page_id=name)
        others = sorted(store.keys.keys() - {name})
        edges = [
            Edge(min(name, other), max(name, other), draw.choice(list(Relation)), draw.random())
            for other in draw.sample(others, min(len(others), draw.randrange(5)))
        ]
        change = store.put(page, edges)
    assert list(change.assignments) == sorted(change.assignments, key=lambda each: each.page_id)
    used = {each.cluster_id for each in store.stored.values()}
    assert not used & change.retired.keys()
    assert set(change.retired.values()) <= used


def holds(store: Store) -> None:
    """Every override is kept by the stored clusters."""
    for each in store.overrides:
        stored = [store.stored[name].canonical for name in each.pages if name in store.stored]
        if each.kind is OverrideKind.CANONICAL:
            assert stored in ([], list(each.pages))
        elif len(stored) > 1:
            assert (stored[0] == stored[1]) == (each.kind is OverrideKind.SAME)


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


def test_a_page_that_stays_needs_an_assignment() -> None:
    with pytest.raises(ValueError, match="no assignment"):
        repair([PageKey("a"), PageKey("b")], [], {}, ClusterRules(EARLIEST), loose={"a"})


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
