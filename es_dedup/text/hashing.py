"""Stable 64-bit hashing: the same input gives the same number on every machine and in every release of one version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Raised when any stored feature of an unchanged text changes; part of the fingerprint.
SIGNATURE_VERSION: Final = 3
SIGNATURE_SEED: Final = 0x6573_6465_6475_7031  # "esdedup1"

TERM_BITS: Final = 48
HASH_BITS_IN_TERM: Final = 40
MIX_ADD: Final = np.uint64(0x9E3779B97F4A7C15 ^ SIGNATURE_SEED)
MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
MIX_2: Final = np.uint64(0x94D049BB133111EB)


def hash64(data: bytes | memoryview | str) -> int:
    """xxh3-64 of the bytes (text as UTF-8) under the recorded seed.

    Returns:
        An unsigned 64-bit number.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return int(xxhash.xxh3_64_intdigest(data, seed=SIGNATURE_SEED))


def mix64(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread each 64-bit value over all bits, bijectively (the SplitMix64 finaliser, Steele et al. 2014).

    Args:
        values: any shape.

    Returns:
        A new array of the same shape.
    """
    mixed = values + MIX_ADD
    mixed ^= mixed >> 30
    mixed *= MIX_1
    mixed ^= mixed >> 27
    mixed *= MIX_2
    mixed ^= mixed >> 31
    return mixed


def powers(base: int, count: int) -> NDArray[np.uint64]:
    """``base ** 0 … base ** (count - 1)`` modulo 2^64."""
    table = np.full(count, np.uint64(base), dtype=np.uint64)
    table[:1] = 1
    return np.multiply.accumulate(table)


def tagged_terms(tag: int, hashes: NDArray[np.unsignedinteger]) -> NDArray[np.uint64]:
    """Candidate terms: the tag of a detector (8 bits) above the lowest 40 bits of each hash.

    Args:
        tag: 0-255.
        hashes: any hashes; only the lowest 40 bits are kept.

    Returns:
        Numbers below 2^48.
    """
    low = hashes.astype(np.uint64) & np.uint64((1 << HASH_BITS_IN_TERM) - 1)
    return low | np.uint64(tag << HASH_BITS_IN_TERM)


def low_bytes(values: NDArray[np.unsignedinteger], size: int) -> bytes:
    """The lowest ``size`` bytes of each number, lowest byte first."""
    return values.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :size].tobytes()


def from_low_bytes(raw: bytes, size: int) -> NDArray[np.uint64]:
    """The numbers of which ``low_bytes`` made ``raw``."""
    wide = np.zeros((len(raw) // size, 8), dtype=np.uint8)
    wide[:, :size] = np.frombuffer(raw, dtype=np.uint8).reshape(-1, size)
    return wide.view("<u8").ravel().astype(np.uint64, copy=False)
