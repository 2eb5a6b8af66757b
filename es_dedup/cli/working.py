"""``elastic worker`` and ``elastic dead``: processes that work on jobs, and pages that could not be worked on."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Annotated

import typer

from es_dedup.cli.maintaining import Inline
from es_dedup.cli.session import Session
from es_dedup.errors import NotAnIndex, QueueUnavailable
from es_dedup.temporary import folder_of_process

Ids = Annotated[list[str] | None, typer.Argument(help="Page ids (default: all).", metavar="ID…")]


def worker(
    session: Session,
    *,
    queues: str = "ingest,maintenance",
    processes: Annotated[int, typer.Option(min=1, max=256)] = 1,
    beat: bool = False,
    metrics_port: Annotated[int | None, typer.Option(min=1, max=65535)] = None,
    log_level: str = "info",
) -> None:
    """Process jobs and deferred decisions of the index named by --db, until stopped.

    One SIGTERM lets running tasks come to their next checkpoint.

    Args:
        queues: ingest, maintenance, or both, separated by a comma.
        processes: Number of concurrent tasks.
        beat: Also send the periodic tasks; exactly one worker should.
        metrics_port: Serve metrics for Prometheus on this port.
        log_level: debug, info, warning or error.
    """
    tasks = session.dispatch()
    kinds = [kind.strip() for kind in queues.split(",")]
    if unknown := [kind for kind in kinds if kind not in tasks.KINDS]:
        raise typer.BadParameter(f"unknown queue {unknown[0]}", param_hint="--queues")
    from es_dedup_tasks.worker import worker_command

    with suppress(NotAnIndex), session.site(read_only=True):
        pass  # a worker that the server refuses would only say so task by task; the index may be made later
    with session.dispatcher() as dispatcher:
        try:
            dispatcher.check()
        except QueueUnavailable as error:  # a worker has no --inline
            advice = "start Redis or set maintenance.broker"
            raise QueueUnavailable(error.queue, error.problem, advice) from error
    environment = {**os.environ, "ES_DEDUP_DB": session.db}
    if session.config is not None:
        environment["ES_DEDUP_CONFIG"] = str(session.config)
    for name, value in session.given.items():
        shown = value if isinstance(value, str) else json.dumps(value)
        environment[f"ES_DEDUP_{name.upper().replace('.', '__')}"] = shown
    if metrics_port is not None:
        environment["ES_DEDUP_METRICS_PORT"] = str(metrics_port)
        if "PROMETHEUS_MULTIPROC_DIR" not in environment:
            environment["PROMETHEUS_MULTIPROC_DIR"] = str(folder_of_process("metrics"))
    command = worker_command(session.db, kinds, processes=processes, beat=beat, log_level=log_level)
    os.execve(command[0], command, environment)  # noqa: S606 - our own interpreter


def list_(session: Session, *, limit: Annotated[int, typer.Option(min=1)] = 100) -> None:
    """Show pages that could not be worked on, and why.

    Args:
        limit: Maximum number of pages shown.
    """
    with session.site(read_only=True) as site:
        letters, total = site.jobs.dead(limit), site.jobs.count_dead()
    rows = ((each.page_id, each.task, each.attempts, each.error) for each in letters)
    session.output.table(("page", "task", "attempts", "error"), rows, letters)
    session.output.note(f"{total} dead letters")


def replay(session: Session, ids: Ids = None, *, inline: Inline = False) -> None:
    """Process dead letters again.

    A page leaves the list after it was processed, or after Redis has taken its message; without Redis the list stays as it is.
    """
    from es_dedup.maintenance.replay import replay as replay_

    with session.site() as site:
        if inline:
            replayed = replay_(site, ids)
        else:
            with session.dispatcher() as dispatcher:
                replayed = replay_(site, ids, send=dispatcher.ingest)
        left = site.jobs.count_dead()
    session.output.result({"replayed": replayed, "dead": left})


def drop(session: Session, ids: Ids = None) -> None:
    """Delete dead letters; their documents have no `dedup` field until they are changed or backfilled."""
    from es_dedup.maintenance.replay import dead_letters

    with session.site() as site:
        dropped = site.jobs.drop_dead(dead_letters(site, ids))
    session.output.result({"dropped": dropped})
