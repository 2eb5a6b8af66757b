"""How terms and hashes look in the file: short bytes, and integers that SQLite can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.errors import DamagedData
from es_dedup.text.hashing import TERM_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TERM_BYTES: Final = TERM_BITS // 8


def pack_terms(terms: NDArray[np.uint64]) -> bytes:
    """Six bytes per term, lowest byte first, in the given order."""
    return terms.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :TERM_BYTES].tobytes()


def unpack_terms(stored: bytes) -> NDArray[np.uint64]:
    """The terms of which ``pack_terms`` made ``stored``.

    Raises:
        DamagedData: no whole number of terms.
    """
    if len(stored) % TERM_BYTES:
        raise DamagedData("terms", f"{len(stored)} bytes, {TERM_BYTES} a term")
    wide = np.zeros((len(stored) // TERM_BYTES, 8), dtype=np.uint8)
    wide[:, :TERM_BYTES] = np.frombuffer(stored, dtype=np.uint8).reshape(-1, TERM_BYTES)
    return wide.reshape(-1).view("<u8").astype(np.uint64, copy=False)


def signed_hashes(hashes: Sequence[int]) -> list[int]:
    """64-bit hashes as the signed integers that SQLite stores; the bits are the same.

    Args:
        hashes: each in [0, 2^64).
    """
    signed: list[int] = np.array(hashes, dtype=np.uint64).view(np.int64).tolist()
    return signed


def unsigned_hash(stored: int) -> int:
    """The hash of which ``signed_hashes`` made ``stored``."""
    return stored & 0xFFFF_FFFF_FFFF_FFFF
