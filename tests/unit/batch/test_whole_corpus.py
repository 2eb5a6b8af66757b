"""A corpus too large for memory: reports, clusters and edges are those of one in memory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from es_dedup import Deduplicator, WritePolicy
from es_dedup.batch import ingest, whole_corpus
from es_dedup.batch.corpus import Corpus, load_corpus
from es_dedup.batch.ingest import Ingest
from tests.unit.batch.test_out_of_core import corpus, state


def history(place: Path, policy: WritePolicy) -> list[Any]:
    """Reports and states of an index that grows by a call, by a second one, and is clustered again."""
    pages = corpus()
    found: list[Any] = []
    with Deduplicator.open(place) as dedup:
        for some in (pages[:150], [*pages[120:], replace(pages[5], text="")]):
            report = dedup.add_many(some, policy=policy)
            stored, decided = set(dedup.page_ids()), report.decisions.values()
            named = {each.cluster_id for each in decided if each.duplicate_of in stored}
            assert named <= {each.id for each in dedup.clusters()}
            found += [replace(report, seconds={}), state(dedup._index)]
        dedup.override_different("p9", "p18", reason="read both", author="ed")
        found += [replace(dedup.scan(pages[:200]), seconds={}), state(dedup._index), dedup.recluster()]
    return found


@pytest.mark.parametrize("policy", [WritePolicy.MARK, WritePolicy.SKIP, WritePolicy.OVERWRITE])
def test_what_a_large_call_does_and_reports_is_what_a_small_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: WritePolicy
) -> None:
    monkeypatch.setattr(Ingest, "write_pages", 64)
    in_memory = history(tmp_path / "a.db", policy)
    for module in (ingest, whole_corpus):
        monkeypatch.setattr(module, "IN_MEMORY_PAGES", 100)
    runs = 0

    def counted(*given: Any) -> Corpus:
        nonlocal runs
        runs += len(given) > 1  # in files
        return load_corpus(*given)

    monkeypatch.setattr(whole_corpus, "load_corpus", counted)
    assert history(tmp_path / "b.db", policy) == in_memory
    assert runs == 4
