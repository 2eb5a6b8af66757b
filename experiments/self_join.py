"""Candidates of one method alone: the candidate queries of all pages against an in-memory index of their terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index import factory
from es_dedup.index.records import FeatureRecord
from es_dedup.model.batches import chunked
from es_dedup.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.detectors.port import Detector

    Rows = NDArray[np.int64]

ASKED: Final = 256  # pages asked for together


@dataclass(frozen=True, slots=True)
class SelfJoin:
    """Candidates of all pages.

    Attributes:
        left, right: candidate pairs as places of pages, ``left`` < ``right``; each once, ascending.
        queried: pages with any query term.
        found: candidates over all of these pages, the query page itself not counted.
        terms: stored terms over all pages.
        capped_terms: query terms left out because they have too many postings.
    """

    left: Rows
    right: Rows
    queried: int
    found: int
    terms: int
    capped_terms: int


def self_join(
    detector: Detector[Any],
    features: Sequence[Any],
    ids: Sequence[str] | None = None,
    *,
    limit: int | None = None,
    max_df: int | None = None,
) -> SelfJoin:
    """Join a corpus with itself by one method's candidate queries.

    Args:
        detector: the method.
        features: of each page; None for a page that the method skips.
        ids: page ids, which break ties between candidates of equal weight; None: the order of the pages does.
        limit: most candidates of a page; None: all.
        max_df: for groups without a limit of their own; None: ``CandidateQuery.max_df``.
    """
    count = max(len(features), 1)
    names = [f"{at:09}" for at in range(len(features))] if ids is None else list(ids)
    row = {name: at for at, name in enumerate(names)}
    records, queries = [], []
    for name, each in zip(names, features, strict=True):
        query = None if each is None else detector.candidate_query(each)
        if each is not None:
            records.append(FeatureRecord(name, 0, 0, tuple(detector.terms(each)), b""))
        if query is not None and any(group.terms for group in query.groups):
            most = query.max_df if max_df is None else max_df
            queries.append(replace(query, limit=limit or count, max_df=most, exclude=name))
    found = capped = 0
    parts = [np.zeros(0, dtype=np.int64)]
    with factory.open_index(":memory:", Settings()) as index:
        index.put_many(records)
        for some in chunked(queries, ASKED):
            answers = index.candidates_many(some)
            others = [[row[each] for each in answer.candidates] for answer in answers]
            ours = np.repeat([row[query.exclude or ""] for query in some], list(map(len, others)))
            theirs = np.array([each for listed in others for each in listed], dtype=np.int64)
            parts.append(np.minimum(ours, theirs) * count + np.maximum(ours, theirs))
            found += len(theirs)
            capped += sum(answer.capped_terms for answer in answers)
    left, right = np.divmod(np.unique(np.concatenate(parts)), count)
    return SelfJoin(left, right, len(queries), found, sum(len(each.terms) for each in records), capped)
