"""Min-wise hashing: minima whose agreement estimates the Jaccard similarity of two sets, and their bands."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.hashing import mix64, powers

if TYPE_CHECKING:
    from numpy.typing import NDArray

EMPTY: Final = np.uint64(1 << 32)
_LOW: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)
_BAND_BASE: Final = 0xD6E8FEB86659FD93


def one_permutation(
    hashes: NDArray[np.uint64], owners: NDArray[np.int64], pages: int, bins: int
) -> NDArray[np.uint64]:
    """Minima of several sets from one pass over their hashes.

    The upper half of a hash chooses one of the bins, the lower half is the value; each bin keeps its least value. An
    empty bin takes the value of the first bin that is not empty in an order of its own, the same for all pages, so
    that the chance of two sets agreeing in any bin stays their Jaccard similarity.

    Args:
        hashes: mixed 64-bit hashes; one that occurs twice counts once.
        owners: page of each.
        pages: number of pages.
        bins: number of minima, 1 to 65,535.

    Returns:
        Shape (pages, bins), values below 2^32; ``EMPTY`` throughout for a page without hashes.

    Source:
        Li, Owen, Zhang, "One permutation hashing", NIPS 2012; filling after Shrivastava, "Optimal densification for
        fast and accurate minwise hashing", ICML 2017.
    """
    table = np.full(pages * bins, EMPTY, dtype=np.uint64)
    place = owners * bins + (((hashes >> _HALF) * np.uint64(bins)) >> _HALF).astype(np.int64)
    np.minimum.at(table, place, hashes & _LOW)
    return _filled(table.reshape(pages, bins))


def _filled(table: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bins = table.shape[1]
    filled = table.copy()
    rows, columns = np.nonzero((table == EMPTY) & (table != EMPTY).any(axis=1)[:, None])
    order = _orders(bins)
    for attempt in range(bins):
        if not len(rows):
            break
        found = table[rows, order[columns, attempt]]
        done = found != EMPTY
        filled[rows[done], columns[done]] = found[done]
        rows, columns = rows[~done], columns[~done]
    return filled


@cache
def _orders(bins: int) -> NDArray[np.int64]:
    """For each bin an order of all bins, in which it looks for a value."""
    keys = mix64(np.arange(bins * bins, dtype=np.uint64)).reshape(bins, bins)
    return np.argsort(keys, axis=1, kind="stable")


def permuted(hashes: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """Minima of one set under ``count`` functions ``a_i x + b_i`` modulo 2^64.

    Args:
        hashes: mixed hashes, at least one.
        count: number of functions.

    Returns:
        Shape (count,).

    Source:
        Broder, Charikar, Frieze, Mitzenmacher, "Min-wise independent permutations", 1998.
    """
    factors, terms = _functions(count)
    least: NDArray[np.uint64] = (factors[:, None] * hashes + terms[:, None]).min(axis=1)
    return least


@cache
def _functions(count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    number = np.arange(count, dtype=np.uint64)
    return mix64(number * np.uint64(2)) | np.uint64(1), mix64(number * np.uint64(2) + np.uint64(1))


def band_hashes(minima: NDArray[np.unsignedinteger], bands: int) -> NDArray[np.uint64]:
    """One hash per band of equally many neighbouring minima; the place of the band is part of it.

    Args:
        minima: shape (bands * rows,).
        bands: number of bands.

    Returns:
        Shape (bands,).
    """
    rows = len(minima) // bands
    sums = (minima.astype(np.uint64).reshape(bands, rows) * powers(_BAND_BASE, rows)).sum(
        axis=1, dtype=np.uint64
    )
    return mix64(sums ^ mix64(~np.arange(bands, dtype=np.uint64)))


def candidate_chance(similarity: float, bands: int, rows: int) -> float:
    """Chance that two sets of this Jaccard similarity agree in all rows of one band at least: ``1 - (1 - s^r)^b``.

    Args:
        similarity: in [0, 1].
        bands, rows: at least 1.

    Source:
        Leskovec, Rajaraman, Ullman, "Mining of massive datasets", section 3.4.
    """
    return 1 - (1 - similarity**rows) ** bands
