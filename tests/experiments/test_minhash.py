"""Minima, their filling and their bands against the reference; how well they estimate."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.model import Relation
from es_dedup.text.hashing import mix64
from experiments.comparators.minhash import MinimaOfPage
from experiments.comparators.minima import (
    EMPTY,
    _functions,
    _orders,
    band_hashes,
    candidate_chance,
    one_permutation,
    permuted,
)
from tests.experiments.comparator_cases import detector, features
from tests.reference import shingling as slow
from tests.texts import article

SEED: Final = 20261121
HASHES: Final = st.lists(st.integers(0, (1 << 64) - 1), max_size=30)


def kernel(pages: list[list[int]], bins: int) -> list[list[int]]:
    """One-permutation minima of pages given as hashes."""
    owners = np.repeat(np.arange(len(pages)), [len(page) for page in pages])
    hashes = np.array([value for page in pages for value in page], dtype=np.uint64)
    found: list[list[int]] = one_permutation(hashes, owners, len(pages), bins).tolist()
    return found


@settings(max_examples=150, deadline=None)
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


@pytest.mark.parametrize("size", [6, 40, 600])
@pytest.mark.parametrize("similarity", [0.2, 0.5, 0.8])
def test_agreement_estimates_the_similarity_also_of_small_sets(size: int, similarity: float) -> None:
    """The mean over many pairs is the true similarity, within four standard errors of independent minima."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    common = round(size * similarity)
    true = Fraction(common, size)
    pages = []
    for _ in range(120):
        values = mix64(np.array([rng.getrandbits(64) for _ in range(size)], dtype=np.uint64)).tolist()
        split = common + (size - common) // 2
        pages += [values[:split], values[:common] + values[split:]]
    table = np.array(kernel(pages, 128))
    mean = float((table[::2] == table[1::2]).mean())
    error = (float(true * (1 - true)) / min(size, 128) / 120) ** 0.5
    assert abs(mean - float(true)) < 4 * error + 0.01


@pytest.mark.parametrize(
    ("similarity", "bands", "rows", "expected"),
    [(0.7, 16, 8, 0.61), (0.8, 16, 8, 0.95), (0.5, 25, 5, 0.55), (0.7, 25, 5, 0.99), (0.8, 14, 8, 0.92), (0.5, 50, 4, 0.96)],
)  # fmt: skip
def test_the_chance_of_a_layout(similarity: float, bands: int, rows: int, expected: float) -> None:
    assert abs(candidate_chance(similarity, bands, rows) - expected) < 0.006


def test_known_answers() -> None:
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
