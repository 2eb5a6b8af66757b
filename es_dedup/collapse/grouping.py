"""Group hits by cluster id, and pages without one by stored features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.collapse.grouped_hits import HitGroup
from es_dedup.collapse.hit_reading import cluster_of, page_id_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.model import Hit, SearchOptions
    from es_dedup.collapse.operations import StoredRelations


def group_hits(
    hits: Sequence[Hit], related: StoredRelations | None, options: SearchOptions
) -> list[HitGroup]:
    """Groups in the order of their best hits.

    A hit joins the group of its cluster id. A hit without one joins the first group whose best hit is a duplicate of it by *direct*
    comparison, so two pages are never grouped only because a third resembles both.
    """
    groups: list[HitGroup] = []
    by_cluster: dict[str, int] = {}
    for hit in hits:
        page_id = page_id_of(hit)
        cluster_id = cluster_of(hit, options) or (related.clusters.get(page_id) if related else None)
        at = by_cluster.get(cluster_id) if cluster_id is not None else None
        if at is None and related is not None and related.same:
            same = (place for place, group in enumerate(groups) if _same(related, page_id, group))
            at = next(same, None)
        if at is not None:
            groups[at].hits.append(hit)
            continue
        if cluster_id is not None:
            by_cluster[cluster_id] = len(groups)
        groups.append(HitGroup([hit], cluster_id))
    return groups


def _same(related: StoredRelations, page_id: str, group: HitGroup) -> bool:
    return (page_id, page_id_of(group.head)) in related.same
