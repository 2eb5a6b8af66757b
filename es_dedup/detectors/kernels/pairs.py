"""Kernel of ``detectors.coverage_pairs``: all measures of each pair in one walk over both pages."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from es_dedup.detectors.coverage_features import CoverageTable
from es_dedup.kernels.dispatch import kernel

if TYPE_CHECKING:
    from typing import TypeAlias

    from es_dedup.kernels.arrays import Bools, Bytes, Floats, Floats32, Ints, UInts32

    Pair: TypeAlias = tuple[int, int]  # rows in the left and in the right table
    Weights: TypeAlias = tuple[Floats32, Floats32]
    Rows: TypeAlias = tuple[Floats, Ints]  # covers and shared counts of a pair
    # title terms in what both pages have and in what this page alone has, for either page
    Masks: TypeAlias = tuple[tuple[np.uint32, np.uint32], tuple[np.uint32, np.uint32]]

CONTENT = 0.5  # as in ``coverage_pairs``
# places in the rows of counts and covers that ``measured`` returns, per side
COUNTS = (
    "title_terms",
    "shared_terms",
    "lost_terms",
    "foreign_terms",
    "foreign_lost",
    "numbers",
    "lost_numbers",
)
SHARED = (  # for both sides together
    "shared_clauses",
    "discounted_clauses",
    "same_numbers",
    "other_numbers",
)
COVERS = ("gram_cover", "clause_cover", "raw_cover")
SHARE = 3  # place after the covers: weighted share of this side's grams that the other has
_LEAST = 1e-9


COMPARED = [column.name for column in fields(CoverageTable) if column.name not in {"tokens", "titled"}]

if TYPE_CHECKING:
    PairColumns: TypeAlias = CoverageTable
else:  # columns of a table as a named tuple, which kernels can take; each column costs 4 % of the time of ``measured``
    PairColumns = namedtuple("PairColumns", COMPARED)  # noqa: PYI024 - the fields are those of the table


def columns_of(table: CoverageTable) -> PairColumns:
    """The columns that are compared, in the layout that the kernel was compiled for."""
    return PairColumns(*(np.ascontiguousarray(getattr(table, name)) for name in COMPARED))


@kernel
def _bits(mask: np.uint32) -> int:
    count = 0
    while mask:
        mask &= mask - np.uint32(1)
        count += 1
    return count


@kernel
def _marked(
    values: UInts32, first: int, last: int, others: UInts32, begin: int, end: int
) -> tuple[Bools, Bools]:
    """For two ascending runs, which elements of each occur in the other."""
    left, right = np.zeros(last - first, dtype=np.bool_), np.zeros(end - begin, dtype=np.bool_)
    one, other = first, begin
    while one < last and other < end:
        if values[one] < others[other]:
            one += 1
        elif values[one] > others[other]:
            other += 1
        else:
            left[one - first] = right[other - begin] = True
            one += 1
            other += 1
    return left, right


@kernel
def _below(values: UInts32, first: int, last: int, bound: np.uint32) -> int:
    """End of the part of an ascending run that is at most ``bound``."""
    if last > first and values[last - 1] <= bound:
        return last
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _hits(
    left: UInts32,
    left_offsets: Ints,
    one: int,
    right: UInts32,
    right_offsets: Ints,
    two: int,
    bound: np.uint32,
) -> tuple[Bools, Bools]:
    """For the parts of two rows that are at most ``bound``, which elements of each occur in the other."""
    first, begin = left_offsets[one], right_offsets[two]
    last = _below(left, first, left_offsets[one + 1], bound)
    end = _below(right, begin, right_offsets[two + 1], bound)
    return _marked(left, first, last, right, begin, end)


@kernel
def _grams(
    masks: UInts32, weights: Floats32, first: int, hit: Bools
) -> tuple[float, float, float, np.uint32, np.uint32]:
    """Weighted cover, raw cover, weighted share; title terms in what is shared and in what is not."""
    raw = weighted = informative = 0.0
    shared, apart = np.uint32(0), np.uint32(0)
    for place in range(len(hit)):
        weight, mask = weights[first + place], masks[first + place]
        informative += weight
        if not hit[place]:
            apart |= mask
            continue
        raw += 1.0
        weighted += weight
        if weight >= CONTENT:
            shared |= mask
    total = float(len(hit))
    return (
        weighted / max(informative, _LEAST),
        raw / max(total, _LEAST),
        weighted / max(total, 1.0),
        shared,
        apart,
    )


@kernel
def _clauses(
    masks: UInts32, lengths: Bytes, weights: Floats32, first: int, hit: Bools
) -> tuple[float, float, np.uint32, np.uint32]:
    """As ``_grams``, by characters."""
    raw = weighted = informative = total = 0.0
    shared, apart = np.uint32(0), np.uint32(0)
    for place in range(len(hit)):
        weight, mask = weights[first + place], masks[first + place]
        size = float(lengths[first + place])
        total += size
        informative += size * weight
        if not hit[place]:
            apart |= mask
            continue
        raw += size
        weighted += size * weight
        if weight >= CONTENT:
            shared |= mask
    return weighted / max(informative, _LEAST), raw / max(total, _LEAST), shared, apart


@kernel
def _new_terms(
    terms: UInts32, first: int, last: int, others: UInts32, begin: int, end: int
) -> tuple[np.uint32, int]:
    """Mask of the title terms that the other title lacks, and how many it has."""
    new, known = np.uint32(0), 0
    for place in range(first, last):
        found = False
        for other in range(begin, end):
            if terms[place] == others[other]:
                found = True
                break
        if found:
            known += 1
        else:
            new |= np.uint32(1) << np.uint32(place - first)
    return new, known


@kernel
def _masked_alike(
    masked: UInts32, first: int, hit: Bools, others: UInts32, begin: int, other_hit: Bools
) -> int:
    """Clauses that differ from every clause of the other page, and from one of them in nothing but numbers."""
    alike = 0
    for place in range(len(hit)):
        value = masked[first + place]
        if hit[place] or not value:
            continue
        for other in range(len(other_hit)):
            if others[begin + other] == value and not other_hit[other]:
                alike += 1
                break
    return alike


@kernel
def _title_counts(body: np.uint32, shared: np.uint32, apart: np.uint32, new: np.uint32, row: Ints) -> None:
    lost = apart & ~shared & body
    row[0], row[1], row[2] = _bits(body), _bits(shared & body), _bits(lost)
    row[3], row[4] = _bits(new & body & (shared | apart)), _bits(new & lost)


@kernel
def _pair_of_grams(
    left: PairColumns,
    right: PairColumns,
    pair: Pair,
    left_weights: Floats32,
    right_weights: Floats32,
    covers: Floats,
) -> Masks:
    """Write what the grams of a pair have in common into its rows of covers."""
    one, two = pair
    a, b = left.gram_offsets[one], right.gram_offsets[two]
    bound = min(left.gram_threshold[one], right.gram_threshold[two])
    hit, hit_there = _hits(left.grams, left.gram_offsets, one, right.grams, right.gram_offsets, two, bound)
    covers[0, 0], covers[0, 2], covers[0, 3], both, apart = _grams(left.gram_masks, left_weights, a, hit)
    cover, raw, share, both_there, apart_there = _grams(right.gram_masks, right_weights, b, hit_there)
    covers[1, 0], covers[1, 2], covers[1, 3] = cover, raw, share
    return (both, apart), (both_there, apart_there)


@kernel
def _pair_of_clauses(
    left: PairColumns,
    right: PairColumns,
    pair: Pair,
    left_weights: Floats32,
    right_weights: Floats32,
    rows: Rows,
) -> Masks:
    """The same of the clauses, after the grams; and the shared counts."""
    covers, shared = rows
    one, two = pair
    a, b = left.clause_offsets[one], right.clause_offsets[two]
    bound = min(left.clause_threshold[one], right.clause_threshold[two])
    hit, hit_there = _hits(
        left.clauses, left.clause_offsets, one, right.clauses, right.clause_offsets, two, bound
    )
    for place in range(len(hit)):
        if not hit[place]:
            continue
        weight = left_weights[a + place]
        shared[0] += 1
        shared[1] += weight < CONTENT
        shared[2] += left.clause_masked[a + place] != 0
    shared[3] = min(
        _masked_alike(left.clause_masked, a, hit, right.clause_masked, b, hit_there),
        _masked_alike(right.clause_masked, b, hit_there, left.clause_masked, a, hit),
    )
    lengths = left.clause_lengths, right.clause_lengths
    covers[0, 1], raw, both, apart = _clauses(left.clause_masks, lengths[0], left_weights, a, hit)
    covers[0, 2] = max(covers[0, 2], raw)
    cover, raw, both_there, apart_there = _clauses(
        right.clause_masks, lengths[1], right_weights, b, hit_there
    )
    covers[1, 1], covers[1, 2] = cover, max(covers[1, 2], raw)
    return (both, apart), (both_there, apart_there)


@kernel
def _pair_of_numbers(left: PairColumns, right: PairColumns, pair: Pair, counts: Ints) -> None:
    """Write how many numbers each page of a pair has, and how many of them the other lacks."""
    one, two = pair
    bound = min(left.number_threshold[one], right.number_threshold[two])
    hit, hit_there = _hits(
        left.numbers, left.number_offsets, one, right.numbers, right.number_offsets, two, bound
    )
    counts[0, 5], counts[0, 6] = len(hit), len(hit) - hit.sum()
    counts[1, 5], counts[1, 6] = len(hit_there), len(hit_there) - hit_there.sum()


@kernel
def measured(
    left: PairColumns,
    left_rows: Ints,
    left_weights: Weights,
    right: PairColumns,
    right_rows: Ints,
    right_weights: Weights,
) -> tuple[Ints, Floats, Ints, Floats]:
    """Measures of pairs.

    Args:
        left, right: the tables' columns.
        left_rows, right_rows: rows of the pairs.
        left_weights, right_weights: weights of grams and of clauses.

    Returns:
        Counts per side, shape (pairs, 2, 7), and covers per side, shape (pairs, 2, 4), in the order of ``COUNTS``, and of
        ``COVERS`` and ``SHARE``; counts of both sides together, shape (pairs, 4), in the order of ``SHARED``; title
        overlap, shape (pairs,).
    """
    pairs = len(left_rows)
    counts, covers = np.zeros((pairs, 2, 7), np.int64), np.zeros((pairs, 2, 4), np.float64)
    shared, overlap = np.zeros((pairs, 4), np.int64), np.zeros(pairs, np.float64)
    for pair in range(pairs):
        one, two = left_rows[pair], right_rows[pair]
        rows = covers[pair], shared[pair]
        by_grams = _pair_of_grams(left, right, (one, two), left_weights[0], right_weights[0], rows[0])
        by_clauses = _pair_of_clauses(left, right, (one, two), left_weights[1], right_weights[1], rows)
        _pair_of_numbers(left, right, (one, two), counts[pair])
        a, a_end = left.title_offsets[one], left.title_offsets[one + 1]
        b, b_end = right.title_offsets[two], right.title_offsets[two + 1]
        new_a, known = _new_terms(left.titles, a, a_end, right.titles, b, b_end)
        new_b, _ = _new_terms(right.titles, b, b_end, left.titles, a, a_end)
        overlap[pair] = known / max(min(a_end - a, b_end - b), 1)
        (both, apart), (both_there, apart_there) = by_grams
        (clause_both, clause_apart), (clause_both_there, clause_apart_there) = by_clauses
        _title_counts(left.body_mask[one], both | clause_both, apart | clause_apart, new_a, counts[pair, 0])
        both_there |= clause_both_there
        _title_counts(
            right.body_mask[two], both_there, apart_there | clause_apart_there, new_b, counts[pair, 1]
        )
    return counts, covers, shared, overlap
