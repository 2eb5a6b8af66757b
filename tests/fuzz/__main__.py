"""``python -m tests.fuzz``: runs targets, each in a process of its own, and prints what was found.

A process that dies or stands still is a finding, too; the run goes on behind the input that did it.
"""

import argparse
import faulthandler
import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from typing import Final

from tests.fuzz.harness import Finding, Target, findings_of
from tests.fuzz.targets import TARGETS

SEED: Final = 20261122
STILL_SECONDS: Final = 300.0
"""After which a process that has not gone on to its next input is ended."""
MOST_FINDINGS: Final = 200


def main() -> int:
    """Run what the arguments ask for; 1 when there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--target", action="append", help="names, or beginnings of names; default: all")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, help="inputs of each target; default: its share of the budget")
    parser.add_argument("--only", type=int, help="one input, shown with its traceback")
    parser.add_argument("--from", type=int, default=0, dest="start", help="number of the first input")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    chosen = _chosen(given.target or [""])
    if given.child is not None:
        _child(chosen[0], given.seed, given.start, given.count, given.child)
        return 0
    if given.only is not None:
        for target in chosen:
            for finding in findings_of(target, given.seed, [given.only]):
                print(f"{target.name} {given.only}: {finding.what}\n{finding.detail}")
        return 0
    inputs, bad, began = 0, 0, time.monotonic()
    for target in chosen:
        count = given.count or target.count
        started = time.monotonic()
        found = _whole(target, given.seed, given.start, given.start + count)
        inputs, bad = inputs + count, bad + len(found)
        print(
            f"{target.name:24} {count:8,} inputs {time.monotonic() - started:7.1f} s  {len(found)} findings",
            flush=True,
        )
    print(
        f"{'total':24} {inputs:8,} inputs {time.monotonic() - began:7.1f} s  {bad} findings, seed {given.seed}"
    )
    return 1 if bad else 0


def _chosen(names: list[str]) -> list[Target]:
    """The targets of these names, or those whose names begin with them."""
    known = {target.name: target for target in TARGETS}
    return [
        target
        for name in names
        for target in ([known[name]] if name in known else TARGETS)
        if target.name.startswith(name)
    ]


def _child(target: Target, seed: int, start: int, stop: int, descriptor: int) -> None:
    faulthandler.enable()
    progress = mmap.mmap(descriptor, 8)
    for finding in findings_of(target, seed, range(start, stop), progress=progress):
        print(json.dumps(asdict(finding)), flush=True)


def _whole(target: Target, seed: int, start: int, stop: int) -> list[Finding]:
    """All inputs of a target; of equal findings the first."""
    found: dict[tuple[str, str], Finding] = {}
    while start < stop:
        with tempfile.TemporaryFile() as counter, tempfile.TemporaryFile("w+") as out:
            counter.write(start.to_bytes(8, "little"))
            counter.flush()
            command = [sys.executable, "-m", "tests.fuzz", "--target", target.name, "--seed", str(seed)]
            command += ["--from", str(start), "--count", str(stop), "--child", str(counter.fileno())]
            child = subprocess.Popen(
                command, stdout=out, stderr=subprocess.PIPE, text=True, pass_fds=[counter.fileno()]
            )
            end = _watch(child, counter.fileno())
            out.seek(0)
            for line in out:
                _tell(target, found, Finding(**json.loads(line)))
            if child.returncode == 0:
                return list(found.values())
            if child.returncode > 0:
                raise SystemExit(f"the harness failed:\n{child.stderr.read() if child.stderr else ''}")
            at = int.from_bytes(os.pread(counter.fileno(), 8, 0), "little")
            _tell(
                target,
                found,
                Finding(
                    at,
                    f"{end} ({child.returncode})",
                    target.name,
                    (child.stderr.read() if child.stderr else "")[-3000:],
                ),
            )
            start = at + 1
    return list(found.values())


def _watch(child: subprocess.Popen[str], counter: int) -> str:
    """Wait for the end of a process; one that stands still is ended."""
    before, since = b"", time.monotonic()
    while True:
        try:
            child.wait(1)
        except subprocess.TimeoutExpired:
            now = os.pread(counter, 8, 0)
            if now != before:
                before, since = now, time.monotonic()
            elif time.monotonic() - since > STILL_SECONDS:
                child.kill()
                child.wait()
                return "stood still"
        else:
            return "died"


def _tell(target: Target, found: dict[tuple[str, str], Finding], finding: Finding) -> None:
    if finding.key not in found and len(found) < MOST_FINDINGS:
        found[finding.key] = finding
        print(
            f"  {target.name} input {finding.number}: {finding.what} at {finding.place}\n{finding.detail}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
