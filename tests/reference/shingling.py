"""Reference of Shingling and of min-wise hashing: sets, their two similarities, sketches, minima, super-shingles.

Source: algorithms note, sections 2.3 and 2.4.
"""

from collections.abc import Collection, Sequence
from fractions import Fraction

WORD = 1 << 64


def resemblance(left: Collection[object], right: Collection[object]) -> Fraction:
    """Shared over all distinct shingles; 0 of two empty pages."""
    ours, theirs = set(left), set(right)
    return Fraction(len(ours & theirs), len(ours | theirs)) if ours | theirs else Fraction(0)


def containment(inner: Collection[object], outer: Collection[object]) -> Fraction:
    """Shared over the distinct shingles of ``inner``; 0 where it has none."""
    ours, theirs = set(inner), set(outer)
    return Fraction(len(ours & theirs), len(ours)) if ours else Fraction(0)


def sketch(hashes: Collection[int], modulus: int) -> set[int]:
    """Those distinct hashes that ``modulus`` divides."""
    return {value for value in hashes if value % modulus == 0}


def minima(hashes: Collection[int], functions: Sequence[tuple[int, int]]) -> list[int]:
    """For each function (a, b) the least ``a * x + b`` modulo 2^64 over the hashes, of which there is at least one."""
    return [min((a * x + b) % WORD for x in hashes) for a, b in functions]


def equal_groups(left: Sequence[int], right: Sequence[int], size: int) -> int:
    """How many groups of ``size`` neighbouring minima are equal throughout."""
    return sum(left[at : at + size] == right[at : at + size] for at in range(0, len(left), size))


def one_permutation(hashes: Collection[int], bins: int, orders: Sequence[Sequence[int]]) -> list[int] | None:
    """One minimum a bin; None of no hashes.

    The upper 32 of the 64 bits of a hash, times ``bins``, shifted back by 32, number its bin; the lower 32 bits are its
    value. A bin without hashes takes the value of the first bin with hashes in its own order.

    Args:
        hashes: 64-bit numbers.
        bins: at least 1.
        orders: for each bin an order of all bins.
    """
    if not hashes:
        return None
    least: dict[int, int] = {}
    for value in hashes:
        place, low = ((value >> 32) * bins) >> 32, value % (1 << 32)
        least[place] = min(low, least.get(place, low))
    filled = []
    for place in range(bins):
        source = place if place in least else next(other for other in orders[place] if other in least)
        filled.append(least[source])
    return filled


def agreement(left: Sequence[int], right: Sequence[int]) -> Fraction:
    """Share of places at which two lists of minima are equal."""
    return Fraction(sum(a == b for a, b in zip(left, right, strict=True)), len(left))


def shares_band(left: Sequence[int], right: Sequence[int], rows: int) -> bool:
    """Whether one band of ``rows`` neighbouring minima is equal throughout."""
    return equal_groups(left, right, rows) > 0
