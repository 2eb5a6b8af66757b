"""The tasks: each takes the id of a job, or nothing, runs one use case, and may run twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from celery.exceptions import Reject

from es_dedup.errors import DedupError, UnknownJob
from es_dedup.maintenance.backfill import KINDS
from es_dedup.maintenance.runner import Runner, Turn, start_recheck, start_recluster
from es_dedup.maintenance.status import BEAT
from es_dedup_tasks.dispatch import depths, opener, send, sent_now
from es_dedup_tasks.metrics import observe, watched

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery

    from es_dedup.index.jobs import Job
    from es_dedup.settings import Settings

LONGEST_PAUSE: Final = 60.0  # seconds between tries while the server is silent


def register(app: Celery, place: str, settings: Settings) -> None:
    """Make the tasks known to an application: one for jobs, and those that beat sends."""
    context = opener(place, settings)

    def send_job(job: Job | None) -> None:
        if job is not None:
            send(app, place, job.id, Runner(context()).due(job.id), KINDS[job.what].queue)

    @app.task(name="es_dedup.work", bind=True)  # type: ignore[untyped-decorator]
    def work(task: Any, job_id: str) -> None:
        """Work on a part of a job for a while, then send what comes next."""
        kind = task.request.delivery_info["routing_key"].rpartition(".")[2]
        turn = _turn(task, lambda: Runner(context(), observe).turn(job_id, task.request.get("sent")))
        send(app, place, job_id, turn.due, kind)

    @app.task(name="es_dedup.tend")  # type: ignore[untyped-decorator]
    def tend() -> None:
        """Send the parts that nobody works on, and note that the periodic tasks run."""
        context().jobs.set_time(BEAT)
        nothing_waits = not depths(app, place)["ingest"]  # else messages about brief jobs may be waiting
        for job, count in Runner(context()).orphans(brief=nothing_waits):
            send(app, place, job.id, count, KINDS[job.what].queue, settings.maintenance.tend_seconds * 4)

    @app.task(name="es_dedup.recheck")  # type: ignore[untyped-decorator]
    def recheck() -> None:
        """Have documents that still wait decided on when no job is about them; finish changes of overrides; let statistics follow."""
        context().finish_overrides()
        send_job(start_recheck(context()))
        context().tend_statistics()

    @app.task(name="es_dedup.recluster")  # type: ignore[untyped-decorator]
    def recluster() -> None:
        """Begin reclustering if one is due."""
        send_job(start_recluster(context(), settings.maintenance.recluster_hours))


def _turn(task: Any, take: Callable[[], Turn]) -> Turn:
    """Take a turn; one that may be repeated is, a little later; a job that is not there any more is no work."""
    try:
        with watched(task.name):
            return take()
    except UnknownJob:
        return Turn(worked=False, due=0)
    except Exception as error:
        if isinstance(error, DedupError) and not error.retryable:
            raise
        pause = min(LONGEST_PAUSE, 2.0**task.request.retries)
        try:
            raise task.retry(exc=error, countdown=pause, max_retries=None, headers=sent_now()) from error
        except Reject as unsent:  # Celery drops the message when it cannot send the next one
            raise Reject(unsent.reason, requeue=True) from error
