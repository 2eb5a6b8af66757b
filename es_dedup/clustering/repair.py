"""Keeps stored clusters right when pages come, change or go: pure functions over a neighbourhood.

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
from typing import TYPE_CHECKING

from es_dedup.clustering.constraints import UNCONSTRAINED, Constraints
from es_dedup.clustering.order import PageKey, canonical_order
from es_dedup.clustering.star import join_stars
from es_dedup.index.cluster_changes import Assignment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from es_dedup.model import Edge
    from es_dedup.settings.loading import ClusterConfig


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
    config: ClusterConfig,
    constraints: Constraints = UNCONSTRAINED,
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
        config: the canonical order.
        constraints: the demands of overrides.
        loose: pages to place anew, in canonical order, each at the canonical document it agrees with most,
            among the present ones and those that have become one. All other pages stay where they are. None of the loose pages may be the canonical document of a page that is not loose. ``current``
            has to hold all pages of each cluster that a loose page is in or gives its name to.

    Raises:
        ValueError: a page id occurs twice, or a page that is not loose has no assignment.
    """
    ordered = [page.page_id for page in canonical_order(pages, config, constraints.canonical)]
    free = set(ordered) if loose is None else set(loose) & set(ordered)
    if any(name not in free and name not in current for name in ordered):
        raise ValueError(
            "a page that is to stay where it is has no assignment: name it among the loose pages"
        )
    present = [name for name in ordered if name not in free and current[name].canonical == name]
    names = present + [name for name in ordered if name in free]
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
    inherited: dict[str, list[str]] = {}
    for cluster_id, canonical in heir_of.items():
        inherited.setdefault(canonical, []).append(cluster_id)
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
