"""Rows of different length in one array: offsets, ranks, gathering; tables of such columns; rows that belong together."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

import numpy as np

from es_dedup import native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


class Table(Protocol):
    """A dataclass of arrays: offset columns with the value columns they cut, and one-value-a-row columns."""

    RAGGED: ClassVar[Mapping[str, tuple[str, ...]]]
    __dataclass_fields__: ClassVar[dict[str, Any]]


class SameArrays:
    """A dataclass with arrays: it equals another one of its kind whose fields are equal."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # arrays are not hashable

    def __eq__(self, other: object) -> bool:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]  # of a dataclass
        return type(other) is type(self) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )


MOST_BUCKET_BITS: Final = 18  # 2 MB of starts
FEW: Final = 1_000  # values: making buckets costs more than searching these
T = TypeVar("T", bound=Table)


def offsets_of(owners: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Where each owner's elements begin in an array ordered by owner; shape (count + 1,)."""
    return np.searchsorted(owners, np.arange(count + 1))


def owners_of(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row each element belongs to; the inverse of ``offsets_of``."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def rank_within(owners: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Position of each element among those of its owner; the array is ordered by owner."""
    return np.arange(len(owners)) - offsets_of(owners, count)[owners]


def sorted_distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The distinct values of an array, ascending.

    ``np.unique`` puts integers into a hash table, which takes ten times as long for a million of them, and loads masked arrays first.
    """
    ordered = np.sort(values, axis=None)
    return ordered[begins_run(ordered)]


def begins_run(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each element is the first of a run of equal values."""
    begins = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins


def run_starts(values: NDArray[Any]) -> NDArray[np.int64]:
    """Index of the first element of each run of equal values."""
    return np.flatnonzero(begins_run(values))


def heads(
    offsets: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the first elements of each row.

    Args:
        offsets: shape (rows + 1,).
        counts: how many of each row, at most its length; shape (rows,).

    Returns:
        Places, row after row, and the rows' new offsets.
    """
    ends = np.cumsum(counts)
    places = np.repeat(offsets[:-1] - (ends - counts), counts) + np.arange(int(counts.sum()))
    return places, np.concatenate((np.zeros(1, dtype=np.int64), ends))


def row_ranges(offsets: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Rows in order, as many at a time as have about ``most`` elements: the first, and the one after the last."""
    first, rows = 0, len(offsets) - 1
    while first < rows:
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = min(max(last, first + 1), rows)
        yield first, last
        first = last


def gather(
    offsets: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the elements of the given rows, row after row; see ``gather_between``."""
    return gather_between(offsets[rows], offsets[rows + 1])


def gather_between(
    starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the elements of rows that begin and end at these places, row after row.

    Returns:
        Places into the flat array, and for each the position in ``starts`` it belongs to.
    """
    lengths = ends - starts
    first = np.cumsum(lengths) - lengths
    owner = np.repeat(np.arange(len(starts)), lengths)
    return np.repeat(starts - first, lengths) + np.arange(int(lengths.sum())), owner


@dataclass(frozen=True)
class Buckets:
    """Ascending, distinct values, cut into ranges by their highest bits.

    Attributes:
        known: the values.
        bits: their width.
        starts: where each range begins, and where the last one ends.
        shift: bits below those that name the range.
    """

    known: NDArray[Any]
    bits: int
    starts: NDArray[np.int32]
    shift: int

    @classmethod
    def of(cls, known: NDArray[Any], bits: int) -> Buckets:
        """Buckets with about as many ranges as values, so that a value is found in one or two steps."""
        used = min(max(len(known).bit_length(), 1), MOST_BUCKET_BITS, bits)
        shift = bits - used
        starts = np.searchsorted(known >> known.dtype.type(shift), np.arange((1 << used) + 1))
        return cls(known, bits, starts.astype(np.int32), shift)

    @cached_property
    def seen(self) -> NDArray[np.uint64]:
        """Bitmap by the lowest bits of the values, which avoids most look-ups if most values are unknown."""
        return np.asarray(native.core.bitmap_of(self.known))


def find(
    known: NDArray[Any], values: NDArray[Any], bits: int, buckets: Buckets | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which values occur in a sorted array of distinct ones; fast if few do.

    Args:
        known: ascending, distinct, below 2^bits.
        values: in any order, below 2^bits, of the same type.
        bits: width of the values; they should be spread evenly, as hashes are.
        buckets: ``Buckets.of(known, bits)``, for repeated calls.

    Returns:
        Places in ``values`` of those that occur, ascending, and for each its place in ``known``.
    """
    none = np.zeros(0, dtype=np.int64)
    if not len(known):
        return none, none
    if native.core and (buckets or len(values) >= FEW):
        ranges = buckets or Buckets.of(known, bits)
        given = np.ascontiguousarray(values)
        threads = native.threads()
        at, place = native.core.find(known, given, ranges.starts, ranges.shift, ranges.seen, threads)
        return at, place
    place = np.searchsorted(known, values)
    place[place == len(known)] = 0
    at = np.flatnonzero(known[place] == values)
    return at, place[at]


def take(table: T, rows: NDArray[np.int64]) -> T:
    """A table of the given rows, in their order; rows may repeat."""

    def of_rows(offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        lengths = offsets[rows + 1] - offsets[rows]
        return np.concatenate(([0], np.cumsum(lengths))), gather(offsets, rows)[0]

    return _part(table, rows, of_rows)


def between(table: T, first: int, last: int) -> T:
    """A table of the rows from one to before another, whose values are not copied."""

    def of_rows(offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], slice]:
        own = offsets[first : last + 1]
        return own - own[0], slice(own[0], own[-1])

    return _part(table, slice(first, last), of_rows)


def _part(table: T, rows: Any, of_rows: Callable[[NDArray[np.int64]], tuple[NDArray[np.int64], Any]]) -> T:
    """A table of some rows, of whose offsets ``of_rows`` makes the new ones and the places of their values."""
    columns: dict[str, NDArray[Any]] = {}
    for offsets_name, names in table.RAGGED.items():
        columns[offsets_name], places = of_rows(getattr(table, offsets_name))
        columns.update((name, getattr(table, name)[places]) for name in names)
    for field in fields(table):
        if field.name not in columns:
            columns[field.name] = getattr(table, field.name)[rows]
    return type(table)(**columns)


def concatenate(tables: Sequence[T]) -> T:
    """The rows of several tables, one table after the other; at least one table."""
    first = tables[0]
    if len(tables) == 1:
        return first
    columns: dict[str, NDArray[Any]] = {}
    for field in fields(first):
        parts = [getattr(table, field.name) for table in tables]
        if field.name in first.RAGGED:
            base = np.cumsum([0, *(int(part[-1]) for part in parts[:-1])])
            parts = [
                np.zeros(1, dtype=np.int64),
                *(part[1:] + start for part, start in zip(parts, base, strict=True)),
            ]
        columns[field.name] = np.concatenate(parts)
    return type(first)(**columns)


def components(rows: int, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each row the least row of its component; each left row belongs together with the right one in the same place."""
    least = np.arange(rows, dtype=np.int64)
    while not ((ours := least[left]) == (theirs := least[right])).all():
        np.minimum.at(least, ours, theirs)
        np.minimum.at(least, theirs, ours)
        while not ((lesser := least[least]) == least).all():
            least = lesser
    return least
