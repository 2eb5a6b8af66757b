"""Following source indices that others write to, without a hook: starting it, and how far behind it is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import DedupError, NotAttached
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.backfill import Remaining
from es_dedup.maintenance.change_capture import Positions
from es_dedup.maintenance.follow_stage import Follow, FollowState
from es_dedup.maintenance.plans import PLANS
from es_dedup.maintenance.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from es_dedup.index.jobs import Job
    from es_dedup.maintenance.context import MaintenanceContext

FOLLOW: Final = Follow.name
"""Name of the job."""
FIRST_PAUSE: Final = 1.0  # seconds after a failed attempt; doubled each time
LONGEST_PAUSE: Final = 60.0


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
            return (
                f"{self.state}, {self.documents:,} documents behind, never up to date so far (job {self.job})"
            )
        return f"{self.state}, {self.documents:,} documents and {self.seconds:,.0f} s behind (job {self.job})"


def start_follow(
    context: MaintenanceContext, *, once: bool = False, rate: float | None = None
) -> tuple[Job, bool]:
    """Begin to follow all attached indices from where the last following or backfill ended.

    Documents that neither has read are read from the beginning of their shards, one batch after the other; a ``backfill`` before is faster.

    Args:
        context: with its attachments.
        once: end when everything that was written is dealt with.
        rate: most documents a second.

    Returns:
        The job and whether it was begun: one that is under way, or paused, goes on, unless ``once``.

    Raises:
        NotAttached: nothing is attached.
    """
    if not context.attachments:
        raise NotAttached("")
    runner = Runner(context)
    jobs = context.jobs.jobs()
    before = [job for job in jobs if job.what == FOLLOW]
    unfinished = [job for job in before if not job.state.over]
    if unfinished and not once:
        return runner.set_state(unfinished[0].id, JobState.RUNNING), False
    state = _begin(context, jobs)
    options: dict[str, Any] = {"state": state.as_dict(), "once": once}
    job = runner.start(FOLLOW, options | ({"rate": rate} if rate else {}))
    for old in before:
        if old.state.over:
            context.jobs.drop(old.id)
    return job, True


def run_follow(runner: Runner, job_id: str, report_problem: Callable[[str], None] = lambda _: None) -> Job:
    """Work on a job until it is over or paused, whatever happens to the server meanwhile.

    Args:
        runner: of the site.
        job_id: of the job.
        report_problem: called with what ended an attempt, and when the next one begins.

    Raises:
        DedupError: to try again would not help.
    """
    pause, tried = FIRST_PAUSE, time.monotonic()
    while True:
        try:
            return runner.run(job_id)
        except Exception as error:
            if isinstance(error, DedupError) and not error.retryable:
                raise
            if time.monotonic() - tried > LONGEST_PAUSE + pause:
                pause = FIRST_PAUSE
            report_problem(f"{error}; tried again in {pause:.0f} s")
        time.sleep(pause)
        pause, tried = min(2 * pause, LONGEST_PAUSE), time.monotonic()


def follow_status(context: MaintenanceContext) -> FollowStatus | None:
    """How far behind following is; None when nothing was ever followed."""
    job = _last(context.jobs.jobs())
    if job is None:
        return None
    state = _state_of(context, job)
    behind = state.positions.behind(context.source_index.writes(context.indices()))
    return FollowStatus(job.id, str(job.state), behind, _since(state.at), _since(state.deletions.looked))


def followed_until(context: MaintenanceContext) -> int | None:
    """Time until which all writes are dealt with, in milliseconds since 1970; None when that was never so."""
    job = _last(context.jobs.jobs())
    return None if job is None else _state_of(context, job).at or None


def _last(jobs: Iterable[Job]) -> Job | None:
    """The job that follows, or the last one that did."""
    found = (job for job in jobs if job.what == FOLLOW)
    return max(found, key=lambda job: (not job.state.over, job.changed), default=None)


def _since(at: int) -> float | None:
    return max(0.0, time.time() - at / 1000) if at else None


def _state_of(context: MaintenanceContext, job: Job) -> FollowState:
    ((part, _),) = context.jobs.parts(job.id, job.plans[-1], [0])
    return FollowState.from_dict(part.checkpoint or part.work["state"])


def _begin(context: MaintenanceContext, jobs: list[Job]) -> FollowState:
    """Where the last following, and backfills since then, have ended."""
    last = max((job for job in jobs if job.what == FOLLOW), key=lambda job: job.changed, default=None)
    state, since = (_state_of(context, last), last.created) if last else (FollowState(), 0)
    for job in sorted(jobs, key=lambda each: each.changed):
        if job.what == "backfill" and job.state is JobState.DONE and job.created >= since:
            for positions in _backfilled(context, job):
                _join(state.positions, positions)
    return state


def _backfilled(context: MaintenanceContext, job: Job) -> list[Positions]:
    number = next(at for at, stage in enumerate(PLANS[job.what]) if isinstance(stage, Remaining))
    found = []
    for plan, parts in zip(job.plans, job.parts, strict=True):
        if plan.startswith(f"{number}."):
            for part, _ in context.jobs.parts(job.id, plan, range(parts)):
                if part.checkpoint:
                    found.append(Positions.from_dict(part.checkpoint))
    return found


def _join(into: Positions, later: Positions) -> None:
    """The higher of two positions of each shard; the later one where the history is another."""
    for index, shards in later.reached.items():
        for shard, (history, at) in shards.items():
            into.advance(index, int(shard), history, max(at, into.above(index, int(shard), history)))
