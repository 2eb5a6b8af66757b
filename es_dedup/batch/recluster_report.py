"""What clustering all pages again has changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.index.port import Assignment


@dataclass(frozen=True, slots=True)
class ReclusterReport:
    """Result of reclustering, or of a dry run of it.

    Attributes:
        pages: stored pages.
        changed: pages with another canonical document than before.
        clusters_before, clusters: number of clusters of at least two pages, before and after.
        without_text: pages of sites with ignored passages whose text is not kept: their features are as they were made. Not of a dry run.
    """

    pages: int
    changed: int
    clusters_before: int
    clusters: int
    without_text: int = 0


def report_of(before: Mapping[str, str], now: Mapping[str, str], without_text: int = 0) -> ReclusterReport:
    """What has changed between two sets of canonical documents, by page id."""
    changed = sum(before.get(page_id) != canonical for page_id, canonical in now.items())
    then, clusters = (sum(size > 1 for size in Counter(each.values()).values()) for each in (before, now))
    return ReclusterReport(len(now), changed, then, clusters, without_text)


def canonical_documents(assigned: Iterable[Assignment]) -> dict[str, str]:
    """The canonical document of each of these pages, by page id."""
    return {each.page_id: each.canonical for each in assigned}
