"""Group hits by cluster id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.collapse.grouped_hits import HitGroup
from es_dedup.collapse.hit_reading import cluster_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.model import Hit, SearchOptions


def group_hits(hits: Sequence[Hit], options: SearchOptions) -> list[HitGroup]:
    """Groups in the order of their best hits; a hit without cluster id is a group of its own."""
    groups: list[HitGroup] = []
    by_cluster: dict[str, HitGroup] = {}
    for hit in hits:
        cluster_id = cluster_of(hit, options)
        if cluster_id in by_cluster:
            by_cluster[cluster_id].hits.append(hit)
            continue
        groups.append(HitGroup([hit], cluster_id))
        if cluster_id is not None:
            by_cluster[cluster_id] = groups[-1]
    return groups
