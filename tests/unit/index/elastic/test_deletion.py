"""Documents written back, and what the server says of them though it did not write them."""

from __future__ import annotations

from es_dedup.index.elastic.bulk import Result
from es_dedup.index.elastic.deletion import DROPPED, create
from es_dedup.index.source_index import RestoredDocument


def test_a_document_that_a_pipeline_drops_is_not_restored() -> None:
    documents = [RestoredDocument("pages", name, "", {}) for name in ("kept", "dropped", "there")]
    results = [
        Result(201, index="pages", version=1),
        Result(200, noop=True, index="pages", version=-3),
        Result(409, "version_conflict_engine_exception", index="pages"),
    ]
    assert create(lambda _: results, documents) == [
        ("pages/kept", ""),
        ("pages/dropped", DROPPED),
        ("pages/there", "conflict"),
    ]
