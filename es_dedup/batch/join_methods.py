"""Joins of the default methods: which terms of a page are stored and queried, and which counted pairs are candidates.

``candidate_pairs`` runs them over a corpus on one machine, ``es_dedup.spark`` over tables of many machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.batch.join import LEAST_SHARED, pair_keys, sampled_needed, third_value
from es_dedup.detectors import coverage, fingerprint, simhash
from es_dedup.detectors.coverage_pairs import CONTENT
from es_dedup.text.hashing import HASH_BITS_IN_TERM, TERM_BITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from es_dedup.batch.columns import Column
    from es_dedup.batch.corpus import Weighing
    from es_dedup.batch.join import Hits
    from es_dedup.detectors.features import FeatureTable
    from es_dedup.settings import Settings
    from es_dedup.settings.sections import CcdetConfig

    Keys = NDArray[np.uint64]
    Rows = NDArray[np.int64]

HASH_BITS: Final = 32  # of a gram or clause
GRAM_SHARE: Final = 0.25  # of the comparable terms; related pages share 0.4 or more of their grams
CLAUSE_SHARE: Final = 0.5  # clauses are fewer and more often form: what shares less is found by its grams
FEW_TERMS: Final = 4  # so few comparable terms that one of them in common is enough


@dataclass(frozen=True, slots=True)
class RowTerms:
    """Terms of some rows, row after row.

    Attributes:
        queried, query_counts: terms queried, and how many of each row.
        stored, stored_counts: terms stored; the same arrays where pages query what they store.
        facts: what the rule has to know of each row beside its stored terms; shape (rows, numbers).
    """

    queried: NDArray[Any]
    query_counts: Rows
    stored: NDArray[Any]
    stored_counts: Rows
    facts: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class JoinMethod:
    """One join.

    Attributes:
        name: of the join.
        bits: width of its terms.
        own: pages query what they store, so a term that one page stores joins nothing.
        terms: terms of a table, with what its grams and clauses count.
        keys: of pairs with all shared terms counted the candidates, as ``pair_keys``; given are ``RowTerms.facts`` of all rows
            and the stored terms.
        needed: terms that pairs must share to be among them, at least: given are the first fact of each query row and the last one of
            each stored row.
        sampled: both pages have only some of their terms, and their two facts say what ``sampled_needed`` asks for.
        by_fact: ``keys`` asks for the only fact of both rows, neither for the number of shared terms nor for the terms.
    """

    name: str
    bits: int
    own: bool
    terms: Callable[[FeatureTable, Weighing], RowTerms]
    keys: Callable[[Hits, NDArray[np.uint64], Column], Keys]
    needed: Callable[[NDArray[np.uint64], NDArray[np.uint64]], Rows]
    by_fact: bool = False
    sampled: bool = False

    @property
    def least(self) -> int:
        """Postings from which a term can bring a pair together."""
        return 2 if self.own else 1

    @property
    def kind(self) -> type[np.unsignedinteger[Any]]:
        """Type of its terms."""
        return np.uint32 if self.bits <= HASH_BITS else np.uint64


def join_methods(settings: Settings) -> list[JoinMethod]:
    """Joins of those of the default methods that are enabled."""
    methods: list[JoinMethod] = []
    if "coverage" in settings.detectors:
        for name, terms, share in (
            ("grams", _gram_terms, GRAM_SHARE),
            ("clauses", _clause_terms, CLAUSE_SHARE),
        ):
            keys = partial(_sampled_keys, share)
            methods.append(JoinMethod(name, HASH_BITS, False, terms, keys, sampled_needed, sampled=True))  # noqa: FBT003
    if "ccdet" in settings.detectors:
        of_periods, least = partial(_period_keys, settings.ccdet), partial(_fixed, settings.ccdet.min_common)
        methods.append(JoinMethod("periods", HASH_BITS_IN_TERM, True, _period_terms, of_periods, least))  # noqa: FBT003
    if "simhash" in settings.detectors:
        limit = settings.simhash.max_hamming_distance
        band_terms, of_bands = partial(_band_terms, limit), partial(_fingerprint_keys, limit)
        # of the band queried beyond three bits one bit differs: that page stores another one
        own = limit <= fingerprint.BANDS - 1
        methods.append(
            JoinMethod("bands", TERM_BITS, own, band_terms, of_bands, partial(_fixed, 1), by_fact=True)
        )
    return methods


def _gram_terms(table: FeatureTable, weigh: Weighing) -> RowTerms:
    useful, cover = weigh(table).grams >= CONTENT, table.coverage
    return _sampled(coverage.query_grams(cover).only(useful), coverage.stored_grams(cover).only(useful))


def _clause_terms(table: FeatureTable, weigh: Weighing) -> RowTerms:
    useful, cover = weigh(table).clauses >= CONTENT, table.coverage
    return _sampled(coverage.query_clauses(cover).only(useful), coverage.stored_clauses(cover).only(useful))


def _sampled(queried: coverage.Sampled, stored: coverage.Sampled) -> RowTerms:
    """Both pages are query pages, so a short page inside a long one is found by the long one, which has all its terms."""
    facts = np.column_stack((queried.bound.astype(np.uint64), third_value(stored.values, stored.offsets)))
    return RowTerms(queried.values, np.diff(queried.offsets), stored.values, np.diff(stored.offsets), facts)


def _sampled_keys(share: float, hits: Hits, facts: NDArray[np.uint64], terms: Column) -> Keys:
    """Pairs in which the query page has that share of the other's stored terms that it can know of: those up to its bound."""
    bound, third = facts[hits.query, 0], facts[hits.stored, 1]
    likely = np.flatnonzero(hits.shared >= sampled_needed(bound, third))
    query, stored, shared = hits.query[likely], hits.stored[likely], hits.shared[likely]
    comparable = terms.below(stored, bound[likely])
    enough = shared >= np.maximum(LEAST_SHARED, np.ceil(share * comparable))
    enough |= (comparable <= FEW_TERMS) & (2 * shared >= comparable)
    return pair_keys(query[enough], stored[enough])


def _fixed(needed: int, of_query: NDArray[np.uint64], _: NDArray[np.uint64]) -> Rows:
    return np.full(len(of_query), needed)


def _period_terms(table: FeatureTable, _: Weighing) -> RowTerms:
    periods = table.periods
    values, counts = periods.signatures, np.diff(periods.offsets)
    return RowTerms(values, counts, values, counts, periods.comparable.astype(np.uint64)[:, None])


def _period_keys(config: CcdetConfig, hits: Hits, facts: NDArray[np.uint64], _: Column) -> Keys:
    """Pairs with enough common signatures among those that both pages have of each period."""
    comparable = facts[:, 0].astype(np.int64)
    fewer = np.minimum(comparable[hits.query], comparable[hits.stored])
    enough = (hits.shared >= config.min_common) & (hits.shared >= config.min_ccs * fewer)
    return pair_keys(hits.query[enough], hits.stored[enough])


def _band_terms(limit: int, table: FeatureTable, _: Weighing) -> RowTerms:
    """Equal bands, or bands one bit apart beyond three bits, of pages with words."""
    having = table.has_words
    stored = simhash.band_matrix(table.fingerprints[having])
    flips = np.uint64(1) << np.arange(fingerprint.BAND_BITS, dtype=np.uint64)
    near = [stored[:, band : band + 1] ^ flips for band in range(max(0, limit - 3))]
    queried = np.concatenate([stored, *near], axis=1)
    return RowTerms(
        queried.ravel(),
        having * queried.shape[1],
        stored.ravel(),
        having * fingerprint.BANDS,
        table.fingerprints[:, None],
    )


def _fingerprint_keys(limit: int, hits: Hits, facts: NDArray[np.uint64], _: Column) -> Keys:
    """Pairs with few differing bits."""
    near = np.bitwise_count(facts[hits.query, 0] ^ facts[hits.stored, 0]) <= limit
    return pair_keys(hits.query[near], hits.stored[near])
