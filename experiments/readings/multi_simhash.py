"""Other readings of multi-SimHash: tf-idf as the weight of a word, and a word that counts in each window of a keyword."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.detectors.fingerprint import fingerprints
from es_dedup.detectors.multi_simhash import MultiSimhash
from es_dedup.text.idf import chosen
from es_dedup.text.words import distinct_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.text.words import WordBatch

IDF_STEPS: Final = 8  # votes are whole numbers of eighths, so that sums do not depend on their order


class MultiSimhashTfidf(MultiSimhash):
    """A word weighs by tf-idf in the SimHash of the text."""

    name = "multi_simhash_tfidf"

    def values(self, words: WordBatch) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Both fingerprints of each page; 0 where a page has no content word."""
        distinct = distinct_words(words)
        rarity = np.rint(IDF_STEPS * chosen(self._config.idf).of(words.vocabulary)).astype(np.int64)
        votes = distinct.counts * np.maximum(rarity, 1)[distinct.ids]
        text = fingerprints(words.hashes[distinct.ids], distinct.pages, len(words), votes)
        return text, super().values(words)[1]


class MultiSimhashEach(MultiSimhash):
    """A word near several keywords counts once for each."""

    name = "multi_simhash_each"

    def values(self, words: WordBatch) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Both fingerprints of each page; 0 where a page has no content word."""
        windows = self._windows(words, distinct_words(words))
        near = np.flatnonzero(windows)
        codes = self._synonyms.codes(words)[words.ids[near]]
        return super().values(words)[0], fingerprints(codes, words.pages[near], len(words), windows[near])
