"""The 64-bit SimHash of weighted features, many pages at once: what several methods build on.

Source: Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.ragged import rank_within

if TYPE_CHECKING:
    from numpy.typing import NDArray

BITS: Final = 64
BANDS: Final = 4
BAND_BITS: Final = 16
_COUNTER_LIMIT: Final = 255


def hamming_distance(left: int, right: int) -> int:
    """Number of bits in which two fingerprints differ, 0-64."""
    return (left ^ right).bit_count()


def band_types(name: str) -> dict[str, str]:
    """Types of the fields that ``band_fields`` gives."""
    return {name: "keyword", **{f"{name}_band_{at}": "integer" for at in range(BANDS)}}


def band_fields(name: str, value: int) -> dict[str, str | int]:
    """A fingerprint as named values.

    Returns:
        ``{name}``: 16 hexadecimal digits; ``{name}_band_0`` to ``_3``: its bands A to D as numbers below 65,536, in the
        order of the digits. The terms of methods count them from the other end.
    """
    bands = {f"{name}_band_{at}": (value >> (BITS - BAND_BITS * (at + 1))) & 0xFFFF for at in range(BANDS)}
    return {name: f"{value:016x}", **bands}


def fingerprints(
    hashes: NDArray[np.uint64],
    owners: NDArray[np.int64],
    count: int,
    weights: NDArray[np.int64] | None = None,
) -> NDArray[np.uint64]:
    """SimHash of several pages.

    Args:
        hashes: feature hashes, ordered by owner.
        owners: page of each feature.
        count: number of pages.
        weights: integer weight of each feature, at least 0; all 1 when None.

    Returns:
        Shape (count,). Bit j is 1 iff the weighted sum of +1 (bit set) and -1 (bit clear) is above 0; a page without
        features has 0 and must be handled by the caller.

    Source:
        SimHash article, 10.4.1.
    """
    if weights is None:
        positive, total = _votes(hashes, owners, count), np.bincount(owners, minlength=count)
    else:
        positive, total = np.zeros((count, BITS), dtype=np.int64), np.zeros(count, dtype=np.int64)
        # a weight is a sum of powers of two: each power is one count of equal votes
        for power in range(int(weights.max(initial=0)).bit_length()):
            voters = np.flatnonzero((weights >> power) & 1)
            positive += _votes(hashes[voters], owners[voters], count) << power
            total += np.bincount(owners[voters], minlength=count) << power
    ones = (2 * positive - total[:, None]) > 0
    return np.packbits(ones, axis=1, bitorder="little").view("<u8").ravel().astype(np.uint64)


def _votes(hashes: NDArray[np.uint64], owners: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """How many features of each page have each bit set; shape (count, 64)."""
    positive = np.zeros((count, BITS), dtype=np.int64)
    # eight one-byte counters live in each 64-bit word, so a run is cut before a counter can overflow
    cuts = np.flatnonzero(rank_within(owners, count) % _COUNTER_LIMIT == 0)
    columns = hashes.astype("<u8").view(np.uint8).reshape(-1, 8).T
    spread = _spread_table()
    sums = [np.add.reduceat(spread[np.ascontiguousarray(column)], cuts) for column in columns]
    counters = np.stack(sums, axis=1).astype("<u8").view(np.uint8).reshape(len(cuts), BITS)
    np.add.at(positive, owners[cuts], counters.astype(np.int64))
    return positive


@cache
def _spread_table() -> NDArray[np.uint64]:
    """For each byte value, its eight bits as the eight bytes of a word."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return bits.view("<u8").ravel().astype(np.uint64)
