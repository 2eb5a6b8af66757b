"""Kernels of ``detectors.coverage_features``: the smallest hashes of each page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel
from es_dedup.text.kernels.mixing import mix

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Bools, Ints, UInts32, UInts64

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_COMPLETE = np.uint32(0xFFFFFFFF)
_MARGIN, _SLACK = 1.5, 40.0  # hashes taken beyond those wanted, so that the smallest are surely among them
_FEWEST_TOKENS = 4  # of a gram
_BUCKETS = 256
_FEW = 4_096  # keys; of more, so many may be equal that a bucket is no longer small


@kernel
def _ascending(keys: UInts64, largest: np.uint64) -> UInts64:
    """Keys whose upper halves are hashes up to ``largest``, sorted: evenly spread, so buckets are nearly enough."""
    if len(keys) > _FEW:
        return np.sort(keys)
    counts = np.zeros(_BUCKETS + 1, dtype=np.int64)
    scale = _BUCKETS / (float(largest) + 1.0)
    for place in range(len(keys)):
        counts[int(float(keys[place] >> _SHIFT) * scale) + 1] += 1
    for bucket in range(_BUCKETS):
        counts[bucket + 1] += counts[bucket]
    ordered = np.empty(len(keys), dtype=np.uint64)
    for place in range(len(keys)):
        bucket = int(float(keys[place] >> _SHIFT) * scale)
        ordered[counts[bucket]] = keys[place]
        counts[bucket] += 1
    for place in range(1, len(keys)):
        key, hole = ordered[place], place
        while hole and ordered[hole - 1] > key:
            ordered[hole] = ordered[hole - 1]
            hole -= 1
        ordered[hole] = key
    return ordered


@kernel
def _page_grams(
    hashes: UInts64, single: Bools, sizes: tuple[int, int], powers: UInts64, grams: UInts64
) -> int:
    """Write the gram that begins at each token of a page, 0 where none does; how many there are.

    The upper half is the gram's hash, the lower the token's place, counted from 1, which survives sorting.
    """
    total = 0
    for token in range(len(hashes)):
        size = sizes[0] if single[token] else sizes[1]
        if token + size > len(hashes):
            grams[token] = 0
            continue
        gram = np.uint64(0)
        for step in range(size):
            gram += hashes[token + step] * powers[step]
        grams[token] = ((mix(gram) >> _SHIFT) << _SHIFT) | np.uint64(token + 1)
        total += 1
    return total


@kernel
def _keep_smallest(
    ordered: UInts64, limit: int, masks: UInts32, values: UInts32, merged: UInts32, begin: int
) -> int:
    """Write the first distinct hashes of a page with the title terms at each of their places; the new end."""
    end = begin
    for place in range(len(ordered)):
        if place == 0 or ordered[place] >> _SHIFT != ordered[place - 1] >> _SHIFT:
            if end - begin == limit:
                break
            values[end] = np.uint32(ordered[place] >> _SHIFT)
            merged[end] = 0
            end += 1
        token = np.int64(ordered[place] & _LOW) - 1
        for step in range(_FEWEST_TOKENS):
            merged[end - 1] |= masks[token + step]
    return end


@kernel
def gram_samples(
    hashes: UInts64,
    single: Bools,
    offsets: Ints,
    masks: UInts32,
    sizes: tuple[int, int],
    powers: UInts64,
    limits: tuple[int, int, int],
) -> tuple[Ints, UInts32, UInts32, UInts32]:
    """Offsets, hashes, masks and thresholds of the sampled grams.

    Args:
        hashes, single, offsets: of the tokens.
        masks: title terms that begin at each token.
        sizes: tokens of a gram that begins with a single character, and with a word.
        powers: of the gram's base, at least as many as the longer gram has tokens.
        limits: one gram in so many, at least, at most.
    """
    pages = len(offsets) - 1
    bounds = np.zeros(pages + 1, dtype=np.int64)
    thresholds = np.full(pages, _COMPLETE)
    longest = 0
    for page in range(pages):
        longest = max(longest, offsets[page + 1] - offsets[page])
    keys = np.empty(longest, dtype=np.uint64)
    grams = np.empty(longest, dtype=np.uint64)
    size = 0
    for page in range(pages):
        size += min(offsets[page + 1] - offsets[page], limits[2])
    values, merged = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)
    end = 0
    for page in range(pages):
        first, last = offsets[page], offsets[page + 1]
        total = _page_grams(hashes[first:last], single[first:last], sizes, powers, grams)
        limit = min(max(total // limits[0], limits[1]), limits[2])
        share = min((limit * _MARGIN + _SLACK) / max(total, 1), 1.0)
        while True:
            bound = np.uint64(share * 4294967295.0)
            near = 0
            for place in range(last - first):
                if grams[place] and (grams[place] >> _SHIFT) <= bound:
                    keys[near] = grams[place]
                    near += 1
            ordered = _ascending(keys[:near], bound)
            distinct = 0
            for place in range(near):
                if place == 0 or ordered[place] >> _SHIFT != ordered[place - 1] >> _SHIFT:
                    distinct += 1
            if distinct > limit or share >= 1.0:
                break
            share = 1.0  # a page that repeats itself has far fewer distinct grams
        end = _keep_smallest(ordered, limit, masks[first:last], values, merged, end)
        if distinct > limit:
            thresholds[page] = values[end - 1]
        bounds[page + 1] = end
    return bounds, values[:end].copy(), merged[:end].copy(), thresholds


@kernel
def clauses_of(
    hashes: UInts64, starts: Ints, ends: Ints, clause: Ints, count: int, masks: UInts32, base: np.uint64
) -> tuple[UInts32, Ints, UInts32]:
    """Hash, characters and title terms of each clause; each of shape (clauses,)."""
    values, lengths = np.zeros(count, dtype=np.uint64), np.zeros(count, dtype=np.int64)
    merged = np.zeros(count, dtype=np.uint32)
    place = -1
    power = np.uint64(1)
    for token in range(len(hashes)):
        if clause[token] != place:
            place = clause[token]
            power = np.uint64(1)
        values[place] += hashes[token] * power
        power *= base
        lengths[place] += ends[token] - starts[token]
        merged[place] |= masks[token]
    short = np.empty(count, dtype=np.uint32)
    for place in range(count):
        short[place] = np.uint32(mix(values[place]) >> _SHIFT)
    return short, lengths, merged
