"""Tables of the file, and the metadata that identifies a file of es-dedup.

A page is known by a number, ``doc``, in all tables but ``pages``. A number is never given to another page: a
deleted page, and a page that only an edge or a cluster names, keeps a row with ``state`` 0, so that clusters
outlive the page whose id they bear.

A text is known by ``row``, which is new for each text and never used again. The full-text index is filled
later and refers to ``row``: what it still holds of a text that is gone leads nowhere and needs no repair.
"""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.errors import DamagedData, NotAnIndex, SchemaMismatch, SettingsMismatch
from es_dedup.index.records import encodable
from es_dedup.model.batches import chunked
from es_dedup.settings.recorded import differences
from es_dedup.text.hashing import TERM_BITS, from_low_bytes, low_bytes

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.index.port import Notes


APPLICATION_ID: Final = 0x65734464  # "esDd"
SCHEMA_VERSION: Final = 2
# of 4, 8 and 16 KiB the best of bulk speed, fill of 1 kB rows, and cost of a single page
PAGE_BYTES: Final = 8192
MAGIC: Final = b"SQLite format 3\x00"
NAMED, STORED = 0, 1
"""Values of ``pages.state``: only its id is known; the page is stored."""
NOTE: Final = "note:"
"""Begins the names of notes in ``meta``."""
_LOG: Final = "BEGIN DELETE FROM changes WHERE doc = {0}.doc; INSERT INTO changes (doc) VALUES ({0}.doc); END"
_CHANGES: Final = (
    "CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, doc INTEGER NOT NULL UNIQUE)",
    "INSERT INTO meta VALUES ('changes', lower(hex(randomblob(8))))",
    f"CREATE TRIGGER assignments_added AFTER INSERT ON assignments {_LOG.format('new')}",
    f"CREATE TRIGGER assignments_changed AFTER UPDATE ON assignments {_LOG.format('new')}",
    f"CREATE TRIGGER assignments_removed AFTER DELETE ON assignments {_LOG.format('old')}",
)
_TABLES: Final = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    """CREATE TABLE pages (
        doc INTEGER PRIMARY KEY, page_id TEXT NOT NULL UNIQUE, state INTEGER NOT NULL,
        length INTEGER NOT NULL DEFAULT 0, content_hash INTEGER NOT NULL DEFAULT 0,
        published TEXT NOT NULL DEFAULT '', site TEXT NOT NULL DEFAULT '', language TEXT NOT NULL DEFAULT '',
        skipped TEXT NOT NULL DEFAULT '', url TEXT NOT NULL DEFAULT '', title TEXT NOT NULL DEFAULT '')""",
    "CREATE INDEX pages_hash ON pages (content_hash) WHERE state = 1",
    "CREATE TABLE features (doc INTEGER PRIMARY KEY, terms BLOB NOT NULL, payload BLOB NOT NULL)",
    "CREATE TABLE postings (term INTEGER, doc INTEGER, PRIMARY KEY (term, doc)) WITHOUT ROWID",
    "CREATE TABLE texts (row INTEGER PRIMARY KEY AUTOINCREMENT, doc INTEGER NOT NULL, body BLOB NOT NULL)",
    "CREATE UNIQUE INDEX texts_doc ON texts (doc)",
    "CREATE VIRTUAL TABLE fulltext USING fts5(title, body, content='', tokenize='unicode61')",
    """CREATE TABLE edges (
        left INTEGER, right INTEGER, relation TEXT NOT NULL, score REAL NOT NULL, PRIMARY KEY (left, right)
        ) WITHOUT ROWID""",
    "CREATE INDEX edges_right ON edges (right)",
    """CREATE TABLE assignments (
        doc INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, representative INTEGER NOT NULL,
        relation TEXT NOT NULL, score REAL NOT NULL)""",
    "CREATE INDEX assignments_cluster ON assignments (cluster)",
    *_CHANGES,
    "CREATE TABLE statistics (id INTEGER PRIMARY KEY CHECK (id = 1), snapshot BLOB NOT NULL)",
)
MIN_IDS_FOR_SCAN: Final = 1_000
ROWS_SCANNED_PER_ID: Final = 3  # looking up an id takes three times as long as reading a row in passing
ROWS_PER_INSERT: Final = 64
TERM_BYTES: Final = TERM_BITS // 8


def is_new(connection: sqlite3.Connection, index: str) -> bool:
    """True for a file without tables, False for one of ours.

    Raises:
        NotAnIndex: the file belongs to another application.
    """
    # Tables first: another process that makes the file commits them together with the application id.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    if found == APPLICATION_ID:
        return False
    if found or tables:
        raise NotAnIndex(index, "an SQLite file of another application")
    return True


def create(connection: sqlite3.Connection, features: Mapping[str, Any]) -> None:
    """Make the tables in an empty file; a crash on the way leaves it empty."""
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.execute("BEGIN EXCLUSIVE")
    with connection:
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute("INSERT INTO meta VALUES ('created', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))")
        write_meta(connection, "schema", SCHEMA_VERSION)
        write_meta(connection, "features", json.dumps(features, sort_keys=True))
        write_meta(connection, "fulltext_row", 0)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def check(
    connection: sqlite3.Connection, index: str, features: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """Compare the file's metadata with what this version and these settings need; None stands for any settings.

    Returns:
        The feature settings that the file records.

    Raises:
        SchemaMismatch: another format.
        SettingsMismatch: features made with other settings.
    """
    found, stored = int(read_meta(connection, "schema") or 0), read_meta(connection, "features")
    if found != SCHEMA_VERSION or stored is None:
        raise SchemaMismatch(index, SCHEMA_VERSION, found if stored else 0)
    recorded: dict[str, Any] = json.loads(str(stored))
    if features is not None and recorded != features:
        raise SettingsMismatch(index, differences(recorded, features))
    return recorded


def read_meta(connection: sqlite3.Connection, name: str) -> str | int | None:
    """A value of the meta table, None when absent."""
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return found[0] if found else None


def write_meta(connection: sqlite3.Connection, name: str, value: str | int) -> None:
    """Set a value of the meta table."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def rows_in(
    connection: sqlite3.Connection, select: str, values: Iterable[str | int]
) -> list[tuple[Any, ...]]:
    """Rows of a statement that ends in ``IN``, for any number of ids, documents or hashes; in no order."""
    listed = json.dumps(wanted := list(values))
    if "\\u0000" in listed or "\\ud" in listed:
        # No page has an id with a null character or half a surrogate pair: SQLite would read what is before that, and join two halves.
        listed = json.dumps([each for each in wanted if "\0" not in (text := str(each)) and encodable(text)])
    return connection.execute(f"{select} (SELECT value FROM json_each(?))", (listed,)).fetchall()


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
    return dict(rows_in(connection, f"{select} AND page_id IN", wanted))


def give_numbers(connection: sqlite3.Connection, page_ids: Iterable[str]) -> dict[str, int]:
    """Numbers by id; ids never heard of get one, as pages that are named and not stored."""
    wanted = dict.fromkeys(page_ids)
    known = docs_by_id(connection, wanted)
    unknown = (page_id for page_id in wanted if page_id not in known)
    new = {page_id: doc for doc, page_id in enumerate(unknown, next_doc(connection))}
    connection.executemany(f"INSERT INTO pages (page_id, doc, state) VALUES (?, ?, {NAMED})", new.items())
    return known | new


def next_doc(connection: sqlite3.Connection) -> int:
    """The least number above all that were ever given; rows of ``pages`` are never removed."""
    (last,) = connection.execute("SELECT max(doc) FROM pages").fetchone()
    return (last or 0) + 1


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


def pack_terms(terms: NDArray[np.uint64]) -> bytes:
    """Six bytes per term, lowest byte first, in the given order."""
    return low_bytes(terms, TERM_BYTES)


def unpack_terms(stored: bytes) -> NDArray[np.uint64]:
    """The terms of which ``pack_terms`` made ``stored``.

    Raises:
        DamagedData: no whole number of terms.
    """
    if len(stored) % TERM_BYTES:
        raise DamagedData("terms", f"{len(stored)} bytes, {TERM_BYTES} a term")
    return from_low_bytes(stored, TERM_BYTES)


def signed_hashes(hashes: Sequence[int]) -> list[int]:
    """64-bit hashes as the signed integers that SQLite stores; the bits are the same.

    Args:
        hashes: each in [0, 2^64).
    """
    signed: list[int] = np.array(hashes, dtype=np.uint64).view(np.int64).tolist()
    return signed


def unsigned_hash(stored: int) -> int:
    """The hash of which ``signed_hashes`` made ``stored``."""
    return stored & 0xFFFF_FFFF_FFFF_FFFF


def set_notes(connection: sqlite3.Connection, notes: Notes) -> None:
    """Keep small texts under names in the meta table; None removes one."""
    for name, value in notes.items():
        if value is None:
            connection.execute("DELETE FROM meta WHERE name = ?", (f"{NOTE}{name}",))
        else:
            write_meta(connection, f"{NOTE}{name}", value)
