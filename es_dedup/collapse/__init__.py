"""Query-time collapsing: one hit per cluster, with totals, facets and paging that are right.

``DedupSearch`` takes the body of a search as Elasticsearch takes it and returns a ``GroupPage``. Nothing is written.
"""

from es_dedup.collapse.model import (
    START,
    Bound,
    Changes,
    Expansion,
    Group,
    GroupPage,
    GroupTotal,
    Mode,
    SearchOptions,
    Similar,
    Total,
)
from es_dedup.collapse.search import AsyncDedupSearch, DedupSearch
from es_dedup.collapse.sidecar import Sidecar

__all__ = [
    "START",
    "AsyncDedupSearch",
    "Bound",
    "Changes",
    "DedupSearch",
    "Expansion",
    "Group",
    "GroupPage",
    "GroupTotal",
    "Mode",
    "SearchOptions",
    "Sidecar",
    "Similar",
    "Total",
]
