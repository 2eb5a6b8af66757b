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

NUMBER: Final = "es_dedup_number"
WRAP: Final = "es_dedup_wrap"
MOST_BUCKETS: Final = 50_000
"""Cluster ids counted one by one in a search; the server's own limit of 65,536 leaves room for facets."""
MOST_PARTS: Final = 40
"""Searches that count the ids of a larger set in parts; beyond, the number is an estimate."""
PRECISION: Final = 40_000
"""Of ``cardinality``; the most that Elasticsearch takes."""
BULK: Final = f"-responses.**.{GROUPS}.buckets"
"""What is left out of the answer to an exact count: it would be half a megabyte of ids."""


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
    """Aggregations that count groups, beside the request's own; none when that is not asked for."""
    options = request.options
    if options.group_total is GroupTotal.NONE:
        return {}
    field = {"field": options.cluster_field}
    made: Body = {LOOSE: {"missing": field}}
    if options.group_total is GroupTotal.EXACT:
        made[GROUPS] = {"terms": field | {"size": MOST_BUCKETS}}
        made[NUMBER] = {"stats_bucket": {"buckets_path": f"{GROUPS}>_count"}}
    else:
        made[GROUPS] = {"cardinality": field | {"precision_threshold": PRECISION}}
    if "post_filter" in request.body:  # which aggregations do not see
        return {WRAP: {"filter": request.body["post_filter"], "aggs": made}}
    return made


def leave_out(request: Request) -> str:
    """What of the answer is not sent."""
    return BULK if request.options.group_total is GroupTotal.EXACT else ""


def groups_in(request: Request, answer: Mapping[str, Any]) -> Plan[Total | None]:
    """The number of groups out of the answer to ``counters``; asks again where there are very many."""
    found = _unwrapped(answer)
    if LOOSE not in found:
        return None
    loose = int(found[LOOSE]["doc_count"])
    if request.options.group_total is GroupTotal.ESTIMATE:
        # Without cluster ids there is nothing to estimate.
        distinct = int(found[GROUPS]["value"])
        return Total(distinct + loose, Bound.ABOUT if distinct else Bound.EXACT)
    ids = found[GROUPS]
    if _complete(ids):
        return Total(_number(found) + loose)
    documents = int(found[NUMBER]["sum"]) + int(ids["sum_other_doc_count"])
    parts = -(-documents // (MOST_BUCKETS // 2))
    if parts > MOST_PARTS:
        return Total(_number(found) + loose, Bound.AT_LEAST)
    distinct, complete = yield from _in_parts(request, parts)
    return Total(distinct + loose, Bound.EXACT if complete else Bound.AT_LEAST)


def _in_parts(request: Request, parts: int) -> Plan[tuple[int, bool]]:
    """Distinct cluster ids, a part of them at a time; and whether all were counted."""
    wanted = counters(request)
    made = []
    for part in range(parts):
        include = {"include": {"partition": part, "num_partitions": parts}}
        terms = {"terms": _inside(wanted)[GROUPS]["terms"] | include}
        inner = _inside(wanted) | {GROUPS: terms}
        facets = {WRAP: wanted[WRAP] | {"aggs": inner}} if WRAP in wanted else inner
        made.append(bodies.matching(request.body) | {"aggs": facets, "track_total_hits": False})
    answers = yield Searches(made, request.index, request.header, leave_out=leave_out(request))
    found = [_unwrapped(checked(answer)) for answer in answers]
    return sum(map(_number, found)), all(_complete(each[GROUPS]) for each in found)


def _inside(wanted: Body) -> Body:
    inner: Body = wanted[WRAP]["aggs"] if WRAP in wanted else wanted
    return inner


def _unwrapped(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = answer.get("aggregations", {})
    wrapped: Mapping[str, Any] = found.get(WRAP, found)
    return wrapped


def _number(found: Mapping[str, Any]) -> int:
    return int(found[NUMBER]["count"])


def _complete(ids: Mapping[str, Any]) -> bool:
    return not ids["sum_other_doc_count"] and not ids["doc_count_error_upper_bound"]
