"""Hits into piles: by cluster id, and by what the sidecar says of pages without one. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.collapse.hits import cluster_of, page_id_of
from es_dedup.collapse.piles import Pile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.calls import Related
    from es_dedup.collapse.model import Hit, SearchOptions


def fold_hits(hits: Sequence[Hit], related: Related | None, options: SearchOptions) -> list[Pile]:
    """Piles in the order of their best hits.

    A hit lies with the hits of its cluster. Without such a pile it lies with the first pile whose head is the same page by a
    *direct* comparison; two pages never meet only because a third resembles both.
    """
    piles: list[Pile] = []
    by_cluster: dict[str, int] = {}
    for hit in hits:
        page_id = page_id_of(hit)
        cluster_id = cluster_of(hit, options) or (related.clusters.get(page_id) if related else None)
        at = by_cluster.get(cluster_id) if cluster_id is not None else None
        if at is None and related is not None and related.same:
            same = (place for place, pile in enumerate(piles) if _same(related, page_id, pile))
            at = next(same, None)
        if at is not None:
            piles[at].hits.append(hit)
            continue
        if cluster_id is not None:
            by_cluster[cluster_id] = len(piles)
        piles.append(Pile([hit], cluster_id))
    return piles


def _same(related: Related, page_id: str, pile: Pile) -> bool:
    return (page_id, page_id_of(pile.head)) in related.same
