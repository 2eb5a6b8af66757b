"""Real worker processes for tests."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from es_dedup_tasks.dispatch import worker_command

from tests.processes import PROGRAM
from tests.servers import url_of
from tests.source_indices import SMALL


def broker(database: int = 3) -> str:
    """A database of the test server that no other user has."""
    return f"{url_of('redis').rpartition('/')[0]}/{database}"


def environment(database: int = 3, **maintenance: Any) -> dict[str, str]:
    """Settings of a worker, as for ``tests.source_indices.settings``."""
    values = {**SMALL, "step_seconds": 2, "broker": broker(database), "recluster_hours": 0, **maintenance}
    named = {f"ES_DEDUP_MAINTENANCE__{name.upper()}": str(value) for name, value in values.items()}
    return {**os.environ, **named, "ES_DEDUP_INDEX__LOCK_SECONDS": "60"}


class Worker:
    """One ``es-dedup elastic worker``."""

    def __init__(
        self, place: str, log: Any, *options: str, faults: dict[str, str] | None = None, **maintenance: Any
    ) -> None:
        command = [PROGRAM, "--db", place, "elastic", "worker", *options]
        given = environment(**maintenance)
        if faults:
            command = worker_command(place, ("ingest", "maintenance"), processes=2, beat=True)
            command[command.index("--app") + 1] = "tests.faulty"
            root = Path(__file__).parents[1]
            given |= {"ES_DEDUP_DB": place, "PYTHONPATH": f"{root}{os.pathsep}{root / 'tasks'}", **faults}
        self.process = subprocess.Popen(command, env=given, stdout=log, stderr=log, start_new_session=True)

    def children(self) -> list[int]:
        """Processes that run tasks."""
        found: list[int] = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(OSError):  # a thread or a child that has ended meanwhile
                found += map(int, (task / "children").read_text().split())
        return found

    def kill_child(self) -> bool:
        """SIGKILL one of the processes that run tasks; whether there was one."""
        for child in self.children():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
                return True
        return False

    def kill(self) -> None:
        """SIGKILL all of it at once."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)

    def stop(self) -> None:
        """Ask it to end, and see that it does."""
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self.kill()


@contextmanager
def worker(place: str, log: Any, *options: str, **more: Any) -> Iterator[Worker]:
    """A worker that is gone at the end of the block."""
    started = Worker(place, log, *options, **more)
    try:
        yield started
    finally:
        started.kill()


def until(happened: Callable[[], bool], seconds: float = 150) -> None:
    """Wait for something; fail when it does not happen in time."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
