"""Very many equal pages, very many pages of one template, several processes and threads."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from es_dedup import Deduplicator, Page, Settings
from es_dedup.errors import IndexLocked
from es_dedup.settings.loading import IndexConfig
from tests.samples import partition, story
from tests.texts import article

ALONE = Settings(workers=1)
ROOT = Path(__file__).parents[2]
# Adds batches of twenty pages and prints after each that it is kept; holds the index before the last line.
WRITER = """
import sys
from es_dedup import Deduplicator
from tests.samples import story
with Deduplicator.open(sys.argv[1]) as dedup:
    for number in range(int(sys.argv[2])):
        dedup.add_many(story(seed, f"{sys.argv[3]}-{seed}") for seed in range(20 * number, 20 * number + 20))
        print(number, flush=True)
    if sys.argv[4] == "hold":
        with dedup._index.writing():
            print("held", flush=True)
            sys.stdin.readline()
"""


def template_page(number: int) -> Page:
    """A page of one form: a sentence of its own between notices that all pages have."""
    own = article(5_000 + number, sentences=1)
    text = "\n".join((article(1, sentences=1), own, article(2, sentences=2)))
    return Page(f"page-{number:04}", text=text, title=own[:10], published=f"20{number % 20:02}-01-01")


def copies(count: int) -> list[Page]:
    """One short story many times."""
    text = article(1, sentences=3)
    return [Page(f"copy-{number:04}", text=text, title=text[:10]) for number in range(count)]


class TestVeryMany:
    @pytest.mark.parametrize(
        ("pages", "clusters"), [(copies, 1), (lambda n: list(map(template_page, range(n))), None)],
        ids=["copies", "template"],
    )  # fmt: skip
    def test_time_grows_with_the_pages_not_with_their_square(
        self, pages: Callable[[int], list[Page]], clusters: int | None
    ) -> None:
        seconds = []
        for count in (250, 2_000):
            made = pages(count)
            with Deduplicator.open(":memory:", settings=ALONE) as dedup:
                started = time.perf_counter()
                report = dedup.add_many(made)
                seconds.append(time.perf_counter() - started)
                assert len(partition(dedup)) == (clusters or count)
                assert report.pairs <= 100 * count
        assert seconds[1] < 16 * seconds[0] + 2, "eight times the pages"

    def test_more_copies_one_by_one_and_without_the_first(self) -> None:
        with Deduplicator.open(":memory:", settings=ALONE) as dedup:
            dedup.add_many(replace(page, published="2024-04-01") for page in copies(300))
            for number in range(5):
                more = replace(copies(1)[0], id=f"more-{number}", published="2024-05-01")
                assert dedup.add(more).duplicate_of == "copy-0000"
            dedup.remove("copy-0000")
            assert len(partition(dedup)) == 1
            assert dedup.cluster("more-3").canonical == "copy-0001"

    def test_one_page(self) -> None:
        with Deduplicator.open(":memory:", settings=ALONE) as dedup:
            assert dedup.scan([story(1)]).outcomes == {"unique": 1}
            dedup.recluster()
            assert partition(dedup) == {frozenset(["story-1"])}

    def test_an_empty_index_answers(self) -> None:
        with Deduplicator.open(":memory:", settings=ALONE) as dedup:
            dedup.recluster()
            assert (list(dedup.clusters()), dedup.stats()["pages"]) == ([], 0)
            assert dedup.check(story(1)).outcome == "unique"
            assert dedup.search("任何").total_groups == 0


def writer(path: Path, batches: int, name: str, how: str = "go") -> subprocess.Popen[str]:
    """Another process that writes."""
    command = [sys.executable, "-c", WRITER, str(path), str(batches), name, how]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


class TestProcesses:
    def test_reading_goes_on_while_another_process_writes(self, path: Path) -> None:
        with Deduplicator.open(path):
            pass
        other = writer(path, 12, "w")
        seen = []
        with Deduplicator.open(path, read_only=True) as reader:
            while other.poll() is None:
                assert sum(cluster.size for cluster in reader.clusters()) >= 0
                assert reader.check(story(3, "x")).outcome in ("unique", "duplicate")
                seen.append(reader.stats()["pages"])
            assert other.communicate()[0].split() == [str(number) for number in range(12)]
            assert reader.check(story(3, "x")).duplicate_of == "w-3"
            reader._looked = 0.0  # statistics are kept for half a second
            assert reader._statistics().pages > 0, "what the other process learned"
        assert seen == sorted(seen)  # type: ignore[type-var]  # counts
        assert len(set(seen)) > 1

    def test_a_second_writer_is_told_and_the_reader_in_it_works(self, path: Path) -> None:
        other = writer(path, 1, "w", "hold")
        assert other.stdout is not None
        while other.stdout.readline().strip() != "held":
            pass
        hasty = Settings(index=IndexConfig(lock_seconds=0.2), workers=1)
        with Deduplicator.open(path, settings=hasty) as second:
            second_id = story(300)
            for call in (lambda: second.add(second_id), second.recluster, lambda: second.remove("w-1")):
                with pytest.raises(IndexLocked, match="another process"):
                    call()
            assert second.check(story(1, "x")).duplicate_of == "w-1"
            other.communicate("\n")
            assert second.add(second_id).outcome == "unique"

    def test_two_writers_keep_all_of_both(self, path: Path) -> None:
        others = [writer(path, 5, name) for name in ("a", "b")]
        for other in others:
            other.communicate()
            assert other.returncode == 0
        with Deduplicator.open(path) as dedup:
            assert dedup.stats()["pages"] == 200
            assert partition(dedup) == {frozenset((f"a-{n}", f"b-{n}")) for n in range(100)}
