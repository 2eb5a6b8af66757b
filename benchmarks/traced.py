"""What a piece of work asks of Elasticsearch: each request with its bytes, its time, and the processor time of client and server.

The server's processor time is read from the threads of its process, so it must run on the same machine, under an account
whose threads may be read; background work of the server that falls into a request is counted with it.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from elastic_transport import Transport, Urllib3HttpNode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elasticsearch import Elasticsearch
    from harness import Row

NANOSECONDS: Final = 1e9
COMPILERS: Final = ("C1 Comp", "C2 Comp")  # names of the Java machine's threads that compile
_OURS: Final = re.compile(r".*-dedup-(?P<kind>[a-z]+)(-v\d+-\d+)?$")


@dataclass(slots=True)
class Spent:
    """Requests of one kind.

    Attributes:
        count: how many.
        sent, received: bytes.
        wall, took: seconds, for the client and by the server's own word.
        client, server: seconds of processor time.
    """

    count: int = 0
    sent: int = 0
    received: int = 0
    wall: float = 0.0
    took: float = 0.0
    client: float = 0.0
    server: float = 0.0


class Trace:
    """Requests of some batches by what they ask, and processor time of client and server over all of it.

    Args:
        pid: of the server's process; None: its processor time is not read.
        whole: note each request, which itself costs about a millisecond; else only the totals.

    Attributes:
        whole: as given.
        batches, requests: how many.
        own, server: seconds of processor time.
        compiling: those of the server in which it compiled its own code, as it does in its first minutes.
    """

    def __init__(self, pid: int | None, *, whole: bool = False) -> None:
        self._pid, self.whole = pid, whole
        self._bytes = threading.local()
        self._one = threading.Lock()  # of two requests at once nobody could tell which the server works for
        self.spent: defaultdict[str, Spent] = defaultdict(Spent)
        self.batches, self.requests, self.own, self.server, self.compiling = 0, 0, 0.0, 0.0, 0.0

    @contextmanager
    def batch(self, count: int) -> Iterator[None]:
        """Count what is done inside as so many batches."""
        with self._watching() if self.whole else self._counting():
            compiling, server, own = self._compiling(), self.server_seconds(), time.process_time()
            yield
            self.own += time.process_time() - own
            self.server += self.server_seconds() - server
            self.compiling += self._compiling() - compiling
            self.batches += count

    def server_seconds(self) -> float:
        """Processor time of the server's threads so far."""
        return sum(seconds_of(task) for task in self._threads())

    def _compiling(self) -> float:
        return sum(seconds_of(task) for task in self._threads() if name_of(task).startswith(COMPILERS))

    def _threads(self) -> list[Path]:
        return [] if self._pid is None else list(Path(f"/proc/{self._pid}/task").iterdir())

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Count the requests of this process's clients."""
        ask = Transport.perform_request

        def counted(self_: Transport, *given: Any, **more: Any) -> Any:
            self.requests += 1
            return ask(self_, *given, **more)

        Transport.perform_request = counted  # type: ignore[method-assign,assignment]
        try:
            yield
        finally:
            Transport.perform_request = ask  # type: ignore[method-assign]

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Note every request of this process's clients."""
        whole, raw = Transport.perform_request, Urllib3HttpNode.perform_request
        trace = self

        def request(self: Transport, method: str, target: str, **more: Any) -> Any:
            with trace._one:
                return noted(self, method, target, **more)

        def noted(self: Transport, method: str, target: str, **more: Any) -> Any:
            server, cpu, wall = trace.server_seconds(), time.thread_time(), time.perf_counter()
            answer = None
            try:
                answer = whole(self, method, target, **more)
            finally:
                spent = trace.spent[kind_of(method, target, more.get("body"))]
                spent.client += time.thread_time() - cpu
                spent.wall += time.perf_counter() - wall
                spent.server += trace.server_seconds() - server
                spent.count += 1
                spent.sent += trace._bytes.sent
                spent.received += trace._bytes.received
                body = getattr(answer, "body", None)
                if isinstance(body, dict):
                    spent.took += body.get("took", 0) / 1000
            return answer

        def bytes_of(self: Urllib3HttpNode, method: str, target: str, *given: Any, **more: Any) -> Any:
            body = given[0] if given else more.get("body")
            trace._bytes.sent, trace._bytes.received = len(body or b""), 0
            answer = raw(self, method, target, *given, **more)
            trace._bytes.received = len(answer.body)
            return answer

        Transport.perform_request = request  # type: ignore[method-assign]
        Urllib3HttpNode.perform_request = bytes_of  # type: ignore[method-assign]
        try:
            yield
        finally:
            Transport.perform_request = whole  # type: ignore[method-assign]
            Urllib3HttpNode.perform_request = raw  # type: ignore[method-assign]

    def rows(self) -> list[Row]:
        """One row for each kind of request, the costliest first, and the totals; all figures of one batch."""
        kinds = sorted(self.spent.items(), key=lambda item: -item[1].server - item[1].client)
        rows = [_row(name, spent, self.batches) for name, spent in kinds]
        whole = Spent(
            **{
                name: sum(getattr(each, name) for each in self.spent.values())
                for name in ("count", "sent", "received", "wall", "took", "client", "server")
            }
        )
        rest = {
            "request": "beside them",
            "client cpu ms": round(1000 * (self.own - whole.client) / self.batches, 2),
            "server cpu ms": round(1000 * (self.server - whole.server) / self.batches, 2),
        }
        return [*rows, _row("all requests", whole, self.batches), rest]


def seconds_of(task: Path) -> float:
    """Processor time of a thread so far; 0 of one that has just ended."""
    with suppress(OSError):
        return int((task / "schedstat").read_text().split()[0]) / NANOSECONDS
    return 0.0


def name_of(task: Path) -> str:
    """The first characters of a thread's name."""
    with suppress(OSError):
        return (task / "comm").read_text()
    return ""


def kind_of(method: str, target: str, body: Any) -> str:
    """A request's name: what it does, and with which kinds of indices."""
    path = target.partition("?")[0].strip("/").split("/")
    verb = next((part for part in path if part.startswith("_")), method.lower())
    places = {_place(path[0])} if path and not path[0].startswith("_") else set(_inside(verb, body))
    if verb in ("_doc", "_create"):
        verb = f"{method.lower()} {verb}"
    return " ".join([verb, "+".join(sorted(places))])


def _inside(verb: str, body: Any) -> Iterator[str]:
    if verb == "_bulk":
        for head in _lines(body):
            for operation in ("index", "create", "update", "delete"):
                said = head.get(operation)
                if isinstance(said, dict) and "_index" in said:
                    yield _place(said["_index"])
    elif verb == "_msearch":
        for head in _lines(body):
            if "index" in head:
                yield _place(head["index"])
    elif verb in ("_mget", "_mtermvectors"):
        yield from (_place(each["_index"]) for each in body.get("docs", ()) if "_index" in each)


def _lines(body: Any) -> Iterator[dict[str, Any]]:
    """The lines of a body, of which a part may hold several."""
    for part in body:
        yield from [part] if isinstance(part, dict) else map(json.loads, part.splitlines())


def _place(index: str) -> str:
    found = _OURS.match(index)
    return found["kind"] if found else "host"


def _row(name: str, spent: Spent, batches: int) -> Row:
    return {
        "request": name,
        "times": round(spent.count / batches, 1),
        "kB sent": round(spent.sent / batches / 1000, 1),
        "kB received": round(spent.received / batches / 1000, 1),
        "wall ms": round(1000 * spent.wall / batches, 1),
        "took ms": round(1000 * spent.took / batches, 1),
        "client cpu ms": round(1000 * spent.client / batches, 2),
        "server cpu ms": round(1000 * spent.server / batches, 2),
    }


def pid_of(client: Elasticsearch) -> int | None:
    """The process of a server with one node on this machine; None where its threads cannot be read."""
    nodes = client.nodes.info(metric="process")["nodes"].values()
    pids = [int(node["process"]["id"]) for node in nodes]
    return pids[0] if len(pids) == 1 and Path(f"/proc/{pids[0]}/task").is_dir() else None
