"""Query-time collapsing: one hit per cluster, with correct totals, facets and paging.

``DedupSearch`` takes an Elasticsearch search body and returns a ``GroupPage``. Nothing is written.
"""

from es_dedup.collapse.model import (
    START,
    Bound,
    Expansion,
    Group,
    GroupPage,
    GroupTotal,
    MembersOf,
    Mode,
    SearchOptions,
    Total,
)
from es_dedup.collapse.search import AsyncDedupSearch, DedupSearch

__all__ = [
    "START",
    "AsyncDedupSearch",
    "Bound",
    "DedupSearch",
    "Expansion",
    "Group",
    "GroupPage",
    "GroupTotal",
    "MembersOf",
    "Mode",
    "SearchOptions",
    "Total",
]
