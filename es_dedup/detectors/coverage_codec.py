"""Coverage features of one page as bytes, about 1 kB for an ordinary page."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.detectors.coverage_features import CoverageTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_HEADER: Final = struct.Struct("<5I5H3B")
_SPARSE: Final = 6  # bytes of one entry of a mostly empty column: place (2) and value (4)


def pack(table: CoverageTable, row: int) -> bytes:
    """One row as bytes; masks and masked clauses, mostly 0, are kept as (place, value)."""
    grams = slice(table.gram_offsets[row], table.gram_offsets[row + 1])
    clauses = slice(table.clause_offsets[row], table.clause_offsets[row + 1])
    titles = table.titles[table.title_offsets[row] : table.title_offsets[row + 1]]
    numbers = table.numbers[table.number_offsets[row] : table.number_offsets[row + 1]]
    sparse = [_sparse(c) for c in (table.gram_masks[grams], table.clause_masks[clauses], table.clause_masked[clauses])]
    header = _HEADER.pack(
        table.tokens[row],
        table.gram_threshold[row],
        table.clause_threshold[row],
        table.number_threshold[row],
        table.body_mask[row],
        grams.stop - grams.start,
        clauses.stop - clauses.start,
        *(len(part) // _SPARSE for part in sparse),
        len(titles),
        len(numbers),
        bool(table.titled[row]),
    )
    dense = (table.grams[grams], table.clauses[clauses], titles, numbers)
    return b"".join(
        (header, *(part.astype("<u4").tobytes() for part in dense), table.clause_lengths[clauses].tobytes(), *sparse)
    )


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
            columns[name] = np.concatenate([row[name] for row in rows]) if rows else np.zeros(0, dtype=np.uint32)
    return CoverageTable(**columns)


_SCALARS: Final = {
    "tokens": np.uint32,
    "gram_threshold": np.uint32,
    "clause_threshold": np.uint32,
    "number_threshold": np.uint32,
    "body_mask": np.uint32,
    "titled": np.bool_,
}


def _sparse(values: NDArray[np.uint32]) -> bytes:
    at = np.flatnonzero(values)
    return at.astype("<u2").tobytes() + values[at].astype("<u4").tobytes()


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
        values[at] = np.frombuffer(payload, dtype="<u4", count=count, offset=place + 2 * count)
        row[name] = values
        place += _SPARSE * count
    return row
