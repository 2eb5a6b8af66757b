"""Which batches are under way at once, what becomes of those after one that fails, and what clustering reads of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from es_dedup.hook.report import HookReport
from es_dedup.hook.stages import MOST, Stages

if TYPE_CHECKING:
    from collections.abc import Callable


SECONDS = 20


class Calls:
    """A run that notes what it is asked for; a batch is a list with its number."""

    def __init__(self, *, dependent: tuple[int, int] = (-1, -1), fails: str = "", replaces: int = -1) -> None:
        self.made: list[str] = []
        self.hook, self.report = self, HookReport()
        self.events = {
            f"{what} {n}": threading.Event()
            for n in range(5)
            for what in ("featurise", "prefetch", "compare", "prepare", "write")
        }
        self.after: dict[str, str] = {}
        self._dependent, self._fails, self._replaces = dependent, fails, replaces

    def _note(self, what: str) -> str:
        if before := self.after.get(what):
            assert self.events[before].wait(SECONDS), f"{what} goes on after {before}"
        self.made.append(what)
        self.events[what].set()
        if what == self._fails:
            raise KeyError(what)
        return what[-1]

    def independent(self, items: Any, before: Any) -> bool:
        return (items[0], before[0]) != self._dependent

    def featurise(self, items: Any, _: HookReport) -> Any:
        return self._note(f"featurise {items[0]}")

    def prefetch(self, items: Any, features: Any, _: HookReport, *, settled: Callable[[], object]) -> Any:
        assert features == str(items[0])
        if items[0] == self._replaces:
            settled()
        return self._note(f"prefetch {items[0]}")

    def compare(self, prefetched: Any, _: HookReport) -> Any:
        self._note(f"compare {prefetched}")
        return prefetched

    def prepare(self, items: Any, prefetched: Any) -> Any:
        assert prefetched == str(items[0])
        return self._note(f"prepare {items[0]}")

    def write(self, items: Any, batch: Any) -> Any:
        assert batch == str(items[0])
        return [(True, {"index": self._note(f"write {items[0]}")})]

    def withdraw(self, items: Any, _: HookReport) -> None:
        self.made.append(f"withdraw {items[0]}")


def all_of(run: Any, count: int = 4) -> list[str]:
    found: list[Any] = []
    with Stages(run, run.write) as stages:
        for number in range(count):
            stages.begin([number])  # type: ignore[list-item]
            if stages.under_way == MOST:
                found += stages.finished()
        while stages.under_way:
            found += stages.finished()
    return [said["index"] for _, said in found]


def test_candidates_of_the_next_batches_are_searched_meanwhile() -> None:
    run = Calls()
    run.after = {
        "prefetch 0": "featurise 1",
        "compare 0": "prefetch 1",
        "write 0": "compare 1",
        "compare 2": "prefetch 3",
    }
    assert all_of(run) == ["0", "1", "2", "3"]


def test_a_batch_is_decided_on_when_the_one_before_is_written() -> None:
    run = Calls()
    all_of(run)
    for what, before in [("prepare 1", "write 0"), ("prepare 2", "write 1"), ("prefetch 1", "prefetch 0")]:
        assert run.made.index(before) < run.made.index(what)


@pytest.mark.parametrize("on", [0, 1])
def test_what_depends_on_a_batch_is_searched_when_that_is_written(on: int) -> None:
    run = Calls(dependent=(2, on))
    run.after = {f"write {on}": "prefetch 1", f"compare {on + 1}": "prefetch 1"}
    all_of(run)
    assert run.made.index(f"write {on}") < run.made.index("prefetch 2") < run.made.index("prefetch 3")


def test_an_interrupt_while_a_batch_is_begun_takes_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Calls()
    submit = ThreadPoolExecutor.submit

    def interrupted(pool: ThreadPoolExecutor, *args: Any, **kwargs: Any) -> Any:
        found = submit(pool, *args, **kwargs)
        if run.events["featurise 0"].wait(0.2) and run.events["prefetch 0"].wait(0.2):
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        all_of(run)
    assert run.made == ["featurise 0", "prefetch 0", "withdraw 0"]


def test_what_replaces_something_waits_for_the_decision_before() -> None:
    run = Calls(replaces=1)
    all_of(run)
    assert run.made.index("prepare 0") < run.made.index("prefetch 1")


@pytest.mark.parametrize("fails", ["featurise 1", "prefetch 1", "prepare 1", "write 1"])
def test_nothing_after_a_batch_that_fails_is_decided_on(fails: str) -> None:
    run = Calls(fails=fails)
    with pytest.raises(KeyError):
        all_of(run)
    assert "write 0" in run.made
    assert "prepare 2" not in run.made
    assert ("withdraw 2" in run.made) == ("prefetch 2" in run.made)
    assert ("withdraw 1" in run.made) == (fails == "prefetch 1")
