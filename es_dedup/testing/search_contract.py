"""What full-text search must do on every index; part of ``FeatureIndexContract``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_dedup.testing.builders import record
from es_dedup.testing.contract_fixtures import IndexFixtures

if TYPE_CHECKING:
    from es_dedup.index.port import Index


class SearchContract(IndexFixtures):
    """``search``."""

    @pytest.fixture
    def library(self, index: Index) -> Index:
        index.put_many(
            [
                record("fox", text="The quick brown fox jumps over the dog"),
                record("dog", text="A dog sleeps. A dog barks. A dog eats."),
                record("tea", text="她喝茶，看书。", title="下午"),
                record("nothing"),
            ]
        )
        return index

    def test_best_first_with_a_score(self, library: Index) -> None:
        hits = library.search("dog")
        assert [page_id for page_id, _ in hits] == ["dog", "fox"]
        assert hits[0][1] > hits[1][1]
        assert library.search("dog", limit=1) == hits[:1]

    def test_finds_and_counts_words_of_text_and_title(self, library: Index) -> None:
        for query, expected in {"茶": ["tea"], "下午": ["tea"], "QUICK": ["fox"]}.items():
            assert [page_id for page_id, _ in library.search(query)] == expected, query
        for query, count in {"dog": 2, "dog fox": 1, "dog 茶 unicorn": 3, "。": 0}.items():
            assert library.matches(query) == count, query

    def test_pages_with_all_words_and_only_else_with_any(self, library: Index) -> None:
        assert [page_id for page_id, _ in library.search("dog fox")] == ["fox"]
        assert {page_id for page_id, _ in library.search("dog 茶 unicorn")} == {"dog", "fox", "tea"}

    def test_queries_are_read_as_plain_words(self, library: Index) -> None:
        for query in ("", "  ", "。？!", '"', "\x00", "\ud800"):
            assert library.search(query) == [], query
        syntax = (
            'dog" OR "fox',
            "dog AND",
            "NOT dog",
            "dog*",
            "title:dog",
            "NEAR(dog fox, 2)",
            "(dog",
            "-dog",
        )
        for query in (*syntax, "^dog", "a" * 9999):
            assert {page_id for page_id, _ in library.search(query)} <= {"dog", "fox"}, query

    def test_any_number_of_words(self, library: Index) -> None:
        assert library.search("dog " + " ".join(f"word{number}" for number in range(2000)))

    def test_a_limit_cuts_the_order(self, library: Index) -> None:
        assert library.search("dog", limit=1) == library.search("dog")[:1]
        assert library.search("dog", limit=0) == []

    def test_equal_scores_are_ordered_by_id(self, index: Index) -> None:
        index.put_many([record(page_id, text="same words") for page_id in ("c", "a", "b")])
        assert [page_id for page_id, _ in index.search("same")] == ["a", "b", "c"]

    def test_writes_after_a_search_are_found(self, library: Index) -> None:
        assert library.search("cat") == []
        library.put_many([record("cat", text="a cat"), record("fox", text="now a cat too")])
        library.refresh()
        assert {page_id for page_id, _ in library.search("cat")} == {"cat", "fox"}
        assert library.search("quick") == []
        library.delete_many(["fox"])
        assert [page_id for page_id, _ in library.search("cat")] == ["cat"]
