"""Rows of different length in one array, against the same in lists; stable hashes."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from es_dedup.text.hashing import SIGNATURE_SEED, hash64, mix64, powers, tagged_terms
from es_dedup.text.ragged import concatenate, find, gather, heads, offsets_of, owners_of, rank_within, take

SEED: Final = 20261121
Rows = list[list[int]]
ROWS = st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=6)


@dataclass(frozen=True, slots=True)
class Bags:
    """A table with one ragged pair of columns and one value a row."""

    RAGGED: ClassVar[Mapping[str, tuple[str, ...]]] = {"offsets": ("values", "twice")}

    offsets: NDArray[np.int64]
    values: NDArray[np.int64]
    twice: NDArray[np.int64]
    sums: NDArray[np.int64]


def table_of(rows: Rows) -> Bags:
    """The table of some rows."""
    flat = np.array([value for row in rows for value in row], dtype=np.int64)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Bags(offsets, flat, 2 * flat, np.array([sum(row) for row in rows], dtype=np.int64))


def rows_of(table: Bags) -> Rows:
    """The rows of a table, after a check of its other columns."""
    edges = table.offsets.tolist()
    rows = [table.values[start:end].tolist() for start, end in pairwise(edges)]
    assert table.twice.tolist() == [2 * value for row in rows for value in row]
    assert table.sums.tolist() == [sum(row) for row in rows]
    return rows


@given(ROWS, st.data())
def test_take_gives_the_rows_asked_for_in_their_order(rows: Rows, data: st.DataObject) -> None:
    places = st.integers(0, len(rows) - 1)
    wanted = data.draw(st.lists(places, max_size=8)) if rows else []
    assert rows_of(take(table_of(rows), np.array(wanted, dtype=np.int64))) == [
        rows[place] for place in wanted
    ]


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_concatenate_puts_tables_one_after_the_other(parts: list[Rows]) -> None:
    assert rows_of(concatenate([table_of(rows) for rows in parts])) == [row for rows in parts for row in rows]


@given(ROWS, st.data())
def test_gather_finds_places_and_owners(rows: Rows, data: st.DataObject) -> None:
    table = table_of(rows)
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)) if rows else []
    places, owners = gather(table.offsets, np.array(wanted, dtype=np.int64))
    expected = [(value, at) for at, row in enumerate(wanted) for value in rows[row]]
    assert list(zip(table.values[places].tolist(), owners.tolist(), strict=True)) == expected


@given(ROWS, st.data())
def test_heads_are_the_first_elements_of_each_row(rows: Rows, data: st.DataObject) -> None:
    counts = [data.draw(st.integers(0, len(row))) for row in rows]
    table = table_of(rows)
    places, offsets = heads(table.offsets, np.array(counts, dtype=np.int64))
    assert table.values[places].tolist() == [v for row, n in zip(rows, counts, strict=True) for v in row[:n]]
    assert np.diff(offsets).tolist() == counts


@given(ROWS)
def test_offsets_owners_and_ranks_belong_together(rows: Rows) -> None:
    offsets = table_of(rows).offsets
    owners = owners_of(offsets)
    assert owners.tolist() == [at for at, row in enumerate(rows) for _ in row]
    assert offsets_of(owners, len(rows)).tolist() == offsets.tolist()
    assert rank_within(owners, len(rows)).tolist() == [rank for row in rows for rank in range(len(row))]


@given(
    st.sets(st.integers(0, (1 << 32) - 1), max_size=20), st.lists(st.integers(0, (1 << 32) - 1), max_size=20)
)
def test_find_gives_the_values_that_are_known(known: set[int], others: list[int]) -> None:
    values = [*others, *sorted(known)[::2]]
    ordered = np.array(sorted(known), dtype=np.uint32)
    at, place = find(ordered, np.array(values, dtype=np.uint32), 32)
    assert at.tolist() == [i for i, value in enumerate(values) if value in known]
    assert ordered[place].tolist() == [values[i] for i in at.tolist()]


@pytest.mark.parametrize("bits", [32, 64])
def test_find_among_few_and_among_many_values_agree(bits: int) -> None:
    print(f"seed {SEED}")
    rng = np.random.default_rng(SEED)
    kind = np.dtype(f"u{bits // 8}")
    values = rng.integers(0, 1 << bits, 2_009, dtype=kind, endpoint=False)
    known = np.unique(
        np.concatenate((values[::1000], values[:500] + kind.type(1), values[:500] - kind.type(1)))
    )
    at, place = find(known, values, bits)
    assert known[place].tolist() == values[at].tolist()
    assert at.tolist() == np.flatnonzero(np.isin(values, known)).tolist()
    few = [find(known, part, bits) for part in np.array_split(values, 4)]
    assert np.concatenate([part for _, part in few]).tolist() == place.tolist()
    assert len(find(known[:0], values, bits)[0]) == 0


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
