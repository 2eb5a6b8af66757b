"""Answers candidate queries: weighs shared terms per page, applies the scope, ranks and cuts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.index.embedded import postings, tables
from es_dedup.index.embedded.clusters import scope_tests
from es_dedup.index.term_weights import ENOUGH, by_frequency, common_of, limits_of, weights_of
from es_dedup.model import Candidate, CandidateResult
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.model import CandidateQuery, Scope

QUERIES_PER_LOOKUP: Final = 256  # bounds memory; postings of a lookup are held at once

_EMPTY: Final = np.empty(0, dtype=np.int64)
_DOCS_WHERE: Final = "SELECT p.doc FROM json_each(?2) AS d CROSS JOIN pages AS p ON p.doc = d.value WHERE "


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Pages that answer one candidate query and may be among its candidates; ``total`` counts all that answer."""

    docs: NDArray[np.int64]
    weights: NDArray[np.int64]
    total: int
    capped: frozenset[int]


def candidates_many(
    connection: sqlite3.Connection, candidate_queries: Sequence[CandidateQuery]
) -> list[CandidateResult]:
    """One answer per candidate query, in order; see ``Index.candidates_many``."""
    answers: list[CandidateResult] = []
    for some in chunked(candidate_queries, QUERIES_PER_LOOKUP):
        answers += _answer(connection, some)
    return answers


def _answer(
    connection: sqlite3.Connection, candidate_queries: Sequence[CandidateQuery]
) -> list[CandidateResult]:
    excluded = tables.docs_by_id(
        connection,
        [
            candidate_query.exclude
            for candidate_query in candidate_queries
            if candidate_query.exclude is not None
        ],
    )
    limits = [_Limits.of(candidate_query) for candidate_query in candidate_queries]
    lookup = _Lookup(connection, candidate_queries, limits)
    kept = []
    for candidate_query, own in zip(candidate_queries, limits, strict=True):
        asked, capped = _asked(lookup, candidate_query, own)
        kept.append(
            _rank(
                connection,
                candidate_query,
                _weighed(lookup, own, asked),
                excluded.get(candidate_query.exclude or "", -1),
                capped,
            )
        )
    docs = np.unique(np.concatenate([found.docs for found in kept])) if kept else np.empty(0, dtype=np.int64)
    page_ids = dict(zip(docs.tolist(), tables.ids_by_doc(connection, docs.tolist()), strict=True))
    return [
        _cut(found, candidate_query.limit, page_ids)
        for found, candidate_query in zip(kept, candidate_queries, strict=True)
    ]


class _Found:
    """The postings of terms with one limit on the pages of a term."""

    def __init__(self, connection: sqlite3.Connection, terms: Iterable[int], cap: int) -> None:
        ordered = sorted(terms)
        found = postings.find(connection, np.array(ordered, dtype=np.uint64), cap)
        bounds = np.searchsorted(found.term_index, np.arange(len(ordered) + 1)).tolist()
        self.slices = dict(zip(ordered, pairwise(bounds), strict=True))
        self.capped = frozenset(ordered[at] for at in np.flatnonzero(found.capped).tolist())
        self.docs = found.docs


@dataclass(frozen=True, slots=True)
class _Limits:
    """In how many pages the terms of one candidate query may be found: some have a limit of their own."""

    general: int
    own: Mapping[int, int]

    @classmethod
    def of(cls, candidate_query: CandidateQuery) -> _Limits:
        return cls(candidate_query.max_df, limits_of(candidate_query))

    def by_limit(self, terms: Collection[int]) -> Iterable[tuple[int, Collection[int]]]:
        """The terms, put together by their limits."""
        if not self.own:
            return [(self.general, terms)]
        parts: dict[int, list[int]] = {}
        for term in terms:
            parts.setdefault(self.own.get(term, self.general), []).append(term)
        return parts.items()


class _Lookup:
    """The postings of all terms of several candidate queries, fetched at once."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        candidate_queries: Sequence[CandidateQuery],
        limits: Sequence[_Limits],
    ) -> None:
        wanted: dict[int, set[int]] = {}
        for candidate_query, own in zip(candidate_queries, limits, strict=True):
            for group in candidate_query.groups:
                for limit, terms in own.by_limit(group.terms):
                    wanted.setdefault(limit, set()).update(terms)
        self._found = {limit: _Found(connection, terms, limit) for limit, terms in wanted.items()}

    def docs(self, terms: Collection[int], limits: _Limits) -> NDArray[np.int64]:
        """The pages of each term, one after the other; a page stands there once per term it carries."""
        parts = [_EMPTY]
        for limit, some in limits.by_limit(terms):
            found = self._found[limit]
            slices = (found.slices[term] for term in some)
            parts += [found.docs[start:end] for start, end in slices if start != end]
        return np.concatenate(parts)

    def counts(self, terms: Collection[int], limits: _Limits) -> dict[int, int]:
        """How many pages carry each of the terms; none of those that were left out."""
        counted: dict[int, int] = {}
        for limit, some in limits.by_limit(terms):
            slices = self._found[limit].slices
            counted |= {term: slices[term][1] - slices[term][0] for term in some}
        return counted

    def capped(self, terms: Collection[int], limits: _Limits) -> frozenset[int]:
        """Those of the terms that were left out."""
        parts = (self._found[limit].capped.intersection(some) for limit, some in limits.by_limit(terms))
        return frozenset(chain.from_iterable(parts)) if terms else frozenset()


def _asked(
    lookup: _Lookup, candidate_query: CandidateQuery, limits: _Limits
) -> tuple[Mapping[int, int], frozenset[int]]:
    """What each term of a candidate query weighs, and the terms that were left out."""
    asked, common = weights_of(candidate_query), common_of(candidate_query)
    asked = by_frequency(asked, common, lookup.counts(common, limits)) if common else asked
    return asked, lookup.capped(asked, limits)


def _rank(
    connection: sqlite3.Connection,
    candidate_query: CandidateQuery,
    weighed: tuple[NDArray[np.int64], NDArray[np.int64]],
    excluded: int,
    capped: frozenset[int],
) -> _Ranked:
    docs, weights = weighed
    keep = (weights >= ENOUGH) & (docs != excluded)
    docs, weights = docs[keep], weights[keep]
    if candidate_query.scope is not None and len(docs):
        inside = np.isin(docs, _inside(connection, docs, candidate_query.scope), assume_unique=True)
        docs, weights = docs[inside], weights[inside]
    total = len(docs)
    if total > candidate_query.limit:
        # Ids decide between equal weights, so all pages that weigh as much as the last candidate stay in.
        least = np.partition(weights, total - candidate_query.limit)[total - candidate_query.limit]
        docs, weights = docs[weights >= least], weights[weights >= least]
    return _Ranked(docs, weights, total, capped)


def _weighed(
    lookup: _Lookup, limits: _Limits, asked: Mapping[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pages that share a term, ascending, and what their terms weigh together."""
    by_weight: dict[int, set[int]] = {}
    for term, weight in asked.items():
        by_weight.setdefault(weight, set()).add(term)
    found = [(weight, lookup.docs(terms, limits)) for weight, terms in by_weight.items()]
    every = np.concatenate([docs for _, docs in found]) if found else _EMPTY
    each = np.repeat(
        np.array([weight for weight, _ in found], dtype=np.int64), [len(docs) for _, docs in found]
    )
    docs, place = np.unique(every, return_inverse=True)
    return docs, np.bincount(place, weights=each, minlength=len(docs)).astype(np.int64)


def _inside(connection: sqlite3.Connection, docs: NDArray[np.int64], scope: Scope) -> NDArray[np.int64]:
    """The pages that lie in the scope."""
    rows = docs.tolist()
    for test, value in scope_tests(scope).items():
        rows = [doc for (doc,) in connection.execute(_DOCS_WHERE + test, (value, json.dumps(rows)))]
    return np.array(rows, dtype=np.int64)


def _cut(found: _Ranked, limit: int, page_ids: dict[int, str]) -> CandidateResult:
    pairs = zip(found.docs.tolist(), found.weights.tolist(), strict=True)
    order = sorted((-weight, page_ids[doc]) for doc, weight in pairs)
    candidates = tuple(Candidate(name, -weight / ENOUGH) for weight, name in order[:limit])
    return CandidateResult(candidates, truncated=found.total > limit, capped=found.capped)
