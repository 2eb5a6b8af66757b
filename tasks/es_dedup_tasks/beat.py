"""Beat, which sends the periodic tasks, as a thread of a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from celery import bootsteps
from celery.beat import EmbeddedService

if TYPE_CHECKING:
    from celery import Celery

OPTION: Final = "--periodic"
"""Option of ``celery worker``: also run beat. Celery's own ``--beat`` makes a process, which outlives a worker that is killed."""
SCHEDULER: Final = "celery.beat:Scheduler"  # without a file: what must outlive it is stored in Elasticsearch


class BeatStep(bootsteps.StartStopStep):  # type: ignore[misc]
    """Runs beat beside a worker that was started with ``OPTION``."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, *, periodic: bool = False, **options: Any) -> None:
        super().__init__(parent, **options)
        self.enabled = periodic

    def create(self, parent: Any) -> Any:
        """The thread; Celery starts and stops it with the worker."""
        return EmbeddedService(parent.app, thread=True, scheduler_cls=SCHEDULER)

    def stop(self, parent: Any) -> None:  # noqa: ARG002 - Celery gives it
        """End it, without waiting for a broker that does not answer."""
        self.obj.service.stop()

    terminate = stop


def add_option(app: Celery) -> None:
    """Let workers of an application take ``OPTION``."""
    app.user_options["worker"].add(
        click.Option((OPTION,), is_flag=True, help="Also send the periodic tasks.")
    )
    app.steps["worker"].add(BeatStep)
