"""Figures for Prometheus, of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

if TYPE_CHECKING:
    from es_dedup.serve.workers import Workers

MEDIA_TYPE: Final = CONTENT_TYPE_LATEST


class Metrics:
    """Requests by route and status, their times, and how many are inside."""

    def __init__(self, workers: Workers) -> None:
        self._registry = CollectorRegistry()
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
        """All figures in the format of Prometheus."""
        return generate_latest(self._registry)
