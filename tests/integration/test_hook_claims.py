"""Claims of content hashes on a real server, and the hook with nothing else to find copies of the last second by."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from es_dedup import Settings
from es_dedup.hook import DedupHook, SourceFields, dedup_bulk
from es_dedup.index import factory
from tests.hook_writer import action_of
from tests.hooked import clusters
from tests.samples import story
from tests.servers import client_of, fresh_name, remove, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.index.elastic import ElasticClaims

NEVER = Settings.model_validate({"elastic": {"refresh": "-1"}})
FIELDS = SourceFields("text", url="", published="published")


@pytest.fixture(params=["es8", "es9"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    url, name = url_of(request.param), fresh_name()
    factory.open_index(f"{url}/{name}", NEVER).close()
    yield f"{url}/{name}"
    remove(f"{url}/{name}")
    with client_of(url) as client:
        client.indices.delete(index=name, ignore_unavailable=True)


@pytest.fixture
def claims(address: str) -> Iterator[ElasticClaims]:
    claims = factory.open_claims(address, NEVER)
    yield claims
    claims.close()
    claims.close()


class TestClaims:
    def test_the_first_one_has_it(self, claims: ElasticClaims) -> None:
        first = claims.claim({1: "a", 2**64 - 1: "b"})
        assert {digest: each.page_id for digest, each in first.items()} == {1: "a", 2**64 - 1: "b"}
        second = claims.claim({1: "c", 3: "d"})
        assert {digest: each.page_id for digest, each in second.items()} == {1: "a", 3: "d"}
        assert claims.claim({1: "a"}) == {1: first[1]}
        assert claims.claim({}) == {}

    def test_of_many_at_once_all_are_told_of_the_same(self, claims: ElasticClaims) -> None:
        told: list[str] = []
        start = threading.Barrier(8)

        def ask(number: int) -> None:
            start.wait()
            told.extend(each.page_id for each in claims.claim({7: f"page-{number}"}).values())

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(told) == 8
        assert len(set(told)) == 1

    def test_old_ones_are_forgotten(self, claims: ElasticClaims) -> None:
        claims.claim({number: f"p{number}" for number in range(1, 21)})
        assert claims.forget(int(time.time() * 1000) - 60_000) == 0
        assert claims.forget(int(time.time() * 1000) + 60_000) == 20
        assert claims.claim({1: "later"})[1].page_id == "later"


@contextmanager
def blind(address: str) -> Iterator[DedupHook]:
    """A hook that no search shows anything to: its features are never refreshed, and there is no window."""
    index = factory.open_index(address, NEVER, fresh_candidates=False)
    source_index, claims = factory.open_source_index(address, NEVER), factory.open_claims(address, NEVER)
    with DedupHook(index, source_index, FIELDS, NEVER, claims=claims) as hook:
        yield hook


class TestHook:
    def test_copies_meet_by_their_claims_alone(self, address: str) -> None:
        url, _, name = address.rpartition("/")
        with client_of(url) as client, blind(address) as first, blind(address) as second:
            dedup_bulk(client, [action_of(story(n), name) for n in range(3)], hook=first)
            copies = [action_of(story(0, f"copy-{n}", day=2), name) for n in range(2)]
            report = dedup_bulk(client, copies, hook=second).report
            features = f"{name}-dedup-features"
            assert client.count(index=features, expand_wildcards="all")["count"] == 0  # nothing was refreshed
            assert report.outcomes == {"duplicate": 2}
            assert frozenset({"story-0", "copy-0", "copy-1"}) in clusters(client, name)

    def test_a_claim_of_a_page_that_changed_is_taken_over(self, address: str) -> None:
        url, _, name = address.rpartition("/")
        with client_of(url) as client, blind(address) as hook:
            dedup_bulk(client, [action_of(story(0, "page"), name)], hook=hook)
            dedup_bulk(client, [action_of(story(1, "page"), name)], hook=hook)
            first = dedup_bulk(client, [action_of(story(0, "next"), name)], hook=hook).report
            assert first.outcomes == {"unique": 1}
            dedup_bulk(client, [{"_op_type": "delete", "_index": name, "_id": "page"}], hook=hook)
            report = dedup_bulk(client, [action_of(story(0, "copy", day=3), name)], hook=hook).report
            assert report.decisions[f"{name}/copy"].duplicate_of == f"{name}/next"
            again = dedup_bulk(client, [action_of(story(1, "other"), name)], hook=hook).report
            assert again.outcomes == {"unique": 1}
            assert clusters(client, name) == {frozenset({"next", "copy"}), frozenset({"other"})}
