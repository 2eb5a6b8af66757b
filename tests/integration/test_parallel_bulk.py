"""``dedup_parallel_bulk``: results as the client's helper gives them, clusters as one batch after the other makes them."""

from collections.abc import Iterator
from typing import Any

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import BulkIndexError, parallel_bulk

from es_dedup.hook import DedupHook, HookReport, dedup_parallel_bulk
from es_dedup.index import factory
from es_dedup.settings import Settings
from tests.hooked import FIELDS, STORIES, action_of, clusters, five
from tests.samples import story
from tests.servers import client_of, fresh_name, remove, url_of


@pytest.fixture(scope="module")
def client() -> Iterator[Elasticsearch]:
    with client_of(url_of("es8")) as client:
        yield client


@pytest.fixture
def name(client: Elasticsearch) -> Iterator[str]:
    name = fresh_name()
    yield name
    remove(f"{url_of('es8')}/{name}")
    client.indices.delete(index=f"{name}*", ignore_unavailable=True)


@pytest.fixture
def hook(name: str) -> Iterator[DedupHook]:
    with DedupHook.open(f"{url_of('es8')}/{name}", FIELDS) as hook:
        yield hook


def outcomes(results: Any) -> list[tuple[bool, str, str, int, str | None]]:
    """What callers look at."""
    found = []
    for ok, item in results:
        ((operation, said),) = item.items()
        error = said.get("error")
        kind = error["type"] if isinstance(error, dict) else error
        found.append((ok, operation, said["_id"], said["status"], kind))
    return found


def test_results_and_clusters(client: Elasticsearch, hook: DedupHook, name: str) -> None:
    plain = f"{name}-plain"

    def actions(index: str) -> list[dict[str, Any]]:
        refused = action_of(story(1), index, _op_type="create")  # is there already
        return [*five(index), refused, {"_op_type": "delete", "_index": index, "_id": "absent"}]

    options: dict[str, Any] = {"thread_count": 3, "raise_on_error": False}
    # the refused one follows what it meets: batches that name one document never run at once
    expected = outcomes(parallel_bulk(client, actions(plain), chunk_size=100, **options))
    report = HookReport()
    results = list(
        dedup_parallel_bulk(client, actions(name), chunk_size=2, hook=hook, report=report, **options)
    )
    assert outcomes(results) == expected
    assert results[0][1]["index"]["dedup"]["outcome"] in ("unique", "duplicate")
    assert clusters(client, name) == STORIES
    assert (report.pages, report.written) == (7, 5)
    assert not report.inconclusive


def test_many_copies_in_many_threads(client: Elasticsearch, hook: DedupHook, name: str) -> None:
    pages = [story(number % 10, f"page-{number:03}", day=1 + number // 10) for number in range(120)]
    report = HookReport()
    given = [action_of(page, name) for page in pages]
    done = list(dedup_parallel_bulk(client, given, chunk_size=7, hook=hook, report=report, refresh=True))
    assert [said["index"]["_id"] for _, said in done] == [page.id for page in pages]
    assert sorted(map(len, clusters(client, name))) == [12] * 10
    assert report.pages == report.written == sum(report.outcomes.values()) == 120


def test_errors_are_raised_after_what_came_before(client: Elasticsearch, hook: DedupHook, name: str) -> None:
    wrong = action_of(story(1), name)
    wrong["_source"]["published"] = {"no": "text"}
    client.indices.create(index=name, mappings={"properties": {"published": {"type": "keyword"}}})
    coming = dedup_parallel_bulk(client, [action_of(story(0), name), wrong], 2, 1, hook=hook)
    assert next(coming)[1]["index"]["_id"] == "story-0"
    with pytest.raises(BulkIndexError) as raised:
        next(coming)
    assert raised.value.errors[0]["index"]["_id"] == "story-1"
    with factory.open_index(f"{url_of('es8')}/{name}", Settings()) as index:
        index.refresh()
        assert index.count() == 1


def test_arguments_that_do_not_fit(client: Elasticsearch, hook: DedupHook, name: str) -> None:
    with pytest.raises(ValueError, match="thread_count must be at least 1"):
        list(dedup_parallel_bulk(client, five(name), 0, hook=hook))


def test_a_reader_that_stops_early(client: Elasticsearch, hook: DedupHook, name: str) -> None:
    report = HookReport()
    coming = dedup_parallel_bulk(client, five(name), 2, 1, hook=hook, report=report)
    assert next(coming)[0]
    del coming  # which ends it
    client.indices.refresh(index=name)
    assert client.count(index=name)["count"] == report.written < 6
