"""Random sequences of steps, printed so that they can be repeated, and cut to the shortest that still fails."""

from __future__ import annotations

import json
import random
import sys
import time
from typing import TYPE_CHECKING, Final

from tests.model.system import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.model.system import Step, System

    Make = Callable[[], System]

STEPS: Final = 40


def sequence(make: Make, seed: int, steps: int = STEPS) -> int:
    """One sequence on a fresh system; how many steps it had.

    Raises:
        Finding: with the seed and the steps so far, as ``--replay`` reads them.
    """
    rng = random.Random(seed)
    system = make()
    taken: list[Step] = []
    try:
        for _ in range(steps):
            taken.append(system.draw(rng))
            system.run(taken[-1])
        system.finish()
    except Exception as error:
        raise Finding(f"seed {seed}, step {len(taken)}: {error!r}", json.dumps(taken)) from error
    finally:
        system.remove()
    return len(taken)


def replay(make: Make, steps: Sequence[Step]) -> BaseException | None:
    """What given steps end with on a fresh system."""
    system = make()
    try:
        for step in steps:
            system.run(step)
        system.finish()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what was looked for
        return error
    finally:
        system.remove()
    return None


def shortest(make: Make, steps: Sequence[Step], seconds: float) -> list[Step]:
    """The steps without those that a failure does not need, found by leaving out ever smaller runs of them."""
    end = time.monotonic() + seconds
    left, size = list(steps), max(1, len(steps) // 2)
    while size:
        at = 0
        while at < len(left):
            fewer = left[:at] + left[at + size :]
            if time.monotonic() > end:
                return left
            if fewer and replay(make, fewer) is not None:
                left = fewer
            else:
                at += size
        size //= 2
    return left


def tell(*said: object) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(" ".join(map(str, said)) + "\n")
    sys.stdout.flush()
