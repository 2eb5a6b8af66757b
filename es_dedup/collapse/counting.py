"""How many documents and groups a search finds, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse import bodies
from es_dedup.collapse.calls import Searches, checked
from es_dedup.collapse.facets import GROUPS, LOOSE
from es_dedup.collapse.model import Bound, GroupTotal, Total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_dedup.collapse.calls import Plan
    from es_dedup.collapse.model import Body
    from es_dedup.collapse.request import Request

SEVERAL: Final = "es_dedup_several"
WRAP: Final = "es_dedup_wrap"
MOST_BUCKETS: Final = 50_000
"""Clusters listed in a search; the server's own limit of 65,536 leaves room for facets."""
MOST_PARTS: Final = 40
"""Searches that count a larger set in parts; beyond, the number is a bound."""
PRECISION: Final = 40_000
"""Of ``cardinality``; the most that Elasticsearch takes."""
BULK: Final = f"-responses.**.{GROUPS}.buckets"
"""What is left out of the answer to an exact count: it would be a list of clusters."""


def documents_in(answer: Mapping[str, Any], *, whole: bool = True) -> Total | None:
    """The number of documents that a search found; None when it was not counted."""
    total = answer["hits"].get("total")
    if total is None:
        return None
    exact = total["relation"] == "eq" and whole
    return Total(int(total["value"]), Bound.EXACT if exact else Bound.AT_LEAST)


def lowered(total: Total | None) -> Total | None:
    """A total of an answer in which parts are missing."""
    if total is None:
        return None
    return replace(total, bound=Bound.AT_LEAST if total.bound is Bound.EXACT else total.bound)


def counters(request: Request) -> Body:
    """Aggregations that count groups, beside the request's own; none when that is not asked for.

    An exact count needs only the clusters with two matching pages or more: each other page is a group. One shard lists
    just these. Of several shards each would have to list all it has, for a cluster may have a page on each: ``groups_in``
    asks for that apart.
    """
    options = request.options
    if options.group_total is GroupTotal.NONE:
        return {}
    field = {"field": options.cluster_field}
    made: Body = {LOOSE: {"missing": field}}
    if options.group_total is GroupTotal.EXACT:
        made[GROUPS] = {"terms": field | {"size": MOST_BUCKETS, "min_doc_count": 2, "shard_min_doc_count": 2}}
        made[SEVERAL] = {"stats_bucket": {"buckets_path": f"{GROUPS}>_count"}}
    else:
        made[GROUPS] = {"cardinality": field | {"precision_threshold": PRECISION}}
    # Aggregations do not see a post_filter by themselves.
    return {WRAP: {"filter": request.body.get("post_filter", bodies.MATCH_ALL), "aggs": made}}


def leave_out(request: Request) -> str:
    """What of the answer is not sent."""
    return BULK if request.options.group_total is GroupTotal.EXACT else ""


def groups_in(request: Request, answer: Mapping[str, Any]) -> Plan[Total | None]:
    """The number of groups out of the answer to ``counters``; asks again where there are very many."""
    found = answer.get("aggregations", {}).get(WRAP)
    if found is None:
        return None
    loose = int(found[LOOSE]["doc_count"])
    assigned = int(found["doc_count"]) - loose
    if request.options.group_total is GroupTotal.ESTIMATE:
        distinct = int(found[GROUPS]["value"])
        return Total(distinct + loose, Bound.ABOUT if assigned else Bound.EXACT)
    one_shard = answer["_shards"]["total"] == 1
    spared, complete = _spared(found)
    if not (one_shard and complete):
        parts = max(1, -(-assigned // (MOST_BUCKETS // 2)))
        if parts > MOST_PARTS:
            return Total(int(found[SEVERAL]["count"]) + loose, Bound.AT_LEAST)
        spared, complete = yield from _in_parts(request, parts, one_shard=one_shard)
    if complete:
        return Total(assigned - spared + loose)
    return Total(int(found[SEVERAL]["count"]) + loose, Bound.AT_LEAST)


def _in_parts(request: Request, parts: int, *, one_shard: bool) -> Plan[tuple[int, bool]]:
    """As ``_spared``, a part of the cluster ids at a time."""
    wanted = counters(request)[WRAP]
    made = []
    for part in range(parts):
        terms = dict(wanted["aggs"][GROUPS]["terms"])
        if not one_shard:
            del terms["shard_min_doc_count"]
        if parts > 1:
            terms["include"] = {"partition": part, "num_partitions": parts}
        facets = {WRAP: wanted | {"aggs": wanted["aggs"] | {GROUPS: {"terms": terms}}}}
        made.append(bodies.matching(request.body) | {"aggs": facets, "track_total_hits": False})
    answers = yield Searches(made, request.index, request.header, leave_out=leave_out(request))
    found = [_spared(checked(answer)["aggregations"][WRAP]) for answer in answers]
    return sum(spared for spared, _ in found), all(complete for _, complete in found)


def _spared(found: Mapping[str, Any]) -> tuple[int, bool]:
    """How many pages are not the first of their cluster, and whether the server has listed all clusters that it takes."""
    several = found[SEVERAL]
    complete = several["count"] < MOST_BUCKETS and not found[GROUPS]["doc_count_error_upper_bound"]
    return int(several["sum"]) - int(several["count"]), complete
