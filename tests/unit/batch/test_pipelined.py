"""A corpus decided in a thread of its own: the same result, told of in the caller's thread, and dropped when not wanted."""

import threading
import time
from typing import Final

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.batch import ingest, whole_corpus
from es_dedup.batch.corpus import load_corpus
from es_dedup.batch.whole_corpus import PipelinedDecisions, RelatedPairs
from es_dedup.index.records import RecordBatch
from es_dedup.model import Progress
from es_dedup.settings import Settings
from tests.texts import article

COUNT: Final = 60


def pages(count: int = COUNT) -> list[Page]:
    """Half of them copies with a line more."""
    return [
        Page(id=f"p{n}", text=article(n // 2, sentences=12) + ("转载自本报。" if n % 2 else ""))
        for n in range(count)
    ]


def clusters(dedup: Deduplicator) -> list[tuple[str, ...]]:
    return [tuple(each.page_id for each in cluster.members) for cluster in dedup.clusters(min_size=2)]


@pytest.mark.parametrize("write_pages", [256, 18_432])
def test_the_clusters_are_those_of_judging_afterwards(
    monkeypatch: pytest.MonkeyPatch, write_pages: int
) -> None:
    monkeypatch.setattr(ingest.Ingest, "write_pages", write_pages)
    with Deduplicator.open(":memory:") as dedup:
        dedup.scan(pages(600))
        found = clusters(dedup)
        dedup.recluster()
        assert clusters(dedup) == found
    assert len(found) == 300


def test_listeners_are_called_in_the_callers_thread() -> None:
    heard: list[tuple[str, int]] = []

    def listen(event: Progress) -> None:
        heard.append((event.stage, threading.get_ident()))

    with Deduplicator.open(":memory:") as dedup:
        dedup.scan(pages(), progress=listen)
    assert {thread for _, thread in heard} == {threading.get_ident()}
    assert list(dict.fromkeys(stage for stage, _ in heard)) == ["features", "join", "verify", "cluster"]


def test_a_record_that_was_not_stored_is_in_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    with Deduplicator.open(":memory:") as dedup:
        put = dedup._index.put_batch

        def refuse_one(batch: RecordBatch, _: object) -> dict[str, str]:
            kept = batch.take([row for row, name in enumerate(batch.ids) if name != "p1"])
            return put(kept) | {"p1": "refused"}

        monkeypatch.setattr(dedup._index, "put_batch", refuse_one)
        report = dedup.scan(pages())
        assert report.failed == {"p1": "refused"}
        assert report.stored == COUNT - 1
        assert len(clusters(dedup)) == COUNT // 2 - 1


def test_a_failed_write_is_raised_and_ends_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    ended = threading.Event()
    decide = whole_corpus.decide_corpus

    def slow(*given: object) -> RelatedPairs:
        begun.set()
        try:
            time.sleep(0.2)
            return decide(*given)  # type: ignore[arg-type]
        finally:
            ended.set()

    monkeypatch.setattr(whole_corpus, "decide_corpus", slow)
    with Deduplicator.open(":memory:") as dedup:

        def fail(*_: object) -> dict[str, str]:
            begun.wait(5)
            raise OSError("no space left")

        monkeypatch.setattr(dedup._index, "put_batch", fail)
        with pytest.raises(OSError, match="no space left"):
            dedup.scan(pages())
        assert ended.wait(5)


def test_what_went_wrong_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> RelatedPairs:
        raise ValueError("decide")

    with Deduplicator.open(":memory:") as dedup:
        dedup.scan(pages(4))
        corpus = load_corpus(dedup._index)
    monkeypatch.setattr(whole_corpus, "decide_corpus", fail)
    decided = PipelinedDecisions([(corpus.keys, corpus.pages.table)], Settings())
    with pytest.raises(ValueError, match="decide"):
        decided.result(lambda _: None)
