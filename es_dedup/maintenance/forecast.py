"""What a backfill will cost: measured on a sample of the documents, nothing is written."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from es_dedup.batch.featurise import make_chunk
from es_dedup.batch.overrides import load_ignored
from es_dedup.errors import ConfigError
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.plans import PLANS
from es_dedup.maintenance.preflight import sample

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
STORE_SECONDS: Final = 0.0004
"""To read a document and to write its features, beside computing them; of each worker."""
CLUSTER_SECONDS: Final = 0.0002
UPDATE_SECONDS: Final = 0.0003
"""To cluster a page, and to write its ``dedup`` field and look at its document once more; of one worker, as these stages are one partition.

With 0.0002 for features these three come to 0.8 ms a page with two workers; ``bench_backfill.py`` measured 0.98 ms (10,000 items, start of the
processes included) to 0.63 ms (100,000 items)."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a backfill will cost.

    Attributes:
        documents: of each index.
        sampled: documents that were computed.
        feature_seconds: of one process, to compute the features of a document.
        store_seconds, cluster_seconds, update_seconds: the same, to read it and store them; to cluster it; to write its ``dedup`` field.
        feature_bytes: of the packed features of a document.
        merged_bytes, loaded_bytes, temporary_bytes: a page: of the feature index once merged; right after the load; of temporary files.
        source: where the seconds beside ``feature_seconds`` and the bytes come from, in plain words.
    """

    documents: Mapping[str, int]
    sampled: int
    feature_seconds: float
    store_seconds: float
    cluster_seconds: float
    update_seconds: float
    feature_bytes: float
    merged_bytes: float
    loaded_bytes: float
    source: str
    temporary_bytes: int = TEMPORARY_BYTES

    @property
    def total(self) -> int:
        """All documents."""
        return sum(self.documents.values())

    def seconds(self, workers: int) -> float:
        """Duration with so many workers on as many idle cores, and a server that is not the bottleneck."""
        parallel = (self.feature_seconds + self.store_seconds) / max(1, workers)
        return self.total * (parallel + self.cluster_seconds + self.update_seconds)

    def as_dict(self, workers: int) -> dict[str, Any]:
        """JSON-ready form, with what it comes to with so many workers."""
        return {
            "documents": dict(self.documents),
            "total": self.total,
            "sampled": self.sampled,
            "seconds_a_page": {
                "features": round(self.feature_seconds, 6),
                "store": round(self.store_seconds, 6),
                "cluster": round(self.cluster_seconds, 6),
                "update": round(self.update_seconds, 6),
            },
            "bytes_a_page": {
                "features": round(self.feature_bytes),
                "merged": round(self.merged_bytes),
                "after_load": round(self.loaded_bytes),
                "temporary": self.temporary_bytes,
            },
            "bytes": {
                "merged": round(self.total * self.merged_bytes),
                "after_load": round(self.total * self.loaded_bytes),
                "temporary": self.total * self.temporary_bytes,
            },
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
        fields.page(each.key.page_id, each.source)
        for index, fields in indices.items()
        for each in sample(context, index, fields.names, size)
        if not each.key.problem
    ]
    if not pages:
        raise ConfigError(("there are no documents to be sampled: attach an index with documents first",))
    ignored, named = load_ignored(context.index), context.index.keeps_named
    settings, extractor = context.settings, context.extractor
    make_chunk(pages[:WARM], settings, extractor, None, named=named, ignored=ignored)
    begun = time.process_time()
    records = make_chunk(pages, settings, extractor, None, named=named, ignored=ignored).records
    seconds = (time.process_time() - begun) / len(pages)
    feature_bytes = sum(map(len, records.payloads)) / max(1, len(records.ids))
    store, cluster, update, source = _rates(context, seconds)
    merged, loaded = feature_bytes * MERGED_RATIO, feature_bytes * LOADED_RATIO
    stored = context.index.count()
    if stored >= ENOUGH:
        merged = context.index.sizes()["total"] / stored
        loaded = merged * LOADED_RATIO / MERGED_RATIO
        source += f"; bytes of the {stored:,} pages of this index"
    return Forecast(
        documents, len(pages), seconds, store, cluster, update, feature_bytes, merged, loaded, source
    )


def _rates(context: MaintenanceContext, feature_seconds: float) -> tuple[float, float, float, str]:
    """Seconds a page to store, cluster and update, and where they come from."""
    done = [job for job in context.jobs.jobs() if job.what == "backfill" and job.state is JobState.DONE]
    for job in done:
        took = _stages(context, job)
        if took["features"][1] >= ENOUGH:
            a_page = {name: seconds / max(1, pages) for name, (seconds, pages) in took.items()}
            store = max(0.0, a_page["features"] - feature_seconds)
            update = sum(a_page.get(name, 0.0) for name in ("update", "remaining", "orphans"))
            return store, a_page.get("cluster", 0.0), update, f"seconds of job {job.id}"
    return STORE_SECONDS, CLUSTER_SECONDS, UPDATE_SECONDS, "seconds and bytes of the documented benchmarks"


def _stages(context: MaintenanceContext, job: Job) -> dict[str, tuple[float, int]]:
    """Seconds of all workers, and documents, of each stage of a job; the documents of the last stages are those of the first."""
    found: dict[str, tuple[float, int]] = {"features": (0.0, 0)}
    for plan, count in zip(job.plans, job.parts, strict=True):
        parts = [part for part, _ in context.jobs.parts(job.id, plan, range(count))]
        name = PLANS[job.what][int(plan.partition(".")[0])].name
        pages = sum(part.done for part in parts)
        found[name] = (sum(part.seconds for part in parts), max(pages, found["features"][1]))
    return found
