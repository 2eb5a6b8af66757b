"""Star clusters under overrides, straight from docs/algorithms/clusters.md; imports nothing of es_dedup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    Pair = tuple[str, ...]


def star_clusters(
    order: Iterable[str],
    strengths: Mapping[frozenset[str], Any],
    same: Collection[Pair] = (),
    different: Collection[Pair] = (),
    canonical: Collection[str] = (),
) -> dict[str, str]:
    """Page to canonical document.

    Args:
        order: pages in canonical order.
        strengths: of each pair of pages with an exact or duplicate edge something to compare, the stronger the greater.
        same, different: pairs of pages decided so; some of the pages may be absent.
        canonical: pages decided to be canonical.
    """
    pages = sorted(order, key=lambda page: page not in canonical)  # a stable sort
    units: list[list[str]] = []
    for page in pages:
        known = next((unit for unit in units if same_unit(page, unit[0], same)), None)
        if known is None:
            units.append([page])
        else:
            known.append(page)
    clusters: list[list[list[str]]] = []
    for unit in units:
        joined = None if set(unit) & set(canonical) else chosen(unit, clusters, strengths, same, different)
        if joined is None:
            clusters.append([unit])
        else:
            joined.append(unit)
    return {page: cluster[0][0] for cluster in clusters for unit in cluster for page in unit}


def chosen(
    unit: Sequence[str],
    clusters: Iterable[list[list[str]]],
    strengths: Mapping[frozenset[str], Any],
    same: Collection[Pair],
    different: Collection[Pair],
) -> list[list[str]] | None:
    """Of the clusters that a unit may join the one whose first unit it has the strongest edge to, of several the first."""
    best, found = None, None
    for cluster in clusters:
        between = [
            strengths[pair]
            for one in unit
            for two in cluster[0]
            if (pair := frozenset((one, two))) in strengths
        ]
        if not between or any(apart(unit[0], other[0], same, different) for other in cluster):
            continue
        if best is None or max(between) > best:
            best, found = max(between), cluster
    return found


def same_unit(left: str, right: str, same: Collection[Pair]) -> bool:
    """Whether a chain of pairs decided same leads from one page to the other."""
    reached = {left}
    for _ in same:
        for pair in same:
            if reached & set(pair):
                reached |= set(pair)
    return right in reached


def apart(left: str, right: str, same: Collection[Pair], different: Collection[Pair]) -> bool:
    """Whether some page of one unit was decided different from some page of the other."""
    return any(
        (same_unit(left, one, same) and same_unit(right, two, same))
        or (same_unit(left, two, same) and same_unit(right, one, same))
        for one, two in different
    )
