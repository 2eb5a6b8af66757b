"""Coverage, the detector of our own: how much of each page the other one has, in both directions.

A page's grams and clauses are sampled by hash, compared below the common threshold, and weighted by what the corpus
knows: a clause that occurs in pages about other things too is template and counts little. docs/algorithms/coverage.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from es_dedup.detectors import coverage_codec
from es_dedup.detectors.coverage_features import COMPLETE, CoverageTable, build
from es_dedup.detectors.coverage_pairs import PairMeasures, measure, uniform_weights
from es_dedup.detectors.port import Detector
from es_dedup.model import NO_WORDS, CandidateQuery, Content, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import tagged_terms
from es_dedup.text.ragged import heads, take

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.settings.sections import CoverageConfig

GRAM_TAG: Final = 8
CLAUSE_TAG: Final = 9
STORED_GRAM_SHARE: Final = 32  # one gram in so many is stored as a term, within the limits below
STORED_GRAMS: Final = (12, 48)
QUERY_GRAM_SHARE: Final = 8
QUERY_GRAMS: Final = (32, 512)
STORED_CLAUSES: Final = 6
QUERY_CLAUSES: Final = 64
MIN_CLAUSE_CHARS: Final = 8  # shorter clauses recur in unrelated pages
MIN_SHARED_GRAMS: Final = 2


@dataclass(frozen=True, slots=True)
class Sampled:
    """Selected hashes of a table's rows: ``values[offsets[i]:offsets[i + 1]]``, ascending within a row.

    ``bound`` is, per row, the largest hash below which the selection holds every hash of the page; ``places`` tells
    where each value stands in the table's column.
    """

    offsets: NDArray[np.int64]
    values: NDArray[np.uint32]
    bound: NDArray[np.uint32]
    places: NDArray[np.int64]

    def only(self, wanted: NDArray[np.bool_]) -> Sampled:
        """The selection without the elements of the table's column that are not wanted."""
        kept = wanted[self.places]
        offsets: NDArray[np.int64] = np.concatenate(([0], np.cumsum(kept)))[self.offsets]
        return Sampled(offsets, self.values[kept], self.bound, self.places[kept])


def gram_count(table: CoverageTable) -> NDArray[np.float64]:
    """Estimated number of distinct grams of each page: exact when the sample is complete."""
    kept = np.diff(table.gram_offsets).astype(np.float64)
    share = table.gram_threshold.astype(np.float64) / float(COMPLETE)
    return np.where(table.gram_threshold == COMPLETE, kept, kept / np.maximum(share, 1e-9))


def stored_grams(table: CoverageTable) -> Sampled:
    """The smallest grams of each page: those it is found by."""
    return _smallest_grams(table, STORED_GRAM_SHARE, STORED_GRAMS)


def query_grams(table: CoverageTable) -> Sampled:
    """The smallest grams of each page: its query terms; more than are stored, so that a long page finds short ones."""
    return _smallest_grams(table, QUERY_GRAM_SHARE, QUERY_GRAMS)


def stored_clauses(table: CoverageTable) -> Sampled:
    """Clauses each page is found by."""
    return _smallest_clauses(table, STORED_CLAUSES)


def query_clauses(table: CoverageTable) -> Sampled:
    """Query clauses of each page."""
    return _smallest_clauses(table, QUERY_CLAUSES)


def _smallest_grams(table: CoverageTable, share: int, limits: tuple[int, int]) -> Sampled:
    kept = np.diff(table.gram_offsets)
    limit = np.clip(gram_count(table) // share, *limits).astype(np.int64)
    places, offsets = heads(table.gram_offsets, np.minimum(limit, kept))
    return _sampled(table.grams, places, offsets, limit < kept, table.gram_threshold)


def _smallest_clauses(table: CoverageTable, most: int) -> Sampled:
    long = np.flatnonzero(table.clause_lengths >= MIN_CLAUSE_CHARS)
    cuts = np.searchsorted(long, table.clause_offsets)
    kept = np.diff(cuts)
    places, offsets = heads(cuts, np.minimum(kept, most))
    return _sampled(table.clauses, long[places], offsets, kept > most, table.clause_threshold)


def _sampled(
    column: NDArray[np.uint32],
    places: NDArray[np.int64],
    offsets: NDArray[np.int64],
    cut: NDArray[np.bool_],
    threshold: NDArray[np.uint32],
) -> Sampled:
    values = column[places]
    bound = threshold.copy()
    bound[cut] = values[offsets[1:][cut] - 1]
    return Sampled(offsets, values, bound, places)


class Coverage(Detector[CoverageTable]):
    """The detector; features of a page are a table of one row. Verdicts of its own use no corpus statistics (the decision rules do)."""

    name = "coverage"
    version = 1
    term_fields: ClassVar[Mapping[int, tuple[str, ...]]] = {
        GRAM_TAG: ("coverage_grams",),
        CLAUSE_TAG: ("coverage_clauses",),
    }

    def __init__(self, config: CoverageConfig) -> None:
        self._config = config

    def featurise_many(self, contents: Sequence[Content]) -> list[CoverageTable | Skipped]:
        """Features of several pages."""
        table = build([content.text for content in contents], [content.title for content in contents])
        return [
            take(table, np.array([row])) if table.tokens[row] else Skipped(NO_WORDS)
            for row in range(len(table))
        ]

    def terms(self, features: CoverageTable) -> tuple[int, ...]:
        """Terms to store: the smallest grams and clauses."""
        grams = tagged_terms(GRAM_TAG, stored_grams(features).values)
        clauses = tagged_terms(CLAUSE_TAG, stored_clauses(features).values)
        return tuple(np.concatenate((grams, clauses)).tolist())

    def candidate_query(self, features: CoverageTable) -> CandidateQuery | None:
        """Pages that share two grams or one clause; a page of very few grams needs one."""
        grams = tuple(tagged_terms(GRAM_TAG, query_grams(features).values).tolist())
        clauses = tuple(tagged_terms(CLAUSE_TAG, query_clauses(features).values).tolist())
        few = len(grams) < 2 * MIN_SHARED_GRAMS
        wanted = ((grams, 1 if few else MIN_SHARED_GRAMS), (clauses, 1))
        groups = tuple(TermGroup(terms, least) for terms, least in wanted if terms)
        return CandidateQuery(groups) if groups else None

    def verify(self, left: CoverageTable, right: CoverageTable) -> Verdict:
        """Duplicate, containment or different by coverage both ways, nothing discounted."""
        row = np.zeros(1, dtype=np.int64)
        measures = measure(left, row, right, row, uniform_weights(left), uniform_weights(right))
        return self.decide(measures, 0)

    def decide(self, measures: PairMeasures, pair: int) -> Verdict:
        """The verdict on one of the measured pairs."""
        config = self._config
        left, right = float(measures.left.cover[pair]), float(measures.right.cover[pair])
        evidence: dict[str, float | int | str | bool | None] = {
            "left_cover": round(left, 4),
            "right_cover": round(right, 4),
            "min_cover": config.min_cover,
            "min_both": config.min_both,
            "left_raw_cover": round(float(measures.left.raw_cover[pair]), 4),
            "right_raw_cover": round(float(measures.right.raw_cover[pair]), 4),
            "shared_clauses": int(measures.shared_clauses[pair]),
            "discounted_clauses": int(measures.discounted_clauses[pair]),
            "shared_tokens": round(float(measures.shared_tokens[pair])),
        }
        if max(left, right) < config.min_cover:
            relation = Relation.DIFFERENT
        elif min(left, right) >= config.min_both:
            relation = Relation.DUPLICATE
        else:
            relation = Relation.CONTAINED if left > right else Relation.CONTAINS
        return Verdict(self.name, relation, max(left, right), evidence)

    def pack(self, features: CoverageTable) -> bytes:
        """See ``coverage_codec``."""
        return coverage_codec.pack(features)[0]

    def unpack(self, payload: bytes) -> CoverageTable:
        """Features from ``pack``; raises ``ValueError`` on other bytes."""
        return coverage_codec.unpack_many([payload])
