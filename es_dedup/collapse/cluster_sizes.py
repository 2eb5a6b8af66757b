"""Number of other pages of a cluster, as its canonical document says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse import search_bodies
from es_dedup.collapse.hit_reading import values_of
from es_dedup.collapse.operations import MultiSearch, checked, problems_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.grouped_hits import HitGroup
    from es_dedup.collapse.operations import Plan
    from es_dedup.collapse.search_request import Request

CLUSTERS: Final = "es_dedup_clusters"
SIZE: Final = "es_dedup_size"


def other_page_counts(request: Request, groups: Sequence[HitGroup]) -> Plan[tuple[dict[str, int], list[str]]]:
    """Number of other pages by cluster id, and problems; no request where the heads of all groups say it themselves."""
    options = request.options
    shown = [each for group in groups for each in (group, *group.contained) if each.cluster_id]
    sizes = ((each.cluster_id, values_of(each.head, options.size_field)) for each in shown)
    known = {name: max(int(size[0]) - 1, 0) for name, size in sizes if name and size}
    ids = sorted({each.cluster_id for each in shown if each.cluster_id} - known.keys())
    if not ids:
        return known, []
    of_each: dict[str, Any] = {
        "terms": {"field": options.cluster_field, "size": len(ids)},
        "aggs": {SIZE: {"max": {"field": options.size_field}}},
    }
    wanted = {"query": {"bool": {"filter": [search_bodies.in_clusters(ids, options)]}}, "size": 0}
    body = wanted | {"aggs": {CLUSTERS: of_each}, "track_total_hits": False}
    (answer,) = yield MultiSearch([body], request.index, request.header)
    buckets = checked(answer)["aggregations"][CLUSTERS]["buckets"]
    # The canonical document, which knows the size, may be in an index that is not searched.
    found = {each["key"]: int(each[SIZE]["value"] or each["doc_count"]) for each in buckets}
    return known | {name: size - 1 for name, size in found.items()}, problems_of(answer)
