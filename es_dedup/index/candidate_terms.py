"""What sharing a term counts: how much of an answer to a candidate query each of its terms is, and what pages have of them together.

All terms of some candidate queries are looked at together, as columns: a batch has thousands of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from es_dedup.model import CandidateQuery, CandidateResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

ENOUGH: Final = 2_520
"""A page that has so much answers: divisible by 1 to 10, so that sums stay whole numbers, on every kind of index alike."""
NO_LIMIT: Final = 1 << 62


class TermWeights(NamedTuple):
    """What each term of each query weighs; 0 and ``left_out`` where too many pages carry it."""

    weights: NDArray[np.int64]
    left_out: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The terms of some candidate queries; all columns but ``distinct`` have one value for each term of each query, query by query.

    Attributes:
        distinct: all terms, ascending.
        rows: the query.
        places: the term's place in ``distinct``.
        weights: its part of ``ENOUGH``, rounded up; of several groups the one where it counts most.
        common: it counts half in more pages than this.
        limits: it is left out in more pages than this.
        bounds: the terms of query ``i`` are those from ``bounds[i]`` up to ``bounds[i + 1]``.
    """

    distinct: NDArray[np.uint64]
    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.int64]
    common: NDArray[np.int64]
    limits: NDArray[np.int64]
    bounds: list[int]

    @classmethod
    def of(cls, candidate_queries: Sequence[CandidateQuery]) -> QueryTerms:
        """The terms of all groups of the queries."""
        rules, sizes, terms = [], [], []
        for row, query in enumerate(candidate_queries):
            # Where a term weighs most comes last; of groups where it weighs the same, the last that was given.
            for group in sorted(query.groups, key=lambda group: -max(1, group.min_shared)):
                weight = -(-ENOUGH // max(1, group.min_shared))
                common = NO_LIMIT if group.common_df is None else group.common_df
                rules.append((row, weight, common, query.max_df if group.max_df is None else group.max_df))
                sizes.append(len(group.terms))
                terms.append(group.terms)
        flat = np.fromiter(chain.from_iterable(terms), dtype=np.uint64, count=sum(sizes))
        distinct, places = np.unique(flat, return_inverse=True)
        columns = np.repeat(np.array(rules, dtype=np.int64).reshape(-1, 4), sizes, axis=0)
        if len(distinct) < len(places):
            keys = columns[:, 0] * len(distinct) + places
            order = np.argsort(keys, kind="stable")
            kept = order[np.append(keys[order[1:]] != keys[order[:-1]], True)]
            columns, places = columns[kept], places[kept]
        rows, weights, commons, limits = columns.T
        bounds = np.searchsorted(rows, np.arange(len(candidate_queries) + 1)).tolist()
        return cls(distinct, rows, places, weights, commons, limits, bounds)

    def weighed(self, counts: NDArray[np.int64]) -> TermWeights:
        """What the terms weigh, given how many pages carry each of ``distinct``."""
        pages = counts[self.places]
        left_out = pages > self.limits
        weights = np.where(pages > self.common, self.weights // 2, self.weights)
        return TermWeights(np.where(left_out, 0, weights), left_out)

    def capped(self, row: int, left_out: NDArray[np.bool_]) -> frozenset[int]:
        """The terms of a query that were left out."""
        own = slice(self.bounds[row], self.bounds[row + 1])
        return frozenset(self.distinct[self.places[own][left_out[own]]].tolist())


@dataclass(frozen=True, slots=True)
class TermPostings:
    """The pages that carry some terms, by number: those of the term in place ``i`` are from ``bounds[i]`` up to ``bounds[i + 1]``."""

    bounds: NDArray[np.int64]
    pages: NDArray[np.int64]

    @classmethod
    def of(cls, terms: int, places: NDArray[np.int64], pages: NDArray[np.int64]) -> TermPostings:
        """The postings of so many terms, given as the place of a term and a page that carries it, in any order."""
        order = np.argsort(places, kind="stable")
        return cls(np.searchsorted(places[order], np.arange(terms + 1)), pages[order])

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many pages carry each term."""
        return np.asarray(np.diff(self.bounds))


def ranked(
    found: Iterable[tuple[float, str]], candidate_query: CandidateQuery, capped: frozenset[int]
) -> CandidateResult:
    """The answer to a candidate query.

    Args:
        found: what pages weigh, and their ids, in any order: of all that answer at least the first ones in the order of the answer, so many
            as are asked for, one more, and the page that asks.
        candidate_query: the query.
        capped: its terms that were left out.
    """
    order = sorted((-weight, page_id) for weight, page_id in found if page_id != candidate_query.exclude)
    candidates = tuple(page_id for _, page_id in order[: candidate_query.limit])
    return CandidateResult(candidates, truncated=len(order) > candidate_query.limit, capped=capped)


class SharedTerms(NamedTuple):
    """Pages that share enough with a query: the query, the page, and what the shared terms weigh; by query, then page, ascending."""

    rows: NDArray[np.int64]
    pages: NDArray[np.int64]
    weights: NDArray[np.int64]


def shared_terms(
    rows: NDArray[np.int64], places: NDArray[np.int64], weights: NDArray[np.int64], postings: TermPostings
) -> SharedTerms:
    """The pages whose terms weigh ``ENOUGH`` together; the arguments are columns as in ``QueryTerms``."""
    first = postings.bounds[places]
    many = postings.bounds[places + 1] - first
    pages = postings.pages[np.arange(many.sum()) + np.repeat(first - (np.cumsum(many) - many), many)]
    span = int(pages.max(initial=0)) + 1
    pairs, pair = np.unique(np.repeat(rows, many) * span + pages, return_inverse=True)
    sums = np.bincount(pair, weights=np.repeat(weights, many), minlength=len(pairs)).astype(np.int64)
    enough = sums >= ENOUGH
    return SharedTerms(*np.divmod(pairs[enough], span), sums[enough])
