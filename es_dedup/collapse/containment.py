"""Pages that stand in another page of the results, put under it. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from es_dedup.collapse.hits import page_id_of, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.model import SearchOptions
    from es_dedup.collapse.piles import Pile


def under_containers(piles: Sequence[Pile], options: SearchOptions) -> list[Pile]:
    """Piles of which those whose page stands in a page of another lie under that one, at any depth, in rank order.

    A pile is where the best of all that lies in it was. Of several containers the best ranked counts; of piles that contain
    each other in a circle the best ranked stays.
    """
    place: dict[str, int] = {}
    for at, pile in enumerate(piles):
        for name in _names(pile, options):
            place.setdefault(name, at)
    parent = {at: found for at, pile in enumerate(piles) if (found := _container(at, pile, place, options))}
    roots = [_root(at, parent) for at in range(len(piles))]
    under: dict[int, list[int]] = {}
    for at, root in enumerate(roots):
        under.setdefault(root, []).append(at)
    # In the order in which the first of each lot comes.
    return [
        replace(piles[root], contained=tuple(piles[at] for at in lot if at != root))
        for root, lot in under.items()
    ]


def _names(pile: Pile, options: SearchOptions) -> list[str]:
    """All that a container may be called: its page, its cluster, the page that stands for that."""
    found = [pile.cluster_id] if pile.cluster_id is not None else []
    for hit in pile.hits:
        found += [page_id_of(hit), *values_of(hit, f"{options.field}.duplicate_of")]
    return found


def _container(at: int, pile: Pile, place: dict[str, int], options: SearchOptions) -> tuple[int, ...]:
    """The places of the containers of a pile, best first; none when none is there."""
    wanted = (name for hit in pile.hits for name in values_of(hit, f"{options.field}.contained_in"))
    return tuple(sorted({place[name] for name in wanted if place.get(name, at) != at}))


def _root(at: int, parent: dict[int, tuple[int, ...]]) -> int:
    """Where a pile ends up, going from container to container; in a circle the best ranked of it."""
    way = [at]
    while way[-1] in parent:
        onward = parent[way[-1]][0]
        if onward in way:
            return min(way[way.index(onward) :])
        way.append(onward)
    return way[-1]
