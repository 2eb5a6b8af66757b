"""Block layouts: which parts of a fingerprint are stored and queried, and up to what distance nothing is missed.

A fingerprint of 64 bits is cut into ``m`` blocks. Two principles make a candidate query complete:

- tables of ``c`` blocks each, one for every choice: at most ``k`` differing bits leave ``m - k`` blocks equal, so some
  choice of ``c`` blocks is equal as long as ``k <= m - c``;
- one table a block, queried with radius ``t_i``: if every block differed in more than ``t_i`` bits, the fingerprints would
  differ in at least ``sum(t_i + 1)``, so nothing is missed as long as ``k < sum(t_i + 1)``.

Source: Manku, Jain, Das Sarma, WWW 2007 (tables); Norouzi, Punjani, Fleet, CVPR 2012 (radii).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.detectors.fingerprint import BITS
from es_dedup.detectors.simhash import Simhash
from es_dedup.model import CandidateQuery, TermGroup
from es_dedup.text.hashing import HASH_BITS_IN_TERM, mix64, tagged_terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.detectors.simhash import Fingerprint
    from es_dedup.settings.sections import SimhashConfig

TAG: Final = 36
MOST_BITS: Final = 7


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to cut and join a fingerprint.

    Attributes:
        name: ``m x width``, or ``m c n`` for tables of n of m blocks.
        blocks: number of blocks, m; widths differ by at most one bit, the wider ones are the low ones.
        joined: blocks in a table, c.
    """

    name: str
    blocks: int
    joined: int = 1

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits of each block, the low ones of the fingerprint first."""
        small, more = divmod(BITS, self.blocks)
        return tuple(small + (block < more) for block in range(self.blocks))

    @property
    def guarantee(self) -> int:
        """Largest distance for which no pair is missed; single blocks reach any up to 7 by their radii."""
        return MOST_BITS if self.joined == 1 else self.blocks - self.joined

    @property
    def tables(self) -> int:
        """Terms stored for each page."""
        return comb(self.blocks, self.joined)

    def radii(self, max_bits: int) -> tuple[int, ...]:
        """Distance at which each block is queried; -1 where it need not be.

        Raises:
            ValueError: the layout misses pairs at that distance.
        """
        if not 0 <= max_bits <= self.guarantee:
            raise ValueError(
                f"layout {self.name} finds all pairs up to {self.guarantee} bits, {max_bits} are asked for"
            )
        if self.joined > 1:
            return (0,) * self.blocks
        each, more = divmod(max_bits + 1, self.blocks)
        return tuple(each - 1 + (block < more) for block in range(self.blocks))

    def stored_terms(self, value: int) -> tuple[int, ...]:
        """Terms to store, one a table."""
        return _terms([(table, _key(value, chosen)) for table, chosen in enumerate(self._tables())])

    def query_terms(self, value: int, max_bits: int) -> tuple[int, ...]:
        """Terms of which any fingerprint within ``max_bits`` of ``value`` stores at least one.

        Raises:
            ValueError: the layout misses pairs at that distance.
        """
        radii = self.radii(max_bits)
        terms = []
        for table, chosen in enumerate(self._tables()):
            key, width = _key(value, chosen), sum(width for _, width in chosen)
            radius = radii[table] if self.joined == 1 else 0
            terms += [(table, key ^ flips) for flips in _flips(width, radius)]
        return _terms(terms)

    def candidate_queries(self, max_bits: int) -> int:
        """Number of query terms of one page."""
        radii = self.radii(max_bits)
        if self.joined > 1:
            return self.tables
        return sum(_ball(width, radius) for width, radius in zip(self.widths, radii, strict=True))

    def share(self, max_bits: int) -> float:
        """Expected candidates as a share of all pages, were the bits random; real bits are skewed and bring more."""
        radii = self.radii(max_bits)
        if self.joined > 1:
            return sum(0.5 ** sum(width for _, width in chosen) for chosen in self._tables())
        return sum(
            _ball(width, radius) * 0.5**width for width, radius in zip(self.widths, radii, strict=True)
        )

    def _tables(self) -> Iterator[tuple[tuple[int, int], ...]]:
        """For each table the (lowest bit, width) of its blocks."""
        widths = self.widths
        starts = [sum(widths[:block]) for block in range(self.blocks)]
        return combinations(zip(starts, widths, strict=True), self.joined)


def _key(value: int, chosen: tuple[tuple[int, int], ...]) -> int:
    key = 0
    for start, width in chosen:
        key = key << width | (value >> start) & ((1 << width) - 1)
    return key


def _flips(width: int, radius: int) -> Iterator[int]:
    """All patterns of at most ``radius`` set bits; none for a radius below 0."""
    for count in range(radius + 1):
        for bits in combinations(range(width), count):
            yield sum(1 << bit for bit in bits)


def _ball(width: int, radius: int) -> int:
    return sum(comb(width, count) for count in range(radius + 1))


def _terms(keys: list[tuple[int, int]]) -> tuple[int, ...]:
    """Terms of (table, key); a key of more than 32 bits is hashed with the number of its table to 40 bits."""
    values = np.array([table << 56 ^ key for table, key in keys], dtype=np.uint64)
    terms: list[int] = tagged_terms(TAG, mix64(values) >> np.uint64(BITS - HASH_BITS_IN_TERM)).tolist()
    return tuple(dict.fromkeys(terms))


LAYOUTS: Final = {
    layout.name: layout
    for layout in (
        Layout("2x32", 2),
        Layout("3x21", 3),
        Layout("4x16", 4),
        Layout("5c2", 5, 2),
        Layout("6c3", 6, 3),
        Layout("7x9", 7),
        Layout("8x8", 8),
        Layout("8c2", 8, 2),
        Layout("10c3", 10, 3),
        Layout("10c4", 10, 4),
    )
}
"""The layouts of experiments/docs/experiments.md by name."""


class LayoutSimhash(Simhash):
    """SimHash that stores and queries fingerprints by another layout than the four bands of the package.

    Args:
        config: features and threshold.
        layout: how fingerprints are stored and queried.

    Raises:
        ValueError: the layout misses pairs at the distance that the settings accept.
    """

    def __init__(self, config: SimhashConfig, layout: Layout) -> None:
        super().__init__(config)
        layout.radii(config.max_hamming_distance)
        self._layout = layout

    def terms(self, features: Fingerprint) -> tuple[int, ...]:
        """Terms to store, one for each table of the layout."""
        return self._layout.stored_terms(features.value)

    def candidate_query(self, features: Fingerprint) -> CandidateQuery:
        """Pages that share a term of the layout."""
        terms = self._layout.query_terms(features.value, self._config.max_hamming_distance)
        return CandidateQuery((TermGroup(terms, 1),))
