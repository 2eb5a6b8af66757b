"""I-Match, its lexicons and its variants, and LSH over the same signatures, against the reference."""

from typing import Any, Final

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.model import Relation, Skipped
from es_dedup.text.normalise import normalise
from experiments.comparators.collection import Collection
from experiments.comparators.imatch import _random_lexicons, set_signatures
from experiments.comparators.spots import ANTECEDENTS_EN, ANTECEDENTS_ZH, STOP_WORDS
from tests.experiments.comparator_cases import close, detector, features, worded_texts, words
from tests.reference import ccdet, shingling, spotsigs
from tests.reference import imatch as slow

ANTECEDENTS: Final = ANTECEDENTS_ZH | ANTECEDENTS_EN


def terms_of(name: str, text: str) -> frozenset[Any]:
    """What the reference takes a page's set from."""
    if name.endswith("_p"):
        return ccdet.period_signatures(normalise(text), 10)
    if name.endswith("_s"):
        return frozenset(spotsigs.signatures(words(text), ANTECEDENTS, STOP_WORDS, 1, 2))
    return frozenset(words(text))


@settings(max_examples=100)
@given(st.lists(worded_texts, min_size=2, max_size=4), st.sampled_from(["imatch", "imatch_s", "imatch_p"]))
def test_pages_agree_exactly_when_their_sets_are_equal(texts: list[str], name: str) -> None:
    method = detector(name, imatch__min_terms=2)
    expected = [slow.signature(terms_of(name, text), 2) for text in texts]
    for one, ours in zip(features(method, *texts), expected, strict=True):
        assert isinstance(one, Skipped) == (ours is None)
        for other, theirs in zip(features(method, *texts), expected, strict=True):
            if ours is not None and theirs is not None:
                assert (method.verify(one, other).relation is Relation.DUPLICATE) == (ours == theirs)
                assert bool(set(method.terms(one)) & set(method.terms(other))) == (ours == theirs)


@settings(max_examples=100)
@given(
    st.lists(st.sets(st.integers(0, 40), max_size=12), min_size=1, max_size=5),
    st.integers(0, 6),
    st.sampled_from([0.3, 0.7]),
)
def test_random_lexicons_keep_the_same_terms_of_every_page(
    pages: list[set[int]], lexicons: int, kept: float
) -> None:
    arrays = [np.array(sorted(page), dtype=np.uint64) for page in pages]
    every = np.arange(41, dtype=np.uint64)
    chosen = [set(every[keep].tolist()) for keep in _random_lexicons(every, lexicons, kept)]
    expected = [
        [slow.signature([*map(str, part)], 3) for part in (page, *(page & keep for keep in chosen))]
        for page in pages
    ]
    found = set_signatures(arrays, lexicons, kept, 3)
    for ours, one in zip(found, expected, strict=True):
        assert [value == 0 for value in ours.values] == [each is None for each in one]
        for theirs, other in zip(found, expected, strict=True):
            equal = [a == b for a, b in zip(ours.values, theirs.values, strict=True)]
            assert equal == [a == b for a, b in zip(one, other, strict=True)]


def test_the_lexicon_leaves_out_frequent_and_rare_words() -> None:
    collection = Collection(np.array([1, 2, 3], dtype=np.uint64), np.array([99, 10, 1]), 99)
    terms = np.array([1, 2, 3, 4], dtype=np.uint64)
    expected = [slow.normalised_idf(df, 99) for df in (99, 10, 1, 0)]
    assert all(close(a, b) for a, b in zip(collection.normalised_idf(terms), expected, strict=True))
    assert collection.lexicon(0.2, 0.8).holds(terms).tolist() == [False, True, False, False]
    assert collection.lexicon(0.2, 1.0).holds(terms).tolist() == [False, True, True, True]
    empty = Collection.count(np.zeros(0, dtype=np.uint64), 0)
    assert empty.normalised_idf(terms).tolist() == [1.0] * 4
    assert empty.lexicon(0.2, 1.0).holds(terms).all()
    assert not empty.lexicon(0.2, 0.8).holds(terms).any()


@settings(max_examples=80)
@given(st.lists(worded_texts, min_size=2, max_size=3), st.sampled_from(["lsh_s", "lsh_p"]))
def test_lsh_verifies_on_the_signatures(texts: list[str], name: str) -> None:
    method = detector(name)
    least = 3 if name == "lsh_p" else 4
    expected = [terms_of(name, text) for text in texts]
    for one, ours in zip(features(method, *texts), expected, strict=True):
        assert isinstance(one, Skipped) == (len(ours) < least)
        for other, theirs in zip(features(method, *texts), expected, strict=True):
            if min(len(ours), len(theirs)) >= least:
                assert close(method.verify(one, other).score, shingling.resemblance(ours, theirs))
