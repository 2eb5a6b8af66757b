"""``python -m tests.model``: sequences for a given time, each on the next backend."""

import argparse
import json
import random
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

from tests.model.driver import replay, sequence, shortest, tell
from tests.model.library import Library
from tests.model.site import SiteSystem
from tests.model.system import Finding, System
from tests.servers import fresh_name, url_of


def systems(folder: str, *, restarts: bool, workers: bool) -> dict[str, Callable[[], System]]:
    """What can be tested, by name; each call makes a fresh one."""

    def library(place: Callable[[], str], **more: bool) -> Callable[[], System]:
        return lambda: Library(place(), **more)

    def file() -> str:
        return f"{folder}/{fresh_name()}.db"

    def server() -> str:
        return f"{url_of('es8')}/{fresh_name()}"

    return {
        "site": lambda: SiteSystem(restarts=restarts, workers=workers),
        "file": library(file),
        "server": library(server, restarts=restarts),
        "site-templates": lambda: SiteSystem(templates=True, restarts=restarts, workers=workers),
        "file-templates": library(file, templates=True),
        "server-templates": library(server, templates=True, restarts=restarts),
    }


def main() -> int:
    """Run; 1 when something was found."""
    patch(
        "es_dedup.batch.decisions.KNOWN_OF_CALL", 0
    ).start()  # the model counts every edge, however few pages are known
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="no sequence begins after so long")
    parser.add_argument("--seed", type=int, help="of the first sequence; the next ones follow")
    parser.add_argument("--steps", type=int, default=40, help="of a sequence")
    parser.add_argument("--systems", default="", help="names with commas between; all")
    parser.add_argument(
        "--restarts", action="store_true", help="kill and restart the server, one of scripts/servers"
    )
    parser.add_argument("--workers", action="store_true", help="let Celery workers decide, too")
    parser.add_argument("--replay", type=Path, help="a file with the steps of a finding, as JSON")
    parser.add_argument(
        "--shorten", type=float, default=0, help="seconds to shorten a finding or the replayed steps"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        known = systems(folder, restarts=given.restarts, workers=given.workers)
        chosen = given.systems.split(",") if given.systems else list(known)
        if given.replay:
            return _replay(known[chosen[0]], given.replay, given.shorten)
        return _run(known, chosen, given)


def _replay(make: Callable[[], System], file: Path, seconds: float) -> int:
    steps = json.loads(file.read_text(encoding="utf-8"))
    error = replay(make, steps)
    if error is not None:
        traceback.print_exception(error)
    if error is not None and seconds:
        tell(json.dumps(shortest(make, steps, seconds)))
    return int(error is not None)


def _run(known: dict[str, Callable[[], System]], chosen: list[str], given: argparse.Namespace) -> int:
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    begun, steps, sequences = time.monotonic(), 0, 0
    while time.monotonic() - begun < given.seconds:
        name = chosen[sequences % len(chosen)]
        started = time.monotonic()
        try:
            steps += sequence(known[name], seed, given.steps)
        except Finding as found:
            traceback.print_exception(found.__cause__ or found)
            tell(name, *found.args)
            if given.shorten:
                fewer = shortest(partial(known[name]), json.loads(found.args[1]), given.shorten)
                tell("shortest:", json.dumps(fewer))
            return 1
        tell(f"{name} seed {seed}: {time.monotonic() - started:.1f} s")
        sequences, seed = sequences + 1, seed + 1
    tell(f"{sequences} sequences, {steps} steps, {time.monotonic() - begun:.0f} s: nothing was found")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
