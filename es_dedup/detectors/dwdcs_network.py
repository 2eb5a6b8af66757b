"""The concepts of a page as a small-world network, and the key concepts by what their loss does to it.

Source: Cao, Niu, Zhao, Peng, "Near duplicated Web pages detection based on concept and semantic network", Journal of Software
22(8), 2011, sections 3.2 and 3.3; readings in docs/algorithms/dwdcs.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.detectors.dwdcs_paths import Graphs, largest_components, removal_sums
from es_dedup.text.hashing import HASH_BITS_IN_TERM
from es_dedup.text.idf import general
from es_dedup.text.ragged import (
    SameArrays,
    components,
    gather,
    heads,
    offsets_of,
    rank_within,
    sorted_distinct,
)
from es_dedup.text.words import DistinctWords, WordBatch, distinct_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.settings.sections import DwdcsConfig
    from es_dedup.text.synonyms import Places, Synonyms

MASK: Final = np.uint64((1 << HASH_BITS_IN_TERM) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class KeyConcepts(SameArrays):
    """Key concepts of one page, the most important first, and where they stand.

    Attributes:
        length: content words of the page.
        nodes: concepts in its network.
        concepts: 40-bit code of each key concept; distinct.
        words: the word that stands for each key concept: equal codes have equal words, and equal words equal codes.
        offsets: positions of concept ``i`` are ``positions[offsets[i]:offsets[i + 1]]``.
        positions: places among the content words, from 0, ascending within a concept.
    """

    length: int
    nodes: int
    concepts: NDArray[np.uint64]
    words: tuple[str, ...]
    offsets: NDArray[np.int64]
    positions: NDArray[np.int64]

    @property
    def vector(self) -> NDArray[np.float64]:
        """Weight of each concept in the cosine, its occurrences; shape (concepts,)."""
        return np.diff(self.offsets).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Concepts:
    """Concepts of several pages, ordered by page, then by first place.

    Attributes:
        pages: page of each concept, ascending.
        codes: 40-bit code of each, the same for the same meaning on every page.
        ids: place in the vocabulary of the word that gave the code.
        counts: occurrences.
        of: the concept that each content word belongs to; shape (occurrences,).
    """

    pages: NDArray[np.int64]
    codes: NDArray[np.uint64]
    ids: NDArray[np.int64]
    counts: NDArray[np.int64]
    of: NDArray[np.int64]


class Merger:
    """Which words of a page are one concept.

    Two words are joined when their synonyms overlap by more than ``min_overlap`` (formula 7); joins are transitive.

    Args:
        synonyms: groups of words.
        min_overlap: share above which two concepts are one.
    """

    def __init__(self, synonyms: Synonyms, min_overlap: float) -> None:
        self._synonyms, self._min_overlap = synonyms, min_overlap
        self._names: dict[int, str] = {}
        # by a word's place: the places of the words that are one concept with it, and how many these are; -1: not asked yet
        self._related = np.empty(len(synonyms.order), dtype=np.object_)
        self._counts = np.full(len(synonyms.order), -1, dtype=np.int64)

    def __bool__(self) -> bool:
        return bool(self._synonyms.groups)

    def known(self, words: WordBatch) -> Places:
        """The distinct words that have a meaning: what ``codes`` and ``pairs`` go by."""
        return self._synonyms.places(words)

    def codes(self, words: WordBatch, known: Places) -> NDArray[np.uint64]:
        """Code of each distinct word's meaning: of its first group of synonyms, else the word's own hash."""
        return self._synonyms.codes(words, known)

    def code(self, word: str) -> int:
        """Code of a word's meaning."""
        return self._synonyms.code(word)

    def name(self, word: str) -> str:
        """The word that stands for a word's meaning: of its first group of synonyms the most frequent in general Chinese.

        Only words whose own first meaning is that group stand for it, so that concepts of two codes have two names: an index that
        stores terms by name then finds what one that stores codes finds. Of equals, as all English words are, it is the first in the
        list of synonyms; a word without any stands for itself.
        """
        senses = self._synonyms.senses.get(word)
        if not senses:
            return word
        found = self._names.get(senses[0])
        if found is None:
            first = (
                each
                for each in self._synonyms.groups[senses[0]]
                if self._synonyms.senses[each][0] == senses[0]
            )
            group = sorted(first, key=self._synonyms.order.__getitem__)
            found = self._names[senses[0]] = group[int(np.argmin(general().of(group)))]
        return found

    def related(self, word: str) -> frozenset[str]:
        """All words that are one concept with this word, itself not counted."""
        ours, groups = self.concept(word), self._synonyms.groups
        senses = {number for each in ours for number in self._synonyms.senses.get(each, ())}
        near = {other for number in senses for other in groups[number]} - {word}
        return frozenset(other for other in near if self._overlap(ours, other) > self._min_overlap)

    def _overlap(self, ours: frozenset[str], word: str) -> float:
        theirs = self.concept(word)
        return 2 * len(ours & theirs) / (len(ours) + len(theirs))

    def concept(self, word: str) -> frozenset[str]:
        """Con(p): a word with its synonyms (formula 5)."""
        return self._synonyms.concept(word)

    def pairs(self, words: WordBatch, known: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of words that are one concept with a later one of the vocabulary, ascending, and of these."""
        at, places = known
        for number in np.flatnonzero(self._counts[places] < 0).tolist():
            related = [self._synonyms.order[other] for other in self.related(words.vocabulary[at[number]])]
            self._related[places[number]] = np.array(related, dtype=np.int64)
            self._counts[places[number]] = len(related)
        some = self._counts[places] > 0
        at, places = at[some], places[some]
        left = np.repeat(at, self._counts[places])
        wanted, order = np.concatenate((*self._related[places], at[:0])), np.argsort(places)
        found = np.searchsorted(places, wanted, sorter=order)
        right = np.append(at[order], -1)[found]
        later = (np.append(places[order], -1)[found] == wanted) & (right > left)
        return left[later], right[later]


@lru_cache(maxsize=4)
def merger_of(synonyms: Synonyms, min_overlap: float) -> Merger:
    """The merger for these synonyms and settings; cached, since detectors are created anew for each explanation of a pair."""
    return Merger(synonyms, min_overlap)


def concepts_of(words: WordBatch, merger: Merger) -> Concepts:
    """Concepts of segmented pages."""
    distinct = distinct_words(words)
    if not merger:
        codes = words.hashes[distinct.ids]
        return Concepts(distinct.pages, codes & MASK, distinct.ids, distinct.counts, distinct.entry)
    known = merger.known(words)
    codes = merger.codes(words, known)[distinct.ids]
    root = components(len(codes), *_joined(distinct, *merger.pairs(words, known)))
    joined = np.flatnonzero(root != np.arange(len(root)))
    joined = sorted_distinct(np.concatenate((joined, root[joined])))
    least = joined[np.lexsort((codes[joined], root[joined]))]
    least = least[np.diff(root[least], prepend=-1) > 0]  # of each set the word with the smallest code
    codes[root[least]], named = codes[least], distinct.ids.copy()
    named[root[least]] = distinct.ids[least]
    counts = np.bincount(root, weights=distinct.counts, minlength=len(codes)).astype(np.int64)
    roots = root == np.arange(len(root))
    number = np.cumsum(roots) - 1
    return Concepts(
        distinct.pages[roots], codes[roots] & MASK, named[roots], counts[roots], number[root[distinct.entry]]
    )


def _joined(
    distinct: DistinctWords, left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Entries of one page whose words are one of the pairs given, which are ascending; the earlier word's entry first."""
    width = int(distinct.ids.max(initial=0)) + 1
    known = np.flatnonzero(np.isin(distinct.ids, right))
    keys = distinct.pages[known] * width + distinct.ids[known]
    order = np.argsort(keys)
    known, keys = known[order], np.append(keys[order], -1)
    places, entry = gather(offsets_of(left, width), distinct.ids)
    wanted = distinct.pages[entry] * width + right[places]
    at = np.searchsorted(keys[:-1], wanted)
    found = keys[at] == wanted
    return entry[found], known[at[found]]


def network(words: WordBatch, concepts: Concepts, config: DwdcsConfig) -> tuple[Graphs, NDArray[np.int64]]:
    """The connected main part of each page's network.

    Nodes are concepts that occur ``min_occurrences`` times; an edge joins two that stand within ``window`` content words
    of each other in one sentence.

    Returns:
        The graphs, one a page, and for each node its place in ``concepts``.
    """
    node = concepts.counts >= config.min_occurrences
    sizes = np.bincount(concepts.pages[node], minlength=len(words))
    if sizes.max(initial=0) > config.max_concepts:
        order = np.lexsort((-concepts.counts, concepts.pages))
        node[order[rank_within(concepts.pages[order], len(words)) >= config.max_concepts]] = False
        sizes = np.minimum(sizes, config.max_concepts)
    of, part = np.where(node, np.cumsum(node) - 1, -1)[concepts.of], words.sentence
    edges = []
    for distance in range(1, config.window + 1):
        left, right = of[:-distance], of[distance:]
        near = (part[:-distance] == part[distance:]) & (left != right)
        near &= (left >= 0) & (right >= 0)
        edges.append(np.stack((left[near], right[near])))
    graphs = Graphs.of_edges(np.concatenate(([0], np.cumsum(sizes))), *np.concatenate(edges, axis=1))
    main = largest_components(graphs)
    return graphs.keep(main), np.flatnonzero(node)[main]


def key_concepts(words: WordBatch, config: DwdcsConfig, merger: Merger) -> list[KeyConcepts]:
    """Key concepts of segmented pages; none on a page whose network has fewer than ``min_concepts`` nodes."""
    concepts = concepts_of(words, merger)
    graphs, place = network(words, concepts, config)
    sizes = np.diff(graphs.offsets)
    hubs, hub_offsets = _hubs(
        graphs, np.where(sizes < config.min_concepts, 0, np.minimum(sizes, config.hubs))
    )
    # all networks of a page without one node have as many pairs, so the sum orders as the mean path length does
    sums = removal_sums(graphs, hubs, hub_offsets)
    owner = np.repeat(np.arange(len(words)), np.diff(hub_offsets))
    order = np.lexsort((np.arange(len(hubs)), -sums, owner))
    at, offsets = heads(hub_offsets, np.minimum(np.diff(hub_offsets), config.key_concepts))
    return _pages(words, concepts, merger, (place[hubs[order[at]]], offsets), sizes)


def _hubs(graphs: Graphs, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes of highest degree of each graph, the earlier of equals first, with their offsets."""
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.offsets))
    order = np.lexsort((np.arange(len(owner)), -graphs.degrees, owner))
    places, offsets = heads(graphs.offsets, counts)
    return order[places], offsets


def _pages(
    words: WordBatch,
    concepts: Concepts,
    merger: Merger,
    heads_: tuple[NDArray[np.int64], NDArray[np.int64]],
    sizes: NDArray[np.int64],
) -> list[KeyConcepts]:
    """One object a page from the roots concepts, which are ordered by page, then by importance, with their offsets."""
    roots, offsets = heads_
    rank = np.full(len(concepts.codes), -1, dtype=np.int64)
    rank[roots] = np.arange(len(roots))
    of = rank[concepts.of]
    at = np.flatnonzero(of >= 0)
    at = at[np.argsort(of[at], kind="stable")]
    places = at - words.offsets[words.pages[at]]
    ends = np.concatenate(([0], np.cumsum(np.bincount(of[at], minlength=len(roots)))))
    codes = concepts.codes[roots]
    named = [merger.name(words.vocabulary[at]) for at in concepts.ids[roots].tolist()]
    lengths = np.diff(words.offsets).tolist()
    found = []
    for page, (low, high) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        own = ends[low : high + 1]
        found.append(
            KeyConcepts(
                lengths[page],
                int(sizes[page]),
                codes[low:high],
                tuple(named[low:high]),
                own - own[0],
                places[own[0] : own[-1]],
            )
        )
    return found
