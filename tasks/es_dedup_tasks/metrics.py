"""Figures for Prometheus: what the processes of one worker did, and what waits for all workers of the index."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector

from es_dedup.index.elastic.server import watch
from es_dedup.maintenance.gauges import ServerGauges, labelled, stored_families
from es_dedup.model import Outcome
from es_dedup_tasks.dispatch import CeleryDispatcher, opener

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prometheus_client.core import GaugeMetricFamily

    from es_dedup.hook import HookReport
    from es_dedup.settings import Settings

DOCUMENTS: Final = Counter(
    "es_dedup_documents", "Documents worked on, by stage and outcome", ("stage", "outcome")
)
SECONDS: Final = Histogram(
    "es_dedup_stage_seconds",
    "Seconds of one batch, by stage",
    ("stage",),
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000),
)
CANDIDATES: Final = Histogram(
    "es_dedup_candidates",
    "Pages that each document was compared with, on average over a batch",
    ("stage",),
    buckets=(1, 2, 5, 10, 20, 50, 100, 200),
)
TRUNCATED: Final = Counter(
    "es_dedup_truncated", "Documents whose list of candidates was cut, by stage", ("stage",)
)
ANSWERS: Final = Counter(
    "es_dedup_elasticsearch_answers",
    "Answers of Elasticsearch by HTTP status, 0 for none: to requests, and to refused items of bulk requests",
    ("kind", "status"),
)
FAILURES: Final = Counter(
    "es_dedup_failures", "Tasks that ended with an error, by its class", ("task", "error")
)
OUTCOMES: Final = frozenset(map(str, Outcome))


def observe(stage: str, counts: Mapping[str, int], seconds: float) -> None:
    """One batch of a stage."""
    SECONDS.labels(stage).observe(seconds)
    for outcome, count in counts.items():
        DOCUMENTS.labels(stage, outcome).inc(count)
    TRUNCATED.labels(stage).inc(counts.get("truncated", 0))
    if decided := sum(count for outcome, count in counts.items() if outcome in OUTCOMES):
        CANDIDATES.labels(stage).observe(counts.get("pairs", 0) / decided)


def observe_hook(report: HookReport) -> None:
    """One call of a bulk helper, for processes that write through the hook and have a Prometheus endpoint of their own.

    Args:
        report: of that call alone, as it adds up what it is given.
    """
    counts = {**report.outcomes, "failed": len(report.failed), "repaired": report.repaired}
    counts |= {"pairs": report.pairs_compared, "truncated": report.truncated}
    observe("hook", counts, sum(report.seconds.values()))
    for stage, seconds in report.seconds.items():
        SECONDS.labels(f"hook {stage}").observe(seconds)


def count_answers() -> Callable[[], None]:
    """Count the answers of Elasticsearch in this process; what is returned ends that."""
    return watch(lambda kind, status: ANSWERS.labels(kind, str(status)).inc())


@contextmanager
def watched(task: str) -> Iterator[None]:
    """Count what ends a task with an error."""
    try:
        yield
    except Exception as error:
        FAILURES.labels(task, type(error).__name__).inc()
        raise


def worker_gauges(place: str, settings: Settings) -> ServerGauges:
    """Messages that wait in Redis, and what Elasticsearch has stored."""
    context, queues = opener(place, settings), CeleryDispatcher(place, settings)

    def depths() -> list[GaugeMetricFamily]:
        return [labelled("es_dedup_queue_depth", "Messages that wait", "queue", queues.depths())]

    return ServerGauges({"redis": depths, "elasticsearch": lambda: stored_families(context())})


def serve(port: int, place: str, settings: Settings) -> None:
    """Answer Prometheus on a port of all addresses; the processes of this worker keep figures in one folder."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(worker_gauges(place, settings))
    start_http_server(port, registry=registry)
