"""Joins of candidate terms: which pages share how many, and which counted pairs are candidates.

The plan is the one an index executes page by page (``CandidateQuery``): shared terms are counted per pair and method. A term with very many
postings joins each of them only with the first ones in canonical order: canonical documents come from there, and the join stays linear. Of pages
with equal text only the first few answer. ``candidate_pairs`` runs the joins over a corpus on one machine, ``es_dedup.spark`` over tables of many
machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from es_dedup import native
from es_dedup.detectors import coverage, fingerprint, simhash
from es_dedup.detectors.coverage_pairs import CONTENT
from es_dedup.text.hashing import HASH_BITS_IN_TERM, TERM_BITS
from es_dedup.text.ragged import Buckets, between, find, owners_of, row_ranges, run_starts, sorted_distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from es_dedup.batch.columns import Column
    from es_dedup.batch.corpus import Weighing
    from es_dedup.detectors.features import FeatureTable
    from es_dedup.settings import Settings
    from es_dedup.settings.sections import CcdetConfig

    Rows = NDArray[np.int64]
    Keys = NDArray[np.uint64]

MAX_POSTINGS: Final = 64  # of a term, joined
COPIES: Final = 8
"""Maximum number of exact copies of a page that act as candidates: enough that a cluster holds together when some are removed."""
LEAST_SHARED: Final = 2  # terms in common, where there are more than a few
HALF_BITS: Final = 32
LOW_BITS: Final = np.uint64((1 << HALF_BITS) - 1)
NO_FACTS: Final = np.zeros((0, 2), dtype=np.uint64)
QUERIED: Final = 1_000_000  # terms looked up at a time by each thread: about 25 MB
CHUNK_HITS: Final = 1_000_000  # joined rows held at a time by each thread: about 50 MB


@dataclass(frozen=True, slots=True)
class PostingLists:
    """What joins need to know of each row: its place in canonical order, and whether it answers."""

    ranks: Rows
    answering: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Hits:
    """Counted pairs of one detector: row of the query page, row of the stored page, and terms in common."""

    query: Rows
    stored: Rows
    shared: Rows


def sampled_needed(bound: NDArray[np.uint64], third: NDArray[np.uint64]) -> Rows:
    """Terms that counted pairs must share to be candidates: one is enough where the query page can know of two at most.

    Args:
        bound: of each pair, that of the query page.
        third: of each pair, ``third_value`` of the stored page.
    """
    return np.where(third > bound, 1, LEAST_SHARED)


def third_value(values: NDArray[np.uint32], offsets: Rows) -> NDArray[np.uint64]:
    """The third of each row's values; beyond all values where a row has fewer."""
    at = offsets[:-1] + LEAST_SHARED
    having = at < offsets[1:]
    third = np.full(len(at), 1 << 32, dtype=np.uint64)
    third[having] = values[at[having]]
    return third


def answering(hashes: NDArray[np.uint64], ranks: Rows) -> NDArray[np.bool_]:
    """The first ``COPIES`` rows of each text: a notice that ten thousand pages repeat is compared with few of them."""
    order = np.lexsort((ranks, hashes))
    ordered = hashes[order]
    first = np.searchsorted(ordered, ordered)
    answering = np.ones(len(hashes), dtype=np.bool_)
    answering[order[(np.arange(len(order)) - first >= COPIES) & (ordered != 0)]] = False
    return answering


def equal_pairs(hashes: NDArray[np.uint64], ranks: Rows) -> NDArray[np.uint64]:
    """Each page with the first page of equal text."""
    order = np.lexsort((ranks, hashes))
    hashes = hashes[order]
    leader = order[np.searchsorted(hashes, hashes)]  # the first of equal hashes
    keep = (leader != order) & (hashes != 0)
    return sorted_distinct(pair_keys(order[keep], leader[keep]))


class TermJoin:
    """Inverted index of the stored terms; the first ``MAX_POSTINGS`` postings of each term answer.

    Args:
        values, owners: stored terms and their rows.
        rows: what is known of all rows.
        bits: width of the terms.
        least: postings from which a term can bring a pair together.
        facts: of rows whose terms are sampled, the bound of those queried and the third of those stored; pairs that share fewer than
            ``sampled_needed`` are left out, which are most. None: all pairs are given.
    """

    def __init__(
        self,
        values: NDArray[Any],
        owners: Rows,
        rows: PostingLists,
        bits: int,
        *,
        least: int = 2,
        facts: NDArray[np.uint64] | None = None,
    ) -> None:
        if not rows.answering.all():
            kept = rows.answering[owners]
            values, owners = values[kept], owners[kept]
        values, owners = _in_order(values, owners, rows.ranks, bits)
        starts = run_starts(values)
        counts = np.diff(starts, append=len(values))
        useful = counts >= least  # where pages query what they store, a term of one page joins nothing
        self._values = values[starts[useful]]
        self._starts, self._counts = starts[useful], counts[useful]
        self._owners, self._bits, self._rows = owners, bits, len(rows.ranks)
        self._facts = NO_FACTS if facts is None else facts
        self.capped = self.left_out = 0

    def run(
        self, queried: NDArray[Any], offsets: Rows, most: int = CHUNK_HITS, *, max_df: int | None = None
    ) -> Iterator[Hits]:
        """Counted pairs, in blocks of query rows with about so many joined rows.

        Args:
            queried: terms, row after row.
            offsets: of the rows.
            most: joined rows of a block, about.
            max_df: terms of more rows are left out, and all rows of the others answer; None: of each term the first ``MAX_POSTINGS``.
        """
        buckets = Buckets.of(self._values, self._bits) if len(queried) > QUERIED else None
        for first, last in row_ranges(offsets, QUERIED):
            some = offsets[first : last + 1]
            at, term = find(self._values, queried[some[0] : some[-1]], self._bits, buckets)
            query = owners_of(some)[at] + first
            counts = self._counts[term]
            if max_df is None:
                self.capped += int((counts > MAX_POSTINGS).sum())
                counts = np.minimum(counts, MAX_POSTINGS)
            else:
                rare = counts <= max_df
                self.left_out += len(rare) - int(rare.sum())
                query, term, counts = query[rare], term[rare], counts[rare]
            for start, end in _blocks(query, counts, most):
                yield self._count(query[start:end], term[start:end], counts[start:end])

    def _count(self, query: Rows, term: Rows, counts: Rows) -> Hits:
        if native.core:
            starts, facts = self._starts[term], self._facts.ravel()
            asked = (query, starts, counts, self._owners, self._rows, facts, LEAST_SHARED)
            return Hits(*native.core.shared_terms(*asked, native.threads()))
        first = np.cumsum(counts) - counts
        place = np.repeat(self._starts[term] - first, counts) + np.arange(int(counts.sum()))
        high, low = np.repeat(query, counts).astype(np.uint64), self._owners[place].astype(np.uint64)
        keys = (high << np.uint64(HALF_BITS)) | low
        keys.sort()
        starts = run_starts(keys)
        shared = np.diff(starts, append=len(keys))
        keys = keys[starts]
        ours, theirs = rows_of(keys)
        other = ours != theirs
        if len(self._facts):
            other &= shared >= sampled_needed(self._facts[ours, 0], self._facts[theirs, 1])
        return Hits(ours[other], theirs[other], shared[other])


def _in_order(values: NDArray[Any], owners: Rows, ranks: Rows, bits: int) -> tuple[NDArray[Any], Rows]:
    """Terms ascending with their postings, of each term in canonical order."""
    if bits > HALF_BITS:
        order = np.lexsort((ranks[owners], values))
        return values[order], owners[order]
    keys = values.astype(np.uint64)
    keys <<= np.uint64(HALF_BITS)
    keys |= ranks[owners].view(np.uint64)
    keys.sort()  # one array, in a fraction of the time of an indirect sort by two
    row_of_rank = np.empty(len(ranks), dtype=np.int64)
    row_of_rank[ranks] = np.arange(len(ranks))
    rows = row_of_rank[(keys & LOW_BITS).view(np.int64)]
    return (keys >> np.uint64(HALF_BITS)).astype(values.dtype), rows


def _blocks(query: Rows, counts: Rows, most: int) -> Iterator[tuple[int, int]]:
    """Slices of about ``most`` joined rows that never cut a query row in two."""
    total = np.cumsum(counts)
    start, done = 0, 0
    while start < len(query):
        end = int(np.searchsorted(total, done + most, side="right"))
        end = max(end, start + 1)
        if end < len(query):
            end = int(np.searchsorted(query, query[end - 1], side="right"))
        yield start, end
        start, done = end, int(total[end - 1])


def pair_keys(left: Rows, right: Rows) -> NDArray[np.uint64]:
    """Each pair of rows as one number: the lesser row above the greater."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    return (low.astype(np.uint64) << np.uint64(32)) | high.astype(np.uint64)


def rows_of(keys: NDArray[np.uint64]) -> tuple[Rows, Rows]:
    """Both rows of pairs as ``pair_keys`` makes them."""
    return (keys >> np.uint64(HALF_BITS)).astype(np.int64), (keys & LOW_BITS).astype(np.int64)


HASH_BITS: Final = 32  # of a gram or clause
GRAM_SHARE: Final = 0.25  # of the comparable terms; related pages share 0.4 or more of their grams
CLAUSE_SHARE: Final = 0.5  # clauses are fewer and more often form: what shares less is found by its grams
FEW_TERMS: Final = 4  # so few comparable terms that one of them in common is enough
_SAMPLES: Final = {
    "gram": (coverage.query_grams, coverage.stored_grams),
    "clause": (coverage.query_clauses, coverage.stored_clauses),
}


class RowTerms(NamedTuple):
    """Terms of some rows, row after row.

    Attributes:
        queried, query_counts: terms queried, and how many of each row.
        stored, stored_counts: terms stored; the same arrays where pages query what they store.
        facts: numbers of each row that the rule of the join needs besides terms; shape (rows, numbers).
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
        for kind, share in (("gram", GRAM_SHARE), ("clause", CLAUSE_SHARE)):
            methods.append(
                JoinMethod(
                    name=f"{kind}s",
                    bits=HASH_BITS,
                    own=False,
                    terms=partial(_content_terms, kind),
                    keys=partial(_sampled_keys, share),
                    needed=sampled_needed,
                    sampled=True,
                )
            )
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


def _content_terms(kind: str, table: FeatureTable, weigh: Weighing) -> RowTerms:
    """Grams or clauses that are content, some rows at a time: what selecting takes is several times as large as the terms."""
    queried, stored = _SAMPLES[kind]
    weights, offsets = getattr(weigh(table), f"{kind}s"), getattr(table.coverage, f"{kind}_offsets")
    parts = []
    for first, last in list(row_ranges(offsets, QUERIED)) or [(0, 0)]:
        useful = weights[offsets[first] : offsets[last]] >= CONTENT
        some = between(table.coverage, first, last)
        parts.append(_sampled(queried(some).only(useful), stored(some).only(useful)))
    return RowTerms(*map(np.concatenate, zip(*parts, strict=True)))


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
