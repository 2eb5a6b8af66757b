"""From touched pages to the change to write: which part of the store to read, which rule to apply."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from es_dedup.clustering.constraints import UNCONSTRAINED, Constraints
from es_dedup.clustering.order import PageKey
from es_dedup.clustering.repair import Change, repair, same_neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from es_dedup.index.port import ClusterUpdates
    from es_dedup.model import Edge
    from es_dedup.settings.loading import ClusterConfig

    EdgesOf = Callable[[Iterable[str]], list[Edge]]

MAX_COMPONENT_PAGES: Final = 2000
"""Pages of a component that are clustered again at one change; beyond it pages are only placed."""


def update_clusters(
    store: ClusterUpdates,
    touched: Collection[str],
    config: ClusterConfig,
    constraints: Constraints = UNCONSTRAINED,
    *,
    limit: int = MAX_COMPONENT_PAGES,
) -> Change:
    """The assignments to write after edges have changed; reads the store, writes nothing.

    The result is that of a full run, as long as no touched page is in a component of more than ``limit``
    pages, or an override concerns it. In another larger one only the touched pages are placed, each at the
    present canonical document it agrees with most; all clusters stay stars, but a better canonical document
    may be passed over until reclustering (``repair`` of everything).

    Args:
        store: with the new edges in it and those of removed pages gone.
        touched: pages that are new or updated, and stored pages that had an exact or duplicate edge to a page
            that was updated or removed (read ``same_neighbours`` before the change). Removed pages have to be named,
            too, where an override concerns them.
        config: the canonical order.
        constraints: the demands of overrides.
        limit: pages of a component, at least 1.
    """
    stored = set(store.get_many(constraints.with_units(touched)))
    # A deleted page's cluster keeps its id; pages that come under that id have to be named together with it.
    seeds = stored.union(each.page_id for group in store.members(stored).values() for each in group)
    pages, edges, large = _components(seeds, store.edges_of, constraints, limit)
    if large:
        return _place_loose(store, pages, large, config, constraints)
    return repair(_keys(store, pages), edges, store.assignments(pages), config, constraints)


def component(
    seeds: Iterable[str],
    edges_of: EdgesOf,
    limit: float,
    large: Collection[str] = (),
    constraints: Constraints = UNCONSTRAINED,
) -> tuple[set[str], list[Edge], bool]:
    """Pages that exact and duplicate edges and units connect with the seeds, and these edges.

    Args:
        seeds: page ids.
        edges_of: as ``Index.edges_of``; called once per step away from the seeds.
        limit: the search stops when more pages than this are found.
        large: pages known to be in larger components; the search stops at the first of them.
        constraints: the demands of overrides; pages of a unit that are not stored are found, too.

    Returns:
        Pages (seeds included), edges, and whether the component is complete; if not, both are only a part.
    """
    pages = constraints.with_units(seeds)
    front = sorted(pages)
    edges: dict[tuple[str, str], Edge] = {}
    while front and len(pages) <= limit and pages.isdisjoint(large):
        fresh = [edge for edge in edges_of(front) if edge.relation.same]
        edges.update(((edge.left, edge.right), edge) for edge in fresh)
        front = sorted(constraints.with_units(same_neighbours(fresh, set(front))) - pages)
        pages.update(front)
    return pages, list(edges.values()), not front and len(pages) <= limit


def _components(
    seeds: Collection[str], edges_of: EdgesOf, constraints: Constraints, limit: int
) -> tuple[set[str], list[Edge], set[str]]:
    """Pages and edges of the seeds' components within the limit, and the seeds that are in larger ones.

    No limit holds for the component of a constrained seed.
    """
    pages: set[str] = set()
    edges: list[Edge] = []
    beyond: set[str] = set()
    free = {seed: not constraints.touch([seed]) for seed in sorted(seeds)}
    for seed in sorted(free, key=free.__getitem__):  # the constrained ones first
        if seed in pages or seed in beyond:
            continue
        most = limit if free[seed] else inf
        found, between, complete = component([seed], edges_of, most, beyond, constraints)
        if complete:
            pages |= found
            edges += between
        else:
            beyond |= found
    return pages, edges, beyond.intersection(seeds)


def _place_loose(
    store: ClusterUpdates,
    pages: Collection[str],
    large: Collection[str],
    config: ClusterConfig,
    constraints: Constraints,
) -> Change:
    """Cluster ``pages``, whole components, again; place those of ``large`` that stand for no other page."""
    touched = {*pages, *large}
    edges = store.edges_of(touched)
    current = store.assignments({*touched, *same_neighbours(edges, touched)})
    groups = store.members({*touched, *(each.cluster_id for each in current.values())})
    current.update((each.page_id, each) for group in groups.values() for each in group)
    loose = touched - {each.canonical for name, each in current.items() if name not in touched}
    names = {*loose, *same_neighbours(edges, loose)}
    return repair(_keys(store, names), edges, current, config, constraints, loose=loose)


def _keys(store: ClusterUpdates, page_ids: Iterable[str]) -> Iterable[PageKey]:
    """Keys of those of the pages that are stored."""
    return map(PageKey.of, store.get_many(page_ids).values())
