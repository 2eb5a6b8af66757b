"""What needs attention, how much is stored, and where duplicates come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from es_dedup.index.jobs import JobState
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery
from es_dedup.model.overrides import OverrideKind
from es_dedup.views.charts import month_axis, site_bars, size_bars
from es_dedup.views.clusters import cluster_rows, fields
from es_dedup.views.frame import Visitor, path
from es_dedup.views.templates import console_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.maintenance.status import JobStatus

NEWEST: Final = 5
"""Clusters that are listed."""
LOW: Final = 0.8
"""Agreement below which a cluster should be looked at."""
MOST: Final = 100
"""Clusters of low agreement that are counted."""
LAG: Final = 0.05
"""Share of the pages that may be added before statistics lag."""


class Task(NamedTuple):
    """Something to do, in English: how many things of a kind need attention, and where to see to them."""

    text: str
    number: str
    action: str
    address: str


def overview(reader: IndexReader, visitor: Visitor, jobs: Sequence[JobStatus]) -> bytes:
    """What to do, counts, jobs that are not over, the newest clusters, where duplicates come from, and the facts of the index."""
    stats = reader.stats()
    newest = ClusterQuery(order=ClusterOrder.NEWEST)
    sites, months = reader.duplicate_counts()
    return console_page(
        "overview",
        visitor,
        stats=stats,
        facts={name: value for name, value in stats.items() if isinstance(value, int | float)},
        tasks=list(_tasks(reader, stats, jobs)),
        jobs=jobs,
        steered=(),
        newest=cluster_rows(reader, reader.list_clusters(newest, limit=NEWEST)),
        all_newest=path("clusters", **fields(newest)),
        sites=site_bars(sites),
        months=month_axis(months),
        sizes=size_bars(reader.cluster_sizes()),
    )


def _tasks(reader: IndexReader, stats: Mapping[str, Any], jobs: Sequence[JobStatus]) -> Iterator[Task]:
    """What needs attention, the most urgent first."""
    if abandoned := sum(job.state == JobState.ABANDONED for job in jobs):
        yield Task("Abandoned jobs", f"{abandoned:,}", "resume them", path("jobs"))
    if stats["clusters_pending"]:
        yield Task("Stored pages are not clustered yet", "", "recluster", path("jobs"))
    added, pages = stats["statistics"]["pages_since"], stats["pages"]
    if added > pages * LAG:
        counted, text = f"{added:,} / {pages:,}", "Pages added since the corpus statistics were learned"
        yield Task(text, counted, "recluster", path("jobs"))
    if differ := stats["settings_not_in_force"]:
        text = "Settings of the server that are not in force"
        yield Task(text, f"{len(differ):,}", "compare", path("tune"))
    if low := _low_agreement(reader):
        counted = f"{low:,}" if low < MOST else f"{MOST:,}+"
        address = path("clusters", order=ClusterOrder.CONFIDENCE)
        yield Task("Clusters with low agreement", counted, "review", address)


def _low_agreement(reader: IndexReader) -> int:
    """Clusters, at most ``MOST``, in which a page agrees little with the canonical document and nobody has said that both are the same."""
    lowest = reader.list_clusters(ClusterQuery(order=ClusterOrder.CONFIDENCE), limit=MOST)
    confirmed = {each.pages for each in reader.overrides() if each.kind is OverrideKind.SAME}
    return sum(
        each.confidence < LOW and tuple(sorted((each.canonical, each.weakest))) not in confirmed
        for each in lowest
    )
