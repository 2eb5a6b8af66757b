"""Verified edges and cluster assignments: one document each, in one index that can be replaced in one step."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.elastic.bulk import Write
from es_dedup.index.elastic.reading import (
    VALUES_AT_A_TIME,
    WINDOW,
    all_hits,
    any_of,
    documents,
    pages_of_hits,
    whole,
)
from es_dedup.index.elastic.tokens import key_of, pair_key, storable
from es_dedup.index.port import Assignment
from es_dedup.model import Edge, Relation
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_dedup.index.elastic.server import Server

BY_CLUSTER: Final = ({"cluster_id": "asc"}, {"page_id": "asc"})
BY_EDGE: Final = ({"edge": "asc"},)
BUCKETS: Final = 5_000  # clusters counted in one request


def turned(edge: Edge) -> Edge:
    """The same edge with the lesser id on the left."""
    if edge.left <= edge.right:
        return edge
    return Edge(edge.right, edge.left, edge.relation.reversed, edge.score)


def edge_writes(edges: Iterable[Edge], index: str) -> Iterator[Write]:
    """One write per edge; the same two pages have the same key."""
    for edge in map(turned, edges):
        key = pair_key(edge.left, edge.right)
        body = {
            "edge": key,
            "left": edge.left,
            "right": edge.right,
            "relation": str(edge.relation),
            "score": edge.score,
        }
        yield Write("index", index, key, body)


def pair_deletes(pairs: Iterable[tuple[str, str]], index: str) -> Iterator[Write]:
    """One delete per edge between two pages, the lesser id first."""
    for left, right in pairs:
        yield Write("delete", index, pair_key(left, right))


def removals(page_ids: Iterable[str], index: str) -> Iterator[Write]:
    """One write per page: a document without cluster, so that who follows changes sees it (``changes``)."""
    for page_id in page_ids:
        yield Write("index", index, key_of(page_id), {"page_id": page_id})


def removed(server: Server, index: str, page_ids: Iterable[str]) -> Iterator[Write]:
    """Deletions of what ``removals`` has left of pages that were not clustered again."""
    for document in documents(server, index, map(key_of, storable(page_ids))):
        if "cluster_id" not in document["_source"]:
            condition = document["_seq_no"], document["_primary_term"]
            yield Write("delete", index, document["_id"], condition=condition)


def assignment_writes(assignments: Iterable[Assignment], index: str) -> Iterator[Write]:
    """One write per page; the last of equal pages wins."""
    for each in {each.page_id: each for each in assignments}.values():
        body = {
            "page_id": each.page_id,
            "cluster_id": each.cluster_id,
            "representative": each.canonical,
            "relation": str(each.relation),
            "score": each.score,
        }
        yield Write("index", index, key_of(each.page_id), body)


def edges_and_members(
    server: Server, index: str, page_ids: Iterable[str], cluster_ids: Iterable[str]
) -> tuple[list[Edge], Iterable[Assignment]]:
    """Edges that touch any of the pages, by (left, right); and assignments in the clusters."""
    touching = [_touching(some) for some in chunked(storable(page_ids), VALUES_AT_A_TIME)]
    inside = [any_of("cluster_id", some) for some in chunked(storable(cluster_ids), VALUES_AT_A_TIME)]
    asked = [*((query, BY_EDGE) for query in touching), *((query, BY_CLUSTER) for query in inside)]
    told = all_hits(server, index, asked)
    edges = [_edge(hit["_source"]) for hits in told[: len(touching)] for hit in hits]
    by_pair = {(edge.left, edge.right): edge for edge in edges}
    found = [_assignment(hit["_source"]) for hits in told[len(touching) :] for hit in hits]
    return [by_pair[pair] for pair in sorted(by_pair)], found


def _touching(page_ids: Sequence[str]) -> dict[str, Any]:
    either = [{"terms": {"left": page_ids}}, {"terms": {"right": page_ids}}]
    return {"bool": {"filter": [{"bool": {"should": either}}]}}


def assignments(server: Server, index: str, page_ids: Iterable[str]) -> dict[str, Assignment]:
    """Assignments by page id, as they are now."""
    wanted = storable(page_ids)
    found = assignments_in(documents(server, index, map(key_of, wanted)))
    return {page_id: found[page_id] for page_id in wanted if page_id in found}


def assignments_in(found: Iterable[Mapping[str, Any]]) -> dict[str, Assignment]:
    """Assignments by page id, out of documents that hold them; documents of removed ones are passed over."""
    sources = (document["_source"] for document in found)
    read = (_assignment(source) for source in sources if "cluster_id" in source)
    return {each.page_id: each for each in read}


def grouped(found: Iterable[Assignment]) -> dict[str, list[Assignment]]:
    """Assignments by cluster id, clusters and members by id ascending."""
    ordered = sorted(found, key=_place)
    return {cluster: list(group) for cluster, group in groupby(ordered, key=lambda each: each.cluster_id)}


def clusters(server: Server, index: str, *, min_size: int, after: str | None) -> Iterator[list[Assignment]]:
    """Each cluster's assignments, in order; small ones are not read when they are not wanted."""
    if min_size <= 1:
        # Sort values beyond every page id, so that the whole cluster ``after`` is passed over.
        start = None if after is None else (after, "\U0010ffff" * 4)
        rows = _all(server, index, {"exists": {"field": "cluster_id"}}, after=start)
        for _, group in groupby(rows, key=lambda each: each.cluster_id):
            yield list(group)
        return
    for sizes in _sizes(server, index, after):
        if large := [name for name, size in sizes.items() if size >= min_size]:
            yield from grouped(edges_and_members(server, index, (), large)[1]).values()


def cluster_sizes(server: Server, index: str) -> Counter[int]:
    """See ``ClusterStore.cluster_sizes``."""
    return Counter(size for sizes in _sizes(server, index, None) for size in sizes.values())


def _sizes(server: Server, index: str, after: str | None) -> Iterator[dict[str, int]]:
    """Numbers of pages by cluster id, ids ascending, in parts."""
    last = after
    while True:
        composite: dict[str, Any] = {"size": BUCKETS, "sources": [{"id": {"terms": {"field": "cluster_id"}}}]}
        if last is not None:
            composite["after"] = {"id": last}
        body = {"size": 0, "aggs": {"clusters": {"composite": composite}}}
        buckets = whole(server, index, body)["aggregations"]["clusters"]["buckets"]
        yield {bucket["key"]["id"]: bucket["doc_count"] for bucket in buckets}
        if len(buckets) < BUCKETS:
            return
        last = buckets[-1]["key"]["id"]


def _all(
    server: Server, index: str, query: Mapping[str, Any], *, after: Sequence[str] | None = None
) -> Iterator[Assignment]:
    for hits in pages_of_hits(server, index, query, BY_CLUSTER, after=after, size=WINDOW):
        for hit in hits:
            yield _assignment(hit["_source"])


def _place(each: Assignment) -> tuple[str, str]:
    return each.cluster_id, each.page_id


def _assignment(source: Mapping[str, Any]) -> Assignment:
    return Assignment(
        source["page_id"],
        source["cluster_id"],
        source["representative"],
        Relation(source["relation"]),
        source["score"],
    )


def _edge(source: Mapping[str, Any]) -> Edge:
    return Edge(source["left"], source["right"], Relation(source["relation"]), source["score"])
