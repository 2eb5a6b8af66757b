"""Works on jobs: takes a part, keeps its checkpoint, hands it on; goes to the next stage when all parts are done.

Any number of processes may do this at once. What decides is always a conditional write to the job's documents, never a message
that was or was not delivered.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import ConfigError, DedupError, JobContended, UnknownJob
from es_dedup.index.jobs import Job, JobState, Partition, Version
from es_dedup.maintenance.lease import Lease, LeaseLost
from es_dedup.maintenance.plans import PLANS
from es_dedup.maintenance.stage import throttle
from es_dedup.settings.recorded import decision_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.maintenance.stage import Observer, Stage

TRIES: Final = 20  # of one conditional change
ERROR_CHARS: Final = 200
ID_TIME: Final = "%Y%m%d-%H%M%S"
WAIT_SECONDS: Final = 0.2  # for parts that others work on


class Runner:
    """Jobs of one site.

    Args:
        site: what they work on.
        observe: called after each batch: name of the stage, counts, seconds.
    """

    def __init__(self, context: MaintenanceContext, observe: Observer | None = None) -> None:
        self._observe = observe or (lambda _stage, _counts, _seconds: None)
        self._site, self._limits = context, context.settings.maintenance

    def start(self, what: str, options: Mapping[str, Any], suffix: str = "") -> Job:
        """Make a job and plan its first stage.

        The job holds the decision settings of the caller, so that they are those that any worker clusters with.

        Args:
            what: name of the plan.
            options: see ``Job``.
            suffix: of the job's id; empty: made up.

        Raises:
            NotAttached, IndexError_: it cannot be planned.
        """
        now = _now()
        job = Job(
            new_id(suffix),
            what,
            JobState.RUNNING,
            {"settings": decision_settings(self._site.settings), **options},
            now,
            now,
        )
        job = self._planned(replace(job, stage=-1))
        self._site.jobs.create(job)
        return job

    def begin(self, what: str, options: Mapping[str, Any]) -> tuple[Job, bool]:
        """Go on with an unfinished job of the same options, whatever its ``rate``; where there is none, start one.

        Returns:
            The job, and whether it was started now.

        Raises:
            NotAttached, IndexError_: it cannot be planned.
        """
        given = {"settings": decision_settings(self._site.settings), **options}

        def resumed(job: Job) -> Job | None:
            return None if job.state.over else replace(job, state=JobState.RUNNING, note="", options=given)

        for job in self._site.jobs.jobs(unfinished=True):
            if job.what == what and _same(job.options, given):
                found = self._change(job.id, resumed)
                if not found.state.over:
                    return found, False
        return self.start(what, options), True

    def waiting(self, job_id: str) -> list[int]:
        """Numbers of the parts that nobody works on; also goes to the next stage where a worker died before it could."""
        job = self._job(job_id)
        if job.state is not JobState.RUNNING:
            return []
        parts = self._parts(job)
        if all(part.finished for part in parts):
            job = self._advance(job_id)
            parts = self._parts(job) if job.state is JobState.RUNNING else []
        return [part.number for part in parts if not part.finished and not self._taken(part)]

    def held(self, job_id: str) -> int:
        """Number of parts that other processes work on, or were working on a moment ago when they were killed."""
        return sum(not part.finished and self._taken(part) for part in self._parts(self._job(job_id)))

    def work(self, job_id: str, number: int, sent: int | None = None) -> list[int]:
        """Work on a part of the present stage for ``step_seconds``.

        Args:
            job_id, number: which part.
            sent: when the message about it was sent, in milliseconds since 1970; None: there was none. A part that was worked on since then
                is left to the message that was sent after that, or each look for work left lying would add a message that never ends.

        Returns:
            Numbers of the parts to be worked on next: this one again, or all of the next stage if this was the last one.

        Raises:
            UnknownJob: there is none.
            DedupError: it could not go on; the part keeps its checkpoint and may be taken again.
        """
        job = self._job(job_id)
        if job.state is not JobState.RUNNING or number >= job.parts[-1]:
            return []
        finished = self._take(job, number, sent)
        if finished is None or self._job(job_id).state is not JobState.RUNNING:
            return []
        if not finished:
            return [number]
        return self.waiting(job_id) if all(each.finished for each in self._parts(job)) else []

    def _take(self, job: Job, number: int, sent: int | None) -> bool | None:
        """As ``_hold``; None also when another worker has the part, or nothing is left of it."""
        ((part, version),) = self._site.jobs.parts(job.id, job.plans[-1], [number])
        if part.finished or self._taken(part) or (sent is not None and part.beat > sent):
            return None
        taken = replace(part, owner=secrets.token_hex(4), beat=_now(), attempts=part.attempts + 1)
        held = self._site.jobs.change_partition(taken, version)
        return None if held is None else self._hold(job, taken, held)

    def _hold(self, job: Job, part: Partition, version: Version) -> bool | None:
        """Work on a part that was taken; whether it is finished, or None when another worker has taken it over."""
        with Lease(self._site.jobs, part, version, self._limits.lease_seconds / 4) as keeper:
            try:
                return self._go_on(job, keeper)
            except LeaseLost:
                return None
            except KeyboardInterrupt:  # who resumes the job need not wait until the lease has run out
                keeper.release(attempts=keeper.part.attempts - 1)
                raise
            except Exception as error:
                # the server's silence is not the page's fault
                innocent = isinstance(error, DedupError) and error.retryable
                attempts = keeper.part.attempts - innocent
                keeper.release(attempts=attempts, error=f"{type(error).__name__}: {error}"[:ERROR_CHARS])
                if isinstance(error, ConfigError):  # it would be the same at any other time
                    self.set_state(job.id, JobState.FAILED, str(error))
                raise

    def _go_on(self, job: Job, keeper: Lease) -> bool:
        """Whether the part is finished; else the time is over, or the job was stopped."""
        stage = PLANS[job.what][job.stage]
        begun = last = time.monotonic()
        done = 0
        for step in stage.work(self._site, job, keeper.part):
            now = time.monotonic()
            done += step.done
            # smaller batches have got past the trouble
            attempts = 0 if done >= self._limits.batch or keeper.part.attempts == 1 else keeper.part.attempts
            took = 0.0 if step.idle else now - last
            # a part that is given back before it has got anywhere would begin with the same again, and again
            moved = step.idle or step.done or step.checkpoint != keeper.part.checkpoint
            keeper.save(step, took, attempts)
            if not step.idle:
                self._observe(stage.name, step.counts, took)
            throttle(job.options.get("rate"), step.done, took)
            last = time.monotonic()
            late = moved and last - begun > self._limits.step_seconds
            if late or self._job(job.id).state is not JobState.RUNNING:
                keeper.release(attempts=0)
                return False
        keeper.finish(time.monotonic() - last)
        return True

    def run(self, job_id: str) -> Job:
        """Work on a job in this process until it is over or paused; other workers may take parts of it meanwhile."""
        while (job := self._job(job_id)).state is JobState.RUNNING:
            numbers = self.waiting(job_id)
            for number in numbers:
                self.work(job_id, number)
            if not numbers:
                time.sleep(WAIT_SECONDS)
        return job

    def orphaned_partitions(self) -> list[tuple[str, int]]:
        """Parts of all running jobs that nobody works on: what a lost message or a dead worker has left."""
        return [
            (job.id, number)
            for job in self._site.jobs.jobs(unfinished=True)
            for number in self.waiting(job.id)
        ]

    def set_state(self, job_id: str, state: JobState, note: str = "") -> Job:
        """Pause, resume or cancel; a job that is over stays as it is.

        Raises:
            UnknownJob: there is none.
        """

        def changed(job: Job) -> Job | None:
            return None if job.state.over else replace(job, state=state, note=note)

        return self._change(job_id, changed)

    def _advance(self, job_id: str) -> Job:
        """To the next stage with something to do, or to the end; one of several callers gets there."""

        def changed(job: Job) -> Job | None:
            parts = self._parts(job)
            if job.state is not JobState.RUNNING or not all(part.finished for part in parts):
                return None
            counts = Counter(job.counts)
            for part in parts:
                counts.update(part.counts)
            return self._planned(replace(job, counts=dict(counts)))

        return self._change(job_id, changed)

    def _planned(self, job: Job) -> Job:
        stages: Sequence[Stage] = PLANS[job.what]
        now = _now()
        for number in range(job.stage + 1, len(stages)):
            shares = stages[number].plan(self._site, job)
            if not shares:
                continue
            plan = f"{number}.{secrets.token_hex(3)}"
            self._site.jobs.create_partitions(
                Partition(job.id, plan, at, dict(share.work), share.total) for at, share in enumerate(shares)
            )
            return replace(
                job,
                stage=number,
                plans=(*job.plans, plan),
                parts=(*job.parts, len(shares)),
                changed=now,
            )
        return replace(job, state=JobState.DONE, changed=now)

    def _change(self, job_id: str, changed: Any) -> Job:
        for _ in range(TRIES):
            found = self._site.jobs.job(job_id)
            if found is None:
                raise UnknownJob(job_id)
            job, version = found
            wanted = changed(job)
            if wanted is None:
                return job
            wanted = replace(wanted, changed=_now())
            if self._site.jobs.change(wanted, version) is not None:
                return wanted  # type: ignore[no-any-return]
        raise JobContended(job_id)

    def _job(self, job_id: str) -> Job:
        found = self._site.jobs.job(job_id)
        if found is None:
            raise UnknownJob(job_id)
        return found[0]

    def _parts(self, job: Job) -> list[Partition]:
        if not job.plans:
            return []
        return [part for part, _ in self._site.jobs.parts(job.id, job.plans[-1], range(job.parts[-1]))]

    def _taken(self, part: Partition) -> bool:
        """Somebody works on it, by the clocks of both; a wrong clock costs double work, nothing else."""
        return bool(part.owner) and _now() - part.beat < self._limits.lease_seconds * 1000


def new_id(suffix: str = "") -> str:
    """An id for a job that begins now; without a suffix it gets one that is made up."""
    return f"{time.strftime(ID_TIME, time.gmtime())}-{suffix or secrets.token_hex(3)}"


def _same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two jobs of one plan do the same; options that are not set may be left out."""
    first, second = (
        {name: each for name, each in some.items() if each and name != "rate"} for some in (before, now)
    )
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _now() -> int:
    return int(time.time() * 1000)
