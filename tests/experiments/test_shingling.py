"""Shingling and super-shingles against sets of shingles, and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.model import Relation, Skipped
from es_dedup.text.normalise import normalise
from experiments.comparators.hashsets import HashBag, short
from experiments.comparators.minima import _functions
from experiments.comparators.shingling import GROUP_SIZE, GROUPS, SuperShingles, shingles
from tests.experiments.comparator_cases import close, detector, features
from tests.reference import shingling as slow
from tests.reference.coverage import grams
from tests.texts import article, page_texts

WHOLE = {"shingling__modulus": 1, "shingling__min_shingles": 1}


def shingles_of(text: str) -> set[tuple[str, ...]]:
    """Shingles as the reference cuts them: five characters, or five words."""
    return set(grams(normalise(text), 5, 5))


@settings(max_examples=150, deadline=None)
@given(page_texts, page_texts)
def test_without_sampling_both_similarities_equal_the_reference(left: str, right: str) -> None:
    ours, theirs = shingles_of(left), shingles_of(right)
    for name in ("shingling", "shingling_containment"):
        method = detector(name, **WHOLE)
        one, other = features(method, left, right)
        assert isinstance(one, Skipped) == (not ours)
        assert isinstance(other, Skipped) == (not theirs)
        if not ours or not theirs:
            continue
        verdict = method.verify(one, other)
        if name == "shingling":
            assert close(verdict.score, slow.resemblance(ours, theirs))
        else:
            assert close(verdict.score, max(slow.containment(ours, theirs), slow.containment(theirs, ours)))


@pytest.mark.parametrize("modulus", [2, 8, 25])
def test_the_sketch_is_what_the_modulus_divides(modulus: int) -> None:
    texts = [article(1), article(2, language="en"), "", "短"]
    hashes, owners = shingles(texts, 5, 5)
    expected = [slow.sketch(short(hashes[owners == page]).tolist(), modulus) for page in range(len(texts))]
    method = detector("shingling", shingling__modulus=modulus, shingling__min_shingles=1)
    found = [
        set(each.values.tolist()) if isinstance(each, HashBag) else set() for each in features(method, *texts)
    ]
    assert found == expected
    assert len(expected[0]) > 10


def test_known_answers() -> None:
    # 天地玄黄宇宙洪荒 has 4 shingles of five characters, with 日 behind it 5
    method = detector("shingling", **WHOLE)
    one, other = features(method, "天地玄黄宇宙洪荒", "天地玄黄，宇宙洪荒日。")
    verdict = method.verify(one, other)
    assert verdict.evidence["common"] == 4
    assert verdict.score == 4 / 5
    assert verdict.relation is Relation.DUPLICATE
    contained = detector("shingling_containment", **WHOLE, shingling__min_both=0.9)
    assert contained.verify(one, other).relation is Relation.CONTAINED
    assert contained.verify(other, one).relation is Relation.CONTAINS
    assert contained.verify(other, one).evidence["left_containment"] == 0.8


@settings(max_examples=100, deadline=None)
@given(
    st.sets(st.integers(0, 60), min_size=4),
    st.sets(st.integers(0, 60), min_size=4),
    st.sampled_from([0.2, 0.5, 0.9]),
)
def test_accepted_pairs_are_always_candidates(left: set[int], right: set[int], limit: float) -> None:
    bags = [
        HashBag(np.array(sorted(each), dtype=np.uint64), np.ones(len(each), np.uint8))
        for each in (left, right)
    ]
    for name, key in (("shingling", "min_resemblance"), ("shingling_containment", "min_containment")):
        method = detector(name, **{f"shingling__{key}": limit})
        if method.verify(*bags).relation is Relation.DIFFERENT:
            continue
        for one, other in (bags, bags[::-1]):
            candidate_query = method.candidate_query(one)
            assert candidate_query is not None
            (group,) = candidate_query.groups
            assert len(set(group.terms) & set(method.terms(other))) >= group.min_shared


def test_super_shingles_are_groups_of_minima() -> None:
    texts = [article(3), article(3) + "又及。", article(4)]
    hashes, owners = shingles(texts, 5, 5)
    factors, terms = (each.tolist() for each in _functions(GROUPS * GROUP_SIZE))
    functions = list(zip(factors, terms, strict=True))
    minima = [slow.minima(hashes[owners == page].tolist(), functions) for page in range(len(texts))]
    method = detector("supershingles")
    found = features(method, *texts)
    for at, one in enumerate(found):
        for to, other in enumerate(found):
            expected = slow.equal_groups(minima[at], minima[to], GROUP_SIZE)
            assert method.verify(one, other).evidence["groups"] == expected
    assert method.verify(found[0], found[1]).score > 0
    assert method.verify(found[0], found[2]).score == 0


@pytest.mark.parametrize(("equal", "accepted"), [(0, False), (1, False), (2, True), (6, True)])
def test_two_equal_super_shingles_accept(equal: int, accepted: bool) -> None:
    method = detector("supershingles")
    one, other = SuperShingles((1, 2, 3, 4, 5, 6)), SuperShingles((*range(1, equal + 1), *[9] * (6 - equal)))
    assert (method.verify(one, other).relation is Relation.DUPLICATE) == accepted
