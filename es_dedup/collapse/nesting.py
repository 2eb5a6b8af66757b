"""Nest groups whose page is contained in a page of another group under that group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from es_dedup.collapse.hit_reading import page_id_of, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.grouped_hits import HitGroup
    from es_dedup.collapse.model import SearchOptions


def nest_under_containers(groups: Sequence[HitGroup], options: SearchOptions) -> list[HitGroup]:
    """The groups with contained ones nested under their containers, at any depth, in rank order.

    A group takes the rank of the best group nested in it. Of several containers the best ranked one is taken; of groups that
    contain each other in a cycle the best ranked stays on top.
    """
    place: dict[str, int] = {}
    for at, group in enumerate(groups):
        for name in _names(group, options):
            place.setdefault(name, at)
    parent = {
        at: found for at, group in enumerate(groups) if (found := _container(at, group, place, options))
    }
    roots = [_root(at, parent) for at in range(len(groups))]
    under: dict[int, list[int]] = {}
    for at, root in enumerate(roots):
        under.setdefault(root, []).append(at)
    # In the order in which the first of each lot comes.
    return [
        replace(groups[root], contained=tuple(groups[at] for at in lot if at != root))
        for root, lot in under.items()
    ]


def _names(group: HitGroup, options: SearchOptions) -> list[str]:
    """Names by which ``contained_in`` may refer to a group: page ids, cluster id, canonical page."""
    found = [group.cluster_id] if group.cluster_id is not None else []
    for hit in group.hits:
        found += [page_id_of(hit), *values_of(hit, f"{options.field}.duplicate_of")]
    return found


def _container(at: int, group: HitGroup, place: dict[str, int], options: SearchOptions) -> tuple[int, ...]:
    """Positions of the containers of a group, best first; empty without any."""
    wanted = (name for hit in group.hits for name in values_of(hit, f"{options.field}.contained_in"))
    return tuple(sorted({place[name] for name in wanted if place.get(name, at) != at}))


def _root(at: int, parent: dict[int, tuple[int, ...]]) -> int:
    """The outermost container of a group; in a cycle its best ranked member."""
    way = [at]
    while way[-1] in parent:
        onward = parent[way[-1]][0]
        if onward in way:
            return min(way[way.index(onward) :])
        way.append(onward)
    return way[-1]
