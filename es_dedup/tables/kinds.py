"""Rows of lists, dictionaries and tables of other libraries, read and chosen by the methods of the given object.

No library is loaded for it: who passes a table has loaded it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import Any, Final

from es_dedup.errors import wrong_type
from es_dedup.readers.rows import values_of

BATCH_ROWS: Final = 1_000
"""Rows that are made Python objects at a time."""
WANTED: Final = (
    "a list of texts or of dictionaries, a dictionary, a DataFrame of pandas or polars, a Table or RecordBatch of pyarrow, "
    "or a datasets.Dataset"
)
INSTEAD: Final = {
    ("pandas", "Series"): "pass .to_frame()",
    ("polars", "Series"): "pass .to_frame()",
    ("polars", "LazyFrame"): "pass .collect()",
    ("numpy", "ndarray"): "pass .tolist()",
    ("pyarrow", "ChunkedArray"): "pass .to_pylist()",
    ("builtins", "generator"): "pass list(data)",
    ("datasets", "DatasetDict"): 'choose a split, as data["train"]',
    ("datasets", "IterableDataset"): "pass list(data), or scan its pages into an index file",
    ("pyspark", "DataFrame"): "use es_dedup.spark.deduplicate",
}
"""What to pass in place of similar types."""

ReadColumns = Callable[[Sequence[str]], Iterator[tuple[Any, ...]]]
"""Gives the values of some columns, row by row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one object.

    Attributes:
        size: number of rows.
        columns: their names; one column ``text`` of a list of texts, ``id`` and ``text`` of a dictionary of texts.
        read: the values of some columns, row by row.
        take: the rows at some positions, as an object of the same kind.
    """

    size: int
    columns: tuple[str, ...]
    read: ReadColumns
    take: Callable[[Sequence[int]], Any]


def rows_of(data: Any) -> Rows:
    """The rows of an object of any kind.

    Raises:
        TypeError: it is of another kind, or a list or dictionary holds values of a wrong type.
        ValueError: the columns of a dictionary differ in length.
    """
    bases = [(base.__module__.partition(".")[0], base.__name__) for base in type(data).__mro__]
    advice = next((INSTEAD[base] for base in bases if base in INSTEAD), "")
    if ("pandas", "DataFrame") in bases:
        return Rows(len(data), tuple(data.columns), _by_column(data), lambda at: data.iloc[list(at)])
    if ("polars", "DataFrame") in bases:
        return Rows(data.height, tuple(data.columns), _by_column(data), lambda at: data[list(at)])
    if ("pyarrow", "Table") in bases or ("pyarrow", "RecordBatch") in bases:
        return _of_arrow(data)
    if ("datasets", "Dataset") in bases:
        return _of_dataset(data)
    if isinstance(data, Mapping) and not advice:
        return _of_dictionary(data)
    if isinstance(data, list | tuple):
        return _of_list(data)
    raise wrong_type("data", WANTED, data, advice)


def _by_column(columns: Any) -> ReadColumns:
    """Reads an object that gives a column, which can be iterated, for a name."""
    return lambda names: zip(*(columns[name] for name in names), strict=True)


def _of_list(data: Sequence[Any]) -> Rows:
    of_records = bool(data) and isinstance(data[0], Mapping)
    for at, row in enumerate(data):
        if not isinstance(row, Mapping if of_records else str | None):
            raise wrong_type(f"row {at}", "a dictionary" if of_records else "a string", row)
    columns = tuple(dict.fromkeys(name for row in data for name in row)) if of_records else ("text",)

    def read(names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        return (tuple(row.get(name) for name in names) for row in data)

    def take(at: Sequence[int]) -> Sequence[Any]:
        rows = [data[row] for row in at]
        return tuple(rows) if isinstance(data, tuple) else rows

    return Rows(len(data), columns, read if of_records else _by_column({"text": data}), take)


def _of_dictionary(data: Mapping[Any, Any]) -> Rows:
    """Rows of columns, which are sequences or arrays, or of texts by id."""
    holds_columns = all(
        hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping)
        for values in data.values()
    )
    if data and holds_columns:
        lengths = {name: len(values) for name, values in data.items()}
        size = next(iter(lengths.values()))
        if set(lengths.values()) != {size}:
            raise ValueError(f"columns must be of one length, not {lengths}")
        return Rows(
            size,
            tuple(data),
            _by_column(data),
            lambda at: {name: _at(values, at) for name, values in data.items()},
        )
    for name, text in data.items():
        if text is not None and not isinstance(text, str):
            wanted = "a text, as all values, or a list, as all values"
            raise wrong_type(f"the value of {name!r}", wanted, text)
    ids = list(data)
    read = _by_column({"id": ids, "text": data.values()})
    return Rows(len(ids), ("id", "text"), read, lambda at: {ids[row]: data[ids[row]] for row in at})


def _at(values: Sequence[Any], at: Sequence[int]) -> list[Any]:
    """Values at some positions; a Series of pandas counts its labels in brackets, but not when it is iterated."""
    by_position = values if isinstance(values, list | tuple) else list(values)
    return [by_position[row] for row in at]


def _of_arrow(data: Any) -> Rows:
    def read(names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        columns = data.select(list(names))
        starts = range(0, data.num_rows, BATCH_ROWS)
        return _python((columns.slice(start, BATCH_ROWS) for start in starts), names)

    def take(at: Sequence[int]) -> Any:
        # its own method take knows no string_view, and no column of strings with more than 2 GB
        parts = [data.slice(start, length) for start, length in _runs(at)] or [data.slice(0, 0)]
        if len(parts) == 1:
            return parts[0]
        arrow = import_module("pyarrow")
        if isinstance(data, arrow.Table):
            return arrow.concat_tables(parts).combine_chunks()
        return arrow.Table.from_batches(parts).combine_chunks().to_batches()[0]

    return Rows(data.num_rows, tuple(data.schema.names), read, take)


def _runs(at: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Positions as first position and length of runs of neighbours."""
    for _, run in groupby(enumerate(at), key=lambda place: place[1] - place[0]):
        rows = [row for _, row in run]
        yield rows[0], len(rows)


def _of_dataset(data: Any) -> Rows:
    def read(names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        return _python(data.select_columns(list(names)).with_format("arrow").iter(BATCH_ROWS), names)

    return Rows(data.num_rows, tuple(data.column_names), read, data.select)


def _python(batches: Iterable[Any], names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Rows of batches of pyarrow as Python objects."""
    for batch in batches:
        yield from zip(*(values_of(batch.column(name)) for name in names), strict=True)
