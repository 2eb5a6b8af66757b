"""What is running: written down per profile, and checked against the processes themselves."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scripts.serversupport.settings import Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable

STATE: Final = "state.json"
STOP_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Process:
    """A started process; ``birth`` tells it from a later one with the same id."""

    pid: int
    birth: str

    @classmethod
    def of(cls, pid: int) -> Process:
        """The process that has this id now."""
        return cls(pid, _birth(pid))

    def alive(self) -> bool:
        """Whether it still runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return _birth(self.pid) == self.birth

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """End it, at first politely.

        Raises:
            Trouble: it does not end.
        """
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.alive():
                return
            os.kill(self.pid, number)
            end = time.monotonic() + seconds
            while self.alive() and time.monotonic() < end:
                time.sleep(0.05)
        if self.alive():
            message = f"process {self.pid} does not end"
            raise Trouble(message)


def _birth(pid: int) -> str:
    """Start time in clock ticks since boot where the system tells it; a zombie counts as gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else str(fields[19])


@dataclass(frozen=True, slots=True)
class Server:
    """A started profile.

    Attributes:
        profile: its name.
        version: of the server.
        urls: one per node.
        processes: one per node.
        folder: data, logs and configuration.
        user, password, ca: of a secured server; else empty.
    """

    profile: str
    version: str
    urls: list[str]
    processes: list[Process]
    folder: str
    user: str = ""
    password: str = field(default="", repr=False)
    ca: str = ""

    @property
    def url(self) -> str:
        """Of the first node."""
        return self.urls[0]

    def alive(self) -> bool:
        """Whether at least one of its processes runs."""
        return any(process.alive() for process in self.processes)

    def variables(self) -> dict[str, str]:
        """Environment variables that tell tests of it; see ``VARIABLES``."""
        name = VARIABLES.get(self.profile, f"ES_DEDUP_{self.profile.upper()}_URL")
        found = {name: self.url}
        if self.user:
            base = name.removesuffix("_URL")
            found |= {f"{base}_USER": self.user, f"{base}_PASSWORD": self.password, f"{base}_CA": self.ca}
        if len(self.urls) > 1:
            found[f"{name}S"] = ",".join(self.urls)
        return found


VARIABLES: Final = {"es8": "ES_DEDUP_ES_URL", "es9": "ES_DEDUP_ES9_URL", "redis": "ES_DEDUP_REDIS_URL"}


def save(server: Server) -> None:
    """Write it down in its folder, readable for its owner only."""
    path = Path(server.folder) / STATE
    fresh = path.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(asdict(server), indent=1))
    fresh.replace(path)


def written(folder: Path) -> Server | None:
    """What was written down of a profile, whether it runs or not."""
    try:
        values = json.loads((folder / STATE).read_text())
    except (OSError, ValueError):
        return None
    values["processes"] = [Process(**process) for process in values["processes"]]
    return Server(**values)


def load(folder: Path) -> Server | None:
    """What was written down of a profile, if it still runs."""
    server = written(folder)
    return server if server is not None and server.alive() else None


def running(run: Path) -> list[Server]:
    """All servers of a run folder, by name."""
    folders = sorted(run.iterdir()) if run.is_dir() else []
    return [server for folder in folders if (server := load(folder)) is not None]


def free_ports(first: int, count: int, above: Iterable[int] = (0,)) -> int:
    """The first of ``count`` ports in a row, each free also at these distances; ``first`` if that is possible."""
    starts: Iterable[int] = (first, *range(first + 1000, first + 20000, 16))
    for start in starts:
        if all(_is_free(start + at + far) for at in range(count) for far in above):
            return start
    message = f"no {count} free ports were found above {first}"
    raise Trouble(message)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
