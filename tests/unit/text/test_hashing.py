"""Stable hashing: fixed values, and that mixing and tagging lose nothing they should keep."""

from __future__ import annotations

import random
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.text.hashing import SIGNATURE_SEED, hash64, mix64, powers, tagged_terms

SEED: Final = 20261121
MASK: Final = (1 << 64) - 1
WORDS: Final = st.integers(0, MASK)


def slow_mix(value: int) -> int:
    """SplitMix64's finaliser on Python integers."""
    value = (value + (0x9E3779B97F4A7C15 ^ SIGNATURE_SEED)) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def test_the_recorded_seed_and_known_answers_never_change() -> None:
    assert int.from_bytes(b"esdedup1", "big") == SIGNATURE_SEED
    assert [hash64(data) for data in (b"", b"page", "网页")] == [
        0x46DA41FF7C1DFF93,
        0xACB8AFF90F891234,
        0x0DD5064420E06FC4,
    ]
    assert mix64(np.array([0, 1, MASK], dtype=np.uint64)).tolist() == [
        slow_mix(value) for value in (0, 1, MASK)
    ]


def test_text_is_hashed_as_its_bytes() -> None:
    assert hash64("网页") == hash64("网页".encode()) == hash64(memoryview("网页".encode()))
    assert hash64("\ud800") != hash64("")


@given(st.lists(WORDS, max_size=20))
def test_mixing_equals_the_reference_and_leaves_its_input(values: list[int]) -> None:
    array = np.array(values, dtype=np.uint64)
    assert mix64(array).tolist() == [slow_mix(value) for value in values]
    assert array.tolist() == values


def test_mixing_spreads_small_numbers_over_all_bits() -> None:
    bits = np.unpackbits(mix64(np.arange(4096, dtype=np.uint64)).view(np.uint8)).reshape(-1, 64)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.05
    assert len(np.unique(mix64(np.arange(100_000, dtype=np.uint64)))) == 100_000


@given(WORDS, st.integers(0, 12))
def test_powers_are_powers_modulo_two_to_the_64(base: int, count: int) -> None:
    assert powers(base, count).tolist() == [pow(base, place, 1 << 64) for place in range(count)]


@given(st.integers(0, 255), st.lists(WORDS, max_size=10))
def test_terms_are_the_tag_above_forty_bits_of_the_hash(tag: int, hashes: list[int]) -> None:
    terms = tagged_terms(tag, np.array(hashes, dtype=np.uint64)).tolist()
    assert terms == [(tag << 40) | (value & ((1 << 40) - 1)) for value in hashes]
    assert all(0 <= term < 1 << 48 for term in terms)


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_terms_of_one_hash_differ_by_tag(kind: type[np.unsignedinteger]) -> None:
    print(f"seed {SEED}")
    hashes = np.array(random.Random(SEED).sample(range(1 << 32), 50), dtype=kind)
    assert len({*tagged_terms(8, hashes).tolist(), *tagged_terms(9, hashes).tolist()}) == 100
