"""How many documents and groups a search finds, and how sure that is; and aggregations counted by group.

A page that is alone in its cluster, or in none, is a group. So cluster ids need to be distinguished only among pages that may share
theirs, and those are few. One shard counts them to the last one without listing them: a ``diversified_sampler`` that takes one page of each
cluster says how many it took. Of several shards each would take one, so there the clusters are listed.

In an aggregation each bucket's ``doc_count`` becomes the number of groups with a page in it.
A group with pages in several buckets counts once in each (as *grouped facets* elsewhere). The server counts distinct cluster
ids by HyperLogLog++ (``cardinality``), nearly always exact up to some thousand in a bucket and off by about a percent beyond. It is asked only
about pages that may share their cluster; all others count one each. Where ``terms`` are to come with the most groups first, the server has to
know the number of groups itself, and counts the ids of all pages but those without one. Each bucket keeps its number of documents under ``documents``. ``terms`` come with the most groups first
unless the request orders them by something else than the count.

Left as they are, and reported: measures (``avg``, ``sum`` …) and pipelines, which are about documents; what is inside ``nested``.
Mode ``canonical`` needs none of this, because it searches one page of each cluster; ``global``, which sees past the query, gets a filter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse import search_bodies
from es_dedup.collapse.model import Body, Bound, GroupTotal, Total
from es_dedup.collapse.operations import checked
from es_dedup.collapse.search_bodies import WRAP, facets_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_dedup.collapse.search_request import Request


GROUPS: Final = "es_dedup_groups"
LOOSE: Final = "es_dedup_loose"
SHARED: Final = "es_dedup_shared"
FACET_PRECISION: Final = 3_000
"""Distinct values up to which ``cardinality`` is nearly exact; about 24 kB a bucket."""
RANKED: Final = frozenset({"terms", "multi_terms"})
BUCKETS: Final = RANKED | frozenset(
    "rare_terms histogram date_histogram auto_date_histogram variable_width_histogram range date_range ip_range "
    "geo_distance geohash_grid geotile_grid filter filters missing composite sampler diversified_sampler "
    "adjacency_matrix significant_terms global".split()
)
_NO_KIND: Final = frozenset({"aggs", "aggregations", "meta"})
SEVERAL: Final = "es_dedup_several"
OTHERS: Final = "es_dedup_others"
MOST_TAKEN: Final = 200_000
"""Clusters of several pages that one shard counts at once; the server keeps some 100 bytes for each."""
MOST_BUCKETS: Final = 50_000
"""Clusters listed in a search; the server's own limit of 65,536 leaves some for facets."""
MOST_PARTS: Final = 40
"""Searches that count a larger set in parts; above that, the number is a bound."""
PRECISION: Final = 40_000
"""Of ``cardinality``; the most that Elasticsearch takes."""
BULK: Final = f"-responses.**.{GROUPS}.buckets"
"""What is left out of the answer to a count in parts: it would be a list of clusters."""


def count_groups(facets: Body) -> Body:
    """The aggregations with what counts groups in each of their buckets."""
    return {name: _counting(spec) for name, spec in facets.items()}


def by_document(facets: Body) -> Iterator[str]:
    """Names of the aggregations that stay about documents."""
    for name, spec in facets.items():
        if kind_of(spec) not in BUCKETS:
            yield name
        else:
            yield from (f"{name}>{inner}" for inner in by_document(facets_of(spec)))


def read_groups(facets: Body, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to ``count_groups`` with the numbers of groups in their place."""
    return {
        name: _read(facets[name], value) if name in facets else value
        for name, value in answer.items()
        if name not in (GROUPS, LOOSE, SHARED)
    }


def read_shown(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to ``search_bodies.among_shown`` in the form of one to the aggregations themselves."""
    return {
        name: {key: part for key, part in value.items() if key != WRAP} | value.get(WRAP, {})
        for name, value in answer.items()
    }


def kind_of(spec: Body) -> str:
    """The kind of an aggregation; empty when it has none."""
    return next((name for name in spec if name not in _NO_KIND), "")


def _counting(spec: Body) -> Body:
    kind = kind_of(spec)
    if kind not in BUCKETS:
        return spec
    field = {"field": search_bodies.CLUSTER_FIELD}
    inner = count_groups(facets_of(spec))
    distinct = {"cardinality": field | {"precision_threshold": FACET_PRECISION}}
    made = {name: value for name, value in spec.items() if name != "aggregations"} | {"aggs": inner}
    way = _way_by_count(kind, spec[kind])
    if not way:
        inner[SHARED] = {"filter": search_bodies.SHARED, "aggs": {GROUPS: distinct}}
    else:
        inner[GROUPS], inner[LOOSE] = distinct, {"filter": search_bodies.UNASSIGNED}
        made[kind] = spec[kind] | {"order": [{GROUPS: way}, {"_key": "asc"}]}
    return made


def _way_by_count(kind: str, settings: Any) -> str:
    """``desc`` or ``asc`` when buckets are ordered by their count, else empty."""
    if kind not in RANKED or not isinstance(settings, dict):
        return ""
    order = settings.get("order", {"_count": "desc"})
    first = order[0] if isinstance(order, list) and order else order
    return str(first["_count"]).lower() if isinstance(first, dict) and "_count" in first else ""


def _read(spec: Body, answer: Any) -> Any:
    kind = kind_of(spec)
    if kind not in BUCKETS or not isinstance(answer, dict):
        return answer
    inner = facets_of(spec)
    if "buckets" not in answer:
        return _bucket(inner, answer)
    buckets = answer["buckets"]
    if isinstance(buckets, dict):
        return answer | {"buckets": {key: _bucket(inner, bucket) for key, bucket in buckets.items()}}
    read = [_bucket(inner, bucket) for bucket in buckets]
    sorts_itself = any(kind_of(each) == "bucket_sort" for each in inner.values())
    # pages without cluster id were not in the server's order
    if not sorts_itself and (way := _way_by_count(kind, spec[kind])):
        read.sort(key=lambda bucket: bucket["doc_count"], reverse=way == "desc")
    return answer | {"buckets": read}


def _bucket(inner: Body, bucket: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(bucket) | read_groups(inner, {name: bucket[name] for name in inner if name in bucket})
    if SHARED in made:
        together = made.pop(SHARED)
        groups = made["doc_count"] - together["doc_count"] + together[GROUPS]["value"]
    elif GROUPS in made:
        groups = made.pop(GROUPS)["value"] + made.pop(LOOSE)["doc_count"]
    else:
        return made
    made["documents"], made["doc_count"] = made["doc_count"], groups
    return made


def documents_in(answer: Mapping[str, Any], *, whole: bool = True) -> Total | None:
    """The number of documents that a search found; None when it was not counted."""
    total = answer["hits"].get("total")
    if total is None:
        return None
    exact = total["relation"] == "eq" and whole
    return Total(int(total["value"]), Bound.EXACT if exact else Bound.AT_LEAST)


def as_lower_bound(total: Total | None) -> Total | None:
    """A total of an answer in which parts are missing."""
    return replace(total, bound=Bound.AT_LEAST) if total and total.bound is Bound.EXACT else total


def counters(request: Request) -> Body:
    """Aggregations that count groups, beside the request's own; none when that is not asked for."""
    options = request.options
    if options.group_total is GroupTotal.NONE:
        return {}
    field = {"field": search_bodies.CLUSTER_FIELD}
    if options.group_total is GroupTotal.ESTIMATE:
        distinct: Body = {"cardinality": field | {"precision_threshold": PRECISION}}
    else:
        one_each = {"shard_size": MOST_TAKEN, "max_docs_per_value": 1, "execution_hint": "global_ordinals"}
        nothing: Body = {"filter": {"match_none": {}}}  # a sampler has to have something inside
        distinct = {"diversified_sampler": field | one_each, "aggs": {GROUPS: nothing}}
    return _wrapped(request, {SHARED: {"filter": search_bodies.SHARED, "aggs": {GROUPS: distinct}}})


async def groups_in(request: Request, answer: Mapping[str, Any]) -> Total | None:
    """The number of groups out of the answer to ``counters``; asks again on several shards, and where there are very many."""
    if WRAP not in answer.get("aggregations", {}):
        return None
    found = _unwrapped(answer)
    together = int(found[SHARED]["doc_count"])
    alone = int(found["doc_count"]) - together
    if request.options.group_total is GroupTotal.ESTIMATE:
        distinct = int(found[SHARED][GROUPS]["value"])
        return Total(alone + distinct, Bound.ABOUT if together else Bound.EXACT)
    taken, shards = int(found[SHARED][GROUPS]["doc_count"]), int(answer["_shards"]["total"])
    if not together or (shards == 1 and taken < MOST_TAKEN):
        return Total(alone + taken)
    parts = max(1, -(-together // (MOST_BUCKETS // 2)))
    if parts <= MOST_PARTS:
        repeats, complete = await _in_parts(request, parts, one_shard=shards == 1)
        if complete:
            return Total(alone + together - repeats)
    return Total(alone + -(-taken // shards), Bound.AT_LEAST)


async def _in_parts(request: Request, parts: int, *, one_shard: bool) -> tuple[int, bool]:
    """How many pages are not the first of their cluster, and whether all clusters were listed that have such pages.

    One shard lists just the clusters of which two pages or more match. Of several shards each has to list all it has.
    """
    made = []
    for part in range(parts):
        terms: Body = {"field": search_bodies.CLUSTER_FIELD, "size": MOST_BUCKETS, "min_doc_count": 2}
        if one_shard:
            terms["shard_min_doc_count"] = 2
        if parts > 1:
            terms["include"] = {"partition": part, "num_partitions": parts}
        listed = {GROUPS: {"terms": terms}, SEVERAL: {"stats_bucket": {"buckets_path": f"{GROUPS}>_count"}}}
        facets = _wrapped(request, {SHARED: {"filter": search_bodies.SHARED, "aggs": listed}})
        made.append(search_bodies.tally(request.body, facets) | {"track_total_hits": False})
    answers = await request.ask(made, filter_path=BULK)
    found = [_repeats(_unwrapped(checked(answer))[SHARED]) for answer in answers]
    return sum(repeats for repeats, _ in found), all(complete for _, complete in found)


def _repeats(found: Mapping[str, Any]) -> tuple[int, bool]:
    several = found[SEVERAL]
    complete = several["count"] < MOST_BUCKETS and not found[GROUPS]["doc_count_error_upper_bound"]
    return int(several["sum"]) - int(several["count"]), complete


def _wrapped(request: Request, facets: Body) -> Body:
    """Aggregations about what matches; by themselves they do not see a post_filter."""
    matching = request.body.get("post_filter", search_bodies.MATCH_ALL)
    around: Body = {"filter": matching}
    if "min_score" in request.body:  # a lone filter, which the server merges with a plain query, loses it
        around = {"filters": {"filters": {WRAP: matching}, "other_bucket_key": OTHERS}}
    return {WRAP: around | {"aggs": facets}}


def _unwrapped(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = answer["aggregations"][WRAP]
    return found["buckets"][WRAP] if "buckets" in found else found
