"""Simulated nodes: known schedules, and what must hold of any."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from spark_nodes import Work, makespan, table, work_of

if TYPE_CHECKING:
    from pathlib import Path


def test_tasks_go_to_the_core_that_is_free_first() -> None:
    assert makespan([3.0, 1.0, 1.0, 1.0], [1.0, 1.0], speculate=False) == 3.0
    assert makespan([3.0, 1.0, 1.0, 1.0], [1.0], speculate=False) == 6.0


def test_a_slow_node_ends_last_and_speculation_repeats_its_tasks() -> None:
    tasks = [1.0] * 40
    slow = [5.0, *[1.0] * 19]
    assert makespan(tasks, slow, speculate=False) == 5.0
    assert 2.0 <= makespan(tasks, slow, speculate=True) <= 4.0


@pytest.mark.parametrize("seed", range(20))
def test_more_cores_and_speculation_never_take_longer_than_the_sum(seed: int) -> None:
    source = random.Random(seed)
    tasks = [source.uniform(0.1, 3) for _ in range(source.randint(1, 60))]
    factors = [source.choice((1.0, 5.0)) for _ in range(source.randint(1, 8))]
    plain, again = (makespan(tasks, factors, speculate=each) for each in (False, True))
    assert max(tasks) - 1e-9 <= again <= plain <= sum(tasks) * 5 + 1e-9
    assert makespan(tasks, [1.0], speculate=True) == pytest.approx(sum(tasks))


def test_the_log_gives_tasks_by_stage_and_the_time_without_them(tmp_path: Path) -> None:
    spans = {1: [(1, 3), (2, 4)], 2: [(6, 7)]}
    lines = [
        {"Event": "SparkListenerTaskEnd", "Stage ID": stage,
         "Task Info": {"Launch Time": begun * 1000, "Finish Time": ended * 1000}}
        for stage, tasks in spans.items()
        for begun, ended in tasks
    ]  # fmt: skip
    (tmp_path / "events").write_text(
        "".join(f"{json.dumps(line)}\n" for line in [{"Event": "other"}, *lines])
    )
    assert work_of(tmp_path, [(0, 10)]) == Work([[2, 2], [1]], 6)


def test_nodes_divide_what_is_not_the_drivers() -> None:
    rows = table(Work([[1.0] * 8], alone=3.6), 1000)
    times = [row["hours"] for row in rows]
    assert times == sorted(times, reverse=True)
    assert times[-1] > 0.001
    assert rows[0]["hours"] == pytest.approx(8000 / 2 / 3600, rel=0.02)
    assert all(row["speculation"] <= row["some slow"] for row in rows)
