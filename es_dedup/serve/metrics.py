"""Figures for Prometheus: of this process, and of an index with attached source indices what workers tell of it, too."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from es_dedup.errors import NotAnIndex
from es_dedup.index.factory import is_remote
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.gauges import ServerGauges, stored_families

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.serve.workers import Workers
    from es_dedup.settings import Settings

MEDIA_TYPE: Final = CONTENT_TYPE_LATEST


def stored_gauges(place: str, settings: Settings) -> ServerGauges:
    """What workers tell of an index, too; nothing of one in a file, or without attached source indices."""

    def stored() -> Iterator[Any]:
        with suppress(NotAnIndex), open_context(place, settings, read_only=True) as context:
            yield from stored_families(context) if context.attachments else ()

    return ServerGauges({"elasticsearch": stored} if is_remote(place) else {})


class Metrics:
    """Requests by route and status, their times, and how many are inside; figures of the index."""

    def __init__(self, workers: Workers, place: str, settings: Settings) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(stored_gauges(place, settings))
        self._requests = Counter(
            "es_dedup_http_requests",
            "Requests answered, by method, route and status",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "es_dedup_http_request_seconds",
            "Seconds from the head of a request to the end of its answer, by route",
            ("route",),
            buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 1, 3, 10, 30),
            registry=self._registry,
        )
        inside = Gauge(
            "es_dedup_http_inside",
            "Requests that are worked on or wait, by kind",
            ("kind",),
            registry=self._registry,
        )
        inside.labels("read").set_function(lambda: workers.reads.inside)
        inside.labels("write").set_function(lambda: workers.writes.inside)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All figures in the format of Prometheus; asks the server, so call it in a thread."""
        return generate_latest(self._registry)
