"""Page ids and their numbers in the tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import UnknownPage
from es_dedup.index.embedded.schema import NAMED
from es_dedup.index.validation import encodable
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

IDS_PER_QUERY: Final = 500
MIN_IDS_FOR_SCAN: Final = 1_000
ROWS_SCANNED_PER_ID: Final = 3  # looking up an id takes three times as long as reading a row in passing
_IDS_OF_DOCS: Final = """
    SELECT d.key, p.page_id FROM json_each(?) AS d CROSS JOIN pages AS p ON p.doc = d.value"""


def rows_by_id(
    connection: sqlite3.Connection, select: str, page_ids: Iterable[str]
) -> Iterator[tuple[Any, ...]]:
    """Rows of a statement that ends in ``IN``, for any number of ids; in no order.

    An id that no page can have matches nothing.
    """
    for some in chunked(page_ids, IDS_PER_QUERY):
        known = [page_id for page_id in some if encodable(page_id)]
        yield from connection.execute(f"{select} ({', '.join('?' * len(known))})", known).fetchall()


def rows_by_number(
    connection: sqlite3.Connection, select: str, numbers: Sequence[int]
) -> list[tuple[Any, ...]]:
    """Rows of a statement that ends in ``IN``, for any number of documents or hashes; in no order."""
    return connection.execute(f"{select} (SELECT value FROM json_each(?))", (json.dumps(numbers),)).fetchall()


def docs_by_id(
    connection: sqlite3.Connection, page_ids: Iterable[str], *, state: int = NAMED
) -> dict[str, int]:
    """Numbers by id; ids never heard of are absent.

    Args:
        state: ``STORED`` leaves out ids that are only named by edges and clusters.
    """
    wanted = dict.fromkeys(page_ids)
    select = f"SELECT page_id, doc FROM pages WHERE state >= {state}"
    if len(wanted) >= MIN_IDS_FOR_SCAN and next_doc(connection) <= ROWS_SCANNED_PER_ID * len(wanted):
        return {page_id: doc for page_id, doc in connection.execute(select) if page_id in wanted}
    return dict(rows_by_id(connection, f"{select} AND page_id IN", wanted))


def ids_by_doc(connection: sqlite3.Connection, docs: Sequence[int]) -> list[str]:
    """Ids in the order of their numbers.

    Raises:
        UnknownPage: a number that stands for no page.
    """
    found = dict(connection.execute(_IDS_OF_DOCS, (json.dumps(docs),)))
    if len(found) != len(docs):
        missing = next(doc for place, doc in enumerate(docs) if place not in found)
        raise UnknownPage(f"#{missing}")
    return [found[place] for place in range(len(docs))]


def give_numbers(connection: sqlite3.Connection, page_ids: Iterable[str]) -> dict[str, int]:
    """Numbers by id; ids never heard of get one, as pages that are named and not stored."""
    wanted = dict.fromkeys(page_ids)
    known = docs_by_id(connection, wanted)
    new = {
        page_id: doc
        for doc, page_id in enumerate((i for i in wanted if i not in known), next_doc(connection))
    }
    connection.executemany(f"INSERT INTO pages (page_id, doc, state) VALUES (?, ?, {NAMED})", new.items())
    return known | new


def next_doc(connection: sqlite3.Connection) -> int:
    """The least number above all that were ever given; rows of ``pages`` are never removed."""
    (last,) = connection.execute("SELECT max(doc) FROM pages").fetchone()
    return (last or 0) + 1
