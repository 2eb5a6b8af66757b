"""Number of other pages of a cluster: counted in the index, or among the matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.collapse import queries
from es_dedup.collapse.model import Similar
from es_dedup.collapse.operations import MultiSearch, checked, problems_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.hit_groups import HitGroup
    from es_dedup.collapse.operations import Plan
    from es_dedup.collapse.search_request import Request

WITHIN: Final = "es_dedup_within"
CLUSTERS: Final = "es_dedup_clusters"


def other_page_counts(request: Request, groups: Sequence[HitGroup]) -> Plan[tuple[dict[str, int], list[str]]]:
    """Number of other pages by cluster id, and problems; no request where stored sizes are asked for."""
    ids = sorted(
        {each.cluster_id for group in groups for each in (group, *group.contained) if each.cluster_id}
    )
    options = request.options
    if options.similar is Similar.STORED or not ids:
        return {}, []
    wanted = queries.in_clusters(ids, options)
    within = [wanted]
    if options.similar is Similar.ALL:
        body = {"query": {"bool": {"filter": [wanted]}}, "size": 0}
    else:
        # Aggregations do not see a post_filter.
        within += [request.body["post_filter"]] if "post_filter" in request.body else []
        body = queries.narrowed(queries.matching(request.body), wanted)
    counting = {"terms": {"field": options.cluster_field, "size": len(ids)}}
    body["aggs"] = {WITHIN: {"filter": {"bool": {"filter": within}}, "aggs": {CLUSTERS: counting}}}
    (answer,) = yield MultiSearch([body | {"track_total_hits": False}], request.index, request.header)
    buckets = checked(answer)["aggregations"][WITHIN][CLUSTERS]["buckets"]
    return {bucket["key"]: bucket["doc_count"] - 1 for bucket in buckets}, problems_of(answer)
