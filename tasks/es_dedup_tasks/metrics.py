"""Figures for Prometheus: what the processes of one worker did, and what waits for all workers of the index."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from es_dedup.errors import DedupError
from es_dedup_tasks.dispatch import CeleryDispatcher
from es_dedup_tasks.sites import SiteOfProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_dedup.config import Settings

DOCUMENTS: Final = Counter(
    "es_dedup_documents", "Documents worked on, by stage and outcome", ("stage", "outcome")
)
SECONDS: Final = Histogram(
    "es_dedup_stage_seconds",
    "Seconds of one batch, by stage",
    ("stage",),
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000),
)
FAILURES: Final = Counter(
    "es_dedup_failures", "Tasks that ended with an error, by its class", ("task", "error")
)


def observe(stage: str, counts: Mapping[str, int], seconds: float) -> None:
    """One batch of a stage."""
    SECONDS.labels(stage).observe(seconds)
    for outcome, count in counts.items():
        DOCUMENTS.labels(stage, outcome).inc(count)


@contextmanager
def watched(task: str) -> Iterator[None]:
    """Count what ends a task with an error."""
    try:
        yield
    except Exception as error:
        FAILURES.labels(task, type(error).__name__).inc()
        raise


class Waiting:
    """Asks Redis and Elasticsearch at each scrape: messages that wait, dead letters, how far running jobs are."""

    def __init__(self, place: str, settings: Settings) -> None:
        self._sites = SiteOfProcess(place, settings)
        self._queues = CeleryDispatcher(place, settings)

    def collect(self) -> Iterator[Any]:
        """Families of gauges; a server that does not answer gives ``es_dedup_up`` 0 and no figures of its own."""
        up = GaugeMetricFamily("es_dedup_up", "Whether a server answers", labels=("server",))
        for server, ask in (("redis", self._depths), ("elasticsearch", self._letters)):
            try:
                family = ask()
            except (DedupError, OSError, self._queues.errors):
                up.add_metric([server], 0)
            else:
                up.add_metric([server], 1)
                yield family
        yield up

    def _depths(self) -> Any:
        family = GaugeMetricFamily("es_dedup_queue_depth", "Messages that wait", labels=("queue",))
        for queue, depth in self._queues.depths().items():
            family.add_metric([queue], depth)
        return family

    def _letters(self) -> Any:
        return GaugeMetricFamily(
            "es_dedup_dead_letters", "Pages on the dead list", value=self._sites.site.jobs.count_dead()
        )


def serve(port: int, place: str, settings: Settings) -> None:
    """Answer Prometheus on a port of all addresses; the processes of this worker keep figures in one folder."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(Waiting(place, settings))
    start_http_server(port, registry=registry)
