"""How fast is a whole scan, and does its cost per page stay the same as the corpus grows?

From raw texts of broadcast-zh, or with ``--w1`` of W1, in memory to clusters in a file on disk; with ``--dump`` from
a file of JSON Lines that is read meanwhile, as the command ``scan`` does. Every size runs in a process of its own, one
after the other, on the first so many items, or on W1 of so many bases. Memory: the high-water mark of the main process
and of its largest worker, and the sum over all of them, sampled without counting shared memory twice.
*search* is the time to fill the full-text index afterwards, which is no part of the scan.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness import Row, cpu_seconds, data_file, expect, page_of, parser_of, peak_mib, report, rows_of
from w1 import documents

from es_dedup import Deduplicator, Page, Settings
from es_dedup.batch.memory import release_memory
from es_dedup.readers import read_pages

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

SIZES: Final = (10_000, 70_000, 0)
SAMPLE_SECONDS: Final = 0.5
SEED: Final = 7  # of W1
GOALS: Final = {"pages/s": 5_000, "peak MiB": 1_536, "bytes/page": 2_048}
FIELDS: Final = ("id", "url", "title", "text", "published", "site")  # written to a dump
LEAST_CHARS: Final = 100  # of equal texts that must be found in one cluster


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="first so many items; 0: all")
    parser.add_argument("--w1", action="store_true", help="W1; sizes are documents before copies")
    parser.add_argument("--workers", type=int, default=0, help="worker processes; 0: one per core")
    parser.add_argument(
        "--dump", action="store_true", help="read the pages from a file while they are scanned"
    )
    parser.add_argument("--one", type=int, help="internal: run this size here and print its figures as JSON")
    parser.add_argument("--file", type=Path, help="internal: the pages of this run")
    given = parser.parse_args(arguments)
    if given.one is not None:
        print(json.dumps(run(given, given.one)))
        return 0
    if not given.w1:
        data_file(given.data, "broadcast-zh.jsonl.xz")
    rows = [in_its_own_process(given, size) for size in given.sizes]
    per_page = [row["seconds"] / row["pages"] for row in rows]
    growth = {
        f"{row['pages']:,} pages against the first": round(cost / per_page[0], 3)
        for row, cost in zip(rows, per_page, strict=True)
    }
    report(
        f"Whole scan of {'W1' if given.w1 else 'broadcast-zh'}",
        rows,
        given.json,
        {"cost per page": growth, "goals": GOALS},
    )
    return 0


def in_its_own_process(given: argparse.Namespace, size: int) -> Row:
    """Figures of one size."""
    command = [sys.executable, __file__, "--one", str(size), "--workers", str(given.workers)]
    if given.data:
        command += ["--data", str(given.data)]
    if given.w1:
        command.append("--w1")
    with tempfile.TemporaryDirectory() as folder:
        if given.dump:
            path = Path(folder) / "pages.jsonl"
            with path.open("w") as file:
                file.writelines(json.dumps(_raw(page)) + "\n" for page in pages_of(given, size))
            command += ["--file", str(path)]
        return run_apart(command)


def run_apart(command: Sequence[str]) -> Row:
    """What a command prints as JSON in its last line, and the peak memory of its processes."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        memory = Memory(process.pid)
        memory.start()
        assert process.stdout is not None
        printed = process.stdout.read()
    memory.stop()
    expect(process.returncode == 0, "the run failed")
    row: Row = json.loads(printed.splitlines()[-1])
    return {**row, "peak MiB all": memory.peak_mib or None}


def run(given: argparse.Namespace, size: int) -> Row:
    """Scan in this process."""
    held = None if given.file else pages_of(given, size)
    settings = Settings(workers=given.workers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.db"
        begun, cpu = time.perf_counter(), cpu_seconds()
        with Deduplicator.open(path, settings=settings) as dedup:
            found = dedup.scan(_read(given.file) if held is None else held)
        seconds, cpu = time.perf_counter() - begun, cpu_seconds() - cpu
        main_peak, worker_peak = peak_mib()
        begun, searched = time.perf_counter(), cpu_seconds()
        with Deduplicator.open(path, settings=settings) as dedup:
            dedup.prepare_search()
        searchable, searched = time.perf_counter() - begun, cpu_seconds() - searched
        expect(not found.failed, f"{len(found.failed)} pages failed")
        pages = list(_read(given.file)) if held is None else held
        with Deduplicator.open(path, settings=settings, read_only=True) as dedup:
            stats: dict[str, Any] = dedup.stats()
            check(dedup, pages, stats)
    sizes = stats["bytes"]
    return {
        "pages": len(pages),
        "seconds": round(seconds, 2),
        "pages/s": round(len(pages) / seconds),
        "CPU s": round(cpu, 2),
        "peak MiB main": main_peak,
        "peak MiB worker": worker_peak,
        "clusters": stats["clusters"],
        "largest": stats["largest_cluster"],
        "pairs": found.pairs,
        **{f"{name} B/page": round(value / len(pages)) for name, value in sizes.items()},
        **{f"{name} s": round(value, 2) for name, value in found.seconds.items()},
        "search s": round(searchable, 2),
        "search CPU s": round(searched, 2),
    }


def pages_of(given: argparse.Namespace, size: int) -> list[Page]:
    """The pages of a size."""
    if given.w1:
        made = [Page(id=each.id, text=each.text) for each in documents(size, SEED)]
        release_memory()  # what making them took
        return made
    return [page_of(row) for row in rows_of(data_file(given.data, "broadcast-zh.jsonl.xz"), size or None)]


def _raw(page: Page) -> Row:
    return {name: value for name in FIELDS if (value := getattr(page, name))}


def _read(path: Path) -> Iterator[Page]:
    for page in read_pages([path]):
        assert isinstance(page, Page)
        yield page


def check(dedup: Deduplicator, pages: Sequence[Page], stats: dict[str, Any]) -> None:
    """All pages are there, and pages of equal text and title are in one cluster."""
    expect(stats["pages"] == len({page.id for page in pages}), "pages are missing in the file")
    groups: dict[tuple[str | None, str | None], list[str]] = {}
    for page in pages:
        if len(page.text or "") >= LEAST_CHARS:
            groups.setdefault((page.title, page.text), []).append(page.id)
    twins = [group for group in groups.values() if len(group) > 1]
    cluster_of = {
        member: cluster.id
        for cluster in dedup.clusters(min_size=2)
        for member in (cluster.canonical, *(each.page_id for each in cluster.members))
    }
    apart = [group for group in twins if len({cluster_of.get(name, name) for name in group}) > 1]
    expect(len(apart) <= len(twins) // 20, f"equal pages in different clusters: {apart[:3]}")


class Memory(threading.Thread):
    """Samples the memory of a process and its children, where the system tells (Linux)."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self._done = pid, threading.Event()
        self.peak_mib = 0.0

    def run(self) -> None:
        """Until stopped."""
        while not self._done.wait(SAMPLE_SECONDS):
            used = sum(map(_proportional_kib, [self._pid, *_descendants(self._pid)]))
            self.peak_mib = max(self.peak_mib, round(used / 1024, 1))

    def stop(self) -> None:
        """End sampling."""
        self._done.set()
        self.join()


def _descendants(pid: int) -> list[int]:
    found = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(each) for each in tasks.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *_descendants(child)]
    return found


def _proportional_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    sys.exit(main())
