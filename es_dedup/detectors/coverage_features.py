"""What the coverage method keeps of a page: a sketch of its grams, its clauses, and where its title's words stand.

Both the grams and the clauses are bottom-k samples: the k smallest hashes with the largest of them as threshold. Two
samples are compared below the smaller threshold, where both are complete; so containment works with pages of any
length (Broder 1997, sketch by smallest values; k grows slowly with the page).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from es_dedup.text.normalise import TextBatch, normalise_many
from es_dedup.text.numbers import masked_clause_hashes, number_runs, number_tokens
from es_dedup.text.ragged import SameArrays, offsets_of, owners_of, rank_within, run_starts
from es_dedup.text.titles import term_masks, title_terms
from es_dedup.text.tokens import TokenBatch, clause_hashes, clause_lengths, gram_hashes, tokenise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

SKETCH_LEAST: Final = 128  # gram samples of an ordinary page: 512 bytes
SKETCH_MOST: Final = 512
SKETCH_SHARE: Final = 8  # one gram in so many, between the two limits
CLAUSES_MOST: Final = 192
NUMBERS_MOST: Final = 128
COMPLETE: Final = np.uint32(0xFFFFFFFF)  # threshold of a sample that left nothing out
_LONGEST_CLAUSE: Final = 255  # characters; longer ones count as this


@dataclass(frozen=True, slots=True, eq=False)
class CoverageTable(SameArrays):
    """Features of several pages, one after the other.

    Attributes:
        tokens: length of each page in units (a Chinese character 1, a word 2); shape (pages,).
        gram_offsets, grams, gram_masks: sampled gram hashes, ascending within a page, and for each the title terms
            that begin inside it (bit per term).
        gram_threshold: per page, the largest hash below which the sample is complete.
        clause_offsets, clauses, clause_lengths, clause_masks, clause_masked: the same for clauses; ``clause_lengths``
            in characters (1-255); ``clause_masked`` is the hash with numbers masked, 0 without numbers.
        clause_threshold: as ``gram_threshold``.
        title_offsets, titles: title term hashes, in order of appearance, at most 32 a page.
        body_mask: per page, the title terms that occur in the body.
        number_offsets, numbers: hashes of the numbers in the body with the token after each, ascending within a page; at
            most 128 a page, the smallest.
        number_threshold: as ``gram_threshold``.
        titled: False where the first tokens of the body stand for the title.
    """

    RAGGED: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "gram_offsets": ("grams", "gram_masks"),
        "clause_offsets": ("clauses", "clause_lengths", "clause_masks", "clause_masked"),
        "title_offsets": ("titles",),
        "number_offsets": ("numbers",),
    }

    tokens: NDArray[np.uint32]
    gram_offsets: NDArray[np.int64]
    grams: NDArray[np.uint32]
    gram_masks: NDArray[np.uint32]
    gram_threshold: NDArray[np.uint32]
    clause_offsets: NDArray[np.int64]
    clauses: NDArray[np.uint32]
    clause_lengths: NDArray[np.uint8]
    clause_masks: NDArray[np.uint32]
    clause_masked: NDArray[np.uint32]
    clause_threshold: NDArray[np.uint32]
    title_offsets: NDArray[np.int64]
    titles: NDArray[np.uint32]
    body_mask: NDArray[np.uint32]
    titled: NDArray[np.bool_]
    number_offsets: NDArray[np.int64]
    numbers: NDArray[np.uint32]
    number_threshold: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.tokens)


def build(texts: Sequence[str], titles: Sequence[str]) -> CoverageTable:
    """Features of pages given as raw texts and titles."""
    batch = normalise_many(texts)
    return build_from(batch, tokenise(batch), titles)


def build_from(batch: TextBatch, tokens: TokenBatch, titles: Sequence[str]) -> CoverageTable:
    """Features of pages that are normalised and tokenised already."""
    terms, term_offsets, titled = title_terms(titles, tokens)
    masks = term_masks(tokens, terms, term_offsets)
    body_mask = _or_pages(masks, tokens.offsets)
    gram_offsets, grams, gram_masks, gram_threshold = _sample_grams(tokens, masks, len(batch))
    figures = number_tokens(batch, tokens)
    masked, _ = masked_clause_hashes(tokens, figures)
    number_hashes, owners = number_runs(batch, tokens, figures)
    numbers = _high(number_hashes)
    some, number_offsets, number_threshold = _smallest(numbers, owners, np.full(len(batch), NUMBERS_MOST))
    hashes, lengths, clause_masks = _clauses(tokens, masks)
    owners = owners_of(tokens.clause_offsets)
    rows, clause_offsets, threshold = _smallest(hashes, owners, np.full(len(batch), CLAUSES_MOST))
    return CoverageTable(
        tokens=_units(tokens),
        gram_offsets=gram_offsets,
        grams=grams,
        gram_masks=gram_masks,
        gram_threshold=gram_threshold,
        clause_offsets=clause_offsets,
        clauses=hashes[rows],
        clause_lengths=np.minimum(lengths[rows], _LONGEST_CLAUSE).astype(np.uint8),
        clause_masks=clause_masks[rows],
        clause_masked=_high(masked)[rows],
        clause_threshold=threshold,
        title_offsets=term_offsets,
        titles=_high(terms),
        body_mask=body_mask,
        titled=titled,
        number_offsets=number_offsets,
        numbers=numbers[some],
        number_threshold=number_threshold,
    )


def _units(tokens: TokenBatch) -> NDArray[np.uint32]:
    """Length of each page in units: a Chinese character counts 1, a word 2, as much as it says."""
    singles = np.zeros(len(tokens) + 1, dtype=np.int64)
    np.cumsum(tokens.single, out=singles[1:])
    return np.diff(2 * tokens.offsets - singles[tokens.offsets]).astype(np.uint32)


def _high(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    return (hashes >> np.uint64(32)).astype(np.uint32)


def _or_pages(masks: NDArray[np.uint32], offsets: NDArray[np.int64]) -> NDArray[np.uint32]:
    result = np.zeros(len(offsets) - 1, dtype=np.uint32)
    filled = np.flatnonzero(np.diff(offsets))
    result[filled] = np.bitwise_or.reduceat(masks, offsets[filled])
    return result


def _sample_grams(
    tokens: TokenBatch, masks: NDArray[np.uint32], pages: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    hashes, first = gram_hashes(tokens)
    owner = tokens.pages[first].astype(np.int64)
    count = np.bincount(owner, minlength=pages)
    limit = np.clip(count // SKETCH_SHARE, SKETCH_LEAST, SKETCH_MOST)
    # only hashes below about 1.5 times the expected threshold can be among the smallest; the rest need no sorting
    bound = np.minimum((limit * 1.5 + 40) / np.maximum(count, 1), 1.0)
    while True:
        near = np.flatnonzero(_high(hashes) <= (bound * int(COMPLETE)).astype(np.uint64)[owner])
        key = (owner[near].astype(np.uint64) << np.uint64(32)) | (hashes[near] >> np.uint64(32))
        order = np.argsort(key, kind="stable")
        key = key[order]
        starts = run_starts(key)
        distinct = np.bincount((key[starts] >> np.uint64(32)).astype(np.int64), minlength=pages)
        short = (distinct <= limit) & (bound < 1.0)  # a page that repeats itself has far fewer distinct grams
        if not short.any():
            break
        bound[short] = 1.0
    inside = _gram_masks(masks, first[near[order]])
    merged = np.bitwise_or.reduceat(inside, starts)
    keep, offsets, threshold = _within(key[starts], limit)
    return offsets, key[starts][keep].astype(np.uint32), merged[keep], threshold


def _gram_masks(masks: NDArray[np.uint32], first: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Title terms that begin at one of a gram's first four tokens."""
    padded = np.concatenate((masks, np.zeros(4, dtype=np.uint32)))
    result = padded[first]
    for step in (1, 2, 3):
        result = result | padded[first + step]
    return result


def _clauses(
    tokens: TokenBatch, masks: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]:
    """Hash, length in characters and title terms of every clause."""
    merged = np.bitwise_or.reduceat(masks, tokens.clause_starts)
    return _high(clause_hashes(tokens)), clause_lengths(tokens), merged


def _smallest(
    hashes: NDArray[np.uint32], owners: NDArray[np.int64], most: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
    """Places of the smallest distinct hashes of each page, by page and hash; their page offsets; thresholds."""
    keys, places = np.unique((owners.astype(np.uint64) << np.uint64(32)) | hashes, return_index=True)
    keep, offsets, threshold = _within(keys, most)
    return places[keep], offsets, threshold


def _within(
    keys: NDArray[np.uint64], most: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.uint32]]:
    """Which of the ascending pairs (page, hash) are among the first ``most`` of their page; page offsets of these; thresholds."""
    owners, pages = (keys >> np.uint64(32)).astype(np.int64), len(most)
    keep = rank_within(owners, pages) < most[owners]
    offsets = offsets_of(owners[keep], pages)
    threshold = np.full(pages, COMPLETE)
    cut = np.bincount(owners, minlength=pages) > most
    threshold[cut] = keys[keep][offsets[1:][cut] - 1]
    return keep, offsets, threshold
