"""``attach``, ``backfill`` and related commands: maintenance of source indices on Elasticsearch."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import Session, session_of
from es_dedup.cli.sites import dispatcher_of, site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from es_dedup.deduplicator.deduplicator import ReclusterReport
    from es_dedup.index.jobs import Job
    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.maintenance.runner import Runner
    from es_dedup.maintenance.status import JobStatus

LOOK_SECONDS: Final = 1.0  # between looks at how far a job is

Target = Annotated[
    str, typer.Argument(help="Index, alias, data stream or pattern.", metavar="INDEX", show_default=False)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Report what would be done; write nothing.")]
Force = Annotated[bool, typer.Option("--force", help="Run even if very many documents would change.")]
Unchecked = Annotated[
    bool,
    typer.Option("--force", help="Run even if sampled documents lack the fields or no index matches yet."),
]
Inline = Annotated[bool, typer.Option("--inline", help="Work in this process, without Redis and workers.")]
Rate = Annotated[
    float | None, typer.Option(min=0.1, help="Maximum number of documents per second and worker.")
]


def attach(
    context: typer.Context,
    target: Target,
    content_field: Annotated[str, typer.Option(help="Field with the main text, or with HTML.")],
    html: Annotated[bool, typer.Option("--html", help="The content is HTML and is extracted.")] = False,
    title_field: Annotated[str, typer.Option(help="Field with the title.")] = "title",
    url_field: Annotated[str, typer.Option(help="Field with the URL.")] = "url",
    published_field: Annotated[str, typer.Option(help="Field with the time of publication.")] = "",
    site_field: Annotated[str, typer.Option(help="Field with the site (default: taken from the URL).")] = "",
    external_versions: Annotated[
        bool,
        typer.Option("--external-versions", help="Documents have external versions, which are kept."),
    ] = False,
    own_templates: Annotated[
        bool,
        typer.Option(
            "--own-templates", help="Create only a component template, to be named in your index templates."
        ),
    ] = False,
    dry_run: DryRun = False,
    force: Unchecked = False,
) -> None:
    """Attach a source index: add the mapping of `dedup` to it and to future matching indices, and record which fields to read.

    Documents are not changed; `elastic backfill` writes their `dedup` fields.
    """
    from es_dedup.index.source_index import SourceFields
    from es_dedup.maintenance.attach import attach as attach_

    session = session_of(context)
    fields = SourceFields(content_field, html, title_field, url_field, published_field, site_field)
    with site_of(session) as site:
        done = attach_(
            site,
            target,
            fields,
            external_versions=external_versions,
            own_templates=own_templates,
            dry_run=dry_run,
            force=force,
        )
    session.output.result(
        {
            "would be attached" if dry_run else "attached": target,
            "indices": done.indices,
            "documents": done.documents,
            "indices to come": done.template,
        },
        {"dry_run": dry_run, **asdict(done)},
    )
    for warning in done.warnings:
        session.output.warn(warning)


def detach(
    context: typer.Context,
    target: Target,
    keep_fields: Annotated[bool, typer.Option(help="Keep the `dedup` field in the documents.")] = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> None:
    """Detach a source index: remove the `dedup` field from its documents and its pages from the index."""
    from es_dedup.maintenance.detach import detach as detach_

    session = session_of(context)
    with site_of(session) as site:
        done = detach_(site, target, keep_fields=keep_fields, dry_run=dry_run, force=force)
    session.output.result(
        {"would be detached" if dry_run else "detached": target, **asdict(done)},
        {"dry_run": dry_run, **asdict(done)},
    )


def backfill(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(help="An attached target (default: all).", metavar="INDEX", show_default=False),
    ] = None,
    inline: Inline = False,
    rate: Rate = None,
    dry_run: DryRun = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Forecast bytes and duration from a sample; write nothing.")
    ] = False,
    workers: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of worker processes that --estimate reckons with.")
    ] = 1,
    force: Unchecked = False,
) -> None:
    """Store features of all documents of attached indices, cluster them and write their `dedup` fields.

    Documents whose stored features are current are skipped. Backfill is a job: `elastic jobs` shows, pauses and resumes it; the same command goes on with it.
    """
    session = session_of(context)
    with site_of(session) as site:
        if estimate:
            _show_forecast(session, site, target, workers)
            return
        if dry_run:
            shards = {
                index: sum(shard.documents for shard in site.source_index.shards(index))
                for index in site.indices(target)
            }
            session.output.result(
                {"would be read": sum(shards.values()), **shards}, {"dry_run": True, "documents": shards}
            )
            return
        options = {"target": target, "force": force, **({"rate": rate} if rate else {})}
        run_job(session, site, "backfill", options, inline=inline)


def _show_forecast(session: Session, site: MaintenanceContext, target: str | None, workers: int) -> None:
    from es_dedup.maintenance.forecast import forecast

    found = forecast(site, target).as_dict(workers)
    seconds, a_page, size = found["seconds_a_page"], found["bytes_a_page"], found["bytes"]
    session.output.result(
        {
            "documents": found["total"],
            "sampled": found["sampled"],
            "milliseconds a page": {name: round(1000 * each, 3) for name, each in seconds.items()},
            "bytes a page": a_page,
            "feature index": f"{size['merged'] / 1e6:,.1f} MB once merged, {size['after_load'] / 1e6:,.1f} MB right after the load",
            "temporary files": f"{size['temporary'] / 1e6:,.1f} MB while everything is clustered",
            "duration": f"{found['seconds']:,.0f} s with {workers} workers on as many idle cores",
            "figures": f"features measured on the sample; {found['source']}",
        },
        {"estimate": True, **found},
    )


def reindex(
    context: typer.Context,
    roll_back: Annotated[
        bool, typer.Option("--roll-back", help="Switch back to the previous generation.")
    ] = False,
    abandon: Annotated[bool, typer.Option("--abandon", help="Remove an unfinished generation.")] = False,
) -> None:
    """Rebuild all features with the current settings, verify them, switch over, and update the documents.

    An interrupted run is resumed by the same command. The old features are kept for --roll-back.
    """
    from es_dedup.maintenance import reindex as reindexing

    session = session_of(context)
    session.reach()
    if abandon:
        facts: dict[str, Any] = {"abandoned": reindexing.abandon(session.db, session.settings)}
    elif roll_back:
        facts = {"rolled back": True, "updated": reindexing.roll_back(session.db, session.settings)}
    else:
        facts = asdict(reindexing.reindex(session.db, session.settings, report_progress=session.output.note))
    session.output.result(facts)


def recluster(
    context: typer.Context, inline: Inline = False, dry_run: DryRun = False, force: Force = False
) -> None:
    """Learn statistics and compare and cluster all stored pages again, with the current settings.

    This applies changed presets, thresholds and canonical order. No page is read again. With attached indices it is a job that also
    updates their documents; else it runs in this process.
    """
    session = session_of(context)
    if session.remote:
        from es_dedup.maintenance.recluster import preview

        with site_of(session) as site:
            if site.attachments:
                if dry_run or not force:
                    found = preview(site, force=force or dry_run)
                if dry_run:
                    _show_recluster(session, found, dry_run=True)
                else:
                    run_job(session, site, "recluster", {}, inline=inline)
                return
    with (
        session.write(dry_run=dry_run, whole=True) as dedup,
        ProgressDisplay(quiet=session.output.quiet) as progress,
    ):
        done = dedup.recluster(progress, dry_run=dry_run)
    _show_recluster(session, done, dry_run=dry_run)


def _show_recluster(session: Session, done: ReclusterReport, *, dry_run: bool) -> None:
    session.output.result(
        {
            "pages": done.pages,
            "clusters": f"{done.clusters:,} (before: {done.clusters_before:,})",
            "pages with another canonical document": done.changed,
        },
        {"dry_run": dry_run, **asdict(done)},
    )
    if done.without_text:
        session.output.warn(
            f"{done.without_text:,} pages of sites with ignored passages have no kept text: these passages count there as before, until the pages are added again"
        )


def audit(
    context: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what is found.")] = False,
    force: Force = False,
) -> None:
    """Compare index, clusters and documents. Ends with code 1 when they do not agree and nothing was repaired."""
    from es_dedup.maintenance.audit import KINDS
    from es_dedup.maintenance.audit import audit as audit_

    session = session_of(context)
    with site_of(session, read_only=not repair) as site:
        found = audit_(site, repair=repair, force=force)
    said = found.as_dict()
    facts = {name: said[name] for name in ("documents", "pages", "clusters", "dead")}
    kinds = {KINDS[kind]: len(names) for kind, names in found.found.items() if names}
    session.output.result(facts | kinds, said)
    for kind, names in found.found.items():
        for name in names[:5]:
            session.output.warn(f"{kind}: {name}")
    if repair:
        session.output.facts({f"repaired: {name}": count for name, count in found.repaired.items()})
    elif not found.clean:
        session.output.warn("`es-dedup elastic audit --repair` repairs it")
        raise typer.Exit(ExitCode.ERROR)


def jobs(
    context: typer.Context,
    job: Annotated[
        str | None, typer.Argument(help="Id of one job.", metavar="JOB", show_default=False)
    ] = None,
    pause: Annotated[bool, typer.Option("--pause", help="Stop after the current batches.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel; what is written stays.")] = False,
    inline: Inline = False,
) -> None:
    """Show jobs with progress, rate and time left; pause, resume or cancel one."""
    from es_dedup.index.jobs import JobState
    from es_dedup.maintenance.runner import Runner
    from es_dedup.maintenance.status import job_status

    session = session_of(context)
    wanted = {JobState.PAUSED: pause, JobState.RUNNING: resume, JobState.CANCELLED: cancel}
    chosen = [state for state, given in wanted.items() if given]
    if chosen and (job is None or len(chosen) > 1):
        raise typer.BadParameter("name one JOB and one of --pause, --resume and --cancel")
    with site_of(session, read_only=not chosen) as site:
        if job is not None and chosen:
            if chosen[0] is JobState.RUNNING and not inline:
                _check_queue(session)
            found = Runner(site).set_state(job, chosen[0])
            if chosen[0] is JobState.RUNNING:
                _dispatch(session, site, found, inline=inline)
        listed = [each for each in site.jobs.jobs() if job in (None, each.id)]
        show_jobs(session, [job_status(site, each) for each in listed])


def follow(
    context: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="End when everything that was written is processed.")
    ] = False,
    inline: Inline = False,
    rate: Rate = None,
) -> None:
    """Keep attached indices deduplicated while others write to them without a hook, until stopped.

    New and changed documents are found by sequence numbers, deleted ones by counts of deletions. It goes on where it, or the last
    backfill, ended. `index stats` shows how far behind it is.
    """
    from es_dedup.maintenance.follow import run_follow, start_follow
    from es_dedup.maintenance.status import job_status

    session = session_of(context)
    with site_of(session) as site:
        if not inline:
            _check_queue(session)
        job, begun = start_follow(site, once=once, rate=rate)
        session.output.note(f"job {job.id} {'begins' if begun else 'goes on'}")
        if inline:
            job = _work_here(
                session,
                site,
                job.id,
                run=lambda runner, job_id: run_follow(runner, job_id, session.output.note),
                resume="" if once else "elastic follow --inline",
            )
        else:
            job = _dispatch(session, site, job, inline=False)
        show_jobs(session, [job_status(site, job)])


def run_job(
    session: Session, site: MaintenanceContext, what: str, options: Mapping[str, Any], *, inline: bool
) -> None:
    """Begin a job, or go on with it, and work on it here or have workers do so; without a queue for the workers no job is begun."""
    from es_dedup.maintenance.runner import Runner
    from es_dedup.maintenance.status import job_status

    if not inline:
        _check_queue(session)
    job, begun = Runner(site).begin(what, options)
    note = f"job {job.id}{'' if begun else ' goes on'}; `es-dedup --db {session.place} elastic jobs {job.id}` shows how far it is"
    if inline:
        session.output.note(note)
        if held := Runner(site).held(job.id):
            seconds = site.settings.maintenance.lease_seconds
            session.output.note(
                f"{held} of its parts are held by another process; if that was killed, they are free {seconds:g} s after its last sign of life"
            )
    job = _dispatch(session, site, job, inline=inline)
    if not inline:
        session.output.note(note)
    show_jobs(session, [job_status(site, job)])


def _check_queue(session: Session) -> None:
    with dispatcher_of(session) as dispatcher:
        dispatcher.check()


def _dispatch(session: Session, site: MaintenanceContext, job: Job, *, inline: bool) -> Job:
    """Work on a job here, or send its parts to workers; a job whose parts cannot be sent is paused."""
    from es_dedup.errors import QueueUnavailable
    from es_dedup.index.jobs import JobState
    from es_dedup.maintenance.runner import Runner

    runner = Runner(site)
    if inline:
        return _work_here(session, site, job.id)
    with dispatcher_of(session) as dispatcher:
        try:
            dispatcher.work(job.id, runner.waiting(job.id))
        except QueueUnavailable as error:
            runner.set_state(job.id, JobState.PAUSED, f"Redis does not answer ({error.problem})")
            advice = f"job {job.id} is paused; start Redis, then `es-dedup elastic jobs {job.id} --resume`"
            raise QueueUnavailable(error.queue, error.problem, advice) from error
    return job


def _work_here(
    session: Session,
    site: MaintenanceContext,
    job_id: str,
    *,
    run: Callable[[Runner, str], Job] = lambda runner, job_id: runner.run(job_id),
    resume: str = "",
) -> Job:
    """Work on a job until it is over, with progress; Ctrl-C pauses it, and ``resume`` is the command that goes on."""
    from es_dedup.cli.progress import ProgressDisplay
    from es_dedup.errors import DedupError
    from es_dedup.index.jobs import JobState
    from es_dedup.maintenance.runner import Runner
    from es_dedup.maintenance.status import job_status

    looked = -LOOK_SECONDS

    def show(_stage: str, _counts: Mapping[str, int], _seconds: float) -> None:
        nonlocal looked
        if time.monotonic() - looked < LOOK_SECONDS:
            return
        looked = time.monotonic()
        found = site.jobs.job(job_id)
        if found is not None:
            status = job_status(site, found[0])
            progress.count(status.stage, status.done, status.total)

    runner = Runner(site, show)
    with ProgressDisplay(quiet=session.output.quiet) as progress:
        try:
            return run(runner, job_id)
        except KeyboardInterrupt:
            session.writing, session.resume = True, resume or f"elastic jobs {job_id} --resume --inline"
            with suppress(DedupError):
                runner.set_state(job_id, JobState.PAUSED, "interrupted")
                session.kept = f"job {job_id} is paused and keeps what it has done"
            raise


def show_jobs(session: Session, listed: list[JobStatus]) -> None:
    """A table of jobs."""
    for each in listed:
        session.output.emit(each.as_dict())
    head = ("job", "what", "state", "stage", "done", "of", "a second", "seconds left", "counts", "note")
    session.output.table(head, (each.row() for each in listed), in_parts=True)
