"""Kernels of ``text.titles``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel
from es_dedup.text.kernels.mixing import mix

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Arrays, Bools, Ints, UInts32, UInts64

_FILTER_BITS = 12  # few enough to stay in the nearest cache, enough to spare nearly every comparison
_FILTER_SHIFT = np.uint64(64 - _FILTER_BITS)


@kernel
def _known(values: UInts64, value: np.uint64) -> bool:
    place = np.searchsorted(values, value)
    return bool(place < len(values) and values[place] == value)


@kernel
def distinct_terms(
    title: Arrays, body: Arrays, function_words: UInts64, pair_base: np.uint64, most: int, head: int
) -> tuple[UInts64, Ints, Bools]:
    """Terms of each page's title, or of its first tokens; see ``title_terms``.

    Args:
        title, body: hashes, single, clause and offsets of the tokens.
        function_words: hashes of words that are no terms, ascending.
        pair_base: multiplier of the pair's hash.
        most: terms a page.
        head: tokens that stand for a missing title.
    """
    pages = len(title[3]) - 1
    terms = np.empty(pages * most, dtype=np.uint64)
    offsets = np.zeros(pages + 1, dtype=np.int64)
    titled = np.zeros(pages, dtype=np.bool_)
    end = 0
    for page in range(pages):
        first, last = title[3][page], title[3][page + 1]
        titled[page] = last > first
        hashes, single, clause = title[0], title[1], title[2]
        if last == first:
            hashes, single, clause = body[0], body[1], body[2]
            first, last = body[3][page], min(body[3][page + 1], body[3][page] + head)
        begin = end
        for token in range(first, last):
            value = hashes[token]
            after = min(token + 1, len(hashes) - 1)
            if after > token and single[token] and single[after] and clause[token] == clause[after]:
                value = mix(value * pair_base + hashes[after])
            elif single[token] or _known(function_words, value):
                continue
            new = end - begin < most
            for place in range(begin, end):
                if terms[place] == value:
                    new = False
                    break
            if new:
                terms[end] = value
                end += 1
        offsets[page + 1] = end
    return terms[:end].copy(), offsets, titled


@kernel
def masks_of(body: Arrays, terms: UInts64, offsets: Ints, pair_base: np.uint64) -> UInts32:
    """See ``term_masks``; ``body`` as in ``distinct_terms``."""
    hashes, single, clause, tokens = body
    masks = np.zeros(len(hashes), dtype=np.uint32)
    present = np.zeros(1 << _FILTER_BITS, dtype=np.bool_)
    for page in range(len(tokens) - 1):
        first, last = offsets[page], offsets[page + 1]
        if first == last:
            continue
        for place in range(first, last):
            present[terms[place] >> _FILTER_SHIFT] = True
        for token in range(tokens[page], tokens[page + 1]):
            value = hashes[token]
            after = min(token + 1, len(hashes) - 1)
            if after > token and single[token] and single[after] and clause[token] == clause[after]:
                value = mix(value * pair_base + hashes[after])
            if not present[value >> _FILTER_SHIFT]:
                continue
            for place in range(first, last):
                if terms[place] == value:
                    masks[token] = np.uint32(1) << np.uint32(place - first)
                    break
        for place in range(first, last):
            present[terms[place] >> _FILTER_SHIFT] = False
    return masks
