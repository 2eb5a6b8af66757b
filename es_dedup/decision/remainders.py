"""Distinguish a template from a reprinted story by the remainders of the pages that carry it.

Both recur on many pages. Take three pages that carry the text and remove what all three have in common; the rest of each page is its remainder.
The text is a story if the remainders are small (they are the layouts of sites), or if two of the pages share a part of them (a longer
version of the story). It is a template if the remainders make up much of the pages and differ from each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from es_dedup.detectors.coverage_features import COMPLETE

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from es_dedup.detectors.coverage_features import CoverageTable

SKETCH_GRAMS: Final = 96  # of each page; more moves no result on the constructed sets
SHARED_LOW, SHARED_HIGH = 0.05, 0.15  # share of a page's remainder that another page of the three has
SMALL, LARGE = 0.20, 0.30  # mean share of the pages that remains
_BLOCK: Final = 512  # triples handled at a time: their sorted grams fit into a processor's cache
_ABSENT: Final = np.uint64(2**63)
_TAG_BITS: Final = np.uint64(2)


class Sketches(NamedTuple):
    """The smallest gram hashes of each page.

    Attributes:
        grams: ascending, ``COMPLETE`` behind the last; shape (pages, SKETCH_GRAMS).
        thresholds: the largest hash up to which ``grams`` is complete; shape (pages,).
    """

    grams: NDArray[np.uint32]
    thresholds: NDArray[np.uint32]


def sketches_of(cover: CoverageTable) -> Sketches:
    """The sketch of each page of a table."""
    places = cover.gram_offsets[:-1, None] + np.arange(SKETCH_GRAMS)
    grams = np.append(cover.grams, np.uint32(COMPLETE))[np.minimum(places, len(cover.grams))]
    grams[places >= cover.gram_offsets[1:, None]] = COMPLETE
    return Sketches(grams, np.minimum(cover.gram_threshold, grams[:, -1]))


def content_votes(triples: NDArray[np.int64], sketches: Sketches) -> NDArray[np.float64]:
    """How strongly the remainders of three pages indicate that their shared text is content, in [0, 1]; shape (triples,).

    Args:
        triples: rows of three pages each, shape (triples, 3); equal triples in any order are answered once.
        sketches: of all pages.
    """
    ordered = np.sort(triples, axis=1)
    distinct, inverse = np.unique(ordered, axis=0, return_inverse=True)
    votes = [_votes(distinct[at : at + _BLOCK], sketches) for at in range(0, len(distinct), _BLOCK)]
    return np.concatenate([np.zeros(0), *votes])[inverse.ravel()]


def _votes(triples: NDArray[np.int64], sketches: Sketches) -> NDArray[np.float64]:
    bounds = sketches.thresholds[triples].min(axis=1)[:, None, None]
    grams = sketches.grams[triples]
    known = (grams <= bounds) & (grams != COMPLETE)
    tags = np.arange(3, dtype=np.uint64)[None, :, None]
    keys = np.where(known, (grams.astype(np.uint64) << _TAG_BITS) | tags, _ABSENT).reshape(len(triples), -1)
    keys.sort(axis=1)
    values, pages, present = keys >> _TAG_BITS, keys & np.uint64(3), keys != _ABSENT
    # No page has a gram twice, so a run of equal values is as long as the number of pages that have it.
    next_equal = _shifted((values[:, 1:] == values[:, :-1]) & present[:, 1:], before=0, after=1)
    starts_three = next_equal & _shifted(next_equal[:, 1:], before=0, after=1)
    in_run = next_equal | _shifted(next_equal[:, :-1], before=1, after=0)
    in_three = starts_three.copy()
    for step in (1, 2):
        in_three |= _shifted(starts_three[:, :-step], before=step, after=0)
    in_two = in_run & ~in_three
    counts = known.sum(axis=2)
    remaining = counts - starts_three.sum(axis=1)[:, None]
    shared = np.stack([(in_two & (pages == page)).sum(axis=1) for page in range(3)], axis=1)
    # Each page is judged by itself: one long stranger among three would hide two copies in a pooled count.
    most_shared = (shared / np.maximum(remaining, 1)).max(axis=1)
    size = (remaining / np.maximum(counts, 1)).mean(axis=1)
    return np.maximum(scale(most_shared, SHARED_LOW, SHARED_HIGH), 1.0 - scale(size, SMALL, LARGE))


def scale(values: NDArray[Any], low: float, high: float) -> NDArray[np.float64]:
    """0 up to ``low``, 1 from ``high``, linear in between."""
    return np.clip((values - low) / (high - low), 0.0, 1.0)


def _shifted(mask: NDArray[np.bool_], *, before: int, after: int) -> NDArray[np.bool_]:
    return np.pad(mask, ((0, 0), (before, after)))
