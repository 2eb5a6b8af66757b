"""Overrides in clustering: what holds, what cannot hold, and that any history gives the full run."""

import random

import pytest
from clustering_cases import EARLIEST, Store, override, partition, random_edges, random_pages, slow_partition

from es_dedup.clustering import PageKey, cluster_all, constraints_of, contradiction, deciding
from es_dedup.model import Edge, Relation
from es_dedup.model.overrides import Override, OverrideKind
from es_dedup.settings.loading import ClusterConfig

KINDS = (OverrideKind.DIFFERENT, OverrideKind.SAME, OverrideKind.CANONICAL)
CONFIGS = (EARLIEST, ClusterConfig(order="longest"))


def clusters(names: str, pairs: str, *overrides: Override) -> dict[str, str]:
    """Page to canonical document; pages in canonical order, edges as pairs of letters, the first ones the strongest."""
    edges = [
        Edge(pair[0], pair[1], Relation.DUPLICATE, 0.9 - at / 100) for at, pair in enumerate(pairs.split())
    ]
    pages = [PageKey(name, f"2024-01-{at:02}") for at, name in enumerate(names, 1)]
    return partition(cluster_all(pages, edges, EARLIEST, constraints_of(overrides)))


def test_pages_decided_different_are_apart_through_a_third_page_too() -> None:
    assert clusters("abc", "ab ac bc") == {"a": "a", "b": "a", "c": "a"}
    assert clusters("abc", "ab ac bc", override("different", "b", "c")) == {"a": "a", "b": "a", "c": "c"}
    assert clusters("abc", "ab ac bc", override("different", "a", "b")) == {"a": "a", "b": "b", "c": "a"}


def test_a_page_that_may_not_join_takes_its_next_best_canonical_document() -> None:
    assert clusters("abcd", "ac ad bd")["d"] == "a"
    assert clusters("abcd", "ac ad bd", override("different", "c", "d"))["d"] == "b"


def test_pages_decided_same_share_a_cluster_without_an_edge_and_with_the_edges_of_both() -> None:
    assert clusters("abc", "bc", override("same", "a", "b")) == {"a": "a", "b": "a", "c": "a"}
    assert clusters("abc", "ac", override("same", "b", "c")) == {"a": "a", "b": "a", "c": "a"}


def test_units_are_apart_as_wholes() -> None:
    decided = override("same", "b", "c"), override("different", "a", "c")
    assert clusters("abc", "ab", *decided) == {"a": "a", "b": "b", "c": "b"}


def test_a_page_decided_canonical_comes_first_and_joins_no_other() -> None:
    assert clusters("abc", "ab bc", override("canonical", "b")) == {"a": "b", "b": "b", "c": "b"}
    decided = override("canonical", "a"), override("canonical", "b")
    assert clusters("abc", "ab bc", *decided) == {"a": "a", "b": "b", "c": "b"}


def test_a_page_without_an_edge_of_its_own_is_a_duplicate_with_the_score_its_unit_joined_by() -> None:
    pages = [PageKey(name, f"2024-01-0{at}") for at, name in enumerate("abc", 1)]
    edges = [Edge("a", "b", Relation.EXACT, 1.0)]
    for pair, expected in (
        ("bc", {"b": (Relation.EXACT, 1.0), "c": (Relation.DUPLICATE, 1.0)}),
        ("ac", {"b": (Relation.EXACT, 1.0), "c": (Relation.DUPLICATE, 1.0)}),
    ):
        found = cluster_all(pages, edges, EARLIEST, constraints_of([override("same", *pair)]))
        assert {name: (found[name].relation, found[name].score) for name in expected} == expected


@pytest.mark.parametrize(
    ("known", "new", "against"),
    [
        ([("same", "a", "b")], ("different", "a", "b"), 1),
        ([("same", "a", "b"), ("same", "b", "c")], ("different", "a", "c"), 2),
        ([("different", "a", "c"), ("same", "b", "c")], ("same", "a", "b"), 1),
        ([("canonical", "a"), ("canonical", "b")], ("same", "a", "b"), 2),
        ([("canonical", "a"), ("same", "a", "b")], ("canonical", "b"), 1),
        ([("canonical", "a"), ("same", "a", "b")], ("canonical", "a"), 0),
        ([("canonical", "a"), ("different", "a", "b")], ("canonical", "b"), 0),
        ([("different", "a", "b"), ("different", "b", "c")], ("same", "a", "c"), 0),
    ],
)
def test_what_cannot_hold_is_found(known: list[tuple[str, ...]], new: tuple[str, ...], against: int) -> None:
    assert len(contradiction([override(*each) for each in known], override(*new))) == against


@pytest.mark.parametrize("seed", range(10))
def test_any_history_with_overrides_gives_the_full_run(seed: int) -> None:
    print("seed", seed)
    draw = random.Random(3000 + seed)
    store = Store(CONFIGS[seed % 2], limit=draw.choice((3, 2000)))
    for _ in range(60):
        step(draw, store)
        store.check()
        holds(store)
        if store.limit == 2000:
            assert partition(store.stored) == store.full()
    edges = random_edges(draw, [*store.keys.values()], 30)
    found = cluster_all(store.keys.values(), edges, store.config, constraints_of(store.overrides))
    assert partition(found) == slow_partition(store.keys.values(), edges, store.config, store.overrides)


def step(draw: random.Random, store: Store) -> None:
    """A page added, updated or removed, an override recorded or undone; few ids, so that pages meet again."""
    name = f"p{draw.randrange(14):03}"
    kind = draw.random()
    if kind < 0.2 and store.overrides:
        store.decide(draw.sample(store.overrides, len(store.overrides) - 1))
    elif kind < 0.5:
        what = draw.choice(KINDS)
        count = 1 if what is OverrideKind.CANONICAL else 2
        new = override(what, *(f"p{number:03}" for number in draw.sample(range(14), count)))
        if new not in store.overrides and not contradiction(store.overrides, new):
            store.decide([*store.overrides, new])
    elif kind < 0.65 and name in store.keys:
        store.remove(name)
    else:
        page = random_pages(draw, 1)[0]
        others = [other for other in store.keys if other != name]
        store.put(
            PageKey(name, page.published, page.site, page.url, page.length),
            [
                Edge(min(name, other), max(name, other), draw.choice(list(Relation)), draw.random())
                for other in draw.sample(others, min(len(others), draw.randrange(5)))
            ],
        )


def holds(store: Store) -> None:
    """Every override is kept by the stored clusters."""
    for each in store.overrides:
        stored = [store.stored[name].canonical for name in each.pages if name in store.stored]
        if each.kind is OverrideKind.CANONICAL:
            assert stored in ([], list(each.pages))
        elif len(stored) > 1:
            assert (stored[0] == stored[1]) == (each.kind is OverrideKind.SAME)


def test_the_overrides_that_decide_on_a_pair_are_a_shortest_chain() -> None:
    ab, bc, cd, ad = (override("same", *pair) for pair in ("ab", "bc", "cd", "ad"))
    de, fe = override("different", "d", "e"), override("same", "f", "e")
    known = [ab, bc, cd, de, fe, override("canonical", "a")]
    assert deciding(known, "a", "c") == (ab, bc)
    assert deciding(known, "c", "a") == (bc, ab)
    assert deciding([*known, ad], "d", "a") == (ad,)
    assert deciding(known, "f", "c") == (fe, de, cd)
    assert deciding(known, "c", "f") == (cd, de, fe)
    assert deciding(known, "a", "x") == ()
