"""Kernels of ``decision.statistics``: what each recurring feature counts, in one walk over the sorted features."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from es_dedup.kernels.dispatch import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.kernels.arrays import Ints

HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
_PAIRS, _FOURS, _NIBBLES = (
    np.uint64(0x5555555555555555),
    np.uint64(0x3333333333333333),
    np.uint64(0x0F0F0F0F0F0F0F0F),
)
_EACH, _ZERO, _ONE, _TWO, _FOUR, _TOP = (
    np.uint64(0x0101010101010101),
    np.uint64(0),
    np.uint64(1),
    np.uint64(2),
    np.uint64(4),
    np.uint64(56),
)


class Rules(NamedTuple):
    """The limits of ``decision.statistics``."""

    min_postings: int
    postings: int
    title: tuple[float, float]
    link: tuple[float, float]
    bits: tuple[float, float]
    long_span: int
    least: float


class SortedPostings(NamedTuple):
    """What is known of the pages, by row.

    Attributes:
        place: of the page among all pages by key.
        titles: title terms as bits, shape (pages, words).
        title_sizes: number of these bits.
        fingerprints: SimHash.
        days: of publication, 0 when unknown.
    """

    place: NDArray[np.int64]
    titles: NDArray[np.uint64]
    title_sizes: NDArray[np.int64]
    fingerprints: NDArray[np.uint64]
    days: NDArray[np.int64]


@kernel
def recurring(
    values: NDArray[np.uint32], offsets: Ints, masks: NDArray[np.uint32], rows: Ints, least: int
) -> NDArray[np.uint64]:
    """Postings of the features that may recur: feature, row and whether it is linked, as one number; sorted, postings stand together.

    Counted are features of equal low bits together, so some that do not recur are among them; most are left out, which saves
    most of the sorting.

    Args:
        values, offsets, masks: features of each row, and where they hold words of its title.
        rows: those to look at, below 2^31.
        least: postings from which a feature recurs, at most 255.
    """
    size = 1 << 16
    while size < len(values):  # twice as many leave out a tenth more, and miss the cache more often
        size *= 2
    low = np.uint32(size - 1)
    counts = np.zeros(size, dtype=np.uint8)
    for row in rows:
        for place in range(offsets[row], offsets[row + 1]):
            bucket = values[place] & low
            if counts[bucket] < least:
                counts[bucket] += 1
    keys = np.empty(len(values), dtype=np.uint64)
    done = 0
    for row in rows:
        for place in range(offsets[row], offsets[row + 1]):
            value = values[place]
            if counts[value & low] == least:
                linked = _ONE if masks[place] != 0 else _ZERO
                keys[done] = (np.uint64(value) << HALF) | (np.uint64(row) << _ONE) | linked
                done += 1
    return keys[:done].copy()


@kernel
def weighed(
    keys: NDArray[np.uint64],
    pages: SortedPostings,
    rules: Rules,
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Features that recur, ascending, and what each counts.

    Args:
        keys: ``recurring`` postings, sorted.
        pages: their columns.
        rules: limits.
    """
    known = np.empty(len(keys) // rules.min_postings + 1, dtype=np.uint32)
    weights = np.empty(len(known), dtype=np.float32)
    rows, places = np.empty(rules.postings, dtype=np.int64), np.empty(rules.postings, dtype=np.int64)
    linked = np.empty(rules.postings, dtype=np.bool_)
    count = start = 0
    while start < len(keys):
        value = keys[start] >> HALF
        end = start + 1
        while end < len(keys) and keys[end] >> HALF == value:
            end += 1
        if end - start >= rules.min_postings:
            size = _first_postings(keys[start:end], pages.place, (rows, places, linked))
            known[count] = value
            weights[count] = _weight(rows[:size], linked[:size], pages, rules)
            count += 1
        start = end
    return known[:count].copy(), weights[:count].copy()


@kernel
def _first_postings(
    keys: NDArray[np.uint64],
    place: NDArray[np.int64],
    kept: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]],
) -> int:
    """Write the postings that come first by page key, in that order, and whether each is linked; returns how many."""
    rows, places, linked = kept
    size = 0
    for key in keys:
        row = np.int64((key & LOW) >> _ONE)
        mine = place[row]
        if size == len(rows) and mine > places[size - 1]:
            continue
        at = min(size, len(rows) - 1)
        while at > 0 and places[at - 1] > mine:
            rows[at], places[at], linked[at] = rows[at - 1], places[at - 1], linked[at - 1]
            at -= 1
        rows[at], places[at], linked[at] = row, mine, (key & _ONE) != 0
        size = min(size + 1, len(rows))
    return size


@kernel
def _weight(rows: NDArray[np.int64], linked: NDArray[np.bool_], pages: SortedPostings, rules: Rules) -> float:
    size = len(rows)
    topics = links = wholes = 0.0
    first, last = np.int64(0), np.int64(0)
    for at in range(size):
        page, neighbour = rows[at], rows[(at + 1) % size]
        shared = 0
        for word in range(pages.titles.shape[1]):
            shared += _ones(pages.titles[page, word] & pages.titles[neighbour, word])
        topics += shared / max(min(pages.title_sizes[page], pages.title_sizes[neighbour]), 1)
        links += linked[at]
        apart = float(_ones(pages.fingerprints[page] ^ pages.fingerprints[neighbour]))
        wholes += 1.0 - _scaled(apart, rules.bits)
        day = pages.days[page]
        if day > 0:
            first = day if first == 0 else min(first, day)
            last = max(last, day)
    whole = wholes / size
    weight = max(_scaled(topics / size, rules.title), _scaled(links / size, rules.link), whole)
    if last - first >= rules.long_span:
        weight = min(weight, whole)
    return max(weight, rules.least)


@kernel
def _scaled(value: float, limits: tuple[float, float]) -> float:
    low, high = limits
    return min(max((value - low) / (high - low), 0.0), 1.0)


@kernel
def _ones(bits: np.uint64) -> int:
    bits -= (bits >> _ONE) & _PAIRS
    bits = (bits & _FOURS) + ((bits >> _TWO) & _FOURS)
    bits = (bits + (bits >> _FOUR)) & _NIBBLES
    return int((bits * _EACH) >> _TOP)
