"""Aggregations counted by group: each bucket's ``doc_count`` becomes the number of groups with a page in it.

A group with pages in several buckets counts once in each (as *grouped facets* elsewhere). The server counts distinct cluster
ids by HyperLogLog++ (``cardinality``), nearly always exact up to some thousand in a bucket and off by about a percent beyond. It is asked only
about pages that may share their cluster; all others count one each. Where ``terms`` are to come with the most groups first, the server has to
know the number of groups itself, and counts the ids of all pages but those without one. Each bucket keeps its number of documents under ``documents``. ``terms`` come with the most groups first
unless the request orders them by something else than the count.

Left as they are, and reported: measures (``avg``, ``sum`` …) and pipelines, which are about documents; what is inside ``nested``.
Mode ``canonical`` needs none of this, because it searches one page of each cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse import search_bodies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_dedup.collapse.model import Body, SearchOptions

GROUPS: Final = "es_dedup_groups"
LOOSE: Final = "es_dedup_loose"
SHARED: Final = "es_dedup_shared"
PRECISION: Final = 3_000
"""Distinct values up to which ``cardinality`` is nearly exact; about 24 kB a bucket."""
RANKED: Final = frozenset({"terms", "multi_terms"})
BUCKETS: Final = RANKED | frozenset(
    "rare_terms histogram date_histogram auto_date_histogram variable_width_histogram range date_range ip_range "
    "geo_distance geohash_grid geotile_grid filter filters missing composite sampler diversified_sampler "
    "adjacency_matrix significant_terms global".split()
)
_NO_KIND: Final = frozenset({"aggs", "aggregations", "meta"})


def count_groups(facets: Body, options: SearchOptions) -> Body:
    """The aggregations with what counts groups in each of their buckets."""
    return {name: _counting(spec, options) for name, spec in facets.items()}


def by_document(facets: Body) -> Iterator[str]:
    """Names of the aggregations that stay about documents."""
    for name, spec in facets.items():
        if kind_of(spec) not in BUCKETS:
            yield name
        else:
            yield from (f"{name}>{inner}" for inner in by_document(_inner(spec)))


def read_groups(facets: Body, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to ``count_groups`` with the numbers of groups in their place."""
    return {
        name: _read(facets[name], value) if name in facets else value
        for name, value in answer.items()
        if name not in (GROUPS, LOOSE, SHARED)
    }


def kind_of(spec: Body) -> str:
    """The kind of an aggregation; empty when it has none."""
    return next((name for name in spec if name not in _NO_KIND), "")


def _inner(spec: Body) -> Body:
    found: Body = spec.get("aggs") or spec.get("aggregations") or {}
    return found


def _counting(spec: Body, options: SearchOptions) -> Body:
    kind = kind_of(spec)
    if kind not in BUCKETS:
        return spec
    field = {"field": options.cluster_field}
    inner = count_groups(_inner(spec), options)
    distinct = {"cardinality": field | {"precision_threshold": PRECISION}}
    made = {name: value for name, value in spec.items() if name != "aggregations"} | {"aggs": inner}
    way = _way_by_count(kind, spec[kind])
    if not way:
        inner[SHARED] = {"filter": search_bodies.shared(options), "aggs": {GROUPS: distinct}}
    else:
        inner[GROUPS], inner[LOOSE] = distinct, {"filter": search_bodies.unassigned(options)}
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
    inner = _inner(spec)
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
