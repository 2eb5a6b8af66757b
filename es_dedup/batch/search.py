"""Full-text search over stored texts, one hit per cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from es_dedup.model import SearchHit, SearchResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.index.port import Index

GROUPED: Final = 10_000
"""Matches that are read at once, and of which groups are counted."""


class _Match(NamedTuple):
    """A stored page that a query finds."""

    page_id: str
    score: float


def search(index: Index, query: str, *, limit: int, offset: int, collapse: bool) -> SearchResult:
    """See ``IndexReader.search``."""
    most = max(GROUPED, offset + limit)
    matches, clusters, best = _matches(index, query, most)
    while len(matches) == most and collapse and len(best) < offset + limit:  # copies of few pages
        most *= 4
        matches, clusters, best = _matches(index, query, most)
    shown = (best if collapse else matches)[offset : offset + limit]
    hits, missing = _hits(index, shown, clusters), index.unsearchable()
    if len(matches) == most:
        return SearchResult(hits, None, index.matches(query), missing)
    return SearchResult(hits, len(best), len(matches), missing)


def _matches(index: Index, query: str, most: int) -> tuple[list[_Match], dict[str, str], list[_Match]]:
    """The best matches, at most so many; the cluster of each; and the best one of each cluster."""
    matches = [_Match(*each) for each in index.search(query, limit=most)]
    assigned = index.assignments(each.page_id for each in matches)
    clusters = {name: each.cluster_id for name, each in assigned.items()}
    best: dict[str, _Match] = {}
    for each in matches:
        best.setdefault(clusters.get(each.page_id, each.page_id), each)
    return matches, clusters, list(best.values())


def _hits(index: Index, shown: Sequence[_Match], clusters: Mapping[str, str]) -> tuple[SearchHit, ...]:
    records = index.get_many(each.page_id for each in shown)
    groups = index.members({clusters.get(each.page_id, each.page_id) for each in shown})
    hits = []
    for name, score in shown:
        if name not in records:  # another process has just removed it
            continue
        record, cluster = records[name], clusters.get(name, name)
        others = max(len(groups.get(cluster, ())) - 1, 0)
        hits.append(SearchHit(name, score, record.title, record.url, cluster, others))
    return tuple(hits)
