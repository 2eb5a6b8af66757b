"""The ``dedup`` fields of documents, made from clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.index.source_index import DedupField, documents_of
from es_dedup.model import Relation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from es_dedup.index.port import Assignment, ClusterUpdates
    from es_dedup.model import Edge


def dedup_fields_of(index: ClusterUpdates, page_ids: Iterable[str]) -> dict[str, DedupField]:
    """``dedup`` fields of all pages of the clusters that these pages are in: a change of one page changes the fields of the others.

    Pages that are not clustered yet are absent.
    """
    clusters = {each.cluster_id for each in index.assignments(page_ids).values()}
    groups = list(index.members(clusters).values())
    return dedup_fields_of_groups(groups, index.edges_of(each.page_id for group in groups for each in group))


def dedup_fields_after(
    index: ClusterUpdates, page_ids: Iterable[str], cluster_ids: Collection[str]
) -> dict[str, DedupField]:
    """``dedup`` fields that follow from a change of clusters: of these pages, and of the canonical documents of all clusters concerned, which hold the sizes.

    Args:
        index: with the clusters after the change.
        page_ids: pages that got another cluster or another canonical document, or an edge; those that are not clustered are absent.
        cluster_ids: clusters that pages have left.
    """
    assigned = index.assignments(page_ids)
    sizes = {
        group[0].canonical: len(group)
        for group in index.members(
            {each.cluster_id for each in assigned.values()}.union(cluster_ids)
        ).values()
    }
    assigned |= index.assignments(sizes)
    names = documents_of(assigned)
    within = contained_in(index.edges_of(names))
    return {
        name: dedup_field_of(each, sizes.get(each.canonical, 1), within.get(name, ()))
        for name, each in assigned.items()
        if name in names
    }


def dedup_fields_of_groups(
    groups: Iterable[Sequence[Assignment]], edges: Iterable[Edge]
) -> dict[str, DedupField]:
    """``dedup`` fields of all documents of whole clusters.

    Args:
        groups: each cluster's assignments.
        edges: all that touch their pages.
    """
    within = contained_in(edges)
    return {
        name: dedup_field_of(members[name], len(group), within.get(name, ()))
        for group in groups
        for members in ({each.page_id: each for each in group},)
        for name in documents_of(members)
    }


def dedup_field_of(assignment: Assignment, size: int, inside: Sequence[str] = ()) -> DedupField:
    """The ``dedup`` field of one page of a cluster of ``size`` pages; ``inside``: pages that contain it."""
    canonical = assignment.page_id == assignment.canonical
    relation = str(assignment.relation)
    if canonical:
        relation = str(Relation.CONTAINED) if inside else "unique"
    return DedupField(
        assignment.cluster_id,
        canonical=canonical,
        relation=relation,
        duplicate_of="" if canonical else assignment.canonical,
        contained_in=tuple(sorted(inside)),
        cluster_size=size if canonical else 0,
    )


def contained_in(edges: Iterable[Edge]) -> Mapping[str, list[str]]:
    """For each page that is contained in others, which these are."""
    found: dict[str, list[str]] = {}
    for edge in edges:
        if edge.relation is Relation.CONTAINED:
            found.setdefault(edge.left, []).append(edge.right)
        elif edge.relation is Relation.CONTAINS:
            found.setdefault(edge.right, []).append(edge.left)
    return found
