"""How many other pages a cluster has: counted in the index, or among those that match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.collapse import bodies
from es_dedup.collapse.calls import Searches, checked, problems_of
from es_dedup.collapse.model import Similar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.calls import Plan
    from es_dedup.collapse.piles import Pile
    from es_dedup.collapse.request import Request

WITHIN: Final = "es_dedup_within"
CLUSTERS: Final = "es_dedup_clusters"


def similar_counts(request: Request, piles: Sequence[Pile]) -> Plan[tuple[dict[str, int], list[str]]]:
    """Other pages by cluster id, and why some may be missing; nothing is asked where stored sizes will do."""
    ids = sorted({each.cluster_id for pile in piles for each in (pile, *pile.contained) if each.cluster_id})
    options = request.options
    if options.similar is Similar.STORED or not ids:
        return {}, []
    wanted = bodies.in_clusters(ids, options)
    within = [wanted]
    if options.similar is Similar.ALL:
        body = {"query": {"bool": {"filter": [wanted]}}, "size": 0}
    else:
        # Aggregations do not see a post_filter.
        within += [request.body["post_filter"]] if "post_filter" in request.body else []
        body = bodies.narrowed(bodies.matching(request.body), wanted)
    counting = {"terms": {"field": options.cluster_field, "size": len(ids)}}
    body["aggs"] = {WITHIN: {"filter": {"bool": {"filter": within}}, "aggs": {CLUSTERS: counting}}}
    (answer,) = yield Searches([body | {"track_total_hits": False}], request.index, request.header)
    buckets = checked(answer)["aggregations"][WITHIN][CLUSTERS]["buckets"]
    return {bucket["key"]: bucket["doc_count"] - 1 for bucket in buckets}, problems_of(answer)
