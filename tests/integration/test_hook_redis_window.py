"""The window of recent pages on a real Redis, and the hook with it on a server whose features are never refreshed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from redis import Redis

from es_dedup import Settings
from es_dedup.hook import DedupHook, RedisWindow, SourceFields, WindowUnavailable, dedup_bulk
from es_dedup.hook.redis_window import KEPT, LIMIT, Arrival
from tests.hook_writer import action_of
from tests.samples import story
from tests.servers import client_of, fresh_name, remove, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elasticsearch import Elasticsearch

NEVER = Settings.model_validate({"elastic": {"refresh": "-1"}})
FIELDS = SourceFields("text", url="", published="published")


@pytest.fixture
def name() -> str:
    return fresh_name()


@pytest.fixture
def window(name: str) -> Iterator[RedisWindow]:
    window = RedisWindow.open(url_of("redis"), name)
    yield window
    with Redis.from_url(url_of("redis")) as client:
        for key in client.scan_iter(f"es-dedup:window:{name}:*"):
            client.delete(key)
    window.close()


@pytest.fixture
def address(name: str) -> Iterator[str]:
    url = url_of("es8")
    yield f"{url}/{name}"
    remove(f"{url}/{name}")
    with client_of(url) as client:
        client.indices.delete(index=name, ignore_unavailable=True)


def page(name: str, *terms: str) -> Arrival:
    """A page that is found by what it looks for."""
    return Arrival(name, terms, terms)


class TestWindow:
    def test_the_later_of_two_pages_sees_the_former(self, window: RedisWindow) -> None:
        assert window.meet([page("a", "x", "y"), page("b", "y", "z"), page("c", "q")]) == [[], ["a"], []]
        assert window.meet([page("d", "x", "y", "z")]) == [["a", "b"]]
        assert window.meet([]) == []

    def test_what_is_kept_is_bounded_and_runs_out(self, window: RedisWindow, name: str) -> None:
        window.meet([page(f"p{n:03}", "hot") for n in range(KEPT + 20)])
        (found,) = window.meet([page("last", "hot")])
        assert len(found) == LIMIT
        assert "p000" not in found
        short = RedisWindow.open(url_of("redis"), name, seconds=0.2)
        short.meet([page("s", "brief")])
        time.sleep(0.5)
        assert short.meet([page("t", "brief")]) == [[]]
        short.close()

    def test_without_redis_it_says_so(self) -> None:
        closed = RedisWindow.open("redis://127.0.0.1:1/0", "nobody")
        with pytest.raises(WindowUnavailable):
            closed.meet([page("a", "x")])
        closed.close()


def marks_agree(client: Elasticsearch, name: str) -> bool:
    """Whether each cluster has one canonical document, and this one alone knows the size."""
    client.indices.refresh(index=name)
    groups: dict[str, list[tuple[bool, int | None]]] = {}
    for hit in client.search(index=name, size=100)["hits"]["hits"]:
        dedup = hit["_source"]["dedup"]
        groups.setdefault(dedup["cluster_id"], []).append((dedup["canonical"], dedup.get("cluster_size")))
    return all(
        sorted(group, key=str) == sorted([(True, len(group)), *[(False, None)] * (len(group) - 1)], key=str)
        for group in groups.values()
    )


class TestHook:
    def test_copies_are_found_before_any_search_can_see_the_first(
        self, window: RedisWindow, address: str, name: str
    ) -> None:
        with (
            client_of(address.rpartition("/")[0]) as client,
            DedupHook.open(address, FIELDS, settings=NEVER, window=window) as first,
            DedupHook.open(address, FIELDS, settings=NEVER, window=window) as second,
        ):
            dedup_bulk(client, [action_of(story(n), name) for n in range(3)], hook=first)
            sent = [action_of(story(0, "copy", day=2), name), action_of(story(1, "other", day=2), name)]
            report = dedup_bulk(client, sent, hook=second).report
            features = f"{name}-dedup-features"
            assert client.count(index=features, expand_wildcards="all")["count"] == 0  # nothing was refreshed
            assert report.outcomes == {"duplicate": 2}
            assert report.decisions[f"{name}/copy"].duplicate_of == f"{name}/story-0"
            assert marks_agree(client, name)
            twice = [action_of(story(9, f"in-batch-{n}"), name) for n in range(2)]
            assert dedup_bulk(client, twice, hook=first).report.outcomes == {"unique": 1, "duplicate": 1}

    def test_without_redis_features_are_refreshed_instead(self, address: str, name: str) -> None:
        gone = RedisWindow.open("redis://127.0.0.1:1/0", name)
        with (
            client_of(address.rpartition("/")[0]) as client,
            DedupHook.open(address, FIELDS, settings=NEVER, window=gone) as first,
            DedupHook.open(address, FIELDS, settings=NEVER, window=gone) as second,
        ):
            dedup_bulk(client, [action_of(story(0), name)], hook=first)
            report = dedup_bulk(client, [action_of(story(0, "copy", day=2), name)], hook=second).report
        gone.close()
        assert report.outcomes == {"duplicate": 1}
