"""Full-text search: an index of segmented texts, to which texts are added after the pages were stored.

A scan adds its texts at its end, other calls add a few, and a search those that came since. What it cannot add to the file (opened
for reading only, or another process writes) it adds to a temporary table; many texts it leaves out, and says how many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.embedded.schema import read_meta, write_meta
from es_dedup.index.texts import decompress_text
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

TEXTS_PER_STEP: Final = 1000  # added within about a second
SEGMENTED_TEXTS: Final = 64  # normalised together
MAX_QUERY_WORDS: Final = 64  # further ones are left out; FTS5 bounds the depth of an expression
TITLE_WEIGHT: Final = 3.0  # a word of the title counts like three of the body
MIN_GONE_ROWS: Final = 1000  # below this, dead rows are not worth a rebuild

_NEW_TEXTS: Final = """
    SELECT t.row, p.title, t.body FROM texts AS t JOIN pages AS p ON p.doc = t.doc
    WHERE t.row > ? ORDER BY t.row LIMIT ?"""
_HITS: Final = f"""
    SELECT rowid AS row, bm25(fulltext, {TITLE_WEIGHT}, 1.0) AS score FROM fulltext WHERE fulltext MATCH ?1"""
_TAIL_HITS: Final = f"""
    SELECT rowid AS row, bm25(tail, {TITLE_WEIGHT}, 1.0) AS score FROM temp.tail
    WHERE tail MATCH ?1 AND rowid > (SELECT value FROM meta WHERE name = 'fulltext_row')"""
_STORED: Final = "({hits}) AS h JOIN texts AS t ON t.row = h.row JOIN pages AS p ON p.doc = t.doc"
_RANKED: Final = f"""
    SELECT p.page_id, -h.score FROM {_STORED}
    ORDER BY h.score, p.page_id LIMIT ?2 OFFSET ?3"""
_COUNTED: Final = f"SELECT count(*) FROM {_STORED}"


def missing(connection: sqlite3.Connection) -> int:
    """Number of texts that came since the index was brought up to date; what went needs no work."""
    (count,) = connection.execute(
        "SELECT count(*) FROM texts WHERE row > ?", (_last_indexed(connection),)
    ).fetchone()
    return int(count)


def catch_up(connection: sqlite3.Connection, segment: Callable[[Sequence[str]], list[str]]) -> bool:
    """Add some of the missing texts to the file, in the caller's transaction; True when more are missing."""
    if _mostly_gone(connection):
        clear(connection)
    rows = connection.execute(_NEW_TEXTS, (_last_indexed(connection), TEXTS_PER_STEP)).fetchall()
    if rows:
        _insert(connection, "fulltext", rows, segment)
        write_meta(connection, "fulltext_row", rows[-1][0])
        write_meta(connection, "fulltext_rows", _rows(connection) + len(rows))
    return len(rows) == TEXTS_PER_STEP


def clear(connection: sqlite3.Connection) -> None:
    """Empty the index, in the caller's transaction: it holds words of texts that are gone; the next search fills it again."""
    connection.execute("INSERT INTO fulltext (fulltext) VALUES ('delete-all')")
    write_meta(connection, "fulltext_row", 0)
    write_meta(connection, "fulltext_rows", 0)


def catch_up_aside(connection: sqlite3.Connection, segment: Callable[[Sequence[str]], list[str]]) -> None:
    """Add all missing texts to a table that only this connection sees; the file is not written."""
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.tail USING fts5(title, body, content='')")
    connection.execute("CREATE TABLE IF NOT EXISTS temp.tail_mark (row INTEGER)")
    indexed = _last_indexed(connection)
    first, last = connection.execute("SELECT min(row), max(row) FROM temp.tail_mark").fetchone()
    if first is None or not first <= indexed <= last:  # the file's index was emptied or filled since
        connection.execute("INSERT INTO temp.tail (tail) VALUES ('delete-all')")
        connection.execute("DELETE FROM temp.tail_mark")
        connection.execute("INSERT INTO temp.tail_mark VALUES (?)", (indexed,))
        last = indexed
    while rows := connection.execute(_NEW_TEXTS, (last, TEXTS_PER_STEP)).fetchall():
        _insert(connection, "temp.tail", rows, segment)
        last = rows[-1][0]
        connection.execute("INSERT INTO temp.tail_mark VALUES (?)", (last,))


def search(
    connection: sqlite3.Connection, query: str, limit: int, offset: int, *, aside: bool
) -> list[tuple[str, float]]:
    """Ids and scores of the pages that hold all words of a segmented query or, if none does, any of them.

    Args:
        aside: whether ``catch_up_aside`` has filled the temporary table.
    """
    sql = _RANKED.format(hits=_hits(aside=aside))
    for match in _matches(query) if limit > 0 else ():
        rows = connection.execute(sql, (match, limit, offset)).fetchall()
        if rows or (offset and connection.execute(sql, (match, 1, 0)).fetchone()):
            return rows
    return []


def matches(connection: sqlite3.Connection, query: str, *, aside: bool) -> int:
    """Number of the pages that ``search`` finds."""
    sql = _COUNTED.format(hits=_hits(aside=aside))
    counts = (int(connection.execute(sql, (match,)).fetchone()[0]) for match in _matches(query))
    return next(filter(None, counts), 0)


def _hits(*, aside: bool) -> str:
    return f"{_HITS} UNION ALL {_TAIL_HITS}" if aside else _HITS


def _matches(query: str) -> list[str]:
    """All words of a segmented query, then any of them; none without words."""
    words = _words(query)
    return [operator.join(words) for operator in (" AND ", " OR ")] if words else []


def _words(query: str) -> list[str]:
    """Distinct words, quoted so that nothing in them is read as query syntax."""
    clean = query.replace("\x00", " ").encode("utf-8", "ignore").decode().replace('"', " ")
    words = [word for word in dict.fromkeys(clean.split()) if any(char.isalnum() for char in word)]
    return [f'"{word}"' for word in words[:MAX_QUERY_WORDS]]


def _insert(
    connection: sqlite3.Connection,
    table: str,
    rows: list[tuple[Any, ...]],
    segment: Callable[[Sequence[str]], list[str]],
) -> None:
    for some in chunked(rows, SEGMENTED_TEXTS):
        titles = segment([title for _, title, _ in some])
        bodies = segment([decompress_text(body) for *_, body in some])
        texts = zip((row for row, *_ in some), titles, bodies, strict=True)
        connection.executemany(f"INSERT INTO {table} (rowid, title, body) VALUES (?, ?, ?)", texts)


def _mostly_gone(connection: sqlite3.Connection) -> bool:
    """Whether more than half of the index's rows belong to texts that were replaced or removed."""
    indexed = _rows(connection)
    if indexed < MIN_GONE_ROWS:
        return False
    (alive,) = connection.execute("SELECT count(*) FROM texts").fetchone()
    return indexed > 2 * int(alive)


def _last_indexed(connection: sqlite3.Connection) -> int:
    return int(read_meta(connection, "fulltext_row") or 0)


def _rows(connection: sqlite3.Connection) -> int:
    return int(read_meta(connection, "fulltext_rows") or 0)
