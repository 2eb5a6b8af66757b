"""Phrases of a page: neighbouring content words that stand together again and again count as one.

Source: Cao, Niu, Zhao, Peng, "Near duplicated Web pages detection based on concept and semantic network", Journal of Software
22(8), 2011, section 3.1, names the recognition of phrases and leaves the method to another paper.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.hashing import hash64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.text.words import WordBatch

BETWEEN: Final = " "
"""Stands between the words of a phrase; no content word holds one."""


def with_phrases(words: WordBatch, least: int) -> WordBatch:
    """The same pages with phrases in the place of their words; phrases stand last in the vocabulary.

    Two content words that stand next to each other in one sentence are a phrase where that happens ``least`` times on the
    page, overlapping ones counted. Phrases are taken from left to right and do not overlap.

    Args:
        words: segmented pages.
        least: at least 2.
    """
    begins = _recurring(words, least)
    place = np.arange(len(begins))
    run = np.maximum.accumulate(np.where(begins & ~np.concatenate(([False], begins[:-1])), place, 0))
    begins &= (place - run) % 2 == 0
    kept = np.ones(len(words.ids), dtype=np.bool_)
    kept[np.flatnonzero(begins) + 1] = False
    width = max(len(words.vocabulary), 1)
    at = np.flatnonzero(begins)
    pairs, entry = np.unique(words.ids[at] * width + words.ids[at + 1], return_inverse=True)
    first, second = np.divmod(pairs, width)
    named = [
        BETWEEN.join((words.vocabulary[one], words.vocabulary[two]))
        for one, two in zip(first.tolist(), second.tolist(), strict=True)
    ]
    ids = words.ids.copy()
    ids[at] = len(words.vocabulary) + entry
    number, vocabulary = _by_appearance(ids[kept], (*words.vocabulary, *named))
    facts = np.zeros(len(vocabulary), dtype=np.int64)
    facts[number] = ids[kept]
    hashes = np.concatenate((words.hashes, np.array([hash64(each) for each in named], dtype=np.uint64)))
    return replace(
        words,
        vocabulary=vocabulary,
        hashes=hashes[facts],
        speech=np.concatenate((words.speech, words.speech[second]))[facts],
        sizes=np.concatenate((words.sizes, words.sizes[first] + words.sizes[second]))[facts],
        ids=number,
        offsets=np.concatenate(([0], np.cumsum(kept)))[words.offsets],
        sentence=words.sentence[kept],
    )


def _recurring(words: WordBatch, least: int) -> NDArray[np.bool_]:
    """Whether each occurrence and the next one are a pair that recurs; the last occurrence is none."""
    begins = np.zeros(len(words.ids), dtype=np.bool_)
    at = np.flatnonzero(words.sentence[:-1] == words.sentence[1:])
    width = max(len(words.vocabulary), 1)
    keys = (words.pages[at] * width + words.ids[at]) * width + words.ids[at + 1]
    _, entry, counts = np.unique(keys, return_inverse=True, return_counts=True)
    begins[at] = counts[entry] >= least
    return begins


def _by_appearance(
    ids: NDArray[np.int64], vocabulary: Sequence[str]
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Renumber so that only words that occur are left, in order of first appearance."""
    used = np.zeros(len(vocabulary), dtype=np.bool_)
    used[ids] = True
    number = np.cumsum(used) - 1
    return number[ids], tuple(vocabulary[at] for at in np.flatnonzero(used).tolist())
