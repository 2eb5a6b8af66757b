"""Clusters as people see them: each member with the evidence against the canonical document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from es_dedup.clustering import build_clusters
from es_dedup.decision.comparison import compare, pair_decision
from es_dedup.decision.thresholds import thresholds_of
from es_dedup.model import Member

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from es_dedup.decision.candidate_search import CandidateSearch
    from es_dedup.index.port import Assignment, Index
    from es_dedup.model import Cluster
    from es_dedup.settings import Settings


def clusters_with_evidence(
    groups: Sequence[Sequence[Assignment]],
    index: Index,
    lookup: CandidateSearch,
    settings: Settings,
    wanted: Collection[str] | None = None,
) -> list[Cluster]:
    """Clusters of assignments, in their order, with containment pointers.

    Args:
        groups: all assignments of each cluster; one whose pages are all in later ones is left out, and so are compared pages
            that are removed already, which a search may find for some time.
        index: holds the pages and edges.
        lookup: loads pages, and has the statistics they are compared with.
        settings: detectors.
        wanted: the pages that are compared with their canonical documents; the others have no evidence. None: all.
    """
    compared = [each for group in groups for each in group if wanted is None or each.page_id in wanted]
    with_evidence = _members(compared, lookup, settings)
    edges = index.edges_of({group[0].canonical for group in groups})
    assigned = {each.page_id: each for group in groups for each in group}
    linked = {name for edge in edges for name in (edge.left, edge.right)} - set(assigned)
    built = {
        cluster.id: cluster
        for cluster in build_clusters({**index.assignments(linked), **assigned}.values(), edges)
    }
    # A page that another process moves from one of these clusters to another is read in both, and shown in the later one.
    listed = [built[group[0].cluster_id] for group in groups if group[0].cluster_id in built]
    unseen = {each.page_id for each in compared if each.page_id != each.canonical} - with_evidence.keys()
    removed = unseen - index.get_many(unseen).keys() if unseen else unseen
    return [
        replace(
            cluster,
            members=tuple(
                with_evidence.get(member.page_id, member)
                for member in cluster.members
                if member.page_id not in removed
            ),
        )
        for cluster in listed
    ]


def _members(
    assigned: Sequence[Assignment], lookup: CandidateSearch, settings: Settings
) -> dict[str, Member]:
    """Members compared with their canonical documents, all at once; absent where one of the two is not stored.

    That is so while another process removes pages.
    """
    not_canonical = [each for each in assigned if each.page_id != each.canonical]
    names = dict.fromkeys(name for each in not_canonical for name in (each.canonical, each.page_id))
    pages = lookup.load(list(names))
    place = {page_id: row for row, page_id in enumerate(pages.ids)}
    not_canonical = [each for each in not_canonical if {each.canonical, each.page_id} <= place.keys()]
    comparison = compare(
        pages,
        np.array([place[each.canonical] for each in not_canonical], dtype=np.int64),
        pages,
        np.array([place[each.page_id] for each in not_canonical], dtype=np.int64),
        lookup.statistics,
        thresholds_of(settings.decision),
    )
    members = {}
    for at, each in enumerate(not_canonical):
        pair = pair_decision(comparison, at, settings, lookup.statistics, verdicts=False)
        members[each.page_id] = Member(each.page_id, each.relation, each.score, pair.evidence)
    return members
