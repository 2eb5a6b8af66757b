"""Reclustering as a job: all clusters are made again from stored features, without any text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from es_dedup.maintenance.backfill import Recluster
from es_dedup.maintenance.follow_stage import Follow
from es_dedup.maintenance.mass_change_guard import guard
from es_dedup.maintenance.plans import PLANS
from es_dedup.maintenance.runner import Runner
from es_dedup.settings.recorded import STATISTICS, decision_settings, decisions_in, with_recorded

if TYPE_CHECKING:
    from es_dedup.deduplicator.deduplicator import ReclusterReport
    from es_dedup.index.jobs import Job
    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.settings import Settings


def preview(
    context: MaintenanceContext, *, force: bool = False, settings: Settings | None = None
) -> ReclusterReport:
    """What reclustering with these settings, or the current ones, would change; nothing is written.

    Raises:
        MassChange: more pages would change than the guard allows, and it is not forced.
    """
    report = context.dedup.recluster(dry_run=True, settings=settings)
    guard("recluster", report.changed, report.pages, context.settings, force=force)
    return report


def start_recluster(context: MaintenanceContext, hours: float = 0.0) -> Job | None:
    """Begin reclustering as a job, if one is due, with the decision settings that the index records.

    Args:
        site: with its attachments.
        hours: since the end of the last job that was to cluster everything, whoever started it and however it ended.

    Returns:
        The job; None when none is due, nothing is attached, or another job is under way.
    """
    if not context.attachments:
        return None
    jobs = context.jobs.jobs()
    earliest = time.time() * 1000 - hours * 3_600_000
    under_way = any(not job.state.over and job.what != Follow.name for job in jobs)  # following has no end
    if under_way or any(reclusters(job) and job.changed > earliest for job in jobs):
        return None
    # without the settings that a later release has removed, which ``settings_of`` refuses
    settings = with_recorded(context.settings, decisions_in(context.index.note(STATISTICS)))
    return Runner(context).start("recluster", {"settings": decision_settings(settings)})


def reclusters(job: Job) -> bool:
    """Whether a job clusters everything."""
    return any(isinstance(stage, Recluster) for stage in PLANS[job.what])
