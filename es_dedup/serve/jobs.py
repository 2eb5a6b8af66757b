"""Long calls: those of maintenance on Elasticsearch; in a file, reclustering in the thread that writes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import DedupError, UnknownJob
from es_dedup.index.factory import is_remote
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.context import MaintenanceContext, open_context
from es_dedup.maintenance.runner import Runner, new_id, preview
from es_dedup.maintenance.status import JobStatus, job_status
from es_dedup.serve.problems import NotOnThisIndex
from es_dedup.settings.recorded import decision_settings
from es_dedup.views.jobs import JobsState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from es_dedup.model import Progress
    from es_dedup.serve.bodies import JobBody
    from es_dedup.serve.workers import Workers
    from es_dedup.settings import Settings

JOBS_AT_A_TIME: Final = 2
MOST_LISTED: Final = 100
"""Jobs of this server that are remembered."""
STOPPED: Final = "the server was stopped"
STATES: Final = {"pause": JobState.PAUSED, "resume": JobState.RUNNING, "cancel": JobState.CANCELLED}


class Jobs:
    """Jobs of an index, begun here or elsewhere. All methods wait for storage: call them in a thread.

    Jobs on attached indices are kept on Elasticsearch and worked on by this process, too. Others are those of this server, which are
    forgotten when it ends.
    """

    def __init__(self, place: str, settings: Settings, workers: Workers) -> None:
        self._place, self._settings, self._workers = place, settings, workers
        self._own: dict[str, JobStatus] = {}
        self._thread = ThreadPoolExecutor(JOBS_AT_A_TIME, "es-dedup-jobs")
        self._running: set[str] = set()

    def close(self) -> None:
        """Pause the stored jobs that this process works on, and wait until they have come to a checkpoint."""
        for job_id in tuple(self._running):
            with suppress(DedupError), open_context(self._place, self._settings) as site:
                Runner(site).set_state(job_id, JobState.PAUSED, STOPPED)
        self._thread.shutdown(wait=True, cancel_futures=True)

    def start(self, body: JobBody) -> JobStatus:
        """Begin a job; the same one that is under way is returned.

        Raises:
            NotOnThisIndex: it needs attached indices.
            ConfigError, MassChange, NotAttached: see ``errors``.
        """
        if not body.dry_run:  # else this process alone works on it
            with self._stored(read_only=False) as site:
                if site and (site.attachments or body.what == "backfill"):
                    return self._stored_job(site, body)
        if body.what == "backfill":
            raise NotOnThisIndex("a backfill", "an index on Elasticsearch with attached indices")
        return self._recluster(body)

    def _stored_job(self, site: MaintenanceContext, body: JobBody) -> JobStatus:
        if body.what == "backfill":
            options = body.model_dump(include={"target", "force", "rate"}, exclude_none=True)
        else:
            settings = site.dedup.settings_with(body.settings) if body.settings else site.settings
            options = {"settings": decision_settings(settings)}
            if not body.force:
                preview(site, settings=settings)
        job, _ = Runner(site).begin(body.what, options)
        self._work_on(job.id)
        return job_status(site, job)

    def _stored(self, *, read_only: bool = True) -> AbstractContextManager[MaintenanceContext | None]:
        """What is kept on Elasticsearch; None for an index in a file."""
        if not is_remote(self._place):
            return nullcontext()
        return open_context(self._place, self._settings, read_only=read_only)

    def listed(self) -> list[JobStatus]:
        """All jobs, the newest first."""
        with self._stored() as site:
            stored = [job_status(site, job) for job in site.jobs.jobs()] if site else []
        return sorted([*self._own.values(), *stored], key=lambda job: job.id, reverse=True)

    def state(self) -> JobsState:
        """All jobs with the attached indices and the dead letters, of which at most ``MOST_LISTED`` are given."""
        jobs = self.listed()
        steered = {job.id for job in jobs} - self._own.keys()
        with self._stored() as site:
            if site is None:
                return JobsState(jobs, steered)
            attached = tuple(each.target for each in site.attachments)
            return JobsState(jobs, steered, attached, site.jobs.dead(MOST_LISTED), site.jobs.count_dead())

    def replay(self, page_ids: Sequence[str]) -> JobStatus:
        """Process dead letters again: those of some pages, or all of them.

        Raises:
            NotOnThisIndex: an index in a file has none.
        """
        if not is_remote(self._place):
            raise NotOnThisIndex("dead letters", "an index on Elasticsearch with attached indices")
        job = self._own_job("replay")
        self._thread.submit(self._noting, job.id, self._replay, page_ids)
        return job

    def one(self, job_id: str) -> JobStatus:
        """One job.

        Raises:
            UnknownJob: there is none of that id.
        """
        if job_id in self._own:
            return self._own[job_id]
        with self._stored() as site:
            stored = site.jobs.job(job_id) if site else None
            if site is None or stored is None:
                raise UnknownJob(job_id)
            return job_status(site, stored[0])

    def is_own(self, job_id: str) -> bool:
        """Whether a job is one of a server; it ends by itself."""
        return job_id in self._own

    def change(self, job_id: str, action: str) -> JobStatus:
        """Pause, resume or cancel a job on attached indices.

        Raises:
            NotOnThisIndex: a job of this process, which ends by itself.
            UnknownJob: there is none of that id.
        """
        if job_id in self._own:
            raise NotOnThisIndex(
                f"to {action} job {job_id}", "a job on attached indices; this one ends by itself"
            )
        with self._stored(read_only=False) as site:
            if site is None:
                raise UnknownJob(job_id)
            job = Runner(site).set_state(job_id, STATES[action])
            if job.state is JobState.RUNNING:
                self._work_on(job_id)
            return job_status(site, job)

    def _work_on(self, job_id: str) -> None:
        if job_id not in self._running:
            self._running.add(job_id)
            self._thread.submit(self._run, job_id)

    def _run(self, job_id: str) -> None:
        try:
            with open_context(self._place, self._settings) as site:
                Runner(site).run(job_id)
        finally:
            self._running.discard(job_id)

    def _own_job(self, what: str, note: str = "") -> JobStatus:
        """A new job of this server; the oldest of too many are forgotten."""
        job_id = new_id()
        while len(self._own) >= MOST_LISTED:
            del self._own[min(self._own)]
        self._own[job_id] = JobStatus(job_id, what, "running", "waiting", 0, 0, 0.0, None, 0, {}, note)
        return self._own[job_id]

    def _recluster(self, body: JobBody) -> JobStatus:
        settings = self._workers.writer.settings_with(body.settings) if body.settings else None
        note = ", ".join(
            ["dry run"] * body.dry_run + [f"{name} = {value}" for name, value in body.settings.items()]
        )
        for known in tuple(self._own.values()):
            if (known.what, known.note, known.state) == ("recluster", note, "running"):
                return known
        job = self._own_job("recluster", note)
        self._workers.submit(self._noting, job.id, self._recluster_here, job.id, body.dry_run, settings)
        return job

    def _noting(self, job_id: str, work: Callable[..., Mapping[str, int]], *arguments: Any) -> None:
        """Do the work of a job and note how it ended."""
        try:
            counts = work(*arguments)
        except Exception as error:  # noqa: BLE001 - the job's note is where it is looked for
            self._note(job_id, state=str(JobState.FAILED), workers=0, note=str(error))
        else:
            self._note(job_id, state=str(JobState.DONE), stage="", workers=0, counts=counts)

    def _recluster_here(self, job_id: str, dry_run: bool, settings: Settings | None) -> Mapping[str, int]:  # noqa: FBT001 - sent to the thread by position
        def note_progress(now: Progress) -> None:
            self._note(job_id, stage=now.stage, done=now.done, total=now.total or 0, workers=1)

        report = self._workers.writer.recluster(note_progress, dry_run=dry_run, settings=settings)
        return {name: getattr(report, name) for name in ("pages", "changed", "clusters_before", "clusters")}

    def _replay(self, page_ids: Sequence[str]) -> Mapping[str, int]:
        with open_context(self._place, self._settings) as site:
            replayed = site.replay(page_ids)
            return {"replayed": replayed, "dead": site.jobs.count_dead()}

    def _note(self, job_id: str, **changes: Any) -> None:
        if job_id in self._own:
            self._own[job_id] = replace(self._own[job_id], **changes)
