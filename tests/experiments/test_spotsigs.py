"""Spot signatures, their similarity and the bounds of the join, against the reference."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.model import Content, Relation, Skipped
from experiments.comparators.hashsets import HashBag
from experiments.comparators.spots import ANTECEDENTS_EN, ANTECEDENTS_ZH, STOP_WORDS
from experiments.comparators.spotsigs import Spotsigs, fewest_shared
from experiments.spot_index import SpotIndex
from tests.experiments.comparator_cases import close, detector, features, worded_texts, words
from tests.reference import spotsigs as slow

ANTECEDENTS: Final = ANTECEDENTS_ZH | ANTECEDENTS_EN
MULTISETS: Final = st.lists(
    st.dictionaries(st.integers(0, 12), st.integers(1, 4), min_size=1, max_size=10), min_size=2, max_size=14
)
LIMITS: Final = st.sampled_from([Fraction(1, 5), Fraction(1, 2), Fraction(4, 5), Fraction(1)])


def bag(counts: Mapping[int, int]) -> HashBag:
    """Features of these signatures."""
    keys = sorted(counts)
    return HashBag(np.array(keys, dtype=np.uint64), np.array([counts[key] for key in keys], dtype=np.uint8))


def signatures(text: str, distance: int = 1, chain: int = 2) -> Counter[Any]:
    """Signatures of a text by the reference."""
    return slow.signatures(words(text), ANTECEDENTS, STOP_WORDS, distance, chain)


@settings(max_examples=200)
@given(st.lists(worded_texts, min_size=2, max_size=4), st.integers(1, 3), st.integers(1, 3))
def test_signatures_and_similarity_equal_the_reference(texts: list[str], distance: int, chain: int) -> None:
    method = detector(
        "spotsigs", spotsigs__distance=distance, spotsigs__chain=chain, spotsigs__min_signatures=1
    )
    expected = [signatures(text, distance, chain) for text in texts]
    found = features(method, *texts)
    for one, counts in zip(found, expected, strict=True):
        if isinstance(one, Skipped):
            assert not counts
        else:
            assert sorted(one.counts.tolist()) == sorted(counts.values())
    having = [(one, counts) for one, counts in zip(found, expected, strict=True) if counts]
    for one, ours in having:
        for other, theirs in having:
            assert close(method.verify(one, other).score, slow.similarity(ours, theirs))


@settings(max_examples=300)
@given(MULTISETS, LIMITS)
def test_the_join_finds_every_pair_and_no_other(pages: list[dict[int, int]], limit: Fraction) -> None:
    index = SpotIndex([bag(page) for page in pages], float(limit))
    found = {(left, right): score for left, right, score in index.pairs()}
    expected = slow.all_pairs(pages, limit)
    assert found.keys() == expected.keys()
    assert all(close(found[pair], score) for pair, score in expected.items())


@settings(max_examples=200)
@given(MULTISETS, LIMITS)
def test_accepted_pairs_are_always_candidates(pages: list[dict[int, int]], limit: Fraction) -> None:
    for left in pages:
        for right in pages:
            if slow.similarity(left, right) >= limit:
                assert len(left.keys() & right.keys()) >= fewest_shared(bag(left), float(limit))


def test_what_the_corpus_taught_drops_frequent_signatures() -> None:
    plain = detector("spotsigs", spotsigs__min_signatures=1, spotsigs__chain=1)
    assert isinstance(plain, Spotsigs)
    template = "the harbour is the quay"
    pages = [Content(f"{template} the ferry{at} was the council{at}") for at in range(30)]
    learned = plain.learned(pages)
    one, other = learned.featurise_many(pages[:2])
    assert isinstance(one, HashBag)
    assert isinstance(other, HashBag)
    assert plain.verify(one, other).score > 0.2
    verdict = learned.verify(one, other)
    assert verdict.relation is Relation.DIFFERENT
    assert verdict.score == 0
    assert 0 < len(learned.useful(one)) < len(one)
