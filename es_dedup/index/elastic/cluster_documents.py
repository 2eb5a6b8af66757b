"""Edges and assignments as documents."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from es_dedup.index.elastic.tokens import key_of, pair_key
from es_dedup.index.port import Assignment
from es_dedup.model import Edge, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from es_dedup.index.elastic.bulk import Write
    from es_dedup.index.elastic.collection import Collection


def turned(edge: Edge) -> Edge:
    """The same edge with the lesser id on the left."""
    if edge.left <= edge.right:
        return edge
    return Edge(edge.right, edge.left, edge.relation.reversed, edge.score)


def edge_writes(edges: Iterable[Edge], documents: Collection) -> Iterator[Write]:
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
        yield documents.put(key, body)


def assignment_writes(assignments: Iterable[Assignment], documents: Collection) -> Iterator[Write]:
    """One write per page; the last of equal pages wins."""
    for each in {each.page_id: each for each in assignments}.values():
        body = {
            "page_id": each.page_id,
            "cluster_id": each.cluster_id,
            "representative": each.canonical,
            "relation": str(each.relation),
            "score": each.score,
        }
        yield documents.put(key_of(each.page_id), body)


def edge_of(source: Mapping[str, Any]) -> Edge:
    """The edge that a document holds."""
    return Edge(source["left"], source["right"], Relation(source["relation"]), source["score"])


def assignment_of(source: Mapping[str, Any]) -> Assignment:
    """The assignment that a document holds."""
    return Assignment(
        source["page_id"],
        source["cluster_id"],
        source["representative"],
        Relation(source["relation"]),
        source["score"],
    )


def assignments_in(found: Iterable[Mapping[str, Any]]) -> dict[str, Assignment]:
    """Assignments by page id, out of documents that hold them; documents of removed ones are passed over."""
    sources = (document["_source"] for document in found)
    return {source["page_id"]: assignment_of(source) for source in sources if "cluster_id" in source}


def grouped(found: Iterable[Assignment]) -> dict[str, list[Assignment]]:
    """Assignments by cluster id, clusters and members by id ascending."""
    ordered = sorted(found, key=lambda each: (each.cluster_id, each.page_id))
    return {cluster: list(group) for cluster, group in groupby(ordered, key=lambda each: each.cluster_id)}
