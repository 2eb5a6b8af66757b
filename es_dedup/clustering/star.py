"""Star clustering of a whole set of pages: a pure function of keys and verified edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.clustering.constraints import UNCONSTRAINED, Constraints
from es_dedup.clustering.order import PageKey, canonical_order
from es_dedup.index.cluster_changes import Assignment
from es_dedup.model import Edge, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.clustering.constraints import ClusterRules

STEPS: Final = 8
"""Scores count as equal if they round to the same eighth.

A coverage that is measured on 128 sampled features has a standard error of up to .04, so smaller differences are chance. If two edited copies of
a story do not match each other, chance would divide the other copies between them; now all join the earlier one.
"""


@dataclass(frozen=True, slots=True)
class Stars:
    """Pages joined to canonical documents, as parallel lists in the order the pages were given.

    Attributes:
        canonical: page id of each page's canonical document; its own for a canonical document.
        relation: to the canonical document; ``exact`` for itself.
        score: of the edge to the canonical document, in [0, 1]; 1.0 for itself.
    """

    canonical: list[str]
    relation: list[Relation]
    score: list[float]


def cluster_all(
    pages: Iterable[PageKey], edges: Iterable[Edge], rules: ClusterRules
) -> dict[str, Assignment]:
    """The one partition that these pages and edges have, in any input order.

    In canonical order, a page joins one of the canonical documents before it that it has an exact or duplicate
    edge to: the one it agrees with most (exact before duplicate, then the higher score, rounded by ``STEPS``, then the earlier). A
    page without such an edge becomes a canonical document.

    Constraints change this in three ways. Pages decided to be canonical come first in the order and join no other page. A
    unit of pages decided same counts as one page: it has the place of its first page and the edges of all. A unit joins
    no cluster that has a page it must be apart from: it takes its next best canonical document, or becomes one.

    Args:
        pages: each page once; may be empty.
        edges: verified relations. Those between the same two pages count once: exact before duplicate, then
            the higher score. Containment edges and edges to pages that are not given are passed over.
        rules: the canonical order and the demands of overrides.

    Returns:
        One assignment per page, in canonical order; a cluster's id is its canonical document's page id.

    Raises:
        ValueError: a page id occurs twice.
    """
    names = [page.page_id for page in canonical_order(pages, rules)]
    stars = join_stars(names, edges, rules.constraints)
    columns = names, stars.canonical, stars.canonical, stars.relation, stars.score
    return dict(zip(names, map(Assignment, *columns), strict=True))


def join_stars(
    names: Sequence[str], edges: Iterable[Edge], constraints: Constraints = UNCONSTRAINED
) -> Stars:
    """Stars over pages that are in order already: each joins the best canonical document before it, if any.

    A page that is in a cluster by its unit, without an edge of its own to the canonical document, is a duplicate of it, with
    the score of the edge by which its unit joined; 1.0 in the unit of the canonical document itself.

    Args:
        names: page ids, distinct, first choice for a canonical document first.
        edges: as for ``cluster_all``.
        constraints: the demands of overrides.
    """
    place = {name: at for at, name in enumerate(names)}
    first = _first_of_units(place, constraints)
    apart = {
        place[name]: [first[place[other]] for other in others if other in place]
        for name, others in constraints.apart.items()
        if name in place
    }
    chosen = {first[place[name]] for name in constraints.canonical if name in place}
    same, order, late, early = _sorted_edges(place, first, edges)
    canonical = list(first)
    relation = [Relation.EXACT] * len(names)
    score = [1.0] * len(names)
    # Edges come by their later page: whether the earlier one is a canonical document is known by then.
    for at, page, other in zip(order, late, early, strict=True):
        if (
            canonical[other] == other
            and canonical[page] == page
            and other != page
            and page not in chosen
            and all(canonical[each] != other for each in apart.get(page, ()))
        ):
            canonical[page] = other
            relation[page], score[page] = same[at].relation, same[at].score
    if constraints.units:
        canonical = [canonical[lead] for lead in first]
        score = [score[lead] for lead in first]
        direct = _direct([same[at] for at in order], place, canonical)
        for at, star in enumerate(canonical):
            if at != star:
                relation[at], score[at] = direct.get(at, (Relation.DUPLICATE, score[at]))
    return Stars([names[at] for at in canonical], relation, score)


def _first_of_units(place: Mapping[str, int], constraints: Constraints) -> list[int]:
    """For each page the place of the first page of its unit."""
    first = list(range(len(place)))
    for name in constraints.units.keys() & place.keys():
        first[place[name]] = min(place[other] for other in constraints.units[name] if other in place)
    return first


def _direct(
    edges: Iterable[Edge], place: Mapping[str, int], canonical: Sequence[int]
) -> dict[int, tuple[Relation, float]]:
    """Relation and score of each page's edge to its canonical document, if it has one; the strongest edges come first."""
    found: dict[int, tuple[Relation, float]] = {}
    for edge in edges:
        for page, other in ((edge.left, edge.right), (edge.right, edge.left)):
            if canonical[place[page]] == place[other]:
                found.setdefault(place[page], (edge.relation, edge.score))
    return found


def weakness(relation: Relation, score: float) -> int:
    """What sorts same-edges by strength, the strongest lowest: exact before duplicate, then by score in [0, 1], in steps."""
    return 2 * STEPS * (relation is Relation.DUPLICATE) - int(score * STEPS + 0.5)


def _sorted_edges(
    place: Mapping[str, int], first: Sequence[int], edges: Iterable[Edge]
) -> tuple[list[Edge], list[int], list[int], list[int]]:
    """Same-edges; their order by later unit, strongest first, then by earlier unit; the first places of both units in it."""
    same = [edge for edge in edges if edge.relation in (Relation.EXACT, Relation.DUPLICATE)]
    # Flat lists of numbers rather than tuples: a third of the time, because nothing is left for the collector
    # to walk.
    lead = dict(zip(place, first, strict=True))
    left = np.array([lead.get(edge.left, -1) for edge in same], dtype=np.int64)
    right = np.array([lead.get(edge.right, -1) for edge in same], dtype=np.int64)
    weak = np.array([weakness(edge.relation, edge.score) for edge in same], dtype=np.int64)
    late, early = np.maximum(left, right), np.minimum(left, right)
    order = np.lexsort((early, weak, late))
    order = order[early[order] >= 0]
    return same, order.tolist(), late[order].tolist(), early[order].tolist()


def containment(edges: Iterable[Edge], assignments: Mapping[str, Assignment]) -> dict[str, tuple[str, ...]]:
    """Pointers between clusters: for each, the ids of those whose canonical document contains its own.

    Only edges between two canonical documents count. Pointers may form a cycle when texts nearly contain each
    other; whoever follows them has to remember where it has been.

    Returns:
        Cluster id to the other clusters' ids, ascending; clusters contained in none are absent.
    """
    found: dict[str, set[str]] = {}
    for edge in edges:
        if edge.relation == Relation.CONTAINS:
            outer, inner = assignments.get(edge.left), assignments.get(edge.right)
        elif edge.relation == Relation.CONTAINED:
            outer, inner = assignments.get(edge.right), assignments.get(edge.left)
        else:
            continue
        if outer is not None and inner is not None and _stands(outer) and _stands(inner):
            found.setdefault(inner.cluster_id, set()).add(outer.cluster_id)
    return {name: tuple(sorted(others - {name})) for name, others in found.items() if others - {name}}


def _stands(assignment: Assignment) -> bool:
    return assignment.page_id == assignment.canonical
