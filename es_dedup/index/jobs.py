"""Long jobs as documents: what is to be done, which parts of it are done, and what could not be done.

A job goes through stages; a stage has parts that workers take independently; a part keeps a checkpoint. Every change is
conditional on the version that was read, so of two workers on one part only one gets its checkpoint kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Version: TypeAlias = tuple[int, int]
"""What a conditional change is held against; opaque."""


class JobState(StrEnum):
    """``running`` also while it waits for workers; ``abandoned``, which is never stored, while it waits for nobody."""

    RUNNING = "running"
    ABANDONED = "abandoned"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    DONE = "done"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        """Nothing more will happen."""
        return self in (JobState.CANCELLED, JobState.DONE, JobState.FAILED)


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a maintenance command.

    Attributes:
        id: made by the caller; sorts by time of creation.
        what: name of the plan, such as ``backfill``.
        state: see ``JobState``.
        stage: place in the plan of the stage that is worked on.
        plans, parts: of each stage that has begun, under which name its parts are kept, and how many they are.
        options: what the command was called with; never a secret.
        created, changed: milliseconds since 1970.
        counts: what was done, by name, of finished stages.
        note: why it failed, or what a person should know.
    """

    id: str
    what: str
    state: JobState
    options: Mapping[str, Any]
    created: int
    changed: int
    stage: int = 0
    plans: tuple[str, ...] = ()
    parts: tuple[int, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """What ``as_dict`` gave, read from JSON."""
        plans, parts = tuple(given["plans"]), tuple(given["parts"])
        return cls(**{**given, "state": JobState(given["state"]), "plans": plans, "parts": parts})


@dataclass(frozen=True, slots=True)
class Partition:
    """One part of a stage.

    Attributes:
        job, plan, number: which; ``number`` from 0.
        work: what it covers; understood by the stage.
        total: documents it is expected to hold.
        checkpoint: all before it is done; None at the start.
        done: documents worked on.
        finished: nothing is left.
        owner: who works on it; empty when nobody does.
        beat: milliseconds since 1970 of the owner's last sign of life.
        attempts: how often it was taken without getting on.
        error: what ended the last attempt; empty when its worker died.
        seconds: of work so far, over all owners.
        counts: what was done, by name.
    """

    job: str
    plan: str
    number: int
    work: Mapping[str, Any]
    total: int = 0
    checkpoint: Any = None
    done: int = 0
    finished: bool = False
    owner: str = ""
    beat: int = 0
    attempts: int = 0
    error: str = ""
    seconds: float = 0.0
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def repeats(self) -> bool:
        """Whether an earlier attempt may have ended in the middle of what comes next."""
        return self.attempts > 1 or bool(self.error)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A page that could not be worked on.

    Attributes:
        page_id: the page.
        task: what was tried.
        error: class of the error and its text, without the page's text.
        attempts: how often it was tried.
        at: milliseconds since 1970.
    """

    page_id: str
    task: str
    error: str
    attempts: int
    at: int


def as_dict(record: Job | Partition | DeadLetter) -> dict[str, Any]:
    """JSON-ready form; ``Job.from_dict``, ``Partition(**…)`` and ``DeadLetter(**…)`` read it."""
    return {each.name: getattr(record, each.name) for each in fields(record)}
