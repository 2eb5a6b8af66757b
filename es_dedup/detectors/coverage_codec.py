"""Coverage features of one page as bytes, about 1 kB for an ordinary page."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.detectors.coverage_features import CoverageTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_NUMBERS: Final = {
    "tokens": np.uint32,
    "gram_threshold": np.uint32,
    "clause_threshold": np.uint32,
    "number_threshold": np.uint32,
    "body_mask": np.uint32,
    "titled": np.bool_,
}
"""What there is one of on each page."""
_DENSE: Final = {
    "grams": "gram_offsets",
    "clauses": "clause_offsets",
    "titles": "title_offsets",
    "numbers": "number_offsets",
}
"""Columns of which each value is kept, with their offsets."""
_SPARSE: Final = {
    "gram_masks": "gram_offsets",
    "clause_masks": "clause_offsets",
    "clause_masked": "clause_offsets",
}
"""Columns that are mostly 0, of which each other value is kept with its place."""
_HEADER: Final = struct.Struct("<5I5H3B")
_ENTRY: Final = 6  # bytes of a place (2) and a value (4)


def pack(table: CoverageTable) -> list[bytes]:
    """Each row as bytes."""
    dense = [
        _slices(getattr(table, name).astype("<u4"), getattr(table, offsets))
        for name, offsets in _DENSE.items()
    ]
    lengths = _slices(table.clause_lengths, table.clause_offsets)
    sparse = [_sparse(getattr(table, name), getattr(table, offsets)) for name, offsets in _SPARSE.items()]
    rows = zip(
        zip(*(getattr(table, name).tolist() for name in _NUMBERS), strict=True),
        zip(*dense, strict=True),
        lengths,
        zip(*sparse, strict=True),
        strict=True,
    )
    packed = []
    for (*numbers, titled), whole, of_clauses, marks in rows:
        grams, clauses, titles, figures = (len(column) // 4 for column in whole)
        marked = (len(column) // _ENTRY for column in marks)
        head = _HEADER.pack(*numbers, grams, clauses, *marked, titles, figures, titled)
        packed.append(b"".join((head, *whole, of_clauses, *marks)))
    return packed


def unpack_many(payloads: Sequence[bytes]) -> CoverageTable:
    """A table of the rows that ``pack`` made.

    Raises:
        ValueError: bytes that ``pack`` did not make.
    """
    rows = [_unpack(payload) for payload in payloads]
    columns: dict[str, NDArray[Any]] = {}
    for name, kind in _NUMBERS.items():
        columns[name] = np.array([row[name] for row in rows], dtype=kind)
    for offsets, names in CoverageTable.RAGGED.items():
        lengths = [len(row[names[0]]) for row in rows]
        columns[offsets] = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        for name in names:
            empty = np.zeros(0, dtype=np.uint8 if name == "clause_lengths" else np.uint32)
            columns[name] = np.concatenate([row[name] for row in rows]) if rows else empty
    return CoverageTable(**columns)


def _slices(values: NDArray[Any], offsets: NDArray[np.int64]) -> list[bytes]:
    """The bytes of each row's values."""
    raw, size = values.tobytes(), values.itemsize
    edges = (offsets * size).tolist()
    return [raw[start:end] for start, end in pairwise(edges)]


def _sparse(values: NDArray[np.uint32], offsets: NDArray[np.int64]) -> list[bytes]:
    """The places and values of each row's elements that are not 0."""
    at = np.flatnonzero(values)
    cuts = np.searchsorted(at, offsets)
    inside = at - np.repeat(offsets[:-1], np.diff(cuts))
    places = _slices(inside.astype("<u2"), cuts)
    return [
        place + value for place, value in zip(places, _slices(values[at].astype("<u4"), cuts), strict=True)
    ]


def _unpack(payload: bytes) -> dict[str, Any]:
    if len(payload) < _HEADER.size:
        raise ValueError(f"coverage features take at least {_HEADER.size} bytes, got {len(payload)}")
    *numbers, grams, clauses, gram_marks, clause_marks, masked, titles, figures, titled = _HEADER.unpack_from(
        payload
    )
    entries = gram_marks + clause_marks + masked
    if len(payload) != _HEADER.size + 4 * (grams + clauses + titles + figures) + clauses + _ENTRY * entries:
        raise ValueError(f"coverage features of {len(payload)} bytes do not fit their header")
    row: dict[str, Any] = dict(zip(_NUMBERS, (*numbers, bool(titled)), strict=True))
    place = _HEADER.size
    for name, count in zip(_DENSE, (grams, clauses, titles, figures), strict=True):
        row[name] = np.frombuffer(payload, dtype="<u4", count=count, offset=place)
        place += 4 * count
    row["clause_lengths"] = np.frombuffer(payload, dtype=np.uint8, count=clauses, offset=place)
    place += clauses
    marks = zip(_SPARSE, (grams, clauses, clauses), (gram_marks, clause_marks, masked), strict=True)
    for name, size, count in marks:
        values = np.zeros(size, dtype=np.uint32)
        at = np.frombuffer(payload, dtype="<u2", count=count, offset=place)
        if count and int(at.max()) >= size:
            raise ValueError(f"coverage features name place {int(at.max())} of a column of {size}")
        values[at] = np.frombuffer(payload, dtype="<u4", count=count, offset=place + 2 * count)
        row[name] = values
        place += _ENTRY * count
    return row
