"""SimHash reference against examples worked by hand, and the guarantee of the candidate queries."""

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import simhash

FINGERPRINTS = st.integers(min_value=0, max_value=2**64 - 1)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ([], None),
        ([(0b1010, 1.0)], 0b1010),
        ([(0b1100, 2.0), (0b1010, 1.0)], 0b1100),
        ([(0b1100, 1.0), (0b1010, 1.0)], 0b1000),  # sums +2, 0, 0, -2: a sum of 0 gives bit 0
        ([(0b1100, 1.0), (0b1010, 1.0), (0b1010, 1.0)], 0b1010),  # repeated features add up
        ([(0b1010, -1.0)], 0b0101),
        ([(0b1111, 0.0)], 0),
        ([(0b11111, 1.0)], 0b1111),
        ([(0b0001, 0.1), (0b0001, 0.2), (0b1110, 0.25)], 0b0001),
    ],
)
def test_fingerprint_of_four_bits(features: list[tuple[int, float]], expected: int | None) -> None:
    assert simhash.fingerprint(features, bits=4) == expected


def test_fingerprint_has_64_bits() -> None:
    assert simhash.fingerprint([(2**64 - 1, 1.0)]) == 2**64 - 1
    assert simhash.fingerprint([(2**63, 0.5), (1, 0.5), (2**63 + 1, 0.5)]) == 2**63 + 1


@given(st.lists(st.tuples(FINGERPRINTS, st.floats(-10, 10)), max_size=6), st.randoms())
def test_fingerprint_ignores_order(features: list[tuple[int, float]], rng: random.Random) -> None:
    shuffled = features.copy()
    rng.shuffle(shuffled)
    assert simhash.fingerprint(shuffled) == simhash.fingerprint(features)


def test_hamming() -> None:
    assert simhash.hamming(0b1010, 0b0110) == 2
    assert simhash.hamming(0, 2**64 - 1) == 64
    assert simhash.hamming(7, 7) == 0


def test_band_keys_start_at_the_low_end() -> None:
    assert simhash.band_keys(0x1111_2222_3333_4444) == [(0, 0x4444), (1, 0x3333), (2, 0x2222), (3, 0x1111)]


@pytest.mark.parametrize(
    ("k", "radii", "candidate_queries"),
    [
        (0, [0, 0, 0, 0], 4),
        (3, [0, 0, 0, 0], 4),
        (4, [1, 0, 0, 0], 20),
        (5, [1, 1, 0, 0], 36),
        (6, [1, 1, 1, 0], 52),
        (7, [1, 1, 1, 1], 68),
    ],
)
def test_radii_and_number_of_queries(k: int, radii: list[int], candidate_queries: int) -> None:
    assert simhash.query_radii(k) == radii
    assert len(simhash.query_keys(0x0123_4567_89AB_CDEF, k)) == candidate_queries
    if k >= 3:
        assert sum(radius + 1 for radius in radii) == k + 1


@pytest.mark.parametrize("k", [-1, 8])
def test_radius_one_serves_up_to_seven(k: int) -> None:
    with pytest.raises(ValueError, match="k must be 0 to 7"):
        simhash.query_radii(k)


def test_query_keys_by_hand() -> None:
    assert simhash.query_keys(0b01_10, k=2, bands=2, width=2) == {(0, 0b10), (0, 0b11), (0, 0b00), (1, 0b01)}


@pytest.mark.parametrize("k", range(8))
def test_guarantee_holds_for_every_difference_of_16_bits(k: int) -> None:
    """Only the difference of two values matters, so all of them are tried in a 4 x 4 layout."""
    assert all(simhash.is_candidate(0, d, k, width=4) for d in range(2**16) if simhash.hamming(0, d) <= k)


@pytest.mark.parametrize("k", range(3, 8))
def test_guarantee_is_tight(k: int) -> None:
    """One flip more than each radius, in each band, makes k + 1 flips and is not found."""
    difference = sum(((1 << (t + 1)) - 1) << (16 * band) for band, t in enumerate(simhash.query_radii(k)))
    assert simhash.hamming(0, difference) == k + 1
    assert not simhash.is_candidate(0, difference, k)


@pytest.mark.parametrize("k", range(8))
def test_guarantee_holds_for_random_fingerprints(k: int) -> None:
    rng = random.Random(f"simhash guarantee {k}")
    values = []
    for _ in range(12):
        centre = rng.getrandbits(64)
        for _ in range(5):
            flips = rng.sample(range(64), rng.randint(0, (k + 1) // 2))
            values.append(centre ^ sum(1 << bit for bit in flips))
    near = sum(simhash.hamming(a, b) <= k for a, b in combinations(values, 2))
    assert near >= 12 * 6
    assert simhash.missed_pairs(values, k) == []


@given(FINGERPRINTS, st.sets(st.integers(0, 63), max_size=7))
def test_guarantee_holds_with_64_bits(value: int, flips: set[int]) -> None:
    other = value ^ sum(1 << bit for bit in flips)
    for k in range(len(flips), 8):
        assert simhash.is_candidate(value, other, k)


@given(FINGERPRINTS, FINGERPRINTS, st.integers(0, 7))
def test_candidacy_is_symmetric(left: int, right: int, k: int) -> None:
    assert simhash.is_candidate(left, right, k) == simhash.is_candidate(right, left, k)


def test_missed_pairs_reports_what_probing_cannot_connect() -> None:
    one_flip_in_each_band = 0x0001_0001_0001_0001
    assert simhash.within(0, [0, one_flip_in_each_band, 3], 2) == [0, 2]
    assert simhash.missed_pairs([0, one_flip_in_each_band], k=4) == []
    # two bands of two bits, one flip in each: distance 2 needs k = 2
    assert simhash.missed_pairs([0b00_00, 0b01_01], k=1, bands=2, width=2) == []
    assert simhash.missed_pairs([0b00_00, 0b01_01], k=2, bands=2, width=2) == []
    assert not simhash.is_candidate(0b00_00, 0b01_01, k=1, bands=2, width=2)
