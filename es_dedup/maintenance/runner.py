"""Who works on jobs: takes a part, keeps its checkpoint, gives it back; goes to the next stage when all parts are done.

Any number of processes may do this at once. What decides is always a conditional write to the job's documents, never a message
that was or was not delivered.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from es_dedup.errors import ConfigError, DedupError, IndexUnavailable, NotAttached, UnknownJob
from es_dedup.index.jobs import Job, JobState, Partition, Version
from es_dedup.maintenance.backfill import CLUSTER, KINDS, REMAINING, parts_of_pages
from es_dedup.maintenance.context import DIED, ERROR_CHARS, MaintenanceContext
from es_dedup.maintenance.follow import FOLLOW, FollowState, Positions
from es_dedup.maintenance.stage import throttle
from es_dedup.settings.recorded import STATISTICS, decision_settings, decisions_in, with_recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_dedup.batch.whole_corpus import ReclusterReport
    from es_dedup.index.factory import JobStore
    from es_dedup.maintenance.stage import Observer, PartitionPlan, Stage, Step
    from es_dedup.settings import Settings

TRIES: Final = 20  # of one conditional change
WAIT_SECONDS: Final = 0.2  # for parts that others work on
FIRST_PAUSE: Final = 1.0  # seconds after a failed attempt to follow; doubled each time
LONGEST_PAUSE: Final = 60.0


class Turn(NamedTuple):
    """What came of a turn.

    Attributes:
        worked: whether a part was worked on.
        due: parts of the job that nobody works on and that no message is about: how many messages to send.
    """

    worked: bool
    due: int


class Runner:
    """Jobs of one index.

    Args:
        context: what they work on.
        observe: called after each batch: name of the stage, counts, seconds.
    """

    def __init__(self, context: MaintenanceContext, observe: Observer | None = None) -> None:
        self._observe = observe or (lambda _stage, _counts, _seconds: None)
        self._context, self._jobs, self._limits = context, context.jobs, context.settings.maintenance

    def start(self, what: str, options: Mapping[str, Any]) -> Job:
        """Make a job and plan its first stage.

        The job holds the decision settings of the caller, so that they are those that any worker clusters with.

        Args:
            what: name of the kind.
            options: see ``Job``.

        Raises:
            NotAttached, IndexError_: it cannot be planned.
        """
        if not KINDS[what].brief:
            self._context.note_indices()
        given = {"settings": decision_settings(self._context.settings), **options}
        now = _now()
        job = self._planned(Job(new_id(), what, JobState.RUNNING, given, now, now, stage=-1))
        self._jobs.create(job)
        return job

    def begin(self, what: str, options: Mapping[str, Any]) -> tuple[Job, bool]:
        """Go on with an unfinished job of the same options, whatever its ``rate``; where there is none, start one.

        Returns:
            The job, and whether it was started now.

        Raises:
            NotAttached, IndexError_: it cannot be planned.
        """
        given = {"settings": decision_settings(self._context.settings), **options}

        def resumed(job: Job) -> Job | None:
            return None if job.state.over else replace(job, state=JobState.RUNNING, note="", options=given)

        for job in self._jobs.jobs(unfinished=True):
            if job.what == what and _compared(job.options) == _compared(given):
                found = self._change(job.id, resumed)
                if not found.state.over:
                    return found, False
        return self.start(what, options), True

    def due(self, job_id: str) -> int:
        """Number of parts that nobody works on; also goes to the next stage where a worker died before it could."""
        job, parts = self._read(job_id)
        if job.state is JobState.RUNNING and all(part.finished for part, _ in parts):
            job = self._advance(job_id)
            parts = present_parts(self._jobs, job)
        if job.state is not JobState.RUNNING:
            return 0
        return sum(not part.finished and not self._taken(part) for part, _ in parts)

    def taken(self, job_id: str) -> int:
        """Number of parts that other processes work on, or were working on a moment ago when they were killed."""
        return sum(not part.finished and self._taken(part) for part, _ in self._read(job_id)[1])

    def orphans(self, *, brief: bool) -> list[tuple[Job, int]]:
        """Running jobs, each with its number of parts that nobody works on: what a lost message or a dead worker has left.

        Args:
            brief: also of brief jobs.
        """
        found = []
        for job in self._jobs.jobs(unfinished=True):
            if brief or not KINDS[job.what].brief:
                with suppress(UnknownJob):  # it was done, and removed
                    found.append((job, self.due(job.id)))
        return found

    def turn(self, job_id: str, sent: int | None = None) -> Turn:
        """Take a part of the present stage that nobody works on, and work on it for ``step_seconds``.

        Args:
            job_id: of the job.
            sent: when the message about the job was sent, in milliseconds since 1970; None: there was none. A part that was worked on
                since then is left to the message that was sent after that, or each look for work left lying would add a message that
                never ends.

        Raises:
            UnknownJob: there is none.
            DedupError: it could not go on; the part keeps its checkpoint and may be taken again.
        """
        job, parts = self._read(job_id)
        if job.state is not JobState.RUNNING:
            return Turn(worked=False, due=0)
        free = [
            (part, version)
            for part, version in parts
            if not (part.finished or self._taken(part) or (sent is not None and part.beat > sent))
        ]
        # first the part that was given back last: the message that was sent then is about it
        for part, version in sorted(free, key=lambda each: -each[0].beat):
            error = part.error or (DIED if part.owner else "")
            owned = replace(
                part, owner=secrets.token_hex(4), beat=_now(), attempts=part.attempts + 1, error=error
            )
            if (owned_version := self._jobs.change_partition(owned, version)) is None:
                continue  # another worker was faster
            finished = self._hold(job, owned, owned_version)
            if finished is False:
                return Turn(worked=True, due=1)
            parts = self._read(job_id)[1] if finished else parts
            return Turn(worked=True, due=self.due(job_id) if all(each.finished for each, _ in parts) else 0)
        return Turn(worked=False, due=self.due(job_id) if all(part.finished for part, _ in parts) else 0)

    def _hold(self, job: Job, part: Partition, version: Version) -> bool | None:
        """Work on a part that was taken; whether it is finished, or None when another worker has taken it over."""
        with _Lease(self._jobs, part, version, self._limits.lease_seconds / 4) as lease:
            try:
                return self._work_on(job, lease)
            except LeaseLost:
                return None
            except KeyboardInterrupt:  # who resumes the job need not wait until the lease has run out
                lease.release(attempts=lease.part.attempts - 1, error="interrupted")
                raise
            except Exception as error:
                # the server's silence is not the page's fault
                innocent = isinstance(error, DedupError) and error.retryable
                attempts = lease.part.attempts - innocent
                lease.release(attempts=attempts, error=f"{type(error).__name__}: {error}"[:ERROR_CHARS])
                if isinstance(error, ConfigError):  # it would be the same at any other time
                    self.set_state(job.id, JobState.FAILED, str(error))
                raise

    def _work_on(self, job: Job, lease: _Lease) -> bool:
        """Whether the part is finished; else the time is over, or the job was stopped."""
        stage = KINDS[job.what].stages[job.stage]
        begun = last = time.monotonic()
        done = 0
        for step in stage.work(self._context, job, lease.part):
            now = time.monotonic()
            done += step.done
            # smaller batches have got past the trouble
            recovered = done >= self._limits.batch or lease.part.attempts == 1
            took = 0.0 if step.idle else now - last
            # a part that is given back before it has got anywhere would begin with the same again, and again
            moved = step.idle or step.done or step.checkpoint != lease.part.checkpoint
            lease.save(step, took, 0 if recovered else lease.part.attempts)
            if not step.idle:
                self._observe(stage.name, step.counts, took)
            throttle(job.options.get("rate"), step.done, took)
            last = time.monotonic()
            late = moved and last - begun > self._limits.step_seconds
            if late or self._found(job.id)[0].state is not JobState.RUNNING:
                lease.release(attempts=0)
                return False
        lease.put(finished=True, owner="", attempts=0, seconds=lease.seconds(time.monotonic() - last))
        return True

    def run(self, job_id: str) -> Job:
        """Work on a job in this process until it is over or paused; other workers may take parts of it meanwhile."""
        job, _ = self._found(job_id)
        while job.state is JobState.RUNNING:
            if not any(self.turn(job_id)):
                time.sleep(WAIT_SECONDS)
            found = self._jobs.job(job_id)
            job = found[0] if found else replace(job, state=JobState.DONE)
        return job

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
            parts = [part for part, _ in present_parts(self._jobs, job)]
            if job.state is not JobState.RUNNING or not all(part.finished for part in parts):
                return None
            counts = Counter(job.counts)
            for part in parts:
                counts.update(part.counts)
            return self._planned(replace(job, counts=dict(counts)))

        job = self._change(job_id, changed)
        if job.state is JobState.DONE and KINDS[job.what].brief:
            self._jobs.drop(job)
        return job

    def _planned(self, job: Job) -> Job:
        """A job at the next stage that has something to do, or done."""
        stages = KINDS[job.what].stages
        for number in range(job.stage + 1, len(stages)):
            if shares := stages[number].plan(self._context, job):
                return _with_parts(self._jobs, job, number, shares)
        return replace(job, state=JobState.DONE)

    def _change(self, job_id: str, changed: Callable[[Job], Job | None]) -> Job:
        for _ in range(TRIES):
            job, version = self._found(job_id)
            if (wanted := changed(job)) is None:
                return job
            wanted = replace(wanted, changed=_now())
            if self._jobs.change(wanted, version) is not None:
                return wanted
        raise IndexUnavailable(f"job {job_id}", "too many change it at once")

    def _found(self, job_id: str) -> tuple[Job, Version]:
        found = self._jobs.job(job_id)
        if found is None:
            raise UnknownJob(job_id)
        return found

    def _read(self, job_id: str) -> tuple[Job, list[tuple[Partition, Version]]]:
        """A job and the parts of its present stage."""
        job, _ = self._found(job_id)
        return job, present_parts(self._jobs, job)

    def _taken(self, part: Partition) -> bool:
        """Somebody works on it, by the clocks of both; a wrong clock costs double work, nothing else."""
        return bool(part.owner) and _now() - part.beat < self._limits.lease_seconds * 1000


class LeaseLost(DedupError):
    """Another worker has taken the part: this one seemed dead."""


class _Lease:
    """A part that was taken: signs of life while it is worked on, and checkpoints that count only while it is held.

    Args:
        jobs: where it is kept.
        part, version: as taken.
        beat_seconds: between signs of life.
    """

    def __init__(self, jobs: JobStore, part: Partition, version: Version, beat_seconds: float) -> None:
        self._jobs, self._beat_seconds = jobs, beat_seconds
        self.part = part
        self._version: Version | None = version
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True, name="es-dedup-part")

    def __enter__(self) -> Self:
        """Begin with the signs of life."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self._stop.set()
        self._thread.join()

    def seconds(self, took: float) -> float:
        """Of work with these."""
        return round(self.part.seconds + took, 3)

    def save(self, step: Step, took: float, attempts: int) -> None:
        """Keep the checkpoint of a piece that took so many seconds."""
        counts = Counter(self.part.counts)
        counts.update(step.counts)
        self.put(
            checkpoint=step.checkpoint,
            done=self.part.done + step.done,
            seconds=self.seconds(took),
            counts=dict(counts),
            attempts=attempts,
            error="",
        )

    def release(self, *, attempts: int, error: str = "") -> None:
        """Give it back; who takes it next goes on at the checkpoint."""
        try:
            self.put(owner="", attempts=attempts, error=error)
        except DedupError:
            return  # it is taken over when the lease has run out

    def put(self, **changes: Any) -> None:
        """Change the part.

        Raises:
            LeaseLost: another worker has it.
        """
        with self._guard:
            if self._version is None:
                raise LeaseLost
            part = replace(self.part, beat=_now(), **changes)
            self._version = self._jobs.change_partition(part, self._version)
            if self._version is None:
                raise LeaseLost
            self.part = part

    def _live(self) -> None:
        while not self._stop.wait(self._beat_seconds):
            try:
                self.put()
            except LeaseLost:
                return
            except DedupError:
                continue  # the server may answer the next one


def _with_parts(jobs: JobStore, job: Job, stage: int, shares: Sequence[PartitionPlan]) -> Job:
    """A job at a stage whose parts are stored."""
    plan = f"{stage}.{secrets.token_hex(3)}"
    jobs.create_partitions(
        Partition(job.id, plan, number, dict(share.work), share.total) for number, share in enumerate(shares)
    )
    return replace(job, stage=stage, plans=(*job.plans, plan), parts=(*job.parts, len(shares)))


def start_ingest(jobs: JobStore, page_ids: Sequence[str]) -> Job:
    """Make a job that decides on pages; whoever makes it need not open the index."""
    now = _now()
    job = Job(new_id(), "ingest", JobState.RUNNING, {"page_ids": list(page_ids)}, now, now)
    job = _with_parts(jobs, job, 0, parts_of_pages(job))
    jobs.create(job)
    return job


def start_recheck(context: MaintenanceContext) -> Job | None:
    """Begin to decide on the documents that wait; None when there are none, or another job is about such pages."""
    targets = ",".join(each.target for each in context.attachments)
    if not targets or not context.source_index.count_waiting(targets):
        return None
    if any(KINDS[job.what].brief for job in context.jobs.jobs(unfinished=True)):
        return None
    return Runner(context).start("recheck", {})


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
    earlier = [job for job in jobs if job.what == FOLLOW.name]
    unfinished = [job for job in earlier if not job.state.over]
    if unfinished and not once:
        return runner.set_state(unfinished[0].id, JobState.RUNNING), False
    options: dict[str, Any] = {"state": _start_of(context, jobs).model_dump(mode="json"), "once": once}
    job = runner.start(FOLLOW.name, options | ({"rate": rate} if rate else {}))
    for old in earlier:
        if old.state.over:
            context.jobs.drop(old)
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


def _start_of(context: MaintenanceContext, jobs: list[Job]) -> FollowState:
    """Where the last following, and backfills since then, have ended."""
    followed = [job for job in jobs if job.what == FOLLOW.name]
    last = max(followed, key=lambda job: job.changed, default=None)
    state, since = (follow_state(context, last), last.created) if last else (FollowState(), 0)
    for job in sorted(jobs, key=lambda each: each.changed):
        if job.what == "backfill" and job.state is JobState.DONE and job.created >= since:
            for positions in _backfilled(context, job):
                _advance(state.positions, positions)
    return state


def _backfilled(context: MaintenanceContext, job: Job) -> list[Positions]:
    """Up to where the last stage that reads what is written has read."""
    return [
        Positions.model_validate(part.checkpoint)
        for stage, parts in parts_by_stage(context, job)
        for part, _ in parts
        if stage is REMAINING and part.checkpoint
    ]


def _advance(positions: Positions, later: Positions) -> None:
    """Advance to the higher of two positions of each shard; to the later one where the history is another."""
    for index, shard, history, reached in later.shards():
        positions.advance(index, shard, history, max(reached, positions.above(index, shard, history)))


def follow_state(context: MaintenanceContext, job: Job) -> FollowState:
    """How far a job has followed."""
    ((part, _),) = context.jobs.parts(job.id, job.plans[-1], [0])
    return FollowState.of(part)


def preview(
    context: MaintenanceContext, *, force: bool = False, settings: Settings | None = None
) -> ReclusterReport:
    """What reclustering with these settings, or the current ones, would change; nothing is written.

    Raises:
        MassChange: more pages would change than the guard allows, and it is not forced.
    """
    report = context.dedup.recluster(dry_run=True, settings=settings)
    context.guard("recluster", report.changed, report.pages, force=force)
    return report


def start_recluster(context: MaintenanceContext, hours: float = 0.0) -> Job | None:
    """Begin reclustering as a job, if one is due, with the decision settings that the index records.

    Args:
        context: with its attachments.
        hours: since the end of the last job that was to cluster everything, whoever started it and however it ended.

    Returns:
        The job; None when none is due, nothing is attached, or another job is under way.
    """
    if not context.attachments:
        return None
    jobs = [job for job in context.jobs.jobs() if not KINDS[job.what].brief]
    earliest = time.time() * 1000 - hours * 3_600_000
    under_way = any(not job.state.over and job.what != FOLLOW.name for job in jobs)  # following has no end
    if under_way or any(reclusters(job) and job.changed > earliest for job in jobs):
        return None
    # without the settings that a later release has removed, which ``settings_of`` refuses
    settings = with_recorded(context.settings, decisions_in(context.index.note(STATISTICS)))
    return Runner(context).start("recluster", {"settings": decision_settings(settings)})


def present_parts(jobs: JobStore, job: Job) -> list[tuple[Partition, Version]]:
    """The parts of the stage that a job is at; none of a job without any."""
    return jobs.parts(job.id, job.plans[-1], range(job.parts[-1])) if job.plans else []


def parts_by_stage(
    context: MaintenanceContext, job: Job
) -> Iterator[tuple[Stage, list[tuple[Partition, Version]]]]:
    """The parts of each stage of a job that has begun."""
    for plan, count in zip(job.plans, job.parts, strict=True):
        number = int(plan.partition(".")[0])
        yield KINDS[job.what].stages[number], context.jobs.parts(job.id, plan, range(count))


def reclusters(job: Job) -> bool:
    """Whether a job clusters everything."""
    return CLUSTER in KINDS[job.what].stages


def new_id() -> str:
    """An id for a job that begins now."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def _compared(options: Mapping[str, Any]) -> str:
    """What must be equal for two jobs of one kind to do the same; options that are not set may be left out."""
    return json.dumps(
        {name: each for name, each in options.items() if each and name != "rate"}, sort_keys=True
    )


def _now() -> int:
    return int(time.time() * 1000)
