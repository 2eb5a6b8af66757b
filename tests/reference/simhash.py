"""Reference of SimHash: weighted fingerprint, distance, bands and candidate queries.

Source: algorithms note, sections 6.1 and 6.2 and reading 20 of section 9.

Bits are numbered from 0, the least significant. Band ``i`` of width ``w`` holds bits ``i*w`` to
``i*w + w - 1``, so band 0 is the low end.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

BandKey = tuple[int, int]
"""Band number and value of the band."""


def fingerprint(features: Iterable[tuple[int, float]], bits: int = 64) -> int | None:
    """SimHash of ``(hash, weight)`` features, in [0, 2**bits), or None when there is no feature.

    ``v_j`` is the sum over all features of the weight, taken positive where bit ``j`` of the hash is 1
    and negative where it is 0; bit ``j`` of the result is 1 iff ``v_j > 0``. A feature given twice counts
    twice. Weights are finite and may be zero or negative; hash bits from ``bits`` up are ignored.

    Settled:
        Sums are exact (rational), so the order of the features never matters. A kernel that adds floats
        may differ where a sum lies within rounding error of 0; with integer or dyadic weights it may not.
        Features that all weigh 0 give 0, not None.
    """
    sums = [Fraction(0)] * bits
    empty = True
    for hash_value, weight in features:
        empty = False
        for j in range(bits):
            if (hash_value >> j) & 1:
                sums[j] += Fraction(weight)
            else:
                sums[j] -= Fraction(weight)
    if empty:
        return None
    return sum(1 << j for j in range(bits) if sums[j] > 0)


def hamming(left: int, right: int) -> int:
    """Number of bits in which two non-negative integers differ."""
    return (left ^ right).bit_count()


def band_keys(value: int, bands: int = 4, width: int = 16) -> list[BandKey]:
    """The exact keys of a fingerprint, one per band, band 0 (low bits) first."""
    return [(band, (value >> (band * width)) % (1 << width)) for band in range(bands)]


def query_radii(k: int, bands: int = 4) -> list[int]:
    """Radius ``t_i`` of each band so that any two values within ``k`` bits share a queried key.

    For ``k < bands`` every radius is 0. Above, as many bands as needed, the low ones first, get radius 1,
    so that the sum of ``t_i + 1`` is ``k + 1``.

    Raises:
        ValueError: ``k`` is negative or above ``2 * bands - 1``, where radius 1 does not suffice.
    """
    if not 0 <= k <= 2 * bands - 1:
        raise ValueError(f"k must be 0 to {2 * bands - 1} with {bands} bands, got {k}")
    widened = max(0, k + 1 - bands)
    return [1 if band < widened else 0 for band in range(bands)]


def query_keys(value: int, k: int, bands: int = 4, width: int = 16) -> set[BandKey]:
    """All keys to look up for a query ``value``: each band's own, and with radius 1 its one-bit flips.

    Raises:
        ValueError: see ``query_radii``.
    """
    keys: set[BandKey] = set()
    for (band, key), radius in zip(band_keys(value, bands, width), query_radii(k, bands), strict=True):
        keys.add((band, key))
        if radius == 1:
            keys.update((band, key ^ (1 << j)) for j in range(width))
    return keys


def within(query: int, stored: Sequence[int], k: int) -> list[int]:
    """Positions in ``stored`` of the fingerprints at most ``k`` bits away, ascending, by full scan."""
    return [i for i, value in enumerate(stored) if hamming(query, value) <= k]
