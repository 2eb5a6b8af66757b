"""The embedded index under full disks, killed processes, several writers and threads."""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import IndexError_, IndexLocked, IndexUnavailable
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.model import Page
from es_dedup.testing.builders import candidate_query, posting_counts, random_records, record

pytestmark = pytest.mark.timeout(120)

PAGES_PER_BATCH = 40
# Writes batches named after the writer, and prints the number of each batch that it was told is kept.
WRITER = f"""
import sys
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.testing.builders import record
path, name, batches, hold = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "hold"
with EmbeddedIndex(path, features={{"made": "f"}}, lock_seconds=60) as index:
    def write(number):
        more = {{"text": f"batch {{number}}", "payload": b"x" * 900}}
        pages = [record(f"{{name}}-{{number}}-{{page}}", range(page, page + 30), **more)
                 for page in range({PAGES_PER_BATCH})]
        index.put_many(pages)
        print(number, flush=True)
    if hold:
        with index.writing():
            write(0)
            sys.stdin.readline()
            write(1)
    else:
        for number in range(batches):
            write(number)
"""


@pytest.fixture
def start(path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a writing process on the file."""
    started: list[subprocess.Popen[str]] = []

    def run(name: str, *, batches: int = 0, hold: bool = False) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WRITER, str(path), name, str(batches), "hold" if hold else "go"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def out(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def open_index(path: Path, **options: object) -> EmbeddedIndex:
    return EmbeddedIndex(path, features={"made": "f"}, **options)  # type: ignore[arg-type]  # passed on as given


def sound(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        fulltext: str = "INSERT INTO fulltext (fulltext) VALUES ('integrity-check')"
        connection.execute(fulltext)
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()


class TestSeveralProcesses:
    def test_two_writers_keep_all_of_both(
        self, path: Path, start: Callable[..., subprocess.Popen[str]]
    ) -> None:
        writers = [start(name, batches=15) for name in ("left", "right")]
        for writer in writers:
            assert writer.communicate()[0].split() == [str(number) for number in range(15)]
            assert writer.returncode == 0
        with open_index(path) as index:
            assert index.count() == 2 * 15 * PAGES_PER_BATCH
            assert posting_counts(index, 0, 29) == [2 * 15, 2 * 15 * 30]
        assert sound(path)

    def test_a_session_keeps_others_out_and_lets_them_read(
        self, path: Path, start: Callable[..., subprocess.Popen[str]]
    ) -> None:
        holder = start("holder", hold=True)
        assert out(holder).readline() == "0\n"
        with open_index(path, lock_seconds=0.2) as index:
            with pytest.raises(IndexLocked) as caught:
                index.put_many([record("late")])
            assert caught.value.retryable
            assert (index.count(), len(index.search("batch", limit=100))) == (
                PAGES_PER_BATCH,
                PAGES_PER_BATCH,
            )
            assert len(index.candidates_many([candidate_query(0, 1)])[0].candidates) == 2
            holder.communicate("go on\n")
            assert index.put_many([record("late", text="batch")]) == {}
            assert index.count() == 2 * PAGES_PER_BATCH + 1
            assert len(index.search("batch", limit=100)) == 2 * PAGES_PER_BATCH + 1

    def test_reading_goes_on_while_another_process_writes(
        self, path: Path, start: Callable[..., subprocess.Popen[str]]
    ) -> None:
        writer = start("writer", batches=30)
        out(writer).readline()
        counts = []
        with open_index(path, read_only=True) as reader:
            while writer.poll() is None:
                counts.append(reader.count())
                (answer,) = reader.candidates_many([candidate_query(0, limit=1000)])
                assert len(answer.candidates) * PAGES_PER_BATCH >= counts[-1]
        assert counts == sorted(counts)
        assert all(count % PAGES_PER_BATCH == 0 for count in counts), "a batch is seen whole or not at all"

    @pytest.mark.parametrize("seed", range(4))
    def test_what_was_acknowledged_survives_kill(
        self, path: Path, start: Callable[..., subprocess.Popen[str]], seed: int
    ) -> None:
        writer = start("killed", batches=100_000)
        acknowledged = int(out(writer).readline())
        time.sleep(random.Random(seed).uniform(0.05, 0.6))
        writer.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *map(int, out(writer).read().split())])
        with open_index(path, lock_seconds=1) as index:
            assert index.count() % PAGES_PER_BATCH == 0
            assert index.count() >= (acknowledged + 1) * PAGES_PER_BATCH
            wanted = [f"killed-{acknowledged}-{page}" for page in range(PAGES_PER_BATCH)]
            assert len(index.texts(wanted)) == PAGES_PER_BATCH
            assert index.search("batch")
            assert index.put_many([record("after")]) == {}
        assert sound(path)

    def test_a_new_file_opened_by_many_at_once(self, path: Path) -> None:
        with ThreadPoolExecutor(8) as pool:
            opened = list(pool.map(lambda _: open_index(path), range(8)))
        assert [index.count() for index in opened] == [0] * 8
        for index in opened:
            index.close()


def test_a_session_of_one_thread_keeps_others_out(path: Path) -> None:
    with open_index(path, lock_seconds=0.1) as index, index.writing(), index.writing():
        errors: list[BaseException] = []

        def write() -> None:
            with pytest.raises(IndexLocked) as caught:
                index.put_many([record("b")])
            errors.append(caught.value)
            assert index.count() == 0

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert len(errors) == 1
        index.put_many([record("a")])


class TestFullDisk:
    def test_nothing_of_the_failed_batch_is_kept(self, path: Path) -> None:
        with open_index(path) as index:
            index.put_many(random_records(50, seed=1))
            limit_pages(index, 5)
            with pytest.raises(IndexUnavailable, match="disk is full") as caught:
                index.put_many(
                    record(f"big-{number}", range(50), payload=bytes(5000)) for number in range(500)
                )
            assert caught.value.retryable
            assert (index.count(), index.get_many(["big-0"])) == (50, {})
            limit_pages(index, 100_000)
            assert index.put_many([record("a")]) == {}
        assert sound(path)

    def test_a_search_that_cannot_grow_its_index_fails_clearly(self, path: Path) -> None:
        with open_index(path) as index:
            index.put_many(record(f"{number}", text=f"word{number} " * 50) for number in range(300))
            limit_pages(index, 0)
            with pytest.raises(IndexUnavailable):
                index.search("word7")
            limit_pages(index, 100_000)
            assert index.search("word7")[0][0] == "7"


def limit_pages(index: object, more: int) -> None:
    """Let the file grow by so many pages only, which SQLite reports as a full disk."""
    assert isinstance(index, EmbeddedIndex)
    with index._connection.reading() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + more}")


@pytest.mark.parametrize(
    ("damage", "step"),
    [
        ("UPDATE features SET payload = x'01'", lambda index: index.explain("a", "b")),
        ("UPDATE features SET payload = 5", lambda index: list(index.clusters())),
        ("UPDATE features SET terms = x'0102'", lambda index: index.record("a")),
        ("UPDATE texts SET body = x'01ff'", lambda index: index.text("a")),
        ("UPDATE texts SET body = 7", lambda index: index.text("a")),
        ("UPDATE assignments SET relation = 'duplic?te'", lambda index: list(index.clusters())),
        ("UPDATE pages SET published = 'soon'", lambda index: index.explain("a", "b")),
        ("UPDATE pages SET url = CAST(x'e4b8' AS TEXT)", lambda index: index.record("a")),
        ("INSERT OR REPLACE INTO statistics VALUES (1, 7.5)", lambda index: index.stats()),
    ],
)
def test_a_damaged_value_is_an_error_of_ours(
    tmp_path: Path, damage: str, step: Callable[[Deduplicator], object]
) -> None:
    path = tmp_path / "pages.db"
    text = "泵站的水位在夜间上升，值班员按照规程打开了第三道闸门，并通知了下游的村庄。"
    with Deduplicator.open(path) as index:
        index.add_many([Page("a", text=text), Page("b", text=text + "没有人受伤。")])
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    with Deduplicator.open(path, read_only=True) as index, pytest.raises(IndexError_) as caught:
        step(index)
    assert "damaged" in str(caught.value)
