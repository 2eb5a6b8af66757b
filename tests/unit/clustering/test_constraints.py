"""Overrides in clustering: what holds, what cannot hold, and that any history gives the full run."""

import pytest
from clustering_cases import EARLIEST, override, partition

from es_dedup.clustering.constraints import ClusterRules, constraints_of, contradiction, deciding
from es_dedup.clustering.order import PageKey
from es_dedup.clustering.star import cluster_all
from es_dedup.model import Edge, Relation
from es_dedup.model.overrides import Override


def clusters(names: str, pairs: str, *overrides: Override) -> dict[str, str]:
    """Page to canonical document; pages in canonical order, edges as pairs of letters, the first ones the strongest."""
    edges = [
        Edge(pair[0], pair[1], Relation.DUPLICATE, 0.9 - at / 100) for at, pair in enumerate(pairs.split())
    ]
    pages = [PageKey(name, f"2024-01-{at:02}") for at, name in enumerate(names, 1)]
    return partition(cluster_all(pages, edges, ClusterRules(EARLIEST, constraints_of(overrides))))


@pytest.mark.parametrize(
    ("names", "pairs", "overrides", "canonical"),
    [
        ("abc", "ab ac bc", "", "aaa"),
        # Pages decided different are apart, also through a third page.
        ("abc", "ab ac bc", "bc", "aac"),
        ("abc", "ab ac bc", "ab", "aba"),
        # A page that may not join takes its next best canonical document.
        ("abcd", "ac ad bd", "", "abaa"),
        ("abcd", "ac ad bd", "cd", "abab"),
        # Pages decided same share a cluster without an edge, and with the edges of both.
        ("abc", "bc", "a=b", "aaa"),
        ("abc", "ac", "b=c", "aaa"),
        # Units are apart as wholes.
        ("abc", "ab", "b=c ac", "abb"),
        # A page decided canonical comes first and joins no other.
        ("abc", "ab bc", "b", "bbb"),
        ("abc", "ab bc", "a b", "abb"),
    ],
)
def test_overrides_go_before_edges(names: str, pairs: str, overrides: str, canonical: str) -> None:
    """``bc``: b and c are different; ``b=c``: they are the same; ``b``: b is canonical."""
    kinds = {1: "canonical", 2: "different", 3: "same"}
    decided = [override(kinds[len(each)], *each.replace("=", "")) for each in overrides.split()]
    assert clusters(names, pairs, *decided) == dict(zip(names, canonical, strict=True))


def test_a_page_without_an_edge_of_its_own_is_a_duplicate_with_the_score_its_unit_joined_by() -> None:
    pages = [PageKey(name, f"2024-01-0{at}") for at, name in enumerate("abc", 1)]
    edges = [Edge("a", "b", Relation.EXACT, 1.0)]
    for pair, expected in (
        ("bc", {"b": (Relation.EXACT, 1.0), "c": (Relation.DUPLICATE, 1.0)}),
        ("ac", {"b": (Relation.EXACT, 1.0), "c": (Relation.DUPLICATE, 1.0)}),
    ):
        found = cluster_all(pages, edges, ClusterRules(EARLIEST, constraints_of([override("same", *pair)])))
        assert {name: (found[name].relation, found[name].score) for name in expected} == expected


@pytest.mark.parametrize(
    ("known", "new", "against"),
    [
        ([("same", "a", "b")], ("different", "a", "b"), 1),
        ([("same", "a", "b"), ("same", "b", "c")], ("different", "a", "c"), 2),
        ([("different", "a", "c"), ("same", "b", "c")], ("same", "a", "b"), 2),
        ([("canonical", "a"), ("canonical", "b")], ("same", "a", "b"), 2),
        ([("canonical", "a"), ("same", "a", "b")], ("canonical", "b"), 1),
        ([("canonical", "a"), ("same", "a", "b")], ("canonical", "a"), 0),
        ([("canonical", "a"), ("different", "a", "b")], ("canonical", "b"), 0),
        ([("different", "a", "b"), ("different", "b", "c")], ("same", "a", "c"), 0),
    ],
)
def test_what_cannot_hold_is_found(known: list[tuple[str, ...]], new: tuple[str, ...], against: int) -> None:
    assert len(contradiction([override(*each) for each in known], override(*new))) == against


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
