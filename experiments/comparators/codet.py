"""CoDet-like: the rare words of each sentence are a path in a tree; pages are compared by the nodes they share.

The published method (Varol, Can, Aykanat, Kaya, "CoDet: sentence-based containment detection in news corpora", CIKM
2011) is known to us by its abstract only; this is a reconstruction and no measure of the original. docs/algorithms/codet.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.model import CandidateQuery, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import mix64, tagged_terms
from es_dedup.text.normalise import normalise_many
from es_dedup.text.ragged import rank_within
from experiments.comparators.collection import Collection
from experiments.comparators.hashsets import BagDetector, HashBag, bags, common
from experiments.comparators.words import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.model import Content
    from experiments.comparators.words import SegmentedWords
    from experiments.settings import CodetConfig

TAG: Final = 59
MIN_SENTENCE_WORDS: Final = 2  # distinct; a path of one word says nothing of a sentence
_STEP: Final = np.uint64(0x9E3779B185EBCA87)


def tree_nodes(
    words: SegmentedWords, depth: int, collection: Collection | None
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Nodes that the sentences of several pages pass in the tree.

    The distinct words of a sentence, rarest first (words of equal rarity by hash), give a path of at most ``depth``
    nodes; a node stands for the words from the root to it.

    Args:
        words: segmented pages.
        depth: at least 2.
        collection: document frequencies of words; None takes all words for equally rare.

    Returns:
        Hash, page and depth (from 1) of each node, one after the other for each sentence.
    """
    rarity = (
        np.zeros(len(words), dtype=np.int64) if collection is None else collection.frequency(words.hashes)
    )
    order = np.lexsort((words.hashes, rarity, words.sentences))
    hashes, sentences = words.hashes[order], words.sentences[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (hashes[1:] != hashes[:-1]) | (sentences[1:] != sentences[:-1])
    hashes, sentences, pages = hashes[first], sentences[first], words.pages[order[first]]
    number = np.cumsum(np.append(True, sentences[1:] != sentences[:-1])[: len(sentences)]) - 1
    count = int(number[-1]) + 1 if len(number) else 0
    long_enough = np.bincount(number, minlength=count) >= MIN_SENTENCE_WORDS
    rank = rank_within(number, count)
    keep = (rank < depth) & long_enough[number]
    matrix = np.zeros((count, depth), dtype=np.uint64)
    present = np.zeros((count, depth), dtype=np.bool_)
    matrix[number[keep], rank[keep]], present[number[keep], rank[keep]] = hashes[keep], True
    nodes = np.zeros_like(matrix)
    above = np.zeros(count, dtype=np.uint64)
    for level in range(depth):
        above = mix64(above * _STEP + matrix[:, level])
        nodes[:, level] = above
    owner = np.zeros(count, dtype=np.int64)
    owner[number] = pages
    row, column = np.nonzero(present)
    return nodes[row, column], owner[row], column + 1


class CodetLike(BagDetector):
    """The detector.

    Args:
        config: depth of the tree and thresholds.
        collection: document frequencies of words; None takes all words for equally rare.
    """

    name = "codet_like"
    version = 1

    def __init__(self, config: CodetConfig, collection: Collection | None = None) -> None:
        self._config, self._collection = config, collection

    def learned(self, contents: Sequence[Content]) -> CodetLike:
        """The same method, with the document frequencies of these pages' words."""
        words = words_of(normalise_many([content.text for content in contents]))
        _, once = np.unique(mix64(words.hashes ^ mix64(words.pages.astype(np.uint64))), return_index=True)
        return CodetLike(self._config, Collection.count(words.hashes[once], len(contents)))

    def featurise_many(self, contents: Sequence[Content]) -> list[HashBag | Skipped]:
        """Nodes of several pages, each with its depth."""
        config = self._config
        words = words_of(normalise_many([content.text for content in contents]))
        hashes, owners, depths = tree_nodes(words, config.depth, self._collection)
        sentences = np.bincount(owners[depths == 1], minlength=len(contents)).tolist()
        return [
            bag
            if number >= config.min_sentences
            else Skipped("few-sentences", f"{number} of {config.min_sentences} sentences")
            for bag, number in zip(bags(hashes, owners, len(contents), depths), sentences, strict=True)
        ]

    def terms(self, features: HashBag) -> tuple[int, ...]:
        """Terms to store: the nodes from the second word on.

        Nodes of one word are in very many pages, and pages that share no others agree to a third at most.
        """
        return tuple(tagged_terms(TAG, features.values[features.counts > 1]).tolist())

    def candidate_query(self, features: HashBag) -> CandidateQuery:
        """Pages that share a node of two words or more."""
        return CandidateQuery((TermGroup(self.terms(features), 1),))

    def verify(self, left: HashBag, right: HashBag) -> Verdict:
        """Shared nodes weighted by depth, over those of the shorter page; the lengths decide on containment."""
        config = self._config
        ours, _ = common(left, right)
        shared = int(left.counts[ours].sum(dtype=np.int64))
        shorter, longer = sorted((left.size, right.size))
        score = shared / shorter if shorter else 0.0
        ratio = shorter / longer if longer else 0.0
        if score < config.min_similarity:
            relation = Relation.DIFFERENT
        elif ratio >= config.min_ratio:
            relation = Relation.DUPLICATE
        else:
            relation = Relation.CONTAINED if left.size < right.size else Relation.CONTAINS
        evidence = {
            "similarity": round(score, 4),
            "min_similarity": config.min_similarity,
            "ratio": round(ratio, 4),
            "min_ratio": config.min_ratio,
            "common_nodes": len(ours),
            "left_nodes": len(left),
            "right_nodes": len(right),
        }
        return Verdict(self.name, relation, score, evidence)
