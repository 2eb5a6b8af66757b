"""What does a run on Spark cost: time, processor time, bytes shuffled, stages, and peak memory of JVM and Python workers?

The steps one after the other over W1 in files, on a session of this machine. Bytes and stages are read from Spark's event log; memory is
the proportional share (PSS) of this process and its children, looked at twice a second. ``--parts`` measures what the driver and a heavy term take at most, without Spark.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness import MIB, Row, expect, parser_of, report
from spark_parts import parts
from w1 import documents

from es_dedup import Deduplicator, Page
from es_dedup.settings import Settings
from es_dedup.spark import clusters, features, pairs, session

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

PAGES_OF_A_BASE: Final = 1.4115
BASES: Final = 70_000  # made at a time
TICKS: Final = os.sysconf("SC_CLK_TCK")
SETTINGS: Final = Settings(workers=1)
STEPS: Final = ("features", "pairs", "clusters")


class Watch(threading.Thread):
    """Memory and processor time of this process and all its children, Java first.

    Attributes:
        peak: MiB at the highest moment since ``reset``: all, Java, Python.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = (0.0, 0.0, 0.0)
        self._used: dict[int, float] = {}

    def run(self) -> None:
        """Look until the process ends."""
        while True:
            self.look()
            time.sleep(0.5)

    def reset(self) -> None:
        """Forget the peak."""
        self.peak = (0.0, 0.0, 0.0)

    def look(self) -> None:
        """Take the figures of this moment."""
        java = python = 0.0
        for pid in _tree(os.getpid()):
            with suppress(OSError, IndexError, ValueError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                self._used[pid] = (int(fields[11]) + int(fields[12])) / TICKS
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                size = int(rollup.partition("Pss:")[2].split()[0]) * 1024 / MIB
                if "java" in str(Path(f"/proc/{pid}/exe").readlink()):
                    java += size
                else:
                    python += size
        self.peak = max(self.peak, (java + python, java, python))

    @property
    def cpu(self) -> float:
        """Seconds of processor time until now."""
        return sum(tuple(self._used.values()))  # copied at once: the thread may add a process meanwhile


def _tree(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += children.get(pid, ())
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--pages", type=int, default=10_000, help="about so many")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--memory", default="2g", help="spark.driver.memory")
    parser.add_argument("--folder", type=Path, help="keep files here; steps finished here are not repeated")
    parser.add_argument(
        "--parts", type=float, metavar="SCALE", help="measure parts alone; 1: at their limits"
    )
    given = parser.parse_args(arguments)
    if given.parts:
        report("Parts of a run on Spark, without Spark", parts(given.parts), given.json)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(given.folder or name).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        pages, times = _all_steps(given, folder)
        rows = [_row(step, times[step], folder) for step in STEPS]
    report(f"Spark, W1, {pages:,} pages, {given.master}", rows, given.json)
    return 0


def _all_steps(given: argparse.Namespace, folder: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """The number of pages and the figures of each step; what the folder has of an earlier run is not made again."""
    if not (folder / "pages.jsonl").exists():
        _write(folder / "pages.jsonl", given.pages)
    done = folder / "steps.json"
    times: dict[str, dict[str, Any]] = json.loads(done.read_text()) if done.exists() else {}
    (folder / "log").mkdir(exist_ok=True)
    config = {
        "spark.driver.memory": given.memory, "spark.ui.enabled": "false", "spark.log.level": "ERROR",
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{folder}/log", "spark.local.dir": str(folder),
        "spark.eventLog.compress": "false",
    }  # fmt: skip
    spark = session(given.master, config)
    watch = Watch()
    watch.start()
    for step in STEPS:
        if step not in times:
            times[step] = _run(spark, folder, step, watch)
            done.write_text(json.dumps(times))
    canonical = {row.page_id: row.canonical for row in spark.read.parquet(f"{folder}/clusters").collect()}
    spark.stop()
    _check(canonical, folder / "pages.jsonl")
    return len(canonical), times


def _write(path: Path, pages: int) -> None:
    """W1 as JSON Lines; ids end in the number of the page's base."""
    left, seed = round(pages / PAGES_OF_A_BASE), 7
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        while left:
            for each in documents(min(left, BASES), seed):
                row = {"id": f"{seed}-{each.id}-{seed * BASES + each.family}", "text": each.text}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            left, seed = left - min(left, BASES), seed + 1
    part.rename(path)


def _run(spark: SparkSession, folder: Path, step: str, watch: Watch) -> dict[str, Any]:
    watch.look()
    watch.reset()
    begun, cpu = time.time(), watch.cpu
    if step == "features":
        made = features(spark.read.schema("id string, text string").json(f"{folder}/pages.jsonl"), SETTINGS)
    else:
        known = spark.read.parquet(f"{folder}/features")
        made = (
            pairs(known, SETTINGS)
            if step == "pairs"
            else clusters(known, spark.read.parquet(f"{folder}/pairs"), SETTINGS)
        )
    made.write.mode("overwrite").parquet(f"{folder}/{step}")
    spark.catalog.clearCache()
    watch.look()
    return {"begun": begun, "ended": time.time(), "cpu": watch.cpu - cpu, "peak": watch.peak}


def _row(step: str, at: dict[str, Any], folder: Path) -> Row:
    """Figures of a step; its stages are those submitted while it ran."""
    counts: Counter[str] = Counter()
    for event in _events(folder / "log"):
        if event["Event"] == "SparkListenerStageCompleted":
            counts["stages"] += _within(event["Stage Info"]["Submission Time"], at)
        if event["Event"] != "SparkListenerTaskEnd" or not _within(event["Task Info"]["Launch Time"], at):
            continue
        metrics = event.get("Task Metrics") or {}
        counts["tasks"] += 1
        written = metrics.get("Shuffle Write Metrics", {})
        counts["shuffle"] += written.get("Shuffle Bytes Written", 0)
        counts["rows"] += written.get("Shuffle Records Written", 0)
        counts["spilled"] += metrics.get("Disk Bytes Spilled", 0)
    table = sum(path.stat().st_size for path in (folder / step).rglob("*.parquet"))
    whole, java, python = at["peak"]
    return {
        "step": step,
        "s": round(at["ended"] - at["begun"], 1),
        "CPU s": round(at["cpu"], 1),
        "stages": counts["stages"],
        "tasks": counts["tasks"],
        "shuffled MiB": round(counts["shuffle"] / MIB, 1),
        "rows shuffled": counts["rows"],
        "spilled MiB": round(counts["spilled"] / MIB, 1),
        "table MiB": round(table / MIB, 1),
        "peak MiB": round(whole),
        "Java": round(java),
        "Python": round(python),
    }


def _events(log: Path) -> Iterator[dict[str, Any]]:
    """What Spark's event logs in a folder hold; the last line of a session that was killed is left out."""
    for path in sorted(log.rglob("*")):
        if path.is_file() and not path.name.startswith("."):  # those hold checksums
            with path.open(encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines if line.endswith("}\n"))


def _within(milliseconds: int, at: dict[str, Any]) -> bool:
    return bool(1000 * at["begun"] <= milliseconds <= 1000 * at["ended"])


def _check(canonical: dict[str, str], path: Path) -> None:
    """Duplicates are of one base; the clusters are those of a scan, whose index stays beside the pages as ``scan.db``."""
    with path.open(encoding="utf-8") as file:
        expect(len(canonical) == sum(1 for _ in file), "not every page is in a cluster")
    joined = [(page, other) for page, other in canonical.items() if page != other]
    expect(bool(joined), "no duplicates were found")
    strange = sum(_base_of(page) != _base_of(other) for page, other in joined)
    expect(strange <= 0.001 * len(joined), f"{strange} duplicates are of different bases")
    place = path.with_name("scan.db")
    with path.open(encoding="utf-8") as file, Deduplicator.open(place, settings=SETTINGS) as dedup:
        rows = map(json.loads, file)
        dedup.scan(Page(row["id"], text=row["text"]) for row in rows)
        scanned = {
            name: each.canonical
            for each in dedup.clusters(min_size=1)
            for name in (each.canonical, *(member.page_id for member in each.members))
        }
    expect(scanned == canonical, "a scan has other clusters")


def _base_of(page_id: str) -> str:
    return page_id.rpartition("-")[2]


if __name__ == "__main__":
    sys.exit(main())
