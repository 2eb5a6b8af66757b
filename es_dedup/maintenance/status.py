"""How far jobs are."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - pydantic reads the types of fields
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.jobs import Job, JobState, Partition
from es_dedup.maintenance.backfill import KINDS
from es_dedup.maintenance.runner import follow_state, present_parts, reclusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.maintenance.follow import FollowState
    from es_dedup.settings.servers import MaintenanceConfig

BEAT: Final = "beat"
RECLUSTER: Final = "recluster"
AUDIT: Final = "audit"
FOLLOW: Final = "follow"
LATE: Final = 2  # times its interval
MIN_BEAT_SECONDS: Final = 60.0  # a worker that starts again is not late
FOLLOW_SECONDS: Final = 300.0  # behind which following is late
AUDIT_SECONDS: Final = 2 * 86_400.0  # an audit is due each day
ADVICE: Final[Mapping[str, str]] = {
    BEAT: "no periodic task runs, so deferred documents wait: see that `es-dedup elastic worker --beat` and Redis are running",
    RECLUSTER: "see that `es-dedup elastic worker --beat` is running, or run `es-dedup elastic recluster --inline`",
    AUDIT: "run `es-dedup elastic audit` daily",
    FOLLOW: "following is behind: see that a worker or `es-dedup elastic follow --inline` runs; `es-dedup elastic backfill` is faster after a large load",
}


@dataclass(frozen=True, slots=True)
class JobStatus:
    """One job for a person.

    Attributes:
        id, what, state, note: as in ``Job``.
        stage: name of the stage that is worked on, with its place among all.
        done, total: documents of this stage; the total is an estimate.
        rate: documents a second of all workers together, over the time they have worked on this stage; 0 when unknown.
        seconds_left: of this stage at that rate; None when unknown.
        workers: parts that are being worked on.
        counts: what was done so far, by name.
    """

    id: str
    what: str
    state: str
    stage: str
    done: int
    total: int
    rate: float
    seconds_left: float | None
    workers: int
    counts: Mapping[str, int]
    note: str

    def row(self) -> tuple[object, ...]:
        """Cells of a table."""
        left = "" if self.seconds_left is None else f", {self.seconds_left:,.0f} s left"
        progress = f"{self.done:,} of {self.total:,} ({self.rate:,.0f}/s{left})"
        counts = ", ".join(f"{name} {count:,}" for name, count in self.counts.items() if count)
        return self.id, self.what, self.state, self.stage, progress, counts, self.note


def job_status(context: MaintenanceContext, job: Job) -> JobStatus:
    """How far a job is."""
    stages = KINDS[job.what].stages
    parts = [each for each, _ in present_parts(context.jobs, job)]
    done, total = sum(part.done for part in parts), sum(max(part.total, part.done) for part in parts)
    seconds = sum(part.seconds for part in parts)
    workers = sum(bool(part.owner) for part in parts)
    rate = done / seconds * max(1, workers) if seconds else 0.0
    counts = Counter(job.counts)
    if not job.state.over or job.state is JobState.CANCELLED:
        for part in parts:
            counts.update(part.counts)
    state = JobState.ABANDONED if _abandoned(context, job, parts) else job.state
    return JobStatus(
        job.id,
        job.what,
        str(state),
        "" if job.state is JobState.DONE else f"{stages[job.stage].name} ({job.stage + 1} of {len(stages)})",
        done,
        total,
        round(rate, 1),
        round((total - done) / rate, 1) if state is JobState.RUNNING and rate else None,
        0 if state is JobState.ABANDONED else workers,
        dict(counts),
        job.note or next((part.error for part in parts if part.error), ""),
    )


def _abandoned(context: MaintenanceContext, job: Job, parts: Sequence[Partition]) -> bool:
    """Whether nobody works on a job: all leases of its parts have expired, and no worker looks for parts that nobody works on."""
    limits, now = context.settings.maintenance, time.time() * 1000
    last = max([job.changed, *(part.beat for part in parts)])
    if job.state is not JobState.RUNNING or now - last < limits.lease_seconds * 1000:
        return False
    return now - context.jobs.times([BEAT]).get(BEAT, 0) > _beat_seconds(limits) * 1000


def unfinished_jobs(context: MaintenanceContext) -> list[JobStatus]:
    """Jobs that are not over, without brief ones: the number of waiting documents shows how these get on."""
    jobs = context.jobs.jobs(unfinished=True)
    return [job_status(context, job) for job in jobs if not KINDS[job.what].brief]


def site_status(context: MaintenanceContext) -> dict[str, Any]:
    """What is attached, how many documents, documents with a ``dedup`` field and dead letters there are, and jobs that are not over."""
    counts = source_counts(context)
    return {
        "attached": [each.target for each in context.attachments],
        "indices": len(context.indices()),
        "documents": counts["all"],
        "with dedup field": counts["with_dedup_field"],
        "dead": context.jobs.count_dead(),
        "following": follow_status(context) or "no",
        "jobs": [f"{job.what} {job.id} {job.state}" for job in unfinished_jobs(context)],
        **{f"last {what}": moment(at) for what, at in last_times(context).items()},
    }


def source_counts(context: MaintenanceContext) -> dict[str, int]:
    """Documents of attached indices: ``all``, ``with_dedup_field``, and ``waiting`` for a decision."""
    targets = ",".join(each.target for each in context.attachments)
    clustered = {"exists": {"field": "dedup.cluster_id"}}
    source = context.source_index
    return {
        "all": source.count(targets) if targets else 0,
        "with_dedup_field": source.count(targets, clustered) if targets else 0,
        "waiting": source.count_waiting(targets) if targets else 0,
    }


def last_times(context: MaintenanceContext) -> dict[str, int | None]:
    """When a periodic task last ran, the last reclustering and the last audit ended, and until when all writes were followed.

    Returns:
        Milliseconds since 1970 by ``BEAT``, ``RECLUSTER``, ``AUDIT`` and ``FOLLOW``; None where it never happened.
    """
    times, followed = context.jobs.times([BEAT, AUDIT]), _followed(context)
    ended = [job.changed for job in context.jobs.jobs() if job.state is JobState.DONE and reclusters(job)]
    return {
        BEAT: times.get(BEAT),
        RECLUSTER: max(ended, default=None),
        AUDIT: times.get(AUDIT),
        FOLLOW: followed[1].at or None if followed else None,
    }


def overdue(context: MaintenanceContext) -> dict[str, str]:
    """Periodic work that is late, by the names of ``last_times``, with advice."""
    limits, now = context.settings.maintenance, time.time() * 1000
    following = any(job.what == FOLLOW for job in context.jobs.jobs(unfinished=True))
    allowed = {
        BEAT: _beat_seconds(limits),
        RECLUSTER: LATE * limits.recluster_hours * 3600 or math.inf,
        AUDIT: AUDIT_SECONDS,
        FOLLOW: FOLLOW_SECONDS if following else math.inf,
    }
    return {
        what: ADVICE[what]
        for what, at in last_times(context).items()
        if at is not None and now - at > allowed[what] * 1000
    }


def _beat_seconds(limits: MaintenanceConfig) -> float:
    """Without a periodic task after which none runs."""
    return max(MIN_BEAT_SECONDS, LATE * limits.tend_seconds)


def moment(at: int | None) -> str:
    """A time in milliseconds since 1970 for a person, in UTC."""
    if at is None:
        return "never"
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class FollowStatus:
    """How far behind following is.

    Attributes:
        job, state: id and state of the job.
        documents: that were written and not dealt with, at most; a document that was written twice counts twice.
        seconds: since the last time at which everything written so far was dealt with; None when that was never so.
        deletions_seconds: the same for deletions.
    """

    job: str
    state: str
    documents: int
    seconds: float | None
    deletions_seconds: float | None

    def __str__(self) -> str:
        """For a person."""
        if self.seconds is None:
            behind = f"{self.documents:,} documents behind, never up to date so far"
        else:
            behind = f"{self.documents:,} documents and {self.seconds:,.0f} s behind"
        return f"{self.state}, {behind} (job {self.job})"


def follow_status(context: MaintenanceContext) -> FollowStatus | None:
    """How far behind following is; None when nothing is attached, or was ever followed."""
    if not context.attachments or (followed := _followed(context)) is None:
        return None
    job, state = followed
    behind = state.positions.behind(context.source_index.writes(context.indices()))
    return FollowStatus(job.id, str(job.state), behind, _since(state.at), _since(state.deletions.looked))


def _followed(context: MaintenanceContext) -> tuple[Job, FollowState] | None:
    """The job that follows, or the last one that did, and how far it has come."""
    jobs = [job for job in context.jobs.jobs() if job.what == FOLLOW]
    job = max(jobs, key=lambda job: (not job.state.over, job.changed), default=None)
    return None if job is None else (job, follow_state(context, job))


def _since(at: int) -> float | None:
    return max(0.0, time.time() - at / 1000) if at else None
