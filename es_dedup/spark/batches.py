"""Between Arrow batches and arrays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame


def mapped(
    frame: DataFrame, step: Callable[..., Iterator[pa.RecordBatch]], schema: str, *given: Any
) -> DataFrame:
    """``step(*given, batches)`` over the Arrow batches of each partition."""
    return frame.mapInArrow(partial(step, *given), schema)


def numbers(batch: pa.RecordBatch, name: str) -> NDArray[Any]:
    """A column without nulls as an array."""
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False))


def ragged(batch: pa.RecordBatch, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Elements of a column of lists, and how many each row has."""
    column = batch.column(name)
    counts = np.asarray(column.value_lengths().to_numpy(zero_copy_only=False), dtype=np.int64)
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False), dtype=np.int64), counts


def lists(values: NDArray[Any], counts: NDArray[np.int64]) -> pa.ListArray:
    """A column of lists from elements row after row."""
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(signed(values)))


def signed(values: NDArray[Any]) -> NDArray[np.int64]:
    """64-bit numbers for a signed column, bit by bit."""
    return values.astype(np.uint64).view(np.int64)


def batch_of(**columns: Any) -> pa.RecordBatch:
    """A batch of columns."""
    return pa.RecordBatch.from_arrays([pa.array(each) for each in columns.values()], list(columns))


def whole_runs(
    batches: Iterable[pa.RecordBatch],
    names: tuple[str, ...],
    least: int,
    again: Callable[[pa.RecordBatch], pa.RecordBatch | None] = lambda _: None,
) -> Iterator[pa.RecordBatch]:
    """Ordered batches put together, so that rows with equal values of some columns are in one.

    Args:
        batches: ordered by these columns.
        names: of the columns.
        least: rows of a batch, or more; but of the last.
        again: of a run of equal rows those that the next batch begins with again, where the run may be cut; None: it is kept whole.
    """
    waiting: list[pa.RecordBatch] = []
    rows, wanted = 0, least
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows < wanted:
            continue
        whole = joined(waiting)
        end = _last_run(whole, names)
        last = whole.slice(end)
        if (repeated := again(last)) is not None:
            end, last = whole.num_rows, repeated
        if end:
            yield whole.slice(0, end)
        waiting, rows = [last], last.num_rows
        wanted = max(least, 2 * rows)  # a long run is not put together anew for each of its batches
    if rows:
        yield joined(waiting)


def _last_run(batch: pa.RecordBatch, names: tuple[str, ...]) -> int:
    """First of the rows that have the values of the last one in these columns, in an ordered batch with rows."""
    differ = np.zeros(batch.num_rows - 1, dtype=np.bool_)
    for name in names:
        values = numbers(batch, name)
        differ |= values[1:] != values[:-1]
    ends = np.flatnonzero(differ) + 1
    return int(ends[-1]) if len(ends) else 0


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Some batches as one."""
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
