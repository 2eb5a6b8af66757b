"""Candidates of one method alone: every page's candidate query against every page's stored terms, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index.term_weights import ENOUGH, limits_of, weights_of
from es_dedup.text.ragged import rank_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from es_dedup.detectors.port import Detector

    Rows = NDArray[np.int64]

CHUNK_HITS: Final = 2_000_000  # postings read in one go: about 100 MB


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


@dataclass(frozen=True, slots=True)
class _QueryTerms:
    """Query terms of all pages: a row for each term, with its weight and its limit on postings."""

    pages: Rows
    terms: NDArray[np.uint64]
    weights: Rows
    most: Rows


def self_join(
    detector: Detector[Any],
    features: Sequence[Any],
    ids: Sequence[str] | None = None,
    *,
    limit: int | None = None,
    max_df: int | None = None,
) -> SelfJoin:
    """Join a corpus with itself by one method's candidate queries, as an index answers them page by page.

    Args:
        detector: the method.
        features: of each page; None for a page that the method skips.
        ids: page ids; between candidates of equal weight they decide which are cut. Else the order of the pages does.
        limit: most candidates of a page; None: all.
        max_df: for groups without a limit of their own; None: ``CandidateQuery.max_df``.
    """
    count = max(len(features), 1)
    stored, owners = _stored(detector, features)
    queried = _query_terms(detector, features, max_df)
    low = np.searchsorted(stored, queried.terms)
    counts = np.searchsorted(stored, queried.terms, side="right") - low
    capped = counts > queried.most
    counts[capped] = 0
    order = np.arange(count) if ids is None else np.argsort(np.argsort(np.array(ids, dtype=object)))
    parts, found = [], 0
    for start, end in _blocks(queried.pages, counts):
        rows, number = counts[start:end], int(counts[start:end].sum())
        first = np.cumsum(rows) - rows
        place = np.repeat(low[start:end] - first, rows) + np.arange(number)
        hits = np.repeat(queried.pages[start:end], rows) * count + owners[place]
        pairs, at = np.unique(hits, return_inverse=True)
        weights = np.bincount(at, weights=np.repeat(queried.weights[start:end], rows), minlength=len(pairs))
        query, other = np.divmod(pairs, count)
        keep = (weights >= ENOUGH) & (query != other)
        query, other, weights = query[keep], other[keep], weights[keep]
        if limit is not None:
            ranked = np.lexsort((order[other], -weights, query))
            query, other = query[ranked], other[ranked]
            keep = rank_within(query, count) < limit
            query, other = query[keep], other[keep]
        found += len(query)
        parts.append(np.minimum(query, other) * count + np.maximum(query, other))
    every = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))
    left, right = np.divmod(every, count)
    return SelfJoin(left, right, len(np.unique(queried.pages)), found, len(stored), int(capped.sum()))


def _stored(detector: Detector[Any], features: Sequence[Any]) -> tuple[NDArray[np.uint64], Rows]:
    terms = [detector.terms(each) if each is not None else () for each in features]
    owners = np.repeat(np.arange(len(terms)), [len(each) for each in terms])
    values = np.array([term for each in terms for term in each], dtype=np.uint64)
    order = np.argsort(values, kind="stable")
    return values[order], owners[order]


def _query_terms(detector: Detector[Any], features: Sequence[Any], max_df: int | None) -> _QueryTerms:
    pages: list[int] = []
    weights: list[tuple[int, int]] = []
    most: list[int] = []
    for page, each in enumerate(features):
        candidate_query = detector.candidate_query(each) if each is not None else None
        if candidate_query is None:
            continue
        own, general = limits_of(candidate_query), candidate_query.max_df if max_df is None else max_df
        queried = weights_of(candidate_query).items()
        weights += queried
        pages += [page] * len(queried)
        most += [own.get(term, general) for term, _ in queried]
    return _QueryTerms(
        np.array(pages, dtype=np.int64),
        np.array([term for term, _ in weights], dtype=np.uint64),
        np.array([weight for _, weight in weights], dtype=np.int64),
        np.array(most, dtype=np.int64),
    )


def _blocks(pages: Rows, counts: Rows) -> Iterator[tuple[int, int]]:
    """Slices of about ``CHUNK_HITS`` postings that never cut the terms of a page in two."""
    total = np.cumsum(counts)
    start, done = 0, 0
    while start < len(pages):
        end = max(int(np.searchsorted(total, done + CHUNK_HITS, side="right")), start + 1)
        end = int(np.searchsorted(pages, pages[end - 1], side="right"))
        yield start, end
        start, done = end, int(total[end - 1])
