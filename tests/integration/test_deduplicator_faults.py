"""Killed processes, full disks, interruptions and damaged statistics: nothing that was acknowledged is lost."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from es_dedup import Deduplicator, Page, Settings
from es_dedup.batch import featurise, ingest
from es_dedup.batch.clusters import CLUSTERS_PENDING
from es_dedup.deduplicator import deduplicator
from es_dedup.errors import ConfigError, IndexUnavailable, NotAnIndex
from es_dedup.settings.loading import IndexConfig
from tests.commands import ran
from tests.integration.test_embedded_faults import limit_pages
from tests.samples import edges, partition, story

ROOT = Path(__file__).parents[2]
ALONE = Settings(workers=1)
PAGES = 800
# Scans in small batches; prints the number of pages read after each step, and the stages it comes to.
SCANNER = """
import sys
from es_dedup import Deduplicator, Settings
from es_dedup.batch.ingest import Ingest
from tests.integration.test_deduplicator_faults import corpus
Ingest.write_pages = 256
def told(progress):
    print(progress.stage, progress.done, flush=True)
    if progress.stage == sys.argv[2]:
        sys.stdin.readline()
with Deduplicator.open(sys.argv[1], settings=Settings(workers=1)) as dedup:
    dedup.scan(corpus(), progress=told)
"""


def corpus() -> Iterator[Page]:
    """Stories of which every third repeats the one before."""
    for number in range(PAGES):
        yield story(number - (number % 3 == 2), f"page-{number:04}", day=1 + number % 3)


@pytest.fixture(scope="module")
def undisturbed() -> tuple[set[frozenset[str]], list[tuple[str, str, str, float]]]:
    """What a scan without any fault makes of the corpus."""
    with Deduplicator.open(":memory:", settings=ALONE) as dedup:
        dedup.scan(corpus())
        return partition(dedup), edges(dedup)


def kept(path: Path) -> int:
    """Pages in a file."""
    with Deduplicator.open(path, read_only=True) as dedup:
        return dedup._index.count()


def note(path: Path) -> bool:
    """Whether the file says that pages are not clustered yet."""
    with Deduplicator.open(path, read_only=True) as dedup:
        return dedup._index.note(CLUSTERS_PENDING) is not None


class TestKill:
    @pytest.mark.parametrize("stage", ["features", "join", "verify", "cluster"])
    @pytest.mark.slow
    def test_nothing_acknowledged_is_lost_and_a_scan_resumes(
        self,
        path: Path,
        stage: str,
        undisturbed: tuple[set[frozenset[str]], list[tuple[str, str, str, float]]],
    ) -> None:
        read = killed_scan(path, stage)
        there = kept(path)
        assert there >= (PAGES if stage != "features" else read - 256)
        assert note(path)
        with Deduplicator.open(path, settings=ALONE, read_only=True) as dedup:
            assert dedup.stats()["clusters_pending"] is True
            page = next(iter(corpus()))
            said = dedup.check(replace(page, id="asked"))
            assert dedup.cluster(said.duplicate_of or "").id == said.cluster_id
        with Deduplicator.open(path, settings=ALONE) as dedup:
            assert dedup.stats()["clusters_pending"] is False
            clustered = partition(dedup)
            assert sum(map(len, clustered)) == there
            assert clustered <= undisturbed[0] or stage == "features"
            report = dedup.scan(corpus())
            assert (report.read, report.unchanged) == (PAGES, there)
            assert (partition(dedup), edges(dedup)) == undisturbed
        assert not note(path)

    def test_a_writer_at_work_is_left_alone(self, path: Path) -> None:
        process = scanner(path, "join")
        assert process.stdout is not None
        while not process.stdout.readline().startswith("join"):
            pass
        hasty = Settings(index=IndexConfig(lock_seconds=0.2), workers=1)
        with Deduplicator.open(path, settings=hasty) as dedup:  # the note is there, the writer will recluster
            assert dedup._index.count() == PAGES
            assert list(dedup.clusters()) == []
        process.communicate("\n" * 10)
        assert process.returncode == 0
        assert not note(path)

    def test_between_removing_and_repairing(self, path: Path) -> None:
        with Deduplicator.open(path, settings=ALONE) as dedup:
            dedup.add_many([story(1), story(1, "copy", day=2), story(1, "copy-2", day=3)])
            with pytest.raises(KeyboardInterrupt):
                remove_and_stop(dedup, "story-1")
        with Deduplicator.open(path, settings=ALONE) as dedup:
            assert dedup.cluster("copy-2").canonical == "copy"

    def test_at_any_moment_of_many_small_calls(self, path: Path) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", ADDER, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(3).uniform(0.2, 0.5))
        process.send_signal(signal.SIGKILL)
        acknowledged = [line for line in process.communicate()[0].split("\n") if line]
        with Deduplicator.open(path, settings=ALONE) as dedup:
            whole = partition(dedup)
            assert {name for group in whole for name in group} >= set(acknowledged)
            dedup.recluster()
            assert partition(dedup) == whole


ADDER = """
import sys
from es_dedup import Deduplicator
from tests.integration.test_embedded_faults import limit_pages
from tests.samples import story
with Deduplicator.open(sys.argv[1]) as dedup:
    for number in range(100_000):
        dedup.add(story(number // 2, f"page-{number}"))
        print(f"page-{number}", flush=True)
        if number % 5 == 4:
            dedup.remove(f"gone-{number - 5}")
            dedup.add(story(number // 2, f"gone-{number}"))
"""


def remove_and_stop(dedup: Deduplicator, page_id: str) -> None:
    """What ``remove`` has done when it is interrupted before the repair."""
    dedup._index.set_note(CLUSTERS_PENDING, "1")
    dedup._index.delete_many([page_id])
    raise KeyboardInterrupt


def scanner(path: Path, stage: str) -> subprocess.Popen[str]:
    """Another process that scans, and waits for a line when it comes to a stage."""
    command = [sys.executable, "-c", SCANNER, str(path), stage]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def killed_scan(path: Path, stage: str) -> int:
    """Scan in another process, kill it when it comes to a stage; pages it had read by then."""
    process = scanner(path, "" if stage == "features" else stage)
    assert process.stdout is not None
    read = 0
    for line in process.stdout:
        reached, done = line.split()
        read = int(done) if reached == "features" else read
        if reached == stage and (stage != "features" or read >= PAGES // 2):
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return read


class TestInterruption:
    def test_an_interrupt_of_the_input_does_not_wait_for_what_was_read(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Chunks of HTML that wait for worker processes would take half a minute."""
        monkeypatch.setattr(featurise, "POOL_FROM_PAGES", 1)
        with Deduplicator.open(path, settings=Settings(workers=2)) as dedup:
            with pytest.raises(KeyboardInterrupt):
                dedup.add_many(failing(PAGES - 1, KeyboardInterrupt))
            assert not dedup._index.count()
            assert dedup.add_many(corpus()).stored == PAGES
            assert not dedup.clusters_pending

    @pytest.mark.parametrize("error", [LookupError, NotAnIndex])
    def test_what_was_read_is_kept(self, path: Path, error: type[BaseException]) -> None:
        with Deduplicator.open(path, settings=ALONE) as dedup:
            dedup.add_many([story(500)])
            with pytest.raises(error):
                dedup.add_many(failing(300, error))
            assert dedup._index.count() == 301
        assert note(path)
        with Deduplicator.open(path, settings=ALONE) as dedup:
            assert sum(map(len, partition(dedup))) == 301
            assert dedup.cluster("page-0002").canonical == "page-0001"
        assert not note(path)

    def test_a_large_index_is_clustered_when_asked_for(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neither opening nor one page more begins work that takes long."""
        for module in (ingest, deduplicator):
            monkeypatch.setattr(module, "QUICK_PAGES", 200)
        with Deduplicator.open(path, settings=ALONE) as dedup, pytest.raises(LookupError):
            dedup.add_many(failing(300, LookupError))
        with Deduplicator.open(path, settings=ALONE) as dedup:
            assert dedup.stats()["clusters_pending"]
            report = dedup.add_many([story(3, "later", day=9)])
            assert ingest.UNFINISHED in report.notes
            assert dedup.cluster("later").size == 2
            assert dedup.stats()["clusters_pending"]
            assert sum(map(len, partition(dedup))) < 20
            assert dedup.recluster().pages == 301
            assert not dedup.clusters_pending
            assert sum(map(len, partition(dedup))) == 301
            for number in range(80):
                report = dedup.add_many([story(700 + number, f"more-{number}")])
            assert ingest.OUTDATED in report.notes
            assert dedup._statistics().pages == 301
            report = dedup.add_many(story(900 + number) for number in range(30))
            assert report.notes == ()
            assert dedup._statistics().pages == 411

    def test_the_next_call_learns_what_one_was_killed_over(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With which there were twice the pages that statistics were learned from."""
        for module in (ingest, deduplicator):
            monkeypatch.setattr(module, "QUICK_PAGES", 200)
        with Deduplicator.open(path, settings=ALONE) as dedup:
            dedup.scan(corpus())
            dedup.recluster()
            with monkeypatch.context() as patched:
                patched.setattr(ingest, "recluster", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    deque(dedup.add_many(story(2_000 + 40 * n + k) for k in range(40)) for n in range(30))
            stored = dedup._index.count()
            assert (dedup.clusters_pending, stored) == (True, 2 * PAGES)
        with Deduplicator.open(path, settings=ALONE) as dedup:
            assert dedup.add_many([story(2_350, "copy", day=9)]).notes == ()
            assert not dedup.clusters_pending
            assert sum(map(len, partition(dedup))) == dedup._statistics().pages == stored + 1

    def test_the_same_object_clusters_them_at_its_next_call(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise LookupError

        with Deduplicator.open(path, settings=ALONE) as dedup:
            dedup.add_many(story(1_000 + n) for n in range(400))
            with monkeypatch.context() as patched:
                patched.setattr(ingest.Ingest, "_decide", fail)
                with pytest.raises(LookupError):
                    dedup.add_many(failing(60, LookupError))
            assert dedup._index.note(CLUSTERS_PENDING) is not None
            dedup.add_many([story(3_000)])
            assert dedup._index.note(CLUSTERS_PENDING) is None
            assert sum(map(len, partition(dedup))) == 461
            assert dedup.cluster("page-0002").canonical == "page-0001"

    def test_pages_whose_first_attempt_was_stored_are_clustered(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Deduplicator.open(path, settings=ALONE) as dedup:
            dedup.add_many(story(1_000 + n) for n in range(400))
            put_new = dedup._index.put_new

            def answer_lost(*given: Any) -> Any:
                put_new(*given)
                return put_new(*given)

            monkeypatch.setattr(dedup._index, "put_new", answer_lost)
            assert dedup.add(story(1_001, "copy", day=9)).duplicate_of == "story-1001"
            assert (dedup.cluster("copy").size, dedup.clusters_pending) == (2, False)

    def test_pages_stored_after_an_interrupted_write_are_pending(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ingest.Ingest, "write_pages", 256)
        with Deduplicator.open(path, settings=ALONE) as dedup:
            put, interrupted = dedup._index.put_batch, iter((True, False))

            def interrupt_once(*given: Any) -> Any:
                if next(interrupted, False):
                    raise KeyboardInterrupt
                return put(*given)

            monkeypatch.setattr(dedup._index, "put_batch", interrupt_once)
            with pytest.raises(KeyboardInterrupt):
                dedup.scan(corpus())
            assert dedup._index.count() > 0
            assert dedup.clusters_pending

    def test_a_progress_listener_that_raises(self, path: Path) -> None:
        with Deduplicator.open(path, settings=ALONE) as dedup:
            with pytest.raises(KeyboardInterrupt):
                dedup.add_many(corpus(), progress=interrupted)
            assert dedup._index.count() == 256

    def test_fail_and_dry_run_keep_nothing(self, path: Path) -> None:
        with Deduplicator.open(path, settings=ALONE) as dedup:
            with pytest.raises(LookupError):
                dedup.add_many(failing(50, LookupError), policy="fail")
            with pytest.raises(LookupError):
                dedup.add_many(failing(50, LookupError), dry_run=True)
            assert dedup._index.count() == 0


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def failing(count: int, error: type[BaseException]) -> Iterator[Page]:
    """Pages, then an error."""
    for number, page in enumerate(corpus()):
        if number == count:
            raise error("pages.db", "gone") if error is NotAnIndex else error("no more")
        yield page


@pytest.mark.parametrize("more", [2, 60, 150])
def test_gives_a_clear_error_and_earlier_data_stays(path: Path, more: int) -> None:
    with Deduplicator.open(path, settings=ALONE) as dedup:
        dedup.add_many(story(5_000 + n) for n in range(30))
        before = partition(dedup)
        limit_pages(dedup._index, more)
        with pytest.raises(IndexUnavailable, match="disk is full") as caught:
            dedup.scan(corpus())
        assert caught.value.retryable
        assert before <= partition(dedup)
        assert dedup.check(story(5_001, "x")).duplicate_of == "story-5001"
        limit_pages(dedup._index, 1_000_000)
        dedup.scan(corpus())
        assert dedup._index.count() == PAGES + 30
        assert sum(map(len, partition(dedup))) == PAGES + 30
    assert not note(path)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


class TestDamagedStatistics:
    @pytest.fixture
    def damaged(self, path: Path) -> Path:
        """A file whose statistics cannot be read; another process learned some before."""
        with Deduplicator.open(path, settings=ALONE) as dedup:
            dedup.scan(corpus())
            dedup._index.save_statistics(b"PK\x03\x04 damaged")
        return path

    def test_are_a_clear_error_for_a_reader(self, damaged: Path) -> None:
        with Deduplicator.open(damaged, read_only=True) as dedup:
            with pytest.raises(NotAnIndex, match="statistics are damaged"):
                dedup.check(story(1, "x"))
            assert dedup.text("page-0001")

    def test_of_a_large_index_are_learned_anew_by_a_recluster(
        self, damaged: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(deduplicator, "QUICK_PAGES", 200)
        with (
            Deduplicator.open(damaged, settings=ALONE) as dedup,
            pytest.raises(NotAnIndex, match="run `es-dedup elastic recluster`"),
        ):
            dedup.add(story(1, "x"))
        ran("--db", damaged, "elastic", "recluster")
        with Deduplicator.open(damaged, settings=ALONE) as dedup:
            assert dedup._statistics().pages == PAGES

    def test_are_learned_anew_by_a_writer(self, damaged: Path) -> None:
        whole = shutil.copy(damaged, damaged.with_name("copy.db"))
        with Deduplicator.open(whole, settings=ALONE) as dedup:
            assert dedup._statistics().pages == PAGES
            assert dedup.check(story(1, "x")).duplicate_of == "page-0001"
        with Deduplicator.open(whole, read_only=True) as dedup:
            assert dedup.cluster("page-0002").canonical == "page-0001"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"simhash": {"features": "words-tfidf", "idf": "words.txt"}}, "三桥\n"),
        ({"detectors": ["multi_simhash"], "multi_simhash": {"synonyms": "words.txt"}}, "Aa01A01=\n"),
    ],
    ids=["idf", "synonyms"],
)
def test_no_index_is_made_with_a_file_of_words_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"words\.txt"):
        Deduplicator.open("pages.db", settings=Settings.model_validate(settings))
    assert not Path("pages.db").exists()
