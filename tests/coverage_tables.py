"""Random coverage tables, and rows of them in plain sets and lists."""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from es_dedup.detectors.coverage_features import COMPLETE, CoverageTable

HASHES: Final = st.integers(0, 30)
MASKS: Final = st.integers(0, 63)


@dataclass
class Row:
    """Features of one page in plain values; a threshold of None means that the sample is complete."""

    tokens: int = 0
    grams: dict[int, int] = field(default_factory=dict)  # hash to mask
    gram_threshold: int | None = None
    clauses: dict[int, tuple[int, int]] = field(default_factory=dict)  # hash to mask and masked hash
    clause_threshold: int | None = None
    titles: list[int] = field(default_factory=list)
    body_mask: int = 0
    titled: bool = True
    numbers: set[int] = field(default_factory=set)
    number_threshold: int | None = None


def clause_length(value: int) -> int:
    """Length of the clause of a hash: the same wherever it occurs."""
    return 1 + value % 11


@st.composite
def row_values(draw: st.DrawFn) -> Row:
    """A page of small hashes, so that pages share some; thresholds at the largest kept hash or none."""
    grams = draw(st.dictionaries(HASHES, MASKS, max_size=12))
    clauses = draw(st.dictionaries(HASHES, st.tuples(MASKS, st.integers(0, 4)), max_size=10))
    numbers = draw(st.sets(HASHES, max_size=6))

    def threshold(kept: Any) -> int | None:
        return max(kept) if kept and draw(st.booleans()) else None

    return Row(
        draw(st.integers(0, 500)),
        grams,
        threshold(grams),
        clauses,
        threshold(clauses),
        draw(st.lists(st.integers(0, 12), max_size=6, unique=True)),
        draw(MASKS),
        draw(st.booleans()),
        numbers,
        threshold(numbers),
    )


rows_lists: Final = st.lists(row_values(), min_size=1, max_size=5)


def table_of(rows: list[Row]) -> CoverageTable:
    """The table of some rows."""

    def offsets(lengths: list[int]) -> Any:
        return np.cumsum([0, *lengths], dtype=np.int64)

    def column(values: Any, kind: Any = np.uint32) -> Any:
        return np.array([value for row in values for value in row], dtype=kind)

    def bounds(values: list[int | None]) -> Any:
        return np.array([int(COMPLETE) if value is None else value for value in values], dtype=np.uint32)

    return CoverageTable(
        tokens=np.array([row.tokens for row in rows], dtype=np.uint32),
        gram_offsets=offsets([len(row.grams) for row in rows]),
        grams=column(sorted(row.grams) for row in rows),
        gram_masks=column([row.grams[value] for value in sorted(row.grams)] for row in rows),
        gram_threshold=bounds([row.gram_threshold for row in rows]),
        clause_offsets=offsets([len(row.clauses) for row in rows]),
        clauses=column(sorted(row.clauses) for row in rows),
        clause_lengths=column(map(clause_length, sorted(row.clauses)) for row in rows).astype(np.uint8),
        clause_masks=column([row.clauses[value][0] for value in sorted(row.clauses)] for row in rows),
        clause_masked=column([row.clauses[value][1] for value in sorted(row.clauses)] for row in rows),
        clause_threshold=bounds([row.clause_threshold for row in rows]),
        title_offsets=offsets([len(row.titles) for row in rows]),
        titles=column(row.titles for row in rows),
        body_mask=np.array([row.body_mask for row in rows], dtype=np.uint32),
        titled=np.array([row.titled for row in rows], dtype=np.bool_),
        number_offsets=offsets([len(row.numbers) for row in rows]),
        numbers=column(sorted(row.numbers) for row in rows),
        number_threshold=bounds([row.number_threshold for row in rows]),
    )


def below(kept: Any, *thresholds: int | None) -> set[int]:
    """Hashes up to the smallest threshold."""
    known = [value for value in thresholds if value is not None]
    return {value for value in kept if not known or value <= min(known)}
