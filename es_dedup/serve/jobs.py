"""Long calls: those of maintenance on Elasticsearch; in a file, reclustering in the thread that writes."""

from __future__ import annotations

import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import DedupError, UnknownJob
from es_dedup.index.factory import is_remote
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.recluster import preview
from es_dedup.maintenance.runner import Runner
from es_dedup.maintenance.status import JobStatus, job_status
from es_dedup.serve.calls import as_json
from es_dedup.serve.problems import NotOnThisIndex

if TYPE_CHECKING:
    from es_dedup.model import Progress
    from es_dedup.serve.bodies import JobBody
    from es_dedup.serve.workers import Workers
    from es_dedup.settings import Settings

JOBS_AT_A_TIME: Final = 2
MOST_LISTED: Final = 100
"""Jobs of this process that are remembered."""
STATES: Final = {"pause": JobState.PAUSED, "resume": JobState.RUNNING, "cancel": JobState.CANCELLED}


class Jobs:
    """Jobs of an index, begun here or elsewhere. All methods wait for storage: call them in a thread.

    Jobs on attached indices are kept on Elasticsearch and worked on by this process, too; others are known to this process alone.
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
                Runner(site).set_state(job_id, JobState.PAUSED, "the server was stopped")
        self._thread.shutdown(wait=True, cancel_futures=True)

    def start(self, body: JobBody) -> bytes:
        """Begin a job.

        Raises:
            NotOnThisIndex: it needs attached indices.
            MassChange, NotAttached: see ``errors``.
        """
        if is_remote(self._place):
            with open_context(self._place, self._settings) as site:
                if site.attachments or body.what == "backfill":
                    if body.what == "recluster" and not body.force:
                        preview(site)
                    options = {"target": body.target, "force": body.force, "rate": body.rate}
                    given = {name: value for name, value in options.items() if value is not None}
                    job = Runner(site).start(body.what, given if body.what == "backfill" else {})
                    self._work_on(job.id)
                    return as_json(job_status(site, job))
        if body.what == "backfill":
            raise NotOnThisIndex("a backfill", "an index on Elasticsearch with attached indices")
        return as_json(self._recluster(dry_run=body.dry_run))

    def listed(self) -> bytes:
        """All jobs, the newest first."""
        found = list(self._own.values())
        if is_remote(self._place):
            with open_context(self._place, self._settings, read_only=True) as site:
                found += [job_status(site, job) for job in site.jobs.jobs()]
        return as_json({"jobs": sorted(found, key=lambda job: job.id, reverse=True)})

    def one(self, job_id: str) -> bytes:
        """One job.

        Raises:
            UnknownJob: there is none of that id.
        """
        if job_id in self._own:
            return as_json(self._own[job_id])
        if not is_remote(self._place):
            raise UnknownJob(job_id)
        with open_context(self._place, self._settings, read_only=True) as site:
            stored = site.jobs.job(job_id)
            if stored is None:
                raise UnknownJob(job_id)
            return as_json(job_status(site, stored[0]))

    def change(self, job_id: str, action: str) -> bytes:
        """Pause, resume or cancel a job on attached indices.

        Raises:
            NotOnThisIndex: a job of this process, which ends by itself.
            UnknownJob: there is none of that id.
        """
        if job_id in self._own:
            raise NotOnThisIndex(
                f"to {action} job {job_id}", "a job on attached indices; this one ends by itself"
            )
        if not is_remote(self._place):
            raise UnknownJob(job_id)
        with open_context(self._place, self._settings) as site:
            job = Runner(site).set_state(job_id, STATES[action])
            if job.state is JobState.RUNNING:
                self._work_on(job_id)
            return as_json(job_status(site, job))

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

    def _recluster(self, *, dry_run: bool) -> JobStatus:
        job_id = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"
        waiting = JobStatus(job_id, "recluster", "running", "waiting", 0, 0, 0.0, None, 0, {}, "")
        while len(self._own) >= MOST_LISTED:
            del self._own[min(self._own)]
        self._own[job_id] = waiting
        self._workers.submit(self._recluster_here, job_id, dry_run)
        return waiting

    def _recluster_here(self, job_id: str, dry_run: bool) -> None:  # noqa: FBT001 - submitted by position
        def told(now: Progress) -> None:
            self._note(job_id, stage=now.stage, done=now.done, total=now.total or 0, workers=1)

        try:
            report = self._workers.writer.recluster(told, dry_run=dry_run)
        except Exception as error:  # noqa: BLE001 - the job's note is where it is looked for
            self._note(job_id, state=str(JobState.FAILED), workers=0, note=str(error))
        else:
            names = ("pages", "changed", "clusters_before", "clusters")
            counts = {name: getattr(report, name) for name in names}
            self._note(job_id, state=str(JobState.DONE), stage="", workers=0, counts=counts)

    def _note(self, job_id: str, **changes: Any) -> None:
        if job_id in self._own:
            self._own[job_id] = replace(self._own[job_id], **changes)
