"""Records, edges and assignments with defaults, so that a test names only what it is about."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from es_dedup.index.cluster_changes import Assignment
from es_dedup.index.records import FeatureRecord
from es_dedup.model import CandidateQuery, Edge, Relation, TermGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.index.port import Index


def record(page_id: str, terms: Iterable[int] = (), **fields: Any) -> FeatureRecord:
    """A record with the given terms; other fields of ``FeatureRecord`` by name."""
    defaults: dict[str, Any] = {
        "length": 500,
        "content_hash": 1,
        "payload": page_id.encode("utf-8", "replace"),
    }
    return FeatureRecord(page_id=page_id, terms=tuple(terms), **(defaults | fields))


def random_records(count: int, *, seed: int, terms: int = 20, vocabulary: int = 500) -> list[FeatureRecord]:
    """Records ``page-0000`` … whose terms are drawn from few enough values that pages share some."""
    source = random.Random(seed)  # noqa: S311 - seeded, no secret
    return [
        record(
            f"page-{number:04}",
            source.sample(range(vocabulary), min(terms, vocabulary)),
            content_hash=source.getrandbits(64),
            payload=source.randbytes(40),
        )
        for number in range(count)
    ]


def candidate_query(*terms: int, min_shared: int = 1, **fields: Any) -> CandidateQuery:
    """A candidate query with one group; other fields of ``CandidateQuery`` by name."""
    return CandidateQuery((TermGroup(terms, min_shared),), **fields)


def posting_counts(index: Index, *terms: int) -> list[int]:
    """For each term how many stored pages have it, at most 1,000."""
    queries = [candidate_query(term, limit=1_000, max_df=1_000_000) for term in terms]
    return [len(answer.candidates) for answer in index.candidates_many(queries)]


def copies(index: Index, *hashes: int, limit: int | None = None) -> dict[int, list[str]]:
    """Pages by content hash, asked for alone."""
    return index.candidates_with_copies((), hashes, limit=limit)[1]


def edge(left: str, right: str, relation: Relation = Relation.DUPLICATE, score: float = 0.9) -> Edge:
    """A verified edge; ``left`` must be the lesser id."""
    return Edge(left, right, relation, score)


def assignment(
    page_id: str, cluster_id: str | None = None, relation: Relation = Relation.DUPLICATE, score: float = 0.9
) -> Assignment:
    """A page in a cluster that its first page stands for; without ``cluster_id``, a page that is alone."""
    if cluster_id is None or cluster_id == page_id:
        return Assignment(page_id, page_id, page_id, Relation.EXACT, 1.0)
    return Assignment(page_id, cluster_id, cluster_id, relation, score)
