"""Measures of many pairs at once: who covers whom, how much, about what, with which numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from es_dedup import native
from es_dedup.text.ragged import find, gather, offsets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.detectors.coverage_features import CoverageTable

    Floats: TypeAlias = NDArray[np.float64]
    Floats32: TypeAlias = NDArray[np.float32]
    Counts: TypeAlias = NDArray[np.int64]
    _Measured: TypeAlias = tuple[Sequence[Floats], Floats, dict[str, Any]]

CONTENT: Final = 0.5  # weight below which a feature is taken for template
RUN_CHARS: Final = 200  # a clause so long is no clause: sentences of prose have marks long before
_SHIFT: Final = np.uint64(32)
_COLUMNS: Final = {"gram": "grams", "clause": "clauses", "number": "numbers"}
_COVERS: Final = ("gram_cover", "clause_cover", "raw_cover")
_COUNTS: Final = (
    "title_terms",
    "shared_terms",
    "lost_terms",
    "foreign_terms",
    "foreign_lost",
    "numbers",
    "lost_numbers",
)
_SHARED: Final = ("shared_clauses", "discounted_clauses", "same_numbers", "other_numbers")


@dataclass(frozen=True, slots=True)
class Weights:
    """What each sampled gram and clause of a table counts, in [0, 1]: 1 content, towards 0 template."""

    grams: Floats32
    clauses: Floats32


@dataclass(frozen=True, slots=True)
class Side:
    """One side of each pair; every array has shape (pairs,).

    Attributes:
        gram_cover, clause_cover: share of this page that the other page has, template discounted, in [0, 1].
        raw_cover: the larger of both without discount.
        title_terms: title terms that occur in this page's body.
        shared_terms: of these, those that occur in what both pages share (and is not template).
        lost_terms: of these, those seen only in what the other page lacks.
        foreign_terms: title terms of this page that the other title lacks, and that are seen in the body.
        foreign_lost: of these, those seen only in what the other page lacks.
        numbers, lost_numbers: numbers of this page, and those of them that the other page lacks.
    """

    gram_cover: Floats
    clause_cover: Floats
    raw_cover: Floats
    title_terms: Counts
    shared_terms: Counts
    lost_terms: Counts
    foreign_terms: Counts
    foreign_lost: Counts
    numbers: Counts
    lost_numbers: Counts

    @property
    def cover(self) -> Floats:
        """The larger of gram and clause cover: clauses see re-cut text, grams see edited text."""
        return np.maximum(self.gram_cover, self.clause_cover)


@dataclass(frozen=True, slots=True)
class PairMeasures:
    """Measures of pairs; every array has shape (pairs,).

    Attributes:
        left, right: the two sides.
        tokens: length of the shorter page, in units.
        shared_tokens: units in common, estimated from the sampled grams, weighted.
        shared_clauses, discounted_clauses: clauses in common, and those of them with weight below 0.5.
        title_overlap: shared title terms over the shorter title's, in [0, 1]; -1 when a title is missing.
        same_numbers, other_numbers: clauses equal after masking numbers: with equal and with other numbers.
    """

    left: Side
    right: Side
    tokens: Counts
    shared_tokens: Floats
    shared_clauses: Counts
    discounted_clauses: Counts
    title_overlap: Floats
    same_numbers: Counts
    other_numbers: Counts


@dataclass(frozen=True, slots=True)
class _Matched:
    """Elements of one side below the common threshold, and which of them the other side has too."""

    places: Counts
    owners: Counts
    hit: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _PageRows:
    """Pages of one side, a row for each pair, and what their features count."""

    table: CoverageTable
    rows: Counts
    weights: Weights

    def threshold(self, kind: str) -> NDArray[np.uint32]:
        """Value below which all elements of a kind were sampled, by pair."""
        return np.asarray(getattr(self.table, f"{kind}_threshold")[self.rows])

    def below(self, kind: str, bound: NDArray[np.uint32]) -> tuple[Counts, Counts, NDArray[np.uint64]]:
        """Places and owners of the elements of a kind below a bound, and keys that are equal for equal elements of a pair."""
        places, owners = gather(getattr(self.table, f"{kind}_offsets"), self.rows)
        taken = getattr(self.table, _COLUMNS[kind])[places]
        keep = taken <= bound[owners]
        places, owners = places[keep], owners[keep]
        return places, owners, (owners.astype(np.uint64) << _SHIFT) | taken[keep]


def uniform_weights(table: CoverageTable) -> Weights:
    """Every feature counts fully: what is known without corpus statistics."""
    return Weights(np.ones(len(table.grams), np.float32), np.ones(len(table.clauses), np.float32))


def run_shares(table: CoverageTable, rows: Counts) -> Floats:
    """Share of each page's characters in runs without a clause mark, in [0, 1]; shape (rows,).

    Menus, lists and tables that are printed in a row leave runs of ``RUN_CHARS`` or more; a clause counts 255 characters at most.
    """
    places, owners = gather(table.clause_offsets, rows)
    lengths = table.clause_lengths[places].astype(np.float64)
    total = np.bincount(owners, lengths, len(rows))
    runs = np.bincount(owners, np.where(lengths >= RUN_CHARS, lengths, 0.0), len(rows))
    return np.asarray(runs / np.maximum(total, 1.0))


def measure(
    left: CoverageTable,
    left_rows: Counts,
    right: CoverageTable,
    right_rows: Counts,
    left_weights: Weights,
    right_weights: Weights,
) -> PairMeasures:
    """Measures of the pairs (left row, right row).

    Args:
        left, right: feature tables; may be one and the same.
        left_rows, right_rows: rows of the pairs, equally long.
        left_weights, right_weights: weights that belong to the tables.
    """
    sides = _PageRows(left, left_rows, left_weights), _PageRows(right, right_rows, right_weights)
    measured = _measured_natively if native.core else _measured
    shares, overlap, columns = measured(*sides)
    known = left.titled[left_rows], right.titled[right_rows]
    tokens = left.tokens[left_rows], right.tokens[right_rows]
    return PairMeasures(
        tokens=np.minimum(*tokens),
        shared_tokens=np.minimum(shares[0] * tokens[0], shares[1] * tokens[1]),
        title_overlap=np.where(known[0] & known[1], overlap, -1.0),
        **columns,
    )


def _measured(left: _PageRows, right: _PageRows) -> _Measured:
    """Shares of either side's grams that the other has, by weight; overlap of the titles; the other columns by name."""
    pairs = len(left.rows)
    grams, clauses, numbers = (_matched(kind, left, right) for kind in _COLUMNS)
    overlap, *new = _titles(left, right)
    own, hit = clauses[0], clauses[0].hit
    owners = own.owners[hit]
    weight = left.weights.clauses[own.places[hit]]
    same, other = _numbers((left, right), clauses)
    shares = tuple(
        _shared_share(gram, side.weights, pairs) for gram, side in zip(grams, (left, right), strict=True)
    )
    return (
        shares,
        overlap,
        {
            "left": _side(left, grams[0], clauses[0], numbers[0], new[0]),
            "right": _side(right, grams[1], clauses[1], numbers[1], new[1]),
            "shared_clauses": np.bincount(owners, minlength=pairs),
            "discounted_clauses": np.bincount(owners[weight < CONTENT], minlength=pairs),
            "same_numbers": same,
            "other_numbers": other,
        },
    )


def _measured_natively(left: _PageRows, right: _PageRows) -> _Measured:
    """As ``_measured``."""
    sides = ((side.table, np.ascontiguousarray(side.rows), side.weights) for side in (left, right))
    counts, covers, shared, overlap = native.core.measure(*sides, native.threads())
    counts, covers = counts.reshape(-1, 2, len(_COUNTS)), covers.reshape(-1, 2, len(_COVERS) + 1)
    columns: dict[str, Any] = dict(zip(_SHARED, shared.reshape(-1, len(_SHARED)).T, strict=True))
    for side, sided in enumerate(("left", "right")):
        columns[sided] = Side(
            **dict(zip(_COVERS, covers[:, side, :-1].T, strict=True)),
            **dict(zip(_COUNTS, counts[:, side].T, strict=True)),
        )
    return (covers[:, 0, -1], covers[:, 1, -1]), overlap, columns


def _matched(kind: str, left: _PageRows, right: _PageRows) -> tuple[_Matched, _Matched]:
    """Elements of one kind below the common threshold of each pair, on both sides."""
    bound = np.minimum(left.threshold(kind), right.threshold(kind))
    ours, theirs = left.below(kind, bound), right.below(kind, bound)
    hits = np.zeros(len(ours[2]), np.bool_), np.zeros(len(theirs[2]), np.bool_)
    at, place = find(theirs[2], ours[2], 64)
    hits[0][at] = hits[1][place] = True
    return _Matched(*ours[:2], hits[0]), _Matched(*theirs[:2], hits[1])


def _side(
    pages: _PageRows, grams: _Matched, clauses: _Matched, numbers: _Matched, new: NDArray[np.uint32]
) -> Side:
    table, rows, weights = pages.table, pages.rows, pages.weights
    pairs = len(rows)
    lengths = table.clause_lengths[clauses.places].astype(np.float64)
    gram_cover, gram_raw = _cover(grams, weights.grams[grams.places], np.ones(len(grams.places)), pairs)
    clause_cover, clause_raw = _cover(clauses, weights.clauses[clauses.places], lengths, pairs)
    shared, apart = np.zeros(pairs, np.uint32), np.zeros(pairs, np.uint32)
    for masks, matched, weight in (
        (table.gram_masks, grams, weights.grams),
        (table.clause_masks, clauses, weights.clauses),
    ):
        shared |= _or(masks, matched, matched.hit & (weight[matched.places] >= CONTENT), pairs)
        apart |= _or(masks, matched, ~matched.hit, pairs)
    body = table.body_mask[rows]
    lost = apart & ~shared & body
    return Side(
        gram_cover=gram_cover,
        clause_cover=clause_cover,
        raw_cover=np.maximum(gram_raw, clause_raw),
        title_terms=_bits(body),
        shared_terms=_bits(shared & body),
        lost_terms=_bits(lost),
        foreign_terms=_bits(new & body & (shared | apart)),
        foreign_lost=_bits(new & lost),
        numbers=np.bincount(numbers.owners, minlength=pairs),
        lost_numbers=np.bincount(numbers.owners[~numbers.hit], minlength=pairs),
    )


def _cover(matched: _Matched, weight: Floats32, size: Floats, pairs: int) -> tuple[Floats, Floats]:
    """Weighted and raw share of this side that was found on the other; template counts little, shared or not."""
    owners, hit = matched.owners[matched.hit], matched.hit
    counted = size * weight
    raw = np.bincount(owners, weights=size[hit], minlength=pairs)
    weighted = np.bincount(owners, weights=counted[hit], minlength=pairs)
    total = np.bincount(matched.owners, weights=size, minlength=pairs)
    informative = np.bincount(matched.owners, weights=counted, minlength=pairs)
    return weighted / np.maximum(informative, 1e-9), raw / np.maximum(total, 1e-9)


def _shared_share(grams: _Matched, weights: Weights, pairs: int) -> Floats:
    """Share of this side's grams that were found on the other, template discounted, of all grams."""
    hit = grams.hit
    shared = np.bincount(grams.owners[hit], weights=weights.grams[grams.places[hit]], minlength=pairs)
    return shared / np.maximum(np.bincount(grams.owners, minlength=pairs), 1)


def _or(
    masks: NDArray[np.uint32], matched: _Matched, flags: NDArray[np.bool_], pairs: int
) -> NDArray[np.uint32]:
    """Union of the masks of the flagged elements, per pair."""
    result = np.zeros(pairs, dtype=np.uint32)
    starts = offsets_of(matched.owners, pairs)
    filled = np.flatnonzero(np.diff(starts))
    values = np.where(flags, masks[matched.places], np.uint32(0))
    result[filled] = np.bitwise_or.reduceat(values, starts[filled])
    return result


def _bits(masks: NDArray[np.uint32]) -> Counts:
    return np.bitwise_count(masks).astype(np.int64)


def _titles(left: _PageRows, right: _PageRows) -> tuple[Floats, NDArray[np.uint32], NDArray[np.uint32]]:
    """Overlap of the titles, and on each side the mask of terms that the other title lacks."""
    pairs = len(left.rows)
    left_keys, left_bits, left_owner = _title_keys(left.table, left.rows)
    right_keys, right_bits, right_owner = _title_keys(right.table, right.rows)
    in_right = np.isin(left_keys, right_keys)
    in_left = np.isin(right_keys, left_keys)
    shared = np.bincount(left_owner[in_right], minlength=pairs)
    shorter = np.minimum(np.bincount(left_owner, minlength=pairs), np.bincount(right_owner, minlength=pairs))
    new_left = np.bincount(left_owner[~in_right], weights=left_bits[~in_right], minlength=pairs)
    new_right = np.bincount(right_owner[~in_left], weights=right_bits[~in_left], minlength=pairs)
    return shared / np.maximum(shorter, 1), new_left.astype(np.uint32), new_right.astype(np.uint32)


def _title_keys(table: CoverageTable, rows: Counts) -> tuple[NDArray[np.uint64], Floats, Counts]:
    places, owners = gather(table.title_offsets, rows)
    rank = places - table.title_offsets[rows][owners]
    keys = (owners.astype(np.uint64) << _SHIFT) | table.titles[places]
    return keys, (np.uint64(1) << rank.astype(np.uint64)).astype(np.float64), owners


def _numbers(sides: Sequence[_PageRows], clauses: Sequence[_Matched]) -> tuple[Counts, Counts]:
    """Clauses with numbers that agree once numbers are masked: those with the same numbers, those with others."""
    pairs = len(sides[0].rows)
    same, owners, keys = [], [], []
    for side, found in zip(sides, clauses, strict=True):
        masked = side.table.clause_masked[found.places]
        same.append(np.bincount(found.owners[(masked != 0) & found.hit], minlength=pairs))
        unmatched = (masked != 0) & ~found.hit
        owners.append(found.owners[unmatched])
        keys.append((owners[-1].astype(np.uint64) << _SHIFT) | masked[unmatched])
    ours = np.bincount(owners[0][np.isin(keys[0], keys[1])], minlength=pairs)
    theirs = np.bincount(owners[1][np.isin(keys[1], keys[0])], minlength=pairs)
    return same[0], np.minimum(ours, theirs)
