"""Build search bodies from the user's body; the given body is never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.source_index import DEDUP
from es_dedup.model.batches import by_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.collapse.model import Body, Hit

MATCHING: Final = frozenset(
    "query knn retriever post_filter min_score timeout terminate_after runtime_mappings pit slice indices_boost".split()
)
"""The parts of a body that decide which documents match."""
ORDERING: Final = frozenset({"sort", "rescore", "track_scores", "size", "from", "search_after"})
SCORED: Final = ("sampler", "diversified_sampler", "top_hits")
"""Aggregations that use scores implicitly."""
WRAP: Final = "es_dedup_wrap"
"""An aggregation that stands around those of the request."""
MATCH_ALL: Final[Body] = {"match_all": {}}
CLUSTER_FIELD: Final = f"{DEDUP}.cluster_id"
SIZE_FIELD: Final = f"{DEDUP}.cluster_size"
"""In the canonical document of a cluster only."""
CONTAINED_FIELD: Final = f"{DEDUP}.contained_in"
DUPLICATE_FIELD: Final = f"{DEDUP}.duplicate_of"
_CANONICAL: Final = f"{DEDUP}.canonical"
SHOWN: Final[Body] = {"bool": {"must_not": [{"term": {_CANONICAL: False}}]}}
"""Filter: canonical documents and pages without ``dedup`` object."""
ASSIGNED: Final[Body] = {"exists": {"field": CLUSTER_FIELD}}
"""Filter: pages with a cluster id."""
UNASSIGNED: Final[Body] = {"bool": {"must_not": [ASSIGNED]}}
SHARED: Final[Body] = {"bool": {"filter": [ASSIGNED], "must_not": [{"term": {SIZE_FIELD: 1}}]}}
"""Filter: pages whose cluster may have further pages (``cluster_size`` is not 1; copies have none)."""
CANONICAL_FIRST: Final[Body] = {
    "sort": [{_CANONICAL: {"order": "desc", "unmapped_type": "boolean"}}, {"_score": "desc"}],
    "track_scores": True,
}
"""The order of a cluster's pages: the canonical document, then by score."""


def matching(body: Body) -> Body:
    """Only what decides which documents match: nothing is fetched or aggregated."""
    return {name: value for name, value in body.items() if name in MATCHING} | {"size": 0}


def tally(body: Body, facets: Body) -> Body:
    """What matches, counted only: aggregations without hits, and without scores where nothing depends on them.

    Scores are half of the work of a search that has to look at every match.
    """
    made = with_facets(matching(body), facets)
    if "min_score" in made or has_vectors(made) or _needs_scores(facets_of(body)):
        return made
    return made | {"query": {"bool": {"filter": [made.get("query", MATCH_ALL)]}}}


def keys_only(body: Body) -> Body:
    """What matches in its order, without contents, aggregations and totals."""
    kept = {name: value for name, value in body.items() if name in MATCHING | ORDERING}
    return kept | {"_source": False, "track_total_hits": False}


def without_facets(body: Body) -> Body:
    """The same hits without aggregations, suggestions and totals."""
    left_out = ("aggs", "aggregations", "suggest", "profile", "track_total_hits")
    return {name: value for name, value in body.items() if name not in left_out} | {"track_total_hits": False}


def facets_of(body: Body) -> Body:
    """The aggregations of a body."""
    found: Body = body.get("aggs") or body.get("aggregations") or {}
    return found


def among_shown(facets: Body) -> Body:
    """The aggregations, ``global`` ones restricted to what mode ``canonical`` shows."""
    made = dict(facets)
    for name, spec in facets.items():
        if "global" in spec:
            inner = {WRAP: {"filter": SHOWN, "aggs": facets_of(spec)}}
            made[name] = spec | {"aggregations" if "aggregations" in spec else "aggs": inner}
    return made


def with_facets(body: Body, facets: Body) -> Body:
    """The same search with other aggregations."""
    made = {name: value for name, value in body.items() if name not in ("aggs", "aggregations")}
    return made | {"aggs": facets} if facets else made


def filtered(body: Body, condition: Body) -> Body:
    """The search restricted to documents that fulfil a condition, with the same scores; kNN takes its k from these documents."""
    made = dict(body)
    if "retriever" in made:
        ((name, retriever),) = made["retriever"].items()
        made["retriever"] = {name: _with_filter(retriever, condition)}
        return made
    if "query" in made or "knn" not in made:
        made["query"] = {"bool": {"must": [made.get("query", MATCH_ALL)], "filter": [condition]}}
    if "knn" in made:
        knn = made["knn"]
        made["knn"] = [_with_filter(each, condition) for each in (knn if isinstance(knn, list) else [knn])]
    return made


def narrowed(body: Body, condition: Body) -> Body:
    """Of what the body finds only documents that fulfil a condition; kNN finds the same k as without."""
    if not has_vectors(body):
        return filtered(body, condition)
    before = [body["post_filter"]] if "post_filter" in body else []
    return body | {"post_filter": {"bool": {"filter": [*before, condition]}}}


def has_vectors(body: Body) -> bool:
    """Whether a search for nearest neighbours is anywhere in it, which a filter would change."""
    return "retriever" in body or "knn" in body or _holds(body.get("query"), "knn")


def in_clusters(cluster_ids: Iterable[str]) -> Body:
    """Filter: pages of these clusters."""
    return {"terms": {CLUSTER_FIELD: list(cluster_ids)}}


def these(hits: Iterable[Hit]) -> Body:
    """Filter: these documents."""
    any_of = [
        {"bool": {"filter": [{"term": {"_index": index}}, {"ids": {"values": names}}]}}
        for index, names in by_key((hit["_index"], hit["_id"]) for hit in hits).items()
    ]
    return {"bool": {"should": any_of, "minimum_should_match": 1}}


def named_fields(body: Body, *, containment: bool) -> Body:
    """The body, asking also for what is needed of each hit; ``es_dedup.collapse.hits`` takes it out again."""
    given = list(body.get("docvalue_fields", ()))
    names = [each.get("field") if isinstance(each, dict) else each for each in given]
    # OpenSearch gives the values of a field that is named twice twice
    known = [field for field in (CLUSTER_FIELD, SIZE_FIELD) if field not in names]
    made = body | {"docvalue_fields": [*given, *known]}
    if containment:
        made["fields"] = [*body.get("fields", ()), CONTAINED_FIELD, DUPLICATE_FIELD]
    return made


def _with_filter(part: Mapping[str, Any], condition: Body) -> Body:
    before = part.get("filter", [])
    given: Sequence[Any] = before if isinstance(before, list) else [before]
    return {**part, "filter": [*given, condition]}


def _needs_scores(facets: Body) -> bool:
    return any(_holds(facets, name) for name in SCORED) or "_score" in str(facets)


def _holds(value: Any, name: str) -> bool:
    if isinstance(value, dict):
        return name in value or any(_holds(each, name) for each in value.values())
    return isinstance(value, list) and any(_holds(each, name) for each in value)
