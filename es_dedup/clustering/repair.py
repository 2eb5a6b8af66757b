"""Keeps stored clusters right when pages come, change or go: which part of the store to read, and pure functions over this neighbourhood.

A cluster's partition follows from its edges alone; its id also has a history. Three rules name a cluster:

- A page alone has its own id.
- The id of a page that is still stored goes where that page goes; the id of a page that is gone stays with
  the largest remaining part (tie: the part whose canonical document comes first in canonical order).
- Where clusters merge, the smaller id wins and the others are retired.

So an id is in use only by the cluster that holds the page of that name, or after that page was deleted. A new
id, the canonical document's own, is therefore always free.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from es_dedup.clustering.constraints import UNCONSTRAINED
from es_dedup.clustering.order import PageKey, canonical_order
from es_dedup.clustering.star import join_stars
from es_dedup.index.cluster_changes import Assignment
from es_dedup.model.batches import by_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from es_dedup.clustering.constraints import ClusterRules, Constraints
    from es_dedup.index.port import ClusterUpdates
    from es_dedup.model import Edge

    EdgesOf = Callable[[Iterable[str]], list[Edge]]

MAX_COMPONENT_PAGES: Final = 2000
"""Pages of a component that are clustered again at one change; beyond it pages are only placed."""


@dataclass(frozen=True, slots=True)
class Change:
    """What has to be written.

    Attributes:
        assignments: new or changed ones, by page id ascending.
        retired: cluster id no longer in use to the id that took over (where the page of that name is now, or
            the largest part of its pages).
    """

    assignments: tuple[Assignment, ...] = ()
    retired: Mapping[str, str] = field(default_factory=dict)


def repair(
    pages: Iterable[PageKey],
    edges: Iterable[Edge],
    current: Mapping[str, Assignment],
    rules: ClusterRules,
    *,
    loose: Collection[str] | None = None,
) -> Change:
    """Cluster the part of the store that a change can touch again and keep cluster ids stable by the rules of this module.

    With ``loose`` left out the result equals a full run, if the pages are whole components: with a page,
    every page that it has an exact or duplicate edge to, every page of its cluster, and every page of its unit.

    Args:
        pages: keys of stored pages, each once.
        edges: edges between them; others are passed over.
        current: stored assignments by page id, of ``pages`` and possibly of more; a new page has none.
        rules: the canonical order and the demands of overrides.
        loose: pages to place anew, in canonical order, each at the canonical document it agrees with most,
            among the present ones and those that have become one. All other pages stay where they are. None of the loose pages may be the canonical document of a page that is not loose. ``current``
            has to hold all pages of each cluster that a loose page is in or gives its name to.

    Raises:
        ValueError: a page id occurs twice, or a page that is not loose has no assignment.
    """
    ordered = [page.page_id for page in canonical_order(pages, rules)]
    free = set(ordered) if loose is None else set(loose) & set(ordered)
    if any(name not in free and name not in current for name in ordered):
        raise ValueError(
            "a page that is to stay where it is has no assignment: name it among the loose pages"
        )
    present = [name for name in ordered if name not in free and current[name].canonical == name]
    names, constraints = present + [name for name in ordered if name in free], rules.constraints
    if loose is not None:
        edges = [edge for edge in edges if edge.left in free or edge.right in free]
        stay_at = {name: each.canonical for name, each in current.items() if name not in free}
        constraints = constraints.seen_at(stay_at) if constraints.touch(free) else constraints
    stars = join_stars(names, edges, constraints)
    star_of = dict(zip(names, stars.canonical, strict=True))
    ids, retired = _cluster_ids(star_of, current, free)
    fresh = [
        Assignment(name, ids[star_of[name]], star_of[name], relation, score)
        for name, relation, score in zip(names, stars.relation, stars.score, strict=True)
        if name in free
    ]
    stay = [each for name, each in current.items() if name not in free]
    fresh += [each._replace(cluster_id=ids.get(each.canonical, each.cluster_id)) for each in stay]
    changed = [each for each in fresh if current.get(each.page_id) != each]
    return Change(tuple(sorted(changed, key=lambda each: each.page_id)), retired)


def same_neighbours(edges: Iterable[Edge], page_ids: Collection[str]) -> set[str]:
    """The pages that any of ``page_ids`` has an exact or duplicate edge to, without these themselves."""
    found: set[str] = set()
    for edge in edges:
        if edge.relation.same:
            if edge.left in page_ids:
                found.add(edge.right)
            if edge.right in page_ids:
                found.add(edge.left)
    return found.difference(page_ids)


def _cluster_ids(
    star_of: Mapping[str, str], current: Mapping[str, Assignment], free: Collection[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Cluster id by canonical document, and the retired ids with their successors.

    Args:
        star_of: canonical document of each page that was placed anew, or is canonical and stays.
        current: assignments before.
        free: pages that were placed anew.
    """
    staying = {each.cluster_id: each.canonical for name, each in current.items() if name not in free}
    heir_of = _heirs(star_of, current, staying)
    sizes = Counter(star_of.values())
    sizes.update(each.canonical for name, each in current.items() if name not in free and name not in star_of)
    left = {each.cluster_id for name, each in current.items() if name in free}
    inherited = by_key((canonical, cluster_id) for cluster_id, canonical in heir_of.items())
    canonical_and_staying = set(staying.values())
    ids: dict[str, str] = {}
    for canonical, size in sizes.items():
        stays = canonical in canonical_and_staying
        own = [each for each in inherited.get(canonical, ()) if not stays or staying.get(each) == canonical]
        # All pages of a star that stays are known only if a page that was placed anew was in it; then it may have been left alone.
        alone = size == 1 and (not stays or not left.isdisjoint(own))
        ids[canonical] = canonical if alone or not own else min(own)
    used = set(ids.values())
    return ids, {each: ids[canonical] for each, canonical in sorted(heir_of.items()) if each not in used}


def _heirs(
    star_of: Mapping[str, str], current: Mapping[str, Assignment], staying: Mapping[str, str]
) -> dict[str, str]:
    """For each cluster id in use, the canonical document whose star inherits it.

    That is the star of the page which the id names, else the one that stays under this id, else the one with most pages of the
    cluster; of several the first in canonical order.
    """
    rank = {canonical: at for at, canonical in enumerate(dict.fromkeys(star_of.values()))}
    parts: dict[str, Counter[str]] = {}
    for name, each in current.items():
        shares = parts.setdefault(each.cluster_id, Counter())
        if name in star_of:
            shares[star_of[name]] += 1
    heir_of: dict[str, str] = {}
    for cluster_id, shares in parts.items():
        if cluster_id in star_of:
            heir_of[cluster_id] = star_of[cluster_id]
        elif cluster_id in staying:
            heir_of[cluster_id] = staying[cluster_id]
        else:
            heir_of[cluster_id] = min(shares, key=lambda canonical: (-shares[canonical], rank[canonical]))
    return heir_of


def update_clusters(
    store: ClusterUpdates, touched: Collection[str], rules: ClusterRules, *, limit: int = MAX_COMPONENT_PAGES
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
        rules: the canonical order and the demands of overrides.
        limit: pages of a component, at least 1.
    """
    constraints = rules.constraints
    stored = set(store.get_many(constraints.with_units(touched)))
    # A deleted page's cluster keeps its id; pages that come under that id have to be named together with it.
    seeds = stored.union(each.page_id for group in store.members(stored).values() for each in group)
    pages, edges, large = _components(seeds, store.edges_of, constraints, limit)
    if large:
        return _place_loose(store, pages, large, rules)
    return repair(_keys(store, pages), edges, store.assignments(pages), rules)


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
    store: ClusterUpdates, pages: Collection[str], large: Collection[str], rules: ClusterRules
) -> Change:
    """Cluster ``pages``, whole components, again; place those of ``large`` that stand for no other page."""
    touched = {*pages, *large}
    edges = store.edges_of(touched)
    current = store.assignments({*touched, *same_neighbours(edges, touched)})
    groups = store.members({*touched, *(each.cluster_id for each in current.values())})
    current.update((each.page_id, each) for group in groups.values() for each in group)
    loose = touched - {each.canonical for name, each in current.items() if name not in touched}
    names = {*loose, *same_neighbours(edges, loose)}
    return repair(_keys(store, names), edges, current, rules, loose=loose)


def _keys(store: ClusterUpdates, page_ids: Iterable[str]) -> Iterable[PageKey]:
    """Keys of those of the pages that are stored."""
    return map(PageKey.of, store.get_many(page_ids).values())
