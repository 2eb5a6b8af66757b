"""What the report shows, gathered from an index in one pass over its clusters."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from es_dedup.views.compare import MemberComparison, PageView
from es_dedup.views.features import compared_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Cluster


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """How much of a large result is written out.

    Attributes:
        clusters: largest clusters shown with texts, at least 0.
        listed: largest clusters in the table, at least 0.
        members: members of one cluster compared side by side, the least similar first, at least 0.
        chars: characters of each text that are shown, at least 1.
    """

    clusters: int = 50
    listed: int = 200
    members: int = 3
    chars: int = 6000


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over all clusters of two pages or more, and their distributions."""

    clusters: int
    duplicates: int
    sizes: Mapping[int, int]
    scores: Mapping[int, int]
    """Share of the less covered page of canonical document and member, in whole percents, rounded down → members."""
    relations: Mapping[str, int]
    contained: int


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One cluster with texts."""

    cluster: Cluster
    canonical: PageView
    comparisons: Sequence[MemberComparison]
    names: Mapping[str, tuple[str, str, str]]
    """Title, site and URL of the members by page id."""


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything on the page; ``sites`` and ``months`` count duplicates."""

    stats: Mapping[str, object]
    totals: Totals
    listed: Sequence[tuple[Cluster, FeatureRecord]]
    detailed: Sequence[ClusterView]
    limits: ReportLimits
    sites: Mapping[str, int] = field(default_factory=dict)
    months: Mapping[str, int] = field(default_factory=dict)
    run: Mapping[str, object] = field(default_factory=dict)


def gather(
    source: IndexReader,
    limits: ReportLimits,
    *,
    run: Mapping[str, object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReportData:
    """Read what the report shows; memory grows with the limits, not with the number of clusters.

    Args:
        source: an open index.
        limits: how much is written out.
        run: facts of the scan that the index does not hold (pages read, left out, seconds), by name.
        progress: called with clusters done and to do.
    """
    totals, largest = _count(source, max(limits.clusters, limits.listed))
    detailed = []
    for done, cluster in enumerate(largest[: limits.clusters]):
        detailed.append(_view(source, cluster, limits))
        if progress is not None:
            progress(done + 1, min(limits.clusters, len(largest)))
    listed = [(cluster, source.record(cluster.canonical)) for cluster in largest[: limits.listed]]
    return ReportData(source.stats(), totals, listed, detailed, limits, *source.duplicate_counts(), run or {})


def _count(source: IndexReader, keep: int) -> tuple[Totals, list[Cluster]]:
    """Counts over all clusters, and the largest, of one size by id."""
    sizes: Counter[int] = Counter()
    scores: Counter[int] = Counter()
    relations: Counter[str] = Counter()
    contained = 0

    def counted() -> Iterator[Cluster]:
        nonlocal contained
        for cluster in source.clusters():
            contained += bool(cluster.contained_in)
            if not cluster.members:
                continue
            sizes[cluster.size] += 1
            for member in cluster.members:
                least = member.score if member.shares is None else min(member.shares)
                scores[min(100, max(0, int(least * 100 + 1e-9)))] += 1
                relations[str(member.relation)] += 1
            yield cluster

    # at least one, since none would leave the clusters uncounted
    largest = heapq.nlargest(max(keep, 1), counted(), key=lambda cluster: cluster.size)[:keep]
    return Totals(sizes.total(), scores.total(), sizes, scores, relations, contained), largest


def _view(source: IndexReader, cluster: Cluster, limits: ReportLimits) -> ClusterView:
    chosen = sorted(cluster.members, key=lambda member: (member.score, member.page_id))[: limits.members]
    ours = source.features(cluster.canonical)
    comparisons = [
        MemberComparison(
            _page(source, member.page_id),
            source.explain(cluster.canonical, member.page_id),
            source.aligned(cluster.canonical, member.page_id),
            compared_fields(ours, source.features(member.page_id)),
        )
        for member in chosen
    ]
    records = source.records_of(member.page_id for member in cluster.members)
    names = {name: (record.title, record.site, record.url) for name, record in records.items()}
    return ClusterView(cluster, _page(source, cluster.canonical), comparisons, names)


def _page(source: IndexReader, page_id: str) -> PageView:
    return PageView(source.record(page_id), source.text(page_id))
