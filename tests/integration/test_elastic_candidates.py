"""Candidate queries on Elasticsearch where statistics of terms are not the whole truth: several shards, deleted pages, other answers beside."""

import pytest

from es_dedup.index.elastic.adapter import ElasticIndex
from es_dedup.index.elastic.address import parse_address
from es_dedup.index.elastic.connecting import Options
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.model import CandidateQuery, TermGroup
from es_dedup.testing.builders import candidate_query, copies, random_records, record

FEATURES = {"ccdet.window": 10}


def opened(own_address: str, shards: int = 1) -> ElasticIndex:
    return ElasticIndex(parse_address(own_address), features=FEATURES, options=Options(shards=shards))


def asked(seed: int) -> list[CandidateQuery]:
    """Candidate queries with terms that are rare, common and unknown, in groups of which some overlap."""
    records = random_records(30, seed=seed)
    return [
        CandidateQuery(
            (
                TermGroup(each.terms[:12], 2),
                TermGroup((*each.terms[10:], 900 + place), 3),
                TermGroup((7,), 1),
            ),
            limit=5 + place,
            max_df=(4, 20, 200)[place % 3],
            exclude=each.page_id if place % 2 else None,
        )
        for place, each in enumerate(records)
    ]


@pytest.mark.parametrize("shards", [1, 3])
def test_answers_are_those_of_the_embedded_index(own_address: str, shards: int) -> None:
    stored, candidate_queries = random_records(400, seed=1), asked(2)
    with opened(own_address, shards) as index, EmbeddedIndex(":memory:", features=FEATURES) as plain:
        for each in (index, plain):
            each.put_many(stored)
            each.put_many(random_records(40, seed=3))  # replaced: their old terms are there until a merge
            each.delete_many(["page-0050", "page-0051"])
        expected = plain.candidates_many(candidate_queries)
        assert any(answer.capped_terms for answer in expected)
        assert any(answer.truncated for answer in expected)
        assert index.candidates_many(candidate_queries) == expected
        assert index.candidates_many(candidate_queries[:1]) == expected[:1]
        hashes = [each.content_hash for each in stored[100:110]]
        assert index.candidates_with_copies(candidate_queries, hashes) == (expected, copies(plain, *hashes))


def test_a_term_that_only_deleted_pages_made_common_counts(own_address: str) -> None:
    with opened(own_address) as index:
        index.put_many(record(f"p{number:03}", [5]) for number in range(50))
        index.refresh()
        index.delete_many([f"p{number:03}" for number in range(2, 50)])
        index.put_many([record("q", [6])])
        common, rare = index.candidates_many([candidate_query(5, max_df=1), candidate_query(5, 6, max_df=2)])
        assert (common.candidates, common.capped_terms) == ((), 1)
        assert list(rare.candidates) == ["p000", "p001", "q"]
        assert rare.capped_terms == 0
