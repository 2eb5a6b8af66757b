"""Features that are sets, or multisets, of 40-bit hashes: their making, comparison and bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from es_dedup.detectors.port import Detector
from es_dedup.model import Relation, Verdict
from es_dedup.text.ragged import SameArrays, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

HASH_BYTES: Final = 5
MOST_COPIES: Final = 255  # counted of one hash
_SHIFT: Final = np.uint64(24)
_HEAD: Final = struct.Struct("<BI")  # version, number of hashes


@dataclass(frozen=True, slots=True, eq=False)
class HashBag(SameArrays):
    """Features of one page.

    Attributes:
        values: distinct 40-bit hashes, ascending.
        counts: weight of each, 1 to ``MOST_COPIES``; what it counts is the method's.
    """

    values: NDArray[np.uint64]
    counts: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def size(self) -> int:
        """Sum of the weights."""
        return int(self.counts.sum(dtype=np.int64))

    def only(self, wanted: NDArray[np.bool_]) -> HashBag:
        """The part of it that is wanted."""
        return HashBag(self.values[wanted], self.counts[wanted])


def short(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The upper 40 of 64 bits."""
    return hashes >> _SHIFT


def bags(
    hashes: NDArray[np.uint64],
    owners: NDArray[np.int64],
    pages: int,
    weights: NDArray[np.int64] | None = None,
) -> list[HashBag]:
    """One bag per page.

    Args:
        hashes: 64-bit hashes in any order.
        owners: page of each.
        pages: number of pages.
        weights: of each hash; where one occurs more than once, the largest holds. None: how often it occurs.
    """
    values = short(hashes)
    order = np.lexsort((values, owners))
    values, owners = values[order], owners[order]
    first = np.ones(len(values), dtype=np.bool_)
    first[1:] = (values[1:] != values[:-1]) | (owners[1:] != owners[:-1])
    starts = np.flatnonzero(first)
    if weights is None:
        counts = np.diff(np.append(starts, len(values)))
    else:
        counts = np.maximum.reduceat(weights[order], starts) if len(starts) else weights[:0]
    capped = np.minimum(counts, MOST_COPIES).astype(np.uint8)
    offsets = offsets_of(owners[starts], pages)
    values = values[starts]
    return [HashBag(values[low:high], capped[low:high]) for low, high in pairwise(offsets)]


def common(left: HashBag, right: HashBag) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the shared hashes in the left and in the right bag."""
    if len(left) > len(right):
        ours, theirs = common(right, left)
        return theirs, ours
    if not len(left):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    place = np.minimum(np.searchsorted(right.values, left.values), len(right) - 1)
    found = np.flatnonzero(right.values[place] == left.values)
    return found, place[found]


def shared_count(left: HashBag, right: HashBag) -> int:
    """Number of shared distinct hashes."""
    return len(common(left, right)[0])


def jaccard(shared: int, left: int, right: int) -> float:
    """Shared over all, in [0, 1]; 0.0 of two empty sets."""
    union = left + right - shared
    return shared / union if union else 0.0


def similarity_verdict(
    name: str, score: float, threshold: float, shared: int, pages: tuple[HashBag, HashBag]
) -> Verdict:
    """Duplicate iff a similarity is at least its threshold.

    Args:
        name: of the method.
        score: similarity of the pages, in [0, 1].
        threshold: of the score.
        shared: number of shared distinct hashes.
        pages: the left and the right one.
    """
    left, right = map(len, pages)
    evidence = {
        "similarity": round(score, 4),
        "min_similarity": threshold,
        "common": shared,
        "left_signatures": left,
        "right_signatures": right,
    }
    return Verdict(name, Relation.DUPLICATE if score >= threshold else Relation.DIFFERENT, score, evidence)


def pack(bag: HashBag, version: int, *, with_counts: bool) -> bytes:
    """A head of five bytes, five bytes a hash and, where wanted, one byte a count."""
    raw = bag.values.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :HASH_BYTES].tobytes()
    return _HEAD.pack(version, len(bag)) + raw + (bag.counts.tobytes() if with_counts else b"")


def unpack(payload: bytes, version: int, *, with_counts: bool) -> HashBag:
    """The inverse of ``pack``.

    Raises:
        ValueError: another version, a wrong length, hashes out of order, or a count of 0.
    """
    if len(payload) < _HEAD.size or payload[0] != version:
        raise ValueError(f"features of another version, this release reads version {version}")
    _, number = _HEAD.unpack_from(payload)
    if len(payload) != _HEAD.size + number * (HASH_BYTES + with_counts):
        raise ValueError(f"{number} hashes do not take {len(payload)} bytes")
    wide = np.zeros((number, 8), dtype=np.uint8)
    edge = _HEAD.size + number * HASH_BYTES
    wide[:, :HASH_BYTES] = np.frombuffer(payload[_HEAD.size : edge], dtype=np.uint8).reshape(-1, HASH_BYTES)
    values = wide.view("<u8").ravel().astype(np.uint64)
    counts = np.frombuffer(payload[edge:], dtype=np.uint8) if with_counts else np.ones(number, dtype=np.uint8)
    if (values[1:] <= values[:-1]).any() or not counts.all():
        raise ValueError("hashes out of order, or counted 0 times")
    return HashBag(values, counts)


class BagDetector(Detector[HashBag]):
    """A method whose features are hashes, packed as a head of five bytes and five bytes a hash.

    Attributes:
        with_counts: the weights are packed, too, in a byte each.
        payload: version of packed features.
    """

    with_counts: ClassVar[bool] = True
    payload: ClassVar[int] = 1

    def pack(self, features: HashBag) -> bytes:
        """See ``pack`` of this module."""
        return pack(features, self.payload, with_counts=self.with_counts)

    def unpack(self, payload: bytes) -> HashBag:
        """Features from ``pack``; raises ``ValueError`` on damaged bytes."""
        return unpack(payload, self.payload, with_counts=self.with_counts)
