"""Shingling, super-shingles and minima, against sets of shingles and against each other."""

from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.model import Relation, Skipped
from es_dedup.text.normalise import normalise
from experiments.comparators.hashsets import HashBag
from experiments.comparators.minhash import MinimaOfPage
from experiments.comparators.minima import EMPTY, _functions, _orders, band_hashes, one_permutation, permuted
from experiments.comparators.shingling import GROUP_SIZE, GROUPS, shingles
from tests.experiments.comparator_cases import close, detector, features
from tests.reference import shingling as slow
from tests.reference.coverage import grams
from tests.texts import article, page_texts

WHOLE = {"shingling__modulus": 1, "shingling__min_shingles": 1}


def shingles_of(text: str) -> set[tuple[str, ...]]:
    """Shingles as the reference cuts them: five characters, or five words."""
    return set(grams(normalise(text), 5, 5))


@settings(max_examples=150)
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


@settings(max_examples=100)
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


HASHES: Final = st.lists(st.integers(0, (1 << 64) - 1), max_size=30)


def kernel(pages: list[list[int]], bins: int) -> list[list[int]]:
    """One-permutation minima of pages given as hashes."""
    owners = np.repeat(np.arange(len(pages)), [len(page) for page in pages])
    hashes = np.array([value for page in pages for value in page], dtype=np.uint64)
    found: list[list[int]] = one_permutation(hashes, owners, len(pages), bins).tolist()
    return found


@settings(max_examples=150)
@given(st.lists(HASHES, max_size=5), st.sampled_from([1, 2, 7, 16, 84]))
def test_one_permutation_equals_the_reference(pages: list[list[int]], bins: int) -> None:
    orders = _orders(bins).tolist()
    expected = [slow.one_permutation(page, bins, orders) or [int(EMPTY)] * bins for page in pages]
    assert kernel(pages, bins) == expected


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=30), st.integers(1, 20))
def test_permuted_minima_equal_the_reference(hashes: list[int], count: int) -> None:
    functions = list(zip(*(each.tolist() for each in _functions(count)), strict=True))
    found = permuted(np.array(hashes, dtype=np.uint64), count).tolist()
    assert found == slow.minima(hashes, functions)


@given(
    st.lists(st.integers(0, 1), min_size=12, max_size=12),
    st.lists(st.integers(0, 1), min_size=12, max_size=12),
)
def test_pages_share_a_band_hash_exactly_when_they_share_a_band(left: list[int], right: list[int]) -> None:
    ours, theirs = (band_hashes(np.array(each, dtype=np.uint16), 4) for each in (left, right))
    assert bool(set(ours.tolist()) & set(theirs.tolist())) == slow.shares_band(left, right, 3)
    assert [a == b for a, b in zip(ours, theirs, strict=True)] == [
        left[at : at + 3] == right[at : at + 3] for at in range(0, 12, 3)
    ]


def test_known_answers_of_minhash() -> None:
    method = detector("minhash")
    one = MinimaOfPage(np.arange(128, dtype=np.uint16))
    half = MinimaOfPage(np.where(np.arange(128) < 64, np.arange(128), 999).astype(np.uint16))
    verdict = method.verify(one, half)
    assert verdict.score == 0.5
    assert verdict.relation is Relation.DUPLICATE
    assert len(set(method.terms(one)) & set(method.terms(half))) == 16
    other = detector("minhash", minhash__bands=4, minhash__rows=4)
    with pytest.raises(ValueError, match="do not compare"):
        method.verify(one, features(other, article(1))[0])
    with pytest.raises(ValueError, match="take 33 bytes"):
        other.unpack(method.pack(one))
