"""Elasticsearch whose searches are never refreshed by themselves: what one object writes it finds, and what others write."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from es_dedup.batch.clusters import ClusterCache
from es_dedup.index.elastic.adapter import ElasticIndex
from es_dedup.index.elastic.address import parse_address
from es_dedup.index.elastic.collection import Collection, refresh
from es_dedup.index.elastic.connecting import Options
from es_dedup.index.elastic.documents import TermValues
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.model import CandidateQuery, TermGroup
from es_dedup.testing.builders import (
    assignment,
    candidate_query,
    edge,
    posting_counts,
    random_records,
    record,
)
from tests.servers import client_of

FEATURES = {"ccdet.window": 10}


def opened(own_address: str) -> ElasticIndex:
    return ElasticIndex(parse_address(own_address), features=FEATURES, options=Options(refresh="-1"))


def shown(own_address: str) -> int:
    """Pages that a search of another client sees."""
    url, _, name = own_address.rpartition("/")
    with client_of(url) as client:
        return int(client.count(index=f"{name}-dedup-features", expand_wildcards="all")["count"])


def asked(names: list[str]) -> list[CandidateQuery]:
    """Candidate queries of which each asks for what a page has, so that itself and others answer."""
    every = {each.page_id: each.terms for each in random_records(300, seed=4)}
    return [
        CandidateQuery(
            (TermGroup(every[name][:15], 3, (None, 4, 8)[at % 3]), TermGroup(every[name][12:], 2)),
            limit=(3, 50)[at // 2 % 2],
            max_df=(6, 1000)[at % 2],
            exclude=name if at % 2 else None,
        )
        for at, name in enumerate(names)
    ]


def test_answers_are_those_of_the_embedded_index_without_any_refresh(own_address: str) -> None:
    stored = random_records(300, seed=4)
    with opened(own_address) as index, EmbeddedIndex(":memory:", features=FEATURES) as plain:
        for start in range(0, 300, 50):
            some = stored[start : start + 50]
            for each in (index, plain):
                each.put_many(some)
            candidate_queries, hashes = (
                asked([each.page_id for each in some]),
                [each.content_hash for each in stored],
            )
            expected = plain.candidates_with_copies(candidate_queries, hashes)
            assert index.candidates_with_copies(candidate_queries, hashes) == expected
            assert shown(own_address) == 50  # the first write follows none that is known, so it was refreshed
        assert any(answer.truncated for answer in expected[0])
        assert any(answer.capped_terms for answer in expected[0])
        assert index.count() == shown(own_address) == 300
        assert index.candidates_with_copies(candidate_queries, hashes) == expected


def test_replaced_and_deleted_pages_and_scopes(own_address: str) -> None:
    with opened(own_address) as index:
        index.put_many([record("a", [1])])
        index.put_many([record("b", [1], site="x.org"), record("c", [1])])
        found = [list(answer.candidates) for answer in index.candidates_many([candidate_query(1)])]
        assert found == [["a", "b", "c"]]
        index.put_many([record("b", [2], site="x.org")])
        index.delete_many(["c"])
        index.put_many([record("d", [1, 2])])
        one, two = index.candidates_many([candidate_query(1), candidate_query(2)])
        assert list(one.candidates) == ["a", "d"]
        assert list(two.candidates) == ["b", "d"]
        index.put_many([record("e", [2], site="x.org")])
        assert posting_counts(index, 1, 2) == [2, 3]
        assert [each.page_id for some in index.scan() for each in some] == ["a", "b", "d", "e"]


def test_of_two_writers_the_later_one_sees_what_the_former_has_written(own_address: str) -> None:
    with opened(own_address) as first, opened(own_address) as second:
        first.put_many([record("a", [1])])
        first.candidates_many([candidate_query(1)])
        for number in range(4):
            writer = (second, first)[number % 2]
            writer.put_many([record(f"p{number}", [1])])
            (answer,) = writer.candidates_many([candidate_query(1)])
            assert list(answer.candidates) == ["a", *(f"p{n}" for n in range(number + 1))]


def test_payloads_are_those_of_pages_that_another_object_has_just_stored(own_address: str) -> None:
    with opened(own_address) as one, opened(own_address) as other:
        one.put_many([record("a", [1])])
        assert shown(own_address) == 0
        assert other.payloads(["a", "gone"]).keys() == {"a"}


def test_a_search_does_not_rely_on_a_refresh_that_another_thread_still_waits_for(
    own_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(own_address) as index, ThreadPoolExecutor(1) as pool:
        index.put_many([record("a", [1])])
        index.put_many([record("a", [2])])  # what is replaced only a refresh shows
        waits, goes_on = threading.Event(), threading.Event()

        def slow(collections: Sequence[Collection]) -> None:
            if not waits.is_set():
                waits.set()
                assert goes_on.wait(20)
            refresh(collections)

        monkeypatch.setattr("es_dedup.index.elastic.store.refresh", slow)
        other = pool.submit(index.refresh)
        try:
            assert waits.wait(20)
            (answer,) = index.candidates_many([candidate_query(2)])
        finally:
            goes_on.set()
        other.result()
        assert list(answer.candidates) == ["a"]


def test_a_page_that_searches_come_to_see_after_terms_were_counted_is_found(
    own_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(own_address) as index:
        index.put_many([record("a", [1])])
        index.candidates_many([candidate_query(1)])
        index.put_many([record("b", [2])])
        assert shown(own_address) == 1
        count, counted = index._searcher._most, iter((True, False))

        def shown_meanwhile(values: TermValues) -> NDArray[np.int64]:
            found = count(values)
            if next(counted, False):  # another thread asks, and is told that searches see the page now
                index._server.client.indices.refresh(index=index._pages.name)
                assert list(index.candidates_many([candidate_query(2)])[0].candidates) == ["b"]
                assert len(index._recent) == 0
            return found

        monkeypatch.setattr(index._searcher, "_most", shown_meanwhile)
        assert list(index.candidates_many([candidate_query(2)])[0].candidates) == ["b"]


def test_a_session_sees_what_another_thread_of_the_same_object_changes_outside_of_it(
    own_address: str,
) -> None:
    with opened(own_address) as index, ThreadPoolExecutor(1) as pool, index.writing():
        assert index.edges_of(["a"]) == []  # the first search of a session refreshes
        index.put_edges([edge("a", "b")])
        assert index.edges_of(["a"]) == [edge("a", "b")]
        pool.submit(index.drop_edges, ["a"]).result()
        assert pool.submit(index.edges_of, ["a"]).result() == []  # which refreshes
        assert index.edges_of(["a"]) == []


def test_a_write_during_a_refresh_is_not_taken_for_shown(
    own_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(own_address) as index:
        index.put_many([record("a", [1], text="first")])
        call = index._server.call

        def with_a_later_write(*given: Any, **named: Any) -> Any:
            monkeypatch.undo()
            answer = call(*given, **named)
            index.put_many([record("b", [2], text="second")])
            return answer

        monkeypatch.setattr(index._server, "call", with_a_later_write)
        index.refresh()
        assert index.matches("second") == 1


def fail_after(index: ElasticIndex) -> None:
    """Change something, then fail before it is stored."""
    ClusterCache(index).assign_many([assignment("a")])
    raise KeyError("a")


class TestSessions:
    def test_who_was_alone_is_told_so(self, own_address: str) -> None:
        with opened(own_address) as first, opened(own_address) as second:
            with first.writing() as alone:
                assert not alone
            assert first.only_writer()
            assert not second.only_writer()
            with first.writing() as alone, first.writing() as deeper:
                assert alone
                assert deeper
            with second.writing() as alone:
                assert not alone
            assert not first.only_writer()
            with first.writing() as alone:
                assert not alone

    def test_changes_are_seen_in_the_next_session_without_a_refresh(self, own_address: str) -> None:
        with opened(own_address) as index, opened(own_address) as other:
            with index.writing():
                index.put_edges([edge("a", "b")])
                index.assign_many([assignment("a"), assignment("b", "a")])
            with index.writing() as alone:
                assert alone
                updates = ClusterCache(index)
                assert updates.edges_of(["b"]) == [edge("a", "b")]
                updates.drop_edges(["a"])
                updates.assign_many([assignment("b")])
                assert updates.edges_of(["b"]) == []
                assert updates.members(["a", "b"]) == {"a": [assignment("a")], "b": [assignment("b")]}
                assert other.assignments(["b"]) == {"b": assignment("b", "a")}  # nothing of it was sent yet
                updates.store()
            assert other.assignments(["b"]) == {"b": assignment("b")}
            assert index.edges_of(["a"]) == []
            assert index.members(["b"]) == {"b": [assignment("b")]}

    def test_what_others_change_is_seen_in_the_next_session(self, own_address: str) -> None:
        with opened(own_address) as index, opened(own_address) as other:
            with index.writing():
                index.assign_many([assignment("a"), assignment("b", "a")])
            with other.writing():
                other.assign_many([assignment("b")])
            with index.writing() as alone:
                assert not alone
                assert index.members(["a"]) == {"a": [assignment("a")]}
                assert index.pages_and_assignments(["a", "b"])[1] == {
                    "a": assignment("a"),
                    "b": assignment("b"),
                }

    def test_nothing_is_kept_of_a_block_that_raises(self, own_address: str) -> None:
        with opened(own_address) as index:
            with pytest.raises(KeyError), index.writing():
                fail_after(index)
            with index.writing():
                assert index.assignments(["a"]) == {}
                assert index.members(["a"]) == {}

    def test_pages_clusters_and_notes_are_asked_for_together(self, own_address: str) -> None:
        with opened(own_address) as index:
            index.put_many([record("a", [1])])
            index.assign_many([assignment("b")])
            index.set_note("n", "said")
            records, assigned, notes = index.pages_and_assignments(["a", "b", "c", ""], ["n", "none"])
            assert records == index.get_many(["a"])
            assert assigned == {"b": assignment("b")}
            assert notes == {"n": "said", "none": None}
