"""How would the time of a measured run change with more nodes, and with nodes that are slow? A simulation.

Tasks of a measured run are cut into as many as the cores want, with the spread of lengths that was measured, and handed
to cores as they become free, stage by stage. What the driver did alone stays as it is. A slow node takes
``SLOW_FACTOR`` times as long for each task; with speculation, tasks that run much longer than the median are started
again on a free core, by Spark's rule and its defaults.
"""

from __future__ import annotations

import heapq
import json
import random
from dataclasses import dataclass, field
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from harness import Row

CORES: Final = 2  # of a node
TASKS_A_CORE: Final = 3
LAUNCH_SECONDS: Final = 0.02  # of a task
SLOW_SHARE: Final = 0.05  # of the nodes
SLOW_FACTOR: Final = 5.0
QUANTILE: Final = 0.75  # spark.speculation.quantile: tasks of a stage that must have ended
MULTIPLIER: Final = 1.5  # spark.speculation.multiplier: times the median
NODES: Final = (1, 2, 4, 8, 16, 32, 64)
DRAWS: Final = 20


@dataclass(slots=True)
class Work:
    """What a run did: seconds of its tasks by stage, in order, and seconds in which no task ran."""

    stages: list[list[float]] = field(default_factory=list)
    alone: float = 0.0


def events(log: Path) -> Iterator[dict[str, Any]]:
    """What Spark's event logs in a folder hold; the last line of a session that was killed is left out."""
    for path in sorted(log.rglob("*")):
        if path.is_file() and not path.name.startswith("."):  # those hold checksums
            with path.open(encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines if line.endswith("}\n"))


def work_of(log: Path, spans: Iterable[tuple[float, float]]) -> Work:
    """What Spark's event log tells of the steps that ran in these spans of time (seconds)."""
    stages: dict[int, list[tuple[float, float]]] = {}
    for event in events(log):
        if event["Event"] == "SparkListenerTaskEnd":
            task = event["Task Info"]
            span = task["Launch Time"] / 1000, task["Finish Time"] / 1000
            stages.setdefault(event["Stage ID"], []).append(span)
    ran = sorted(span for tasks in stages.values() for span in tasks)
    alone = sum(ended - begun - _covered(ran, begun, ended) for begun, ended in spans)
    return Work([[end - begin for begin, end in stages[stage]] for stage in sorted(stages)], alone)


def table(work: Work, times: float, seed: int = 1) -> list[Row]:
    """Hours for ``times`` the pages on each number of nodes, and how much faster than one node.

    Random draws of slow nodes are averaged.
    """
    rows: list[Row] = []
    for nodes in NODES:
        chance = random.Random(seed)
        slow = [[chance.random() < SLOW_SHARE for _ in range(nodes)] for _ in range(DRAWS)]
        none = [False] * nodes
        rows.append(
            {
                "nodes": nodes,
                "hours": _seconds(work, times, none, speculate=False) / 3600,
                "some slow": mean(_seconds(work, times, each, speculate=False) for each in slow) / 3600,
                "speculation": mean(_seconds(work, times, each, speculate=True) for each in slow) / 3600,
            }
        )
    first = rows[0]["hours"]
    return [
        {name: round(value, 3) for name, value in row.items()} | {"faster": round(first / row["hours"], 1)}
        for row in rows
    ]


def _seconds(work: Work, times: float, slow: Sequence[bool], *, speculate: bool) -> float:
    factors = [SLOW_FACTOR if each else 1.0 for each in slow for _ in range(CORES)]
    chance = random.Random(0)
    total = work.alone
    for tasks in work.stages:
        count = max(len(tasks), TASKS_A_CORE * len(factors))
        share = len(tasks) * times / count
        cut = [LAUNCH_SECONDS + share * chance.choice(tasks) for _ in range(count)]
        whole = sum(tasks) * times / max(sum(cut) - count * LAUNCH_SECONDS, 1e-9)
        total += makespan(
            [LAUNCH_SECONDS + (each - LAUNCH_SECONDS) * whole for each in cut], factors, speculate=speculate
        )
    return total


def makespan(tasks: Sequence[float], factors: Sequence[float], *, speculate: bool) -> float:
    """Seconds until all tasks have ended, each handed to the core that is free first.

    Args:
        tasks: seconds of each on a core of factor 1.
        factors: of each core, times as slow.
        speculate: repeat tasks that take long.
    """
    free = [(0.0, core) for core in range(len(factors))]
    heapq.heapify(free)
    runs: list[tuple[float, float, float]] = []  # begun, ended, seconds on a core of factor 1
    for task in tasks:
        at, core = heapq.heappop(free)
        runs.append((at, at + task * factors[core], task))
        heapq.heappush(free, (at + task * factors[core], core))
    if not speculate:
        return max(ended for _, ended, _ in runs)
    ends = sorted(ended for _, ended, _ in runs)
    from_then = ends[min(int(QUANTILE * len(ends)), len(ends) - 1)]
    limit = MULTIPLIER * median(ended - begun for begun, ended, _ in runs if ended <= from_then)
    last = 0.0
    for begun, ended, task in sorted(runs, key=lambda run: run[0]):
        asked = max(from_then, begun + limit)
        if ended > asked:
            at, core = heapq.heappop(free)
            copy = max(at, asked) + task * factors[core]
            heapq.heappush(free, (copy if copy < ended else max(at, asked), core))
            last = max(last, min(ended, copy))
        else:
            last = max(last, ended)
    return last


def _covered(spans: Iterable[tuple[float, float]], begun: float, ended: float) -> float:
    """Seconds between two times in which at least one of the sorted spans lasts."""
    total, until = 0.0, begun
    for begin, end in spans:
        begin_, end_ = max(begin, until), min(end, ended)
        if end_ > begin_:
            total += end_ - begin_
            until = end_
    return total
