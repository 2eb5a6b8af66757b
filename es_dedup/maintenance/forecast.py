"""What a backfill will cost: measured on a sample of the documents, nothing is written."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import ConfigError
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.attach import sample
from es_dedup.maintenance.backfill import CLUSTER, FEATURES, ORPHANS, REMAINING, UPDATE
from es_dedup.maintenance.context import pages_of
from es_dedup.maintenance.runner import parts_by_stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_dedup.index.jobs import Job
    from es_dedup.maintenance.context import MaintenanceContext

SAMPLE: Final = 400  # documents of all indices together
LEAST: Final = 20  # of each index
WARM: Final = 20  # documents that are computed before any is measured, so that all code is loaded
ENOUGH: Final = 1_000  # pages of which this index has figures of its own
MERGED_RATIO: Final = 1.5
"""Bytes of the feature index once merged, by bytes of packed features; ``bench_elastic.py`` measured 1.44 at 1,000,000 pages."""
LOADED_RATIO: Final = 3.4
"""The same right after a load, with clusters and what is not merged yet, which has to fit on the disk, too."""
TEMPORARY_BYTES: Final = 3_000
"""Of temporary files a page, while everything is clustered."""
BENCHMARKS: Final = {"store": 0.0004, "cluster": 0.0002, "update": 0.0003}
"""Seconds a page: to read a document and to write its features, beside computing them, of each worker; to cluster a page, and to write its
``dedup`` field and look at its document once more, of one worker, as these stages are one partition.

With 0.0002 for features these three come to 0.8 ms a page with two workers; ``bench_backfill.py`` measured 0.98 ms (10,000 items, start of the
processes included) to 0.63 ms (100,000 items)."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a backfill will cost.

    Attributes:
        documents: of each index.
        sampled: documents that were computed.
        page_seconds: seconds of one process a page: to compute its ``features``, to read it and ``store`` them, to ``cluster`` it, and to
            ``update`` its ``dedup`` field.
        page_bytes: bytes a page: of packed ``features``; of the feature index once ``merged`` and right ``after_load``; of ``temporary``
            files.
        source: where the seconds beside those of features and the bytes come from, in plain words.
    """

    documents: Mapping[str, int]
    sampled: int
    page_seconds: Mapping[str, float]
    page_bytes: Mapping[str, float]
    source: str

    @property
    def total(self) -> int:
        """All documents."""
        return sum(self.documents.values())

    def seconds(self, workers: int) -> float:
        """Duration with so many workers on as many idle cores, and a server that is not the bottleneck."""
        a_page = self.page_seconds
        parallel = (a_page["features"] + a_page["store"]) / max(1, workers)
        return self.total * (parallel + a_page["cluster"] + a_page["update"])

    def as_dict(self, workers: int) -> dict[str, Any]:
        """JSON-ready form, with what it comes to with so many workers."""
        stored = {name: each for name, each in self.page_bytes.items() if name != "features"}
        return {
            "documents": dict(self.documents),
            "total": self.total,
            "sampled": self.sampled,
            "seconds_a_page": {name: round(each, 6) for name, each in self.page_seconds.items()},
            "bytes_a_page": {name: round(each) for name, each in self.page_bytes.items()},
            "bytes": {name: round(self.total * each) for name, each in stored.items()},
            "workers": workers,
            "seconds": round(self.seconds(workers), 1),
            "source": self.source,
        }


def forecast(context: MaintenanceContext, target: str | None = None) -> Forecast:
    """Measure a sample of the documents of an attached target, or of all.

    Features are computed in this process, by its processor time. For what depends on the server, figures of the last backfill of this index are
    taken, else those of the documented benchmarks.

    Raises:
        NotAttached: there is no such attachment.
        ConfigError: there are no documents to be sampled.
    """
    indices = context.indices(target)
    documents = {
        index: sum(shard.documents for shard in context.source_index.shards(index)) for index in indices
    }
    size = max(LEAST, SAMPLE // max(1, len(indices)))
    pages = [
        page
        for index, fields in indices.items()
        for page in pages_of(fields, sample(context, index, fields.names, size)).pages
    ]
    if not pages:
        raise ConfigError(("there are no documents to be sampled: attach an index with documents first",))
    context.decider.featurise(pages[:WARM])
    begun = time.process_time()
    records = context.decider.featurise(pages).records
    seconds = (time.process_time() - begun) / len(pages)
    rates, source = _rates(context, seconds)
    feature_bytes = sum(map(len, records.payloads)) / max(1, len(records.ids))
    merged, stored = feature_bytes * MERGED_RATIO, context.index.count()
    if stored >= ENOUGH:
        merged = context.index.sizes()["total"] / stored
        source += f"; bytes of the {stored:,} pages of this index"
    a_page = {"features": feature_bytes, "merged": merged, "after_load": merged * LOADED_RATIO / MERGED_RATIO}
    a_page["temporary"] = TEMPORARY_BYTES
    return Forecast(documents, len(pages), {"features": seconds, **rates}, a_page, source)


def _rates(context: MaintenanceContext, feature_seconds: float) -> tuple[dict[str, float], str]:
    """Seconds a page to store, cluster and update, and where they come from."""
    for job in context.jobs.jobs():
        if job.what != "backfill" or job.state is not JobState.DONE:
            continue
        documents, seconds = _stages(context, job)
        if documents >= ENOUGH:
            rates = {
                "store": max(0.0, seconds[FEATURES.name] - feature_seconds),
                "cluster": seconds[CLUSTER.name],
                "update": sum(seconds[stage.name] for stage in (UPDATE, REMAINING, ORPHANS)),
            }
            return rates, f"seconds of job {job.id}"
    return BENCHMARKS, "seconds and bytes of the documented benchmarks"


def _stages(context: MaintenanceContext, job: Job) -> tuple[int, defaultdict[str, float]]:
    """Documents of the first stage of a job, and seconds of all workers a document of each stage; the last ones have at least as many."""
    documents, seconds = 0, defaultdict[str, float](float)
    for stage, parts in parts_by_stage(context, job):
        done = max(documents, sum(part.done for part, _ in parts))
        seconds[stage.name] = sum(part.seconds for part, _ in parts) / max(1, done)
        if stage is FEATURES:
            documents = done
    return documents, seconds
