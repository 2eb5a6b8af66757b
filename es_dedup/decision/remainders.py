"""Distinguish a template from a reprinted story by the remainders of the pages that carry it.

Both recur on many pages. Take three pages that carry the text and remove what all three have in common; the rest of each page is its remainder.
The text is a story if the remainders are small (they are the layouts of sites), or if two of the pages share whole clauses of them (a longer
version of the story; words that two pages fill in alike on a form share only the grams around them). It is a template if the remainders make up much of the pages and differ from each other.

Words filled in on a form, in the middle of its sentences, leave small remainders, too, and so do edits. Each edit or filled-in word removes
the few grams around it, but its whole clause, which is about as long as two grams. The share of a page that is edited or filled in is
therefore estimated as what remains of its clauses beyond what remains of its grams, and as no more than the latter. Where one of three
pages was edited, the other two still agree, so another page has about two thirds of the edited share; it has less of what is filled in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from es_dedup.detectors.coverage_features import COMPLETE, CoverageTable
from es_dedup.detectors.coverage_pairs import RUN_CHARS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SKETCH_SIZE: Final = 96  # grams, and clauses, of each page; more moves no result on the constructed sets
SHARED_LOW, SHARED_HIGH = 0.05, 0.15  # share of a page's remainder that another page of the three has
SMALL, LARGE = 0.20, 0.30  # mean share of the pages that remains
# the same where nearly every page of the corpus, or of a site, carries the text
COMMON_SMALL, COMMON_LARGE = 0.10, 0.20
EDITS_SHARED: Final = 0.45  # of what is edited: two thirds are expected
MISSING_LOW, MISSING_HIGH = 0.01, 0.04  # share of the pages by which less is shared than that
FILLED_IN: Final = 0.50  # of any page at most: a form is most of each page that it is filled in on
_ROWS: Final = 2_000  # pages that sketches are made of at a time
_BLOCK: Final = 64  # triples handled at a time: what is compared fits into a processor's cache
_PAGES: Final = np.arange(3, dtype=np.uint64)[:, None]  # numbers of the pages of a triple


class Sketches(NamedTuple):
    """The smallest hashes of each page's grams, or clauses.

    Attributes:
        hashes: ascending, ``COMPLETE`` behind the last; shape (pages, SKETCH_SIZE).
        sizes: what each counts: a gram 1, a clause its characters, a run without clause marks nothing.
        thresholds: the largest hash up to which ``hashes`` is complete; shape (pages,).
    """

    hashes: NDArray[np.uint32]
    sizes: NDArray[np.uint8]
    thresholds: NDArray[np.uint32]


def sketches_of(cover: CoverageTable, kind: str, rows: NDArray[np.int64]) -> Sketches:
    """Those of the grams of some rows of a table, or of the clauses (``kind``: "gram" or "clause")."""
    values, offsets = getattr(cover, f"{kind}s"), getattr(cover, f"{kind}_offsets")
    lengths = cover.clause_lengths if kind == "clause" else np.broadcast_to(np.uint8(1), values.shape)
    hashes = np.full((len(rows), SKETCH_SIZE), COMPLETE, dtype=np.uint32)
    sizes = np.zeros((len(rows), SKETCH_SIZE), dtype=np.uint8)
    for some in (slice(at, at + _ROWS) for at in range(0, len(rows), _ROWS)):
        places = offsets[rows[some], None] + np.arange(SKETCH_SIZE)
        inside = places < offsets[rows[some] + 1, None]
        counted = lengths[places[inside]]
        hashes[some][inside] = values[places[inside]]
        sizes[some][inside] = np.where(counted < RUN_CHARS, counted, np.uint8(0))
    return Sketches(hashes, sizes, np.minimum(getattr(cover, f"{kind}_threshold")[rows], hashes[:, -1]))


def content_votes(
    triples: NDArray[np.int64], common: NDArray[np.bool_], grams: Sketches, clauses: Sketches
) -> Floats:
    """How strongly the remainders of three pages indicate that their shared text is content, in [0, 1]; shape (triples,).

    Args:
        triples: rows of three pages each, shape (triples, 3); equal triples in any order are answered once.
        common: whether nearly every page of the corpus, or of a site, carries the shared text; shape (triples,).
        grams, clauses: sketches of all pages.
    """
    ordered = np.column_stack((np.sort(triples, axis=1), common.astype(np.int64)))
    distinct, inverse = np.unique(ordered, axis=0, return_inverse=True)
    votes = [_votes(distinct[at : at + _BLOCK], grams, clauses) for at in range(0, len(distinct), _BLOCK)]
    return np.concatenate([np.zeros(0), *votes])[inverse.ravel()]


def _votes(asked: NDArray[np.int64], grams: Sketches, clauses: Sketches) -> Floats:
    triples, common = asked[:, :3], asked[:, 3] != 0
    remaining, shared = _remainders(triples, grams)
    clauses_remaining, clauses_shared = _remainders(triples, clauses)
    size, clause_size = remaining.mean(axis=1), clauses_remaining.mean(axis=1)
    longer = np.where(clauses_remaining > 0, np.minimum(shared, clauses_shared), shared)
    # Each page is judged by itself: one long stranger among three would hide two copies in a pooled count.
    large = np.where(common, scale(size, COMMON_SMALL, COMMON_LARGE), scale(size, SMALL, LARGE))
    content = np.maximum(scale(longer.max(axis=1), SHARED_LOW, SHARED_HIGH), 1.0 - large)
    edited = np.clip((clause_size - size) / np.maximum(1.0 - size, 1e-9), 0.0, size)
    missing = scale(EDITS_SHARED * edited - shared.mean(axis=1) * size, MISSING_LOW, MISSING_HIGH)
    form = missing * scale(size, 0.0, SMALL) * (remaining.max(axis=1) < FILLED_IN)
    return np.asarray(content * (1.0 - form))


def _remainders(triples: NDArray[np.int64], sketches: Sketches) -> tuple[Floats, Floats]:
    """Of each page of three: the share that remains, and the share of the remainder that another one has; shape (triples, 3)."""
    hashes = sketches.hashes[triples].astype(np.uint64)
    known = (hashes <= sketches.thresholds[triples].min(axis=1)[:, None, None]) & (hashes != COMPLETE)
    sizes = np.where(known, sketches.sizes[triples], 0)
    # Equal hashes of a triple lie side by side once it is sorted; whose each is and what it counts stand in the lower bytes.
    keys = np.sort((hashes << 16 | _PAGES << 8 | sizes).reshape(len(triples), -1), axis=1)
    begins = np.diff(keys >> 16, axis=1, prepend=np.uint64(2**64 - 1)) != 0
    run = np.cumsum(begins) - 1
    held = np.bincount(run)[run]
    page = (3 * np.arange(len(triples))[:, None] + (keys >> 8 & 255).astype(np.int64)).ravel()
    size = (keys & 255).ravel()

    def counted(which: NDArray[np.bool_]) -> NDArray[Any]:
        return np.bincount(page, size * which, 3 * len(triples)).reshape(-1, 3)

    of_all = held == len(_PAGES)
    remaining, shared = counted(~of_all), counted(~of_all & (held > 1))
    total = sizes.sum(axis=2)
    return remaining / np.maximum(total, 1), shared / np.maximum(remaining, 1)


def scale(values: NDArray[Any], low: float, high: float) -> NDArray[np.float64]:
    """0 up to ``low``, 1 from ``high``, linear in between."""
    return np.clip((values - low) / (high - low), 0.0, 1.0)
