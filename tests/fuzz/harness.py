"""Runs the inputs of a target and says which of them ended in anything else than a result or an error of ours.

Input ``n`` of a target depends on the seed, the target's name and ``n`` alone, so each finding can be repeated by itself.
"""

import mmap
import random
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

from es_dedup.errors import DedupError

SECONDS: Final = 2.0
"""Processor time of one input."""
FIRST_SECONDS: Final = 200.0
WARM_UP: Final = 20
"""Inputs before memory is measured: they load libraries and fill caches."""
PACKAGE: Final = Path(__file__).parents[2] / "es_dedup"


_begun: Final[set[str]] = set()


class Hang(BaseException):
    """An input took too long; no ``except Exception`` may catch it."""


@dataclass(frozen=True, slots=True)
class Target:
    """Something that is given hostile input.

    Attributes:
        name: of the target.
        make: an input out of random numbers.
        run: takes the input; raising anything but ``DedupError`` and ``allowed`` is a finding.
        count: inputs of the whole budget.
        megabytes: that the process may grow while it runs the target.
        allowed: errors that the function documents beside ours.
    """

    name: str
    make: Callable[[random.Random], Any]
    run: Callable[[Any], object]
    count: int
    megabytes: int = 200
    allowed: tuple[type[Exception], ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that broke the rule: its number, what happened, and where in the package."""

    number: int
    what: str
    place: str
    detail: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What equal findings share."""
        return self.what.partition(":")[0], self.place


def input_of(target: Target, seed: int, number: int) -> Any:
    """Input ``number`` of a target."""
    return target.make(random.Random(f"{seed}/{target.name}/{number}"))


def findings_of(
    target: Target, seed: int, numbers: Iterable[int], *, progress: mmap.mmap | None = None
) -> Iterator[Finding]:
    """Run inputs; gives what broke the rule. Memory is looked at where ``progress`` shows that the process is the target's own."""
    before = signal.signal(signal.SIGPROF, _out_of_time)
    base = 0
    try:
        for done, number in enumerate(numbers):
            if progress is not None:
                progress[:8] = number.to_bytes(8, "little")
            value = input_of(target, seed, number)
            if (finding := _try(target, number, value)) is not None:
                yield finding
            if progress is None:
                continue
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            base = base if done >= WARM_UP else peak
            if peak - base > target.megabytes:
                yield Finding(number, f"memory: {peak - base} MB more than {base}", target.name)
                base = peak
    finally:
        signal.signal(signal.SIGPROF, before)


def _try(target: Target, number: int, value: Any) -> Finding | None:
    # The first input of a process that gives a result brings libraries and compiled kernels into it.
    seconds = SECONDS if target.name in _begun else FIRST_SECONDS
    started = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            target.run(value)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        _begun.add(target.name)
    except DedupError as error:
        return None if str(error) else Finding(number, f"{type(error).__name__}: says nothing", target.name)
    except target.allowed:
        return None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - also what native code panics with
        return Finding(number, f"{type(error).__name__}: {error}"[:300], place_of(error), _told(error))
    if (spent := time.process_time() - started) > seconds:
        return Finding(number, f"Hang: {spent:.1f} s", target.name)
    return None


def place_of(error: BaseException) -> str:
    """The innermost line of the package that an error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)] or frames
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno} {ours[-1].name}"


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-6))


def _out_of_time(_signal: int, _frame: FrameType | None) -> None:
    raise Hang("out of processor time")
