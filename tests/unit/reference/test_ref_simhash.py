"""SimHash reference against examples worked by hand, and the guarantee of the candidate queries."""

import pytest

from tests.reference import simhash


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


def test_query_keys_by_hand() -> None:
    assert simhash.query_keys(0b01_10, k=2, bands=2, width=2) == {(0, 0b10), (0, 0b11), (0, 0b00), (1, 0b01)}
