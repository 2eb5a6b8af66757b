"""Feature sentence: the sentence in which a page's weightiest word first stands, compared by common subsequence.

Source: described as prior art in the patent on character frequency strings (background, "feature sentences"); its
weights are not given there. docs/algorithms/feature_sentence.md.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.model import Skipped
from es_dedup.text.hashing import mix64
from es_dedup.text.normalise import decode, normalise_many
from experiments.comparators.spots import STOP_WORDS
from experiments.comparators.strings import MOST_CHARS, StringComparator, Text, gram_terms
from experiments.comparators.words import hashes_of, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.model import Content
    from experiments.comparators.words import SegmentedWords
    from experiments.settings import FeatureSentenceConfig

TAG: Final = 60
GRAM: Final = 3  # characters
MIN_WORD_CHARS: Final = 2
LONGEST_WORD: Final = 4  # characters that a word's length counts up to
_WHITE: Final = (0x20, 0x0A)


def feature_sentences(
    words: SegmentedWords, titles: SegmentedWords, config: FeatureSentenceConfig
) -> list[tuple[int, int] | None]:
    """Where in ``words.codes`` each page's feature sentence begins and ends; None where there is none.

    Candidates are words of two characters or more that are no stop words and stand in a sentence that is long enough.
    A word weighs ``frequency * tf / max tf + location * (1 - place / words of the page) + in_title * (in the title) +
    length * min(characters, 4) / 4``; of equally heavy words the first one is taken.
    """
    pages = len(words.offsets) - 1
    usable = np.flatnonzero(_candidates(words, config.min_chars))
    pages_of, hashes = words.pages[usable], words.hashes[usable]
    order = np.lexsort((usable, hashes, pages_of))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (hashes[order][1:] != hashes[order][:-1]) | (pages_of[order][1:] != pages_of[order][:-1])
    starts = np.flatnonzero(new)
    count = np.diff(np.append(starts, len(order)))
    first, owner = usable[order[starts]], pages_of[order[starts]]
    weight = _weights(words, titles, config, first, owner, count)
    best = np.lexsort((first, -weight, owner))
    found: list[tuple[int, int] | None] = [None] * pages
    _, heads = np.unique(owner[best], return_index=True)
    for place in first[best[heads]].tolist():
        number = words.sentences[place]
        span = np.searchsorted(words.sentence_of, [number, number + 1])
        found[int(words.pages[place])] = (int(span[0]), int(span[1]))
    return found


def _candidates(words: SegmentedWords, min_chars: int) -> NDArray[np.bool_]:
    white = np.concatenate(([0], np.cumsum(np.isin(words.codes, _WHITE))))
    sentences = int(words.sentence_of[-1]) + 1 if len(words.sentence_of) else 0
    edges = np.searchsorted(words.sentence_of, np.arange(sentences + 1))
    chars = np.diff(edges) - np.diff(white[edges]) if sentences else np.zeros(0, dtype=np.int64)
    long_word = words.ends - words.starts >= MIN_WORD_CHARS
    return long_word & ~np.isin(words.hashes, _stop_words()) & (chars[words.sentences] >= min_chars)


def _weights(
    words: SegmentedWords,
    titles: SegmentedWords,
    config: FeatureSentenceConfig,
    first: NDArray[np.int64],
    owner: NDArray[np.int64],
    count: NDArray[np.int64],
) -> NDArray[np.float64]:
    most = np.zeros(len(words.offsets) - 1, dtype=np.int64)
    np.maximum.at(most, owner, count)
    sizes = np.diff(words.offsets)
    place = first - words.offsets[owner]
    titled = np.isin(_keys(words.hashes[first], owner), _keys(titles.hashes, titles.pages))
    chars = np.minimum(words.ends[first] - words.starts[first], LONGEST_WORD)
    weight: NDArray[np.float64] = (
        config.frequency * count / np.maximum(most[owner], 1)
        + config.location * (1 - place / np.maximum(sizes[owner], 1))
        + config.in_title * titled
        + config.length * chars / LONGEST_WORD
    )
    return np.round(weight, 9)


def _keys(hashes: NDArray[np.uint64], pages: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One number for a word on a page."""
    return mix64(hashes ^ mix64(pages.astype(np.uint64)))


@cache
def _stop_words() -> NDArray[np.uint64]:
    return hashes_of(STOP_WORDS)


class FeatureSentence(StringComparator):
    """The detector."""

    name = "feature_sentence"

    def __init__(self, config: FeatureSentenceConfig) -> None:
        super().__init__(config.min_similarity)
        self._config = config

    def featurise_many(self, contents: Sequence[Content]) -> list[Text | Skipped]:
        """Feature sentences of several pages, without white space; ``Skipped`` where no word can be the centre of one."""
        words = words_of(normalise_many([content.text for content in contents]))
        titles = words_of(normalise_many([content.title for content in contents]))
        spans = feature_sentences(words, titles, self._config)
        return [self._text(words.codes, span) for span in spans]

    @staticmethod
    def _text(codes: NDArray[np.uint32], span: tuple[int, int] | None) -> Text | Skipped:
        if span is None:
            return Skipped("no-feature-word")
        sentence = codes[span[0] : span[1]]
        return Text(decode(sentence[~np.isin(sentence, _WHITE)][:MOST_CHARS]))

    def terms(self, features: Text) -> tuple[int, ...]:
        """Terms to store: the runs of three characters."""
        return gram_terms(features.text, GRAM, 1, TAG)
