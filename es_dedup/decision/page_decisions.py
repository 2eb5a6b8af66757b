"""From the decided pairs of a page to its decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.model import Decision, Edge, Outcome, PairDecision, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_dedup.index.cluster_changes import Assignment


def decide(
    page_id: str,
    related: Sequence[PairDecision],
    assigned: Mapping[str, Assignment],
    *,
    inconclusive: str = "",
    problem: str = "",
    notes: tuple[str, ...] = (),
) -> Decision:
    """Decision of a page that is not stored.

    Args:
        page_id: the page.
        related: its decided pairs with stored pages, seen from it, strongest first.
        assigned: clusters of the pages in ``related``; a page that is not clustered yet stands for itself.
        inconclusive: why candidates may be missing, where none was related.
        problem: why the page could not be processed.
        notes: what else there is to say of the candidates.

    Returns:
        A duplicate names the canonical document it matches directly, if it matches one, else the page it matches best; it
        then would start a cluster of its own. A page that people have decided to be the same as another is in the cluster of that one.
    """
    same = [pair for pair in related if pair.relation.same]
    inside = tuple(pair.right for pair in related if pair.relation is Relation.CONTAINED)
    outside = tuple(pair.right for pair in related if pair.relation is Relation.CONTAINS)
    stars = [
        pair.right
        for pair in same
        if pair.overrides or pair.right not in assigned or assigned[pair.right].canonical == pair.right
    ]
    star = assigned.get(stars[0]) if stars else None
    duplicate_of = stars[0] if stars else same[0].right if same else None
    if star and star.canonical != page_id:
        duplicate_of = star.canonical
    return Decision(
        page_id=page_id,
        outcome=_outcome(duplicate_of, inside, outside, inconclusive=bool(inconclusive)),
        cluster_id=star.cluster_id if star else stars[0] if stars else page_id,
        duplicate_of=duplicate_of,
        contained_in=inside,
        contains=outside,
        verdicts=tuple(related),
        notes=(problem,) if problem else ((inconclusive,) if inconclusive else ()) + notes,
    )


def stored_decision(
    page_id: str,
    assignment: Assignment,
    edges: Iterable[Edge],
    *,
    earlier: str | None = None,
    inconclusive: str = "",
) -> Decision:
    """Decision of a stored page, from its assignment and its edges; without the decided pairs.

    Args:
        page_id: the page.
        assignment: its own.
        edges: all that touch it.
        earlier: the best match among the pages that were stored before it; named as what the page duplicates when the
            page itself has become the canonical document.
        inconclusive: why candidates may be missing, where none was related.
    """
    inside: list[str] = []
    outside: list[str] = []
    for edge in edges:
        other = edge.right if edge.left == page_id else edge.left
        relation = edge.relation if edge.left == page_id else edge.relation.reversed
        if relation is Relation.CONTAINED:
            inside.append(other)
        elif relation is Relation.CONTAINS:
            outside.append(other)
    duplicate_of = earlier if assignment.canonical == page_id else assignment.canonical
    outcome = _outcome(duplicate_of, inside, outside, inconclusive=bool(inconclusive))
    return Decision(
        page_id=page_id,
        outcome=outcome,
        cluster_id=assignment.cluster_id,
        duplicate_of=duplicate_of,
        contained_in=tuple(sorted(inside)),
        contains=tuple(sorted(outside)),
        notes=(inconclusive,) if outcome is Outcome.INCONCLUSIVE else (),
    )


def _outcome(
    duplicate_of: str | None, inside: Sequence[str], outside: Sequence[str], *, inconclusive: bool
) -> Outcome:
    if duplicate_of:
        return Outcome.DUPLICATE
    if inside:
        return Outcome.CONTAINED
    if outside:
        return Outcome.CONTAINS
    return Outcome.INCONCLUSIVE if inconclusive else Outcome.UNIQUE


def with_overridden(
    by_people: Mapping[str, PairDecision], related: Iterable[PairDecision]
) -> list[PairDecision]:
    """Related pairs of a page after overrides: pairs that people have decided come first and replace the decision of the rules."""
    decided = [each for each in by_people.values() if each.relation is not Relation.DIFFERENT]
    return decided + [each for each in related if each.right not in by_people]


def overruled(by_people: Mapping[str, PairDecision]) -> Iterator[str]:
    """Notes on overrides that contradict the decision of the rules."""
    for name, each in by_people.items():
        if each.otherwise is not None and each.otherwise.relation.same != each.relation.same:
            yield f"{name}: {each.reason}"
