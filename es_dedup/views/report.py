"""The report of a scan: one HTML page that needs no network and no other file, gathered in one pass over the clusters."""

from __future__ import annotations

import base64
import hashlib
import heapq
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from es_dedup.model.translations import ENGLISH
from es_dedup.views.charts import month_axis, score_bars, site_bars, size_bars
from es_dedup.views.compare import PairView, pair_of
from es_dedup.views.evidence import share_spans, shares_in_words
from es_dedup.views.frame import STYLE, file_text
from es_dedup.views.templates import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Cluster

SCRIPT: Final = "report.js"
SHOWN: Final = 50
"""Largest clusters, with texts."""
LISTED: Final = 200
"""Largest clusters in the table."""
MEMBERS: Final = 3
"""Members of a cluster that are compared side by side, the least similar first."""
CHARS: Final = 6_000
"""Characters of each text that are shown."""
LISTED_MEMBERS: Final = 100
"""Members of a cluster that are shown at once."""
ROWS_AT_ONCE: Final = 15
"""Rows of the table of clusters that are shown at once."""
SIDES: Final = ("the canonical document", "the member")


class Counts:
    """Counts over all clusters of two pages or more.

    Attributes:
        sizes: clusters by their number of pages.
        scores: members by the share of the less covered page of canonical document and member, in whole percents, rounded down.
        relations: members by their relation to the canonical document.
        contained: canonical documents that are contained in a longer page.
    """

    def __init__(self) -> None:
        self.sizes, self.scores, self.relations = Counter[int](), Counter[int](), Counter[str]()
        self.contained = 0

    def counted(self, clusters: Iterator[Cluster]) -> Iterator[Cluster]:
        """The clusters of two pages or more, each counted."""
        for cluster in clusters:
            self.contained += bool(cluster.contained_in)
            if cluster.members:
                self.sizes[cluster.size] += 1
                for member in cluster.members:
                    least = member.score if member.shares is None else min(member.shares)
                    self.scores[min(100, max(0, int(least * 100 + 1e-9)))] += 1
                    self.relations[str(member.relation)] += 1
                yield cluster


class ClusterView(NamedTuple):
    """A cluster: its canonical document, this document compared with some members, and title, site and URL of all members by id."""

    cluster: Cluster
    canonical: FeatureRecord
    pairs: Sequence[PairView]
    names: Mapping[str, tuple[str, str, str]]


def report_page(
    source: IndexReader,
    *,
    title: str,
    run: Mapping[str, object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> bytes:
    """The report of an index; how much memory it takes depends on the clusters shown, not on all there are.

    Args:
        source: an open ``Deduplicator``.
        title: heading of the page.
        run: counts of the scan that the index does not hold, by name; shown as totals when above 0.
        progress: called with clusters done and to do.
    """
    counts = Counts()
    found = counts.counted(source.clusters())
    largest = heapq.nlargest(LISTED, found, key=lambda cluster: cluster.size)
    detailed = []
    for done, cluster in enumerate(largest[:SHOWN], 1):
        detailed.append(_view(source, cluster))
        if progress is not None:
            progress(done, min(SHOWN, len(largest)))
    stats, (sites, months) = source.stats(), source.duplicate_counts()
    style = file_text(STYLE)
    script = file_text(SCRIPT) if largest else ""
    policy = f"default-src 'none'; style-src {_source(style)}; base-uri 'none'; form-action 'none'"
    if script:
        policy += f"; script-src {_source(script)}"
    shown = render(
        "report",
        ENGLISH,
        title=title,
        policy=policy,
        style=style,
        script=script,
        written=f"{datetime.now().astimezone():%Y-%m-%d %H:%M}",
        counts=counts,
        listed=[(cluster, source.record(cluster.canonical)) for cluster in largest],
        detailed=detailed,
        run=[(name, count) for name, count in (run or {}).items() if isinstance(count, int) and count > 0],
        facts={name: value for name, value in stats.items() if isinstance(value, (int, float))},
        places={view.cluster.id: place for place, view in enumerate(detailed, 1)},
        sizes=size_bars(counts.sizes),
        scores=score_bars(counts.scores),
        sites=site_bars(sites),
        months=month_axis(months),
        share_spans=share_spans,
        shares_in_words=shares_in_words,
        listed_members=LISTED_MEMBERS,
        rows_at_once=ROWS_AT_ONCE,
    )
    return shown.encode("utf-8", "replace")


def _view(source: IndexReader, cluster: Cluster) -> ClusterView:
    chosen = sorted(cluster.members, key=lambda member: (member.score, member.page_id))[:MEMBERS]
    pairs = [
        pair_of(source, cluster.canonical, each.page_id, ENGLISH, features=True, names=SIDES, chars=CHARS)
        for each in chosen
    ]
    records = source.records_of(member.page_id for member in cluster.members)
    names = {name: (record.title, record.site, record.url) for name, record in records.items()}
    return ClusterView(cluster, source.record(cluster.canonical), pairs, names)


def _source(text: str) -> str:
    """An inline style or script as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
