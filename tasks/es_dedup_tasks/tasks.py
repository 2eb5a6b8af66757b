"""The tasks: each takes ids, runs one use case, and may run twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from celery.exceptions import Reject

from es_dedup.errors import DedupError, QueueUnavailable, UnknownJob
from es_dedup.maintenance.dedup_field_writes import finish_overrides
from es_dedup.maintenance.deferred import ingest_or_dead_letter
from es_dedup.maintenance.expiry import expire
from es_dedup.maintenance.pending import undecided_ids
from es_dedup.maintenance.recluster import start_recluster
from es_dedup.maintenance.runner import Runner
from es_dedup.maintenance.status import BEAT
from es_dedup_tasks.app import EXPIRY_CHECKS
from es_dedup_tasks.metrics import observe, watched
from es_dedup_tasks.queues import depths, send_pages, turn
from es_dedup_tasks.sites import ProcessContext

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from celery import Celery

    from es_dedup.settings import Settings

    Result = TypeVar("Result")

LONGEST_PAUSE: Final = 60.0  # seconds between tries while the server is silent


def register(app: Celery, place: str, settings: Settings) -> None:
    """Make the tasks known to an application."""
    sites = ProcessContext(place, settings)

    @app.task(name="es_dedup.work", bind=True)  # type: ignore[untyped-decorator]
    def work(task: Any, job: str, number: int, sent: int | None = None) -> None:
        """Work on a part of a job for a while, then send what comes next."""
        further = _tried(
            task, lambda: Runner(sites.context, observe).work(job, number, sent), lambda: turn(job, number)
        )
        for following in further or ():
            task.apply_async(turn(job, following))  # what is not sent is sent by ``tend``

    @app.task(name="es_dedup.ingest", bind=True)  # type: ignore[untyped-decorator]
    def ingest(task: Any, page_ids: Sequence[str]) -> None:
        """Decide on some documents of the source index as they are now."""
        name = task.request.id  # stays when it is delivered or retried again
        halves = _tried(task, lambda: ingest_or_dead_letter(sites.context, name, list(page_ids), observe))
        try:
            for half in halves or ():
                send_pages(app, half)
        except QueueUnavailable as error:
            raise Reject(error, requeue=True) from error

    _register_periodic(app, place, settings, sites, work)


def _register_periodic(app: Celery, place: str, settings: Settings, sites: ProcessContext, work: Any) -> None:
    """The tasks that beat sends."""

    @app.task(name="es_dedup.tend")  # type: ignore[untyped-decorator]
    def tend() -> None:
        """Send the parts that nobody works on, and note that the periodic tasks run."""
        sites.context.jobs.set_time(BEAT)
        for job, number in Runner(sites.context).orphaned_partitions():
            work.apply_async(turn(job, number), expires=settings.maintenance.tend_seconds * 4)

    @app.task(name="es_dedup.recheck")  # type: ignore[untyped-decorator]
    def recheck() -> None:
        """Send the documents that still wait for a decision, when no message about them can be waiting; finish changes of overrides."""
        finish_overrides(sites.context)
        if not depths(app, place)["ingest"]:
            for page_ids in undecided_ids(sites.context):
                send_pages(app, page_ids)

    @app.task(name="es_dedup.recluster")  # type: ignore[untyped-decorator]
    def recluster() -> None:
        """Begin reclustering if one is due."""
        found = start_recluster(sites.context, settings.maintenance.recluster_hours)
        if found is not None and found.parts:
            for number in range(found.parts[-1]):
                work.apply_async(turn(found.id, number))

    @app.task(name="es_dedup.expiry")  # type: ignore[untyped-decorator]
    def expiry() -> None:
        """Remove pages past their time to live for a while, then send itself if some are left."""
        if expire(sites.context):
            expiry.apply_async(expires=EXPIRY_CHECKS)


def _tried(
    task: Any, call: Callable[[], Result], again: Callable[[], tuple[Any, ...]] | None = None
) -> Result | None:
    """A call's result; what may be repeated is, a little later, with other arguments; a job that is not there any more is no work."""
    try:
        with watched(task.name):
            return call()
    except UnknownJob:
        return None
    except DedupError as error:
        if not error.retryable:
            raise
        pause = min(LONGEST_PAUSE, 2.0**task.request.retries)
        try:
            args = None if again is None else again()
            raise task.retry(args, exc=error, countdown=pause, max_retries=None) from error
        except Reject as unsent:  # Celery drops the message when it cannot send the next one
            raise Reject(unsent.reason, requeue=True) from error
