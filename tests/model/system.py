"""What every system under test shares: steps as plain data, deaths of processes, and what is said when something differs."""

import multiprocessing
import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol

from es_dedup.model.batches import chunked
from tests.model.material import Version
from tests.model.plain import SAME, Expected, Plain
from tests.servers import restart
from tests.traffic import FAILURES

Step = dict[str, Any]
"""One step: ``op``, and what it needs, JSON-ready; it means something after any other steps, so that a sequence can be cut."""

PAGES: Final = 24
RARELY: Final = 0.3  # weight of steps that take half a minute
READS: Final = tuple("_search _msearch _mget _refresh _count _pit _cluster/health _mapping/field".split())


class Finding(AssertionError):
    """The system and the model differ."""


class System(Protocol):
    """A real system with the model beside it."""

    def draw(self, rng: random.Random) -> Step:
        """A random step."""

    def run(self, step: Step) -> None:
        """Take a step, in the system and in the model, and compare what must be equal after it."""

    def finish(self) -> None:
        """Let everything heal, and compare it all."""

    def remove(self) -> None:
        """Leave nothing behind."""


def demand(holds: object, *said: object) -> None:
    """Raise a ``Finding`` where something does not hold."""
    if not holds:
        raise Finding(*said)


def equal(what: str, real: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Compare two mappings, and name only what differs."""
    if real != wanted:
        names = sorted(name for name in {*real, *wanted} if real.get(name) != wanted.get(name))
        raise Finding(what, {name: {"real": real.get(name), "model": wanted.get(name)} for name in names[:6]})


def versions(pages: Iterable[tuple[str, str, int]]) -> dict[str, Version]:
    """Pages of a step by id, the last of each."""
    return {name: Version(content, day) for name, content, day in pages}


def name_of(number: int) -> str:
    """A page id."""
    return f"p{number:02}"


def cluster_ids(found: Mapping[str, tuple[str, AbstractSet[str]]], live: AbstractSet[str]) -> None:
    """Rules of cluster ids that hold whatever came before.

    Args:
        found: cluster id, and pages of the cluster, by page.
        live: all pages.
    """
    owners: dict[str, AbstractSet[str]] = {}
    for name, (cluster_id, members) in found.items():
        demand(owners.setdefault(cluster_id, members) == members, "one id, two clusters", cluster_id)
        if len(members) == 1:
            demand(cluster_id == name, "a page alone has its own id", name, cluster_id)
        demand(
            cluster_id in members or cluster_id not in live, "named after a page elsewhere", name, cluster_id
        )


def by_policy(
    model: Plain,
    policy: str,
    given: Iterable[tuple[str, Version]],
    *,
    late: Iterable[str] = (),
    again: bool = False,
) -> None:
    """What a write policy makes of pages that come one after the other.

    ``skip`` leaves out a page that is a copy of, or contained in, one that is there, and withdraws its older version; ``overwrite``
    takes out the pages that it is a copy of. A page that is there already, as it is, does neither, unless ``again``.

    Args:
        model: is changed.
        policy: ``mark``, ``skip`` or ``overwrite``.
        given: pages with their versions.
        late: pages of which the older versions count for nothing, as they come in the same call.
        again: ``overwrite`` takes out copies of unchanged pages, too: the hook writes the document once more, and a call that was
            cut short before its deletions is finished when it is repeated.
    """
    coming = set(late)
    for name, version in given:
        coming.discard(name)
        old = model.live.pop(name, None)
        others = {other: each for other, each in model.live.items() if other not in coming}
        related = {other: model.relation(version, each) for other, each in others.items()}
        if policy == "skip" and old != version and {"contained", *SAME} & set(related.values()):
            continue
        model.live[name] = version
        if policy == "overwrite" and (again or old != version):
            for other in (other for other, relation in related.items() if relation in SAME):
                del model.live[other]


def batches(step: Step) -> Iterator[list[list[Any]]]:
    """The actions of a step as the hook takes them: in chunks, and cut where an ``_id`` comes again."""
    for chunk in chunked(step["actions"], step["chunk"]):
        batch: list[list[Any]] = []
        for action in chunk:
            if any(action[1] + action[5] == other[1] + other[5] for other in batch):
                yield batch
                batch = []
            batch.append(action)
        yield batch


def partition(expected: Mapping[str, Expected]) -> dict[str, tuple[str, list[str], str]]:
    """Canonical page, members and relation of each page, as ``equal`` compares them."""
    return {
        name: (each.canonical, sorted(each.members), "exact" if each.canonical == name else each.relation)
        for name, each in expected.items()
    }


# Deaths


def dies(doing: Callable[..., None], *given: Any, at: int) -> bool:
    """Run a function in another process, which kills itself at its ``at``-th write; whether it got so far.

    A write is a request to a server that changes something, or a statement of SQLite.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.model.library", "tests.model.place"])
    process = context.Process(target=_doomed, args=(doing, given, at))
    process.start()
    process.join(180)
    if process.is_alive():
        process.kill()
        raise Finding("a step does not end", given)
    demand(process.exitcode in (0, -signal.SIGKILL), "a step failed in its own process", process.exitcode)
    return process.exitcode != 0


def crossed(doing: Callable[[Step], Any], step: Step, after: float) -> tuple[Any, BaseException | None]:
    """Take a step while the server is killed, ``after`` seconds from its begin, and started again; what it gave, or how it failed."""
    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(doing, step)
        time.sleep(after)
        restart("es8")
        try:
            return taken.result(300), None
        except FAILURES as error:
            return None, error


def _doomed(doing: Callable[..., None], given: tuple[Any, ...], at: int) -> None:
    from elastic_transport import Transport  # noqa: PLC0415 - of an extra

    guard, written = threading.Lock(), [0]

    def count() -> None:
        with guard:
            written[0] += 1
            if written[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)

    send, connect = Transport.perform_request, sqlite3.connect

    def perform_request(self: Any, method: str, target: str, **more: Any) -> Any:
        changes = method not in ("GET", "HEAD") and not any(name in target for name in READS)
        if changes and at % 2:
            count()
        answer = send(self, method, target, **more)
        if changes and not at % 2:
            count()
        return answer

    def connected(*args: Any, **more: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **more)
        connection.set_trace_callback(lambda _: count())
        return connection

    Transport.perform_request = perform_request  # type: ignore[method-assign]
    sqlite3.connect = connected  # type: ignore[assignment]
    doing(*given)
