"""Many rows a statement: a writer lets go of the interpreter at each, and has to wait for it again."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

ROWS_PER_INSERT: Final = 64


def insert(
    connection: sqlite3.Connection, head: str, values: str, rows: Iterable[tuple[Any, ...]], tail: str = ""
) -> None:
    """Insert rows in their order.

    Args:
        connection: in a transaction.
        head: the statement up to and with ``VALUES``.
        values: what stands there for one row, with a question mark per value that the row holds.
        rows: taken lazily.
        tail: the statement after the values.
    """
    rest: list[tuple[Any, ...]] = []

    def whole() -> Iterator[list[Any]]:
        for some in chunked(rows, ROWS_PER_INSERT):
            if len(some) == ROWS_PER_INSERT:
                yield list(chain.from_iterable(some))
            else:
                rest.extend(some)

    connection.executemany(f"{head} {', '.join([values] * ROWS_PER_INSERT)} {tail}", whole())
    connection.executemany(f"{head} {values} {tail}", rest)
