"""Clusters made anew from stored features, without any text: after new limits, or to heal what races have left."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_dedup.batch.settle import judge_corpus, load_corpus
from es_dedup.clustering import cluster_all
from es_dedup.maintenance.backfill import Settle
from es_dedup.maintenance.guard import guard
from es_dedup.maintenance.plans import PLANS
from es_dedup.maintenance.runner import Runner

if TYPE_CHECKING:
    from es_dedup.index.jobs import Job
    from es_dedup.maintenance.site import Site


@dataclass(frozen=True, slots=True)
class Preview:
    """What a sweep would do: pages stored, pages whose representative would be another, clusters now and then."""

    pages: int
    changed: int
    clusters: int
    clusters_then: int


def preview(site: Site, *, force: bool = False) -> Preview:
    """Judge and cluster everything anew with the settings in force, and compare with what is stored; nothing is written.

    Raises:
        MassChange: more pages would change than the guard allows, and it is not forced.
    """
    corpus = load_corpus(site.index)
    found = judge_corpus(corpus, site.settings, lambda _: None)
    then = cluster_all(corpus.keys, found.edges, site.settings.cluster)
    now = {each.page_id: each.representative for group in site.index.clusters() for each in group}
    changed = sum(now.get(name) != each.representative for name, each in then.items())
    guard("sweep", changed, len(corpus.keys), site.settings, force=force)
    clusters, clusters_then = len(set(now.values())), len({each.representative for each in then.values()})
    return Preview(len(corpus.keys), changed, clusters, clusters_then)


def start_sweep(site: Site, hours: float = 0.0) -> Job | None:
    """Begin a sweep as a job, if one is due.

    Args:
        site: with its attachments.
        hours: since the end of the last job that was to cluster everything, whoever started it and however it ended.

    Returns:
        The job; None when none is due, nothing is attached, or another job is under way.
    """
    if not site.attachments:
        return None
    jobs = site.jobs.jobs()
    earliest = time.time() * 1000 - hours * 3_600_000
    if any(not job.state.over or (_settles(job) and job.changed > earliest) for job in jobs):
        return None
    return Runner(site).start("sweep", {})


def _settles(job: Job) -> bool:
    return any(isinstance(stage, Settle) for stage in PLANS[job.what])
