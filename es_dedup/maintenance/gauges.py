"""What Prometheus is told of an index and its attached source indices, whoever serves it: workers and the REST API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily

from es_dedup.errors import DedupError
from es_dedup.maintenance.status import follow_status, last_times, source_counts
from es_dedup.settings.recorded import STATISTICS, pages_learned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from es_dedup.maintenance.context import MaintenanceContext


def stored_families(context: MaintenanceContext) -> Iterator[GaugeMetricFamily]:
    """Families of gauges, read from the server now: pages, documents and their share with a ``dedup`` field, dead letters, following, periodic work.

    Raises:
        IndexError_: the server does not answer.
    """
    counts = source_counts(context)
    text = "Documents of attached indices: all, with a dedup field, and waiting for a decision"
    yield labelled("es_dedup_source_documents", text, "state", counts)
    stored, learned = context.index.count(), pages_learned(context.index.note(STATISTICS))
    single: dict[str, tuple[str, float]] = {
        "es_dedup_pages": ("Stored pages", stored),
        "es_dedup_statistics_pages_since": (
            "Pages more than corpus statistics were learned from",
            stored - learned,
        ),
        "es_dedup_dead_letters": ("Dead letters", context.jobs.count_dead()),
    }
    if counts["all"]:
        share = counts["with_dedup_field"] / counts["all"]
        text = "Share of these documents that have a dedup field"
        single["es_dedup_dedup_field_share"] = text, share
    if following := follow_status(context):
        text = "Documents that were written to attached indices and that following has not processed, at most"
        single["es_dedup_follow_documents_behind"] = text, following.documents
    for name, (text, value) in single.items():
        yield GaugeMetricFamily(name, text, value=value)
    text = (
        "When a periodic task last ran (beat), when the last reclustering and the last audit ended, and until when all writes are "
        "processed by following (follow); seconds since 1970"
    )
    times = {what: at / 1000 for what, at in last_times(context).items() if at is not None}
    yield labelled("es_dedup_last_timestamp_seconds", text, "what", times)


def labelled(name: str, text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    """A family of gauges, one for each value of a label."""
    family = GaugeMetricFamily(name, text, labels=(label,))
    for value, number in values.items():
        family.add_metric([value], number)
    return family


class ServerGauges:
    """Asks servers at each scrape: their families of gauges, then ``es_dedup_up``, which alone names a server that does not answer.

    Args:
        servers: what gives the families, by name of the server.
    """

    def __init__(self, servers: Mapping[str, Callable[[], Iterable[GaugeMetricFamily]]]) -> None:
        self._servers = servers

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The families, as Prometheus asks for them."""
        up: dict[str, float] = {}
        for server, ask in self._servers.items():
            try:
                families = list(ask())
            except (DedupError, OSError):
                up[server] = 0
            else:
                up[server] = 1
                yield from families
        if up:
            yield labelled("es_dedup_up", "Whether a server answers", "server", up)
