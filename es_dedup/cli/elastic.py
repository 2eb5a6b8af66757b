"""``elastic``: source indices on Elasticsearch, the jobs that work on them, and pages that could not be worked on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.session import Session
from es_dedup.cli.targets import output_target
from es_dedup.errors import DedupError, NotAnIndex, QueueUnavailable
from es_dedup.index.jobs import Job, JobState
from es_dedup.index.source_index import SourceFields
from es_dedup.maintenance import attach as attaching
from es_dedup.maintenance import audit as auditing
from es_dedup.maintenance import purge as purging
from es_dedup.maintenance import reindex as reindexing
from es_dedup.maintenance.backfill import KINDS
from es_dedup.maintenance.runner import Runner, preview, run_follow, start_follow
from es_dedup.maintenance.status import FOLLOW, job_status, unfinished_jobs
from es_dedup.temporary import folder_of_process

if TYPE_CHECKING:
    from es_dedup.batch.whole_corpus import ReclusterReport
    from es_dedup.maintenance.context import MaintenanceContext

LOOK_SECONDS: Final = 1.0  # between looks at how far a job is
SHOWN_NAMES: Final = 5
Target = Annotated[str, typer.Argument(help="Index, alias, data stream or pattern.", metavar="INDEX")]
DryRun = Annotated[bool, typer.Option(help="Report what would be done; write nothing.")]
Force = Annotated[bool, typer.Option(help="Run even if very many documents would change.")]
Unchecked = Annotated[
    bool, typer.Option(help="Run even if sampled documents lack the fields or no index matches yet.")
]
Inline = Annotated[bool, typer.Option(help="Work in this process, without Redis and workers.")]
Rate = Annotated[
    float | None, typer.Option(min=0.1, help="Maximum number of documents per second and worker.")
]

Ids = Annotated[list[str] | None, typer.Argument(help="Page ids (default: all).", metavar="ID…")]


def attach(
    session: Session,
    target: Target,
    *,
    content_field: str,
    html: bool = False,
    title_field: str = "title",
    url_field: str = "url",
    published_field: str = "",
    site_field: str = "",
    dry_run: DryRun = False,
    force: Unchecked = False,
) -> None:
    """Attach a source index: add the mapping of `dedup` to it, and record which fields to read.

    Documents are not changed; `elastic backfill` writes their `dedup` fields.

    Args:
        content_field: Field with the main text, or with HTML.
        html: The content is HTML and is extracted.
        title_field: Field with the title.
        url_field: Field with the URL.
        published_field: Field with the time of publication.
        site_field: Field with the site (default: taken from the URL).
    """
    fields = SourceFields(content_field, html, title_field, url_field, published_field, site_field)
    with session.site() as site:
        done = attaching.attach(site, target, fields, dry_run=dry_run, force=force)
    facts = {"indices": done.indices, "documents": done.documents}
    if done.indices != (target,):
        facts["add to your index template"] = json.dumps({"mappings": {"properties": done.mapping}})
    head = "would be attached" if dry_run else "attached"
    session.output.result({head: target, **facts}, {"dry_run": dry_run, **asdict(done)})
    for warning in done.warnings:
        session.output.warn(warning)


def detach(
    session: Session,
    target: Target,
    *,
    keep_fields: bool = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> None:
    """Detach a source index: remove the `dedup` field from its documents and its pages from the index.

    Args:
        keep_fields: Keep the `dedup` field in the documents.
    """
    with session.site() as site:
        done = asdict(attaching.detach(site, target, keep_fields=keep_fields, dry_run=dry_run, force=force))
    head = "would be detached" if dry_run else "detached"
    session.output.result({head: target, **done}, {"dry_run": dry_run, **done})


def backfill(
    session: Session,
    target: Annotated[str | None, typer.Argument(metavar="INDEX")] = None,
    *,
    inline: Inline = False,
    rate: Rate = None,
    force: Unchecked = False,
) -> None:
    """Store features of all documents of attached indices, cluster them and write their `dedup` fields.

    Documents whose stored features are current are skipped. Backfill is a job: `elastic jobs` shows, pauses and resumes it; the same command goes on with it.

    Args:
        target: An attached target (default: all).
    """
    with session.site() as site:
        options = {"target": target, "force": force, **({"rate": rate} if rate else {})}
        run_job(session, site, "backfill", options, inline=inline)


def reindex(session: Session, *, roll_back: bool = False, abandon: bool = False) -> None:
    """Rebuild all features with the current settings, verify them, switch over, and update the documents.

    An interrupted run is resumed by the same command. The old features are kept for --roll-back.

    Args:
        roll_back: Switch back to the previous generation.
        abandon: Remove an unfinished generation.
    """
    session.reach()
    place, settings = session.db, session.settings
    if abandon:
        facts: dict[str, Any] = {"abandoned": reindexing.abandon(place, settings)}
    elif roll_back:
        facts = {"rolled back": True, "updated": reindexing.roll_back(place, settings)}
    else:
        facts = asdict(reindexing.reindex(place, settings, report_progress=session.output.note))
    session.output.result(facts)


def recluster(
    session: Session, *, inline: Inline = False, dry_run: DryRun = False, force: Force = False
) -> None:
    """Learn statistics and compare and cluster all stored pages again, with the current settings.

    This applies changed presets, thresholds and canonical order. No page is read again. With attached indices it is a job that also
    updates their documents; else it runs in this process.
    """
    if session.remote:
        with session.site() as site:
            if site.attachments and dry_run:
                _show_recluster(session, preview(site, force=True), dry_run=True)
                return
            if site.attachments:
                if not force:
                    preview(site, force=False)  # refuses where very many documents would change
                run_job(session, site, "recluster", {}, inline=inline)
                return
    with session.write(dry_run=dry_run, whole=True) as dedup, session.progress() as progress:
        done = dedup.recluster(progress, dry_run=dry_run)
    _show_recluster(session, done, dry_run=dry_run)


def _show_recluster(session: Session, done: ReclusterReport, *, dry_run: bool) -> None:
    facts = {
        "pages": done.pages,
        "clusters": f"{done.clusters:,} (before: {done.clusters_before:,})",
        "pages with another canonical document": done.changed,
    }
    session.output.result(facts, {"dry_run": dry_run, **asdict(done)})
    if done.without_text:
        session.output.warn(
            f"{done.without_text:,} pages of sites with ignored passages have no kept text: these passages count there as before, until the pages are added again"
        )


def audit(session: Session, *, repair: bool = False, force: Force = False) -> ExitCode:
    """Compare index, clusters and documents. Ends with code 1 when they do not agree and nothing was repaired.

    Args:
        repair: Repair what is found.
    """
    output = session.output
    with session.site(read_only=not repair) as site:
        found = auditing.audit(site, repair=repair, force=force)
        working = [] if found.clean else [each for each in unfinished_jobs(site) if each.what != FOLLOW]
    said = found.as_dict()
    facts = {name: said[name] for name in ("documents", "pages", "clusters", "dead")}
    facts |= {auditing.KINDS[kind]: len(names) for kind, names in found.found.items() if names}
    output.result(facts, said)
    for kind, names in found.found.items():
        for name in names[:SHOWN_NAMES]:
            output.warn(f"{kind}: {name}")
    output.facts({f"repaired: {name}": count for name, count in found.repaired.items()})
    if repair or found.clean:
        return ExitCode.OK
    for job in working:
        advice = "audit again when it is done"
        if job.state != JobState.RUNNING:
            advice = f"`es-dedup elastic jobs {job.id} --resume` goes on with it, `--cancel` ends it"
        output.warn(f"{job.what} {job.id} is {job.state}: {advice}")
    if all(job.state != JobState.RUNNING for job in working):
        output.warn("`es-dedup elastic audit --repair` repairs it")
    return ExitCode.ERROR


def purge(
    session: Session,
    target: Target,
    *,
    apply: bool = False,
    backup: Annotated[Path | None, typer.Option(dir_okay=False)] = None,
    no_backup: bool = False,
    rate: Rate = None,
    force: Force = False,
) -> ExitCode:
    """Delete marked copies from an attached index; without --apply only say how many.

    A copy stays where its `dedup` field is not the current decision, its canonical document is not there, one of
    the two was changed since it was decided on, or it was written meanwhile.
    The command may be repeated when it was interrupted. Ends with code 3 when some copies stay.

    Args:
        apply: Delete; without it nothing is changed.
        backup: New file for the deleted documents, as a body of _bulk.
        no_backup: Delete without a backup.
    """
    if apply and (backup is None) == (not no_backup):
        raise typer.BadParameter("--apply needs either --backup FILE or --no-backup", param_hint="--apply")
    output = session.output
    if backup is not None:
        output_target(backup, session, "--backup")
        if apply and backup.exists():
            problem = (
                f"{backup} is there already, perhaps with what an earlier run has deleted: name a new file"
            )
            raise typer.BadParameter(problem, param_hint="--backup")
    with session.site() as site, session.progress() as progress:
        counter = progress.counter("purge")
        done = purging.purge(
            site, target, backup, dry_run=not apply, rate=rate, force=force, progress=counter
        )
    shown = {"deleted" if apply else "would be deleted": done.deleted, "not there any more": done.gone}
    kept = {f"kept: {reason}": count for reason, count in done.kept.items()}
    said = {"dry_run": not apply, "deleted": done.deleted, "gone": done.gone, "kept": dict(done.kept)}
    output.result({**shown, **kept, "preset": done.preset}, {**said, "preset": done.preset})
    if not apply:
        output.note("nothing was deleted; --apply --backup FILE deletes")
    elif done.kept:
        advice = "`es-dedup elastic audit --repair` brings dedup fields up to date"
        output.warn(f"{advice}; then repeat the command")
        return ExitCode.LEFT_OUT
    return ExitCode.OK


def jobs(
    session: Session,
    job: str | None = None,
    *,
    pause: bool = False,
    resume: bool = False,
    cancel: bool = False,
    inline: Inline = False,
) -> None:
    """Show jobs with progress, rate and time left; pause, resume or cancel one.

    Args:
        job: Id of one job.
        pause: Stop after the current batches.
        resume: Resume.
        cancel: Cancel; what is written stays.
    """
    asked = {JobState.PAUSED: pause, JobState.RUNNING: resume, JobState.CANCELLED: cancel}
    states = [state for state, given in asked.items() if given]
    if states and (job is None or len(states) > 1):
        raise typer.BadParameter("name one JOB and one of --pause, --resume and --cancel")
    with session.site(read_only=not states) as site:
        if job is not None and states:
            if resume and not inline:
                _check_queue(session)
            changed = Runner(site).set_state(job, states[0])
            if resume:
                _dispatch(session, site, changed, inline=inline)
        _show_jobs(session, site, [each for each in site.jobs.jobs() if job in (None, each.id)])


def follow(session: Session, *, once: bool = False, inline: Inline = False, rate: Rate = None) -> None:
    """Keep attached indices deduplicated while others write to them without a hook, until stopped.

    New and changed documents are found by sequence numbers, deleted ones by counts of deletions. It goes on where it, or the last
    backfill, ended. `index stats` shows how far behind it is.

    Args:
        once: End when everything that was written is processed.
    """
    run = partial(run_follow, report_problem=session.output.note)
    with session.site() as site:
        if not inline:
            _check_queue(session)
        job, begun = start_follow(site, once=once, rate=rate)
        session.output.note(f"job {job.id} {'begins' if begun else 'goes on'}")
        if inline:
            job = _work_here(session, site, job.id, run, "" if once else "elastic follow --inline")
        else:
            _dispatch(session, site, job, inline=False)
        _show_jobs(session, site, [job])


def run_job(
    session: Session, site: MaintenanceContext, what: str, options: Mapping[str, Any], *, inline: bool
) -> None:
    """Begin a job, or go on with it, and work on it here or have workers do so; without a queue for the workers no job is begun."""
    output = session.output
    if not inline:
        _check_queue(session)
    job, begun = Runner(site).begin(what, options)
    note = f"job {job.id}{'' if begun else ' goes on'}; `es-dedup --db {session.place} elastic jobs {job.id}` shows how far it is"
    if inline:
        output.note(note)
    job = _dispatch(session, site, job, inline=inline)
    if not inline:
        output.note(note)
    _show_jobs(session, site, [job])


def _check_queue(session: Session) -> None:
    with session.dispatcher() as dispatcher:
        dispatcher.check()


def _dispatch(session: Session, site: MaintenanceContext, job: Job, *, inline: bool) -> Job:
    """Work on a job here, or send its parts to workers; a job whose parts cannot be sent is paused."""
    runner = Runner(site)
    if inline:
        return _work_here(session, site, job.id, Runner.run)
    with session.dispatcher() as dispatcher:
        try:
            dispatcher.work(job.id, runner.due(job.id), KINDS[job.what].queue)
        except QueueUnavailable as error:
            runner.set_state(job.id, JobState.PAUSED, f"Redis does not answer ({error.problem})")
            advice = f"job {job.id} is paused; start Redis, then `es-dedup elastic jobs {job.id} --resume`"
            raise QueueUnavailable(error.queue, error.problem, advice) from error
    return job


def _work_here(
    session: Session,
    site: MaintenanceContext,
    job_id: str,
    run: Callable[[Runner, str], Job],
    resume: str = "",
) -> Job:
    """Work on a job until it is over, with progress; Ctrl-C pauses it where nobody else works on it, and ``resume`` is the command that goes on."""
    last_look = -LOOK_SECONDS

    def show(_stage: str, _counts: Mapping[str, int], _seconds: float) -> None:
        nonlocal last_look
        if time.monotonic() - last_look < LOOK_SECONDS:
            return
        last_look = time.monotonic()
        if found := site.jobs.job(job_id):
            status = job_status(site, found[0])
            progress.count(status.stage, status.done, status.total)

    runner = Runner(site, show)
    if leased := runner.taken(job_id):
        seconds = site.settings.maintenance.lease_seconds
        session.output.note(
            f"{leased} of its parts are held by another process; if that was killed, they are free {seconds:g} s after its last sign of life"
        )
    with session.progress() as progress:
        try:
            return run(runner, job_id)
        except KeyboardInterrupt:
            session.writing, session.resume = True, resume or f"elastic jobs {job_id} --resume --inline"
            with suppress(DedupError):
                if runner.taken(job_id):  # as where this process only waited to take over
                    session.kept = f"other processes go on with job {job_id}"
                else:
                    runner.set_state(job_id, JobState.PAUSED, "interrupted")
                    session.kept = f"job {job_id} is paused and keeps what it has done"
            raise


def _show_jobs(session: Session, site: MaintenanceContext, jobs: list[Job]) -> None:
    """A table of jobs."""
    listed = [job_status(site, each) for each in jobs]
    head = ("job", "what", "state", "stage", "progress", "counts", "note")
    session.output.table(head, (each.row() for each in listed), listed)


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
    from es_dedup_tasks.dispatch import worker_command

    with suppress(NotAnIndex), session.site(read_only=True):
        pass  # a worker that the server refuses would only say so task by task; the index may be made later
    _check_queue(session)
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
    with session.site() as site:
        if inline:
            replayed = site.replay(ids)
        else:
            with session.dispatcher() as dispatcher:
                replayed = site.replay(ids, send=dispatcher.ingest)
        left = site.jobs.count_dead()
    session.output.result({"replayed": replayed, "dead": left})


def drop(session: Session, ids: Ids = None) -> None:
    """Delete dead letters; their documents have no `dedup` field until they are changed or backfilled."""
    with session.site() as site:
        dropped = site.jobs.drop_dead(site.dead_letters(ids))
    session.output.result({"dropped": dropped})
