"""Stable hashing: fixed values, and that mixing and tagging lose nothing they should keep."""

from __future__ import annotations

from typing import Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.text.hashing import SIGNATURE_SEED, hash64, mix64, powers, tagged_terms

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


@given(st.lists(WORDS, max_size=20))
def test_mixing_equals_the_reference_and_leaves_its_input(values: list[int]) -> None:
    array = np.array(values, dtype=np.uint64)
    assert mix64(array).tolist() == [slow_mix(value) for value in values]
    assert array.tolist() == values


@given(WORDS, st.integers(0, 12))
def test_powers_are_powers_modulo_two_to_the_64(base: int, count: int) -> None:
    assert powers(base, count).tolist() == [pow(base, place, 1 << 64) for place in range(count)]


@given(st.integers(0, 255), st.lists(WORDS, max_size=10))
def test_terms_are_the_tag_above_forty_bits_of_the_hash(tag: int, hashes: list[int]) -> None:
    terms = tagged_terms(tag, np.array(hashes, dtype=np.uint64)).tolist()
    assert terms == [(tag << 40) | (value & ((1 << 40) - 1)) for value in hashes]
    assert all(0 <= term < 1 << 48 for term in terms)
