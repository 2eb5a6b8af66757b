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

_HEADER: Final = struct.Struct("<5I5H3B")
_SPARSE: Final = 6  # bytes of one entry of a mostly empty column: place (2) and value (4)


def pack(table: CoverageTable) -> list[bytes]:
    """Each row as bytes; masks and masked clauses, mostly 0, are kept as (place, value)."""
    heads = zip(
        *(getattr(table, name).tolist() for name in _HEAD_NUMBERS),
        *(np.diff(getattr(table, name)).tolist() for name in ("gram_offsets", "clause_offsets")),
        strict=True,
    )
    tails = zip(
        *(np.diff(getattr(table, name)).tolist() for name in ("title_offsets", "number_offsets")),
        table.titled.tolist(),
        strict=True,
    )
    dense = [
        _slices(values.astype("<u4"), offsets)
        for values, offsets in (
            (table.grams, table.gram_offsets),
            (table.clauses, table.clause_offsets),
            (table.titles, table.title_offsets),
            (table.numbers, table.number_offsets),
        )
    ]
    lengths = _slices(table.clause_lengths, table.clause_offsets)
    sparse = [
        _sparse(values, offsets)
        for values, offsets in (
            (table.gram_masks, table.gram_offsets),
            (table.clause_masks, table.clause_offsets),
            (table.clause_masked, table.clause_offsets),
        )
    ]
    return [
        b"".join(
            (
                _HEADER.pack(*head, *(len(column[row]) // _SPARSE for column in sparse), *tail),
                *(column[row] for column in dense),
                lengths[row],
                *(column[row] for column in sparse),
            )
        )
        for row, (head, tail) in enumerate(zip(heads, tails, strict=True))
    ]


def unpack_many(payloads: Sequence[bytes]) -> CoverageTable:
    """A table of the rows that ``pack`` made.

    Raises:
        ValueError: bytes that ``pack`` did not make.
    """
    rows = [_unpack(payload) for payload in payloads]
    columns: dict[str, NDArray[Any]] = {}
    for name, kind in _SCALARS.items():
        columns[name] = np.array([row[name] for row in rows], dtype=kind)
    for offsets, names in CoverageTable.RAGGED.items():
        lengths = [len(row[names[0]]) for row in rows]
        columns[offsets] = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        for name in names:
            empty = np.zeros(0, dtype=np.uint8 if name == "clause_lengths" else np.uint32)
            columns[name] = np.concatenate([row[name] for row in rows]) if rows else empty
    return CoverageTable(**columns)


_SCALARS: Final = {
    "tokens": np.uint32,
    "gram_threshold": np.uint32,
    "clause_threshold": np.uint32,
    "number_threshold": np.uint32,
    "body_mask": np.uint32,
    "titled": np.bool_,
}


_HEAD_NUMBERS: Final = ("tokens", "gram_threshold", "clause_threshold", "number_threshold", "body_mask")


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
        message = f"coverage features take at least {_HEADER.size} bytes, got {len(payload)}"
        raise ValueError(message)
    tokens, gram_bound, clause_bound, number_bound, body, *counts = _HEADER.unpack_from(payload)
    grams, clauses, gram_marks, clause_marks, masked, titles, numbers, titled = counts
    sparse = _SPARSE * (gram_marks + clause_marks + masked)
    if len(payload) != _HEADER.size + 4 * (grams + clauses + titles + numbers) + clauses + sparse:
        message = f"coverage features of {len(payload)} bytes do not fit their header"
        raise ValueError(message)
    row: dict[str, Any] = {
        "tokens": tokens,
        "gram_threshold": gram_bound,
        "clause_threshold": clause_bound,
        "number_threshold": number_bound,
        "body_mask": body,
        "titled": bool(titled),
    }
    place = _HEADER.size
    for name, count in (("grams", grams), ("clauses", clauses), ("titles", titles), ("numbers", numbers)):
        row[name] = np.frombuffer(payload, dtype="<u4", count=count, offset=place)
        place += 4 * count
    row["clause_lengths"] = np.frombuffer(payload, dtype=np.uint8, count=clauses, offset=place)
    place += clauses
    for name, size, count in (
        ("gram_masks", grams, gram_marks),
        ("clause_masks", clauses, clause_marks),
        ("clause_masked", clauses, masked),
    ):
        values = np.zeros(size, dtype=np.uint32)
        at = np.frombuffer(payload, dtype="<u2", count=count, offset=place)
        if count and int(at.max()) >= size:
            message = f"coverage features name place {int(at.max())} of a column of {size}"
            raise ValueError(message)
        values[at] = np.frombuffer(payload, dtype="<u4", count=count, offset=place + 2 * count)
        row[name] = values
        place += _SPARSE * count
    return row
