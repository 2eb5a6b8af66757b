"""Tables of the file, and the metadata that identifies a file of es-dedup.

A page is known by a number, ``doc``, in all tables but ``pages``. A number is never given to another page: a
deleted page, and a page that only an edge or a cluster names, keeps a row with ``state`` 0, so that clusters
outlive the page whose id they bear.

A text is known by ``row``, which is new for each text and never used again. The full-text index is filled
later and refers to ``row``: what it still holds of a text that is gone leads nowhere and needs no repair.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import NotAnIndex, SchemaMismatch, SettingsMismatch
from es_dedup.settings.recorded import differences

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

APPLICATION_ID: Final = 0x65734464  # "esDd"
SCHEMA_VERSION: Final = 2
PAGE_BYTES: Final = (
    8192  # of 4, 8 and 16 KiB the best of bulk speed, fill of 1 kB rows, and cost of a single page
)
MAGIC: Final = b"SQLite format 3\x00"

NAMED, STORED = 0, 1
"""Values of ``pages.state``: only its id is known; the page is stored."""

_COPY: Final = "copy"
"""Name in ``meta`` of what a copy held when it was made."""
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
    try:
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute("INSERT INTO meta VALUES ('created', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))")
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?)",
            [
                ("schema", SCHEMA_VERSION),
                ("features", json.dumps(features, sort_keys=True)),
                ("fulltext_row", 0),
            ],
        )
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


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


def mark_copy(connection: sqlite3.Connection) -> None:
    """Record that the file is a copy, and what it holds now; only the full-text index may change without that being told."""
    write_meta(connection, _COPY, _content(connection))


def is_copy_of(connection: sqlite3.Connection, origin: sqlite3.Connection) -> bool:
    """Whether a file is a copy of another one, in an earlier state or the same, and was not written to since."""
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    return (
        found == APPLICATION_ID
        and read_meta(connection, _COPY) == _content(connection)
        and read_meta(connection, "changes") == read_meta(origin, "changes") is not None
        and _last_change(connection) <= _last_change(origin)
    )


def _content(connection: sqlite3.Connection) -> str:
    """Changes with each write: of pages the last numbers of changes and texts, of all else the metadata."""
    rows = connection.execute(
        "SELECT name, seq FROM sqlite_sequence UNION ALL SELECT name, value FROM meta "
        "WHERE name NOT IN (?, 'fulltext_row') ORDER BY name",
        (_COPY,),
    )
    return sha256(repr(rows.fetchall()).encode()).hexdigest()


def _last_change(connection: sqlite3.Connection) -> int:
    (last,) = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchone()
    return int(last)


def read_meta(connection: sqlite3.Connection, name: str) -> str | int | None:
    """A value of the meta table, None when absent."""
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return found[0] if found else None


def write_meta(connection: sqlite3.Connection, name: str, value: str | int) -> None:
    """Set a value of the meta table."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
