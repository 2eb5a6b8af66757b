"""Full-text search: an index of the characters and words of texts, to which texts are added after the pages were stored.

Chinese is indexed character by character, and a word of a query is a phrase of characters: texts need no segmenter, which would take
twice as long, and a word is found wherever its characters stand. Writes of pages add nothing. A search of who may write the file adds
all new texts first; a reader says how many are missing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from es_dedup.errors import IndexLocked
from es_dedup.index.embedded.tables import read_meta, write_meta
from es_dedup.index.port import Index
from es_dedup.index.texts import decompress_text
from es_dedup.model import Progress
from es_dedup.model.batches import chunked
from es_dedup.text.tokens import characters_apart

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from es_dedup.index.embedded.connection import Connection

TEXTS_PER_STEP: Final = 1000  # added within about a quarter of a second
NORMALISED_TEXTS: Final = 64  # together
MAX_QUERY_WORDS: Final = 64  # further ones are left out; FTS5 bounds the depth of an expression
TITLE_WEIGHT: Final = 3.0  # a word of the title counts like three of the body
MIN_GONE_ROWS: Final = 1000  # below this, dead rows are not worth a rebuild

_MISSING: Final = "SELECT count(*) FROM texts WHERE +row > ?1 AND (SELECT max(row) FROM texts) > ?1"
"""Counts in the index of ``doc``, as the table itself has the texts; not at all where none is missing."""
# An index of which more than half belongs to texts that were replaced or removed is filled anew.
_ROWS: Final = "SELECT (SELECT count(*) FROM fulltext_docsize), (SELECT count(*) FROM texts)"
_NEW_TEXTS: Final = """
    SELECT t.row, p.title, t.body FROM texts AS t JOIN pages AS p ON p.doc = t.doc
    WHERE t.row > ? ORDER BY t.row LIMIT ?"""
_STORED: Final = f"""(
    SELECT rowid AS row, bm25(fulltext, {TITLE_WEIGHT}, 1.0) AS score FROM fulltext WHERE fulltext MATCH ?1
    ) AS h JOIN texts AS t ON t.row = h.row JOIN pages AS p ON p.doc = t.doc"""
_RANKED: Final = f"""
    SELECT p.page_id, -h.score FROM {_STORED}
    ORDER BY h.score, p.page_id LIMIT ?2 OFFSET ?3"""
_COUNTED: Final = f"SELECT count(*) FROM {_STORED}"


class TextSearch(Index):
    """The methods of ``Index`` that search texts; for ``EmbeddedIndex``."""

    _connection: Connection
    _segment: Callable[[Sequence[str]], list[str]]  # makes words, separated by spaces, of a query

    def search(self, query: str, *, limit: int = 10, offset: int = 0) -> list[tuple[str, float]]:
        """See ``Index.search``: new texts are added to the full-text index first, where the file can be written now."""
        self.prepare_search()
        with self._connection.reading() as connection:
            for match in self._matches(query) if limit > 0 else ():
                rows = connection.execute(_RANKED, (match, limit, offset)).fetchall()
                if rows or (offset and connection.execute(_RANKED, (match, 1, 0)).fetchone()):
                    return rows
        return []

    def matches(self, query: str) -> int:
        """See ``Index.matches``."""
        self.prepare_search()
        with self._connection.reading() as connection:
            rows = (connection.execute(_COUNTED, (match,)).fetchone() for match in self._matches(query))
            return next((int(count) for (count,) in rows if count), 0)

    def unsearchable(self) -> int:
        """See ``Index.unsearchable``; what went needs no work."""
        with self._connection.reading() as connection:
            return int(connection.execute(_MISSING, (_last_indexed(connection),)).fetchone()[0])

    def prepare_search(self, progress: Callable[[Progress], None] | None = None) -> None:
        """See ``Index.prepare_search``; nothing while another process writes."""
        if self._connection.read_only or not (missing := self.unsearchable()):
            return
        with suppress(IndexLocked), self._connection.writing(lock_seconds=0):
            done, more = 0, True
            while more:
                with self._connection.transaction() as connection:
                    more = _add_some(connection)
                done = min(done + TEXTS_PER_STEP, missing)
                if progress is not None:
                    progress(Progress("search", done, missing))

    def _matches(self, query: str) -> list[str]:
        """All words of a query, then any of them; none without words."""
        (segmented,) = self._segment([query])
        words = [word for word in dict.fromkeys(segmented.split()) if any(map(str.isalnum, word))]
        plain = (word.replace('"', " ") for word in characters_apart(words[:MAX_QUERY_WORDS]))
        phrases = [f'"{word}"' for word in plain]  # quoted, nothing in them is read as query syntax
        return [operator.join(phrases) for operator in (" AND ", " OR ")] if phrases else []


def clear(connection: sqlite3.Connection) -> None:
    """Empty the index, in the caller's transaction: it holds words of texts that are gone; the next search fills it again."""
    connection.execute("INSERT INTO fulltext (fulltext) VALUES ('delete-all')")
    write_meta(connection, "fulltext_row", 0)


def _add_some(connection: sqlite3.Connection) -> bool:
    """Add some of the missing texts, in the caller's transaction; True when more are missing."""
    stored, alive = connection.execute(_ROWS).fetchone()
    if stored > max(MIN_GONE_ROWS, 2 * alive):
        clear(connection)
    rows = connection.execute(_NEW_TEXTS, (_last_indexed(connection), TEXTS_PER_STEP)).fetchall()
    for some in chunked(rows, NORMALISED_TEXTS):
        titles = characters_apart([title for _, title, _ in some])
        bodies = characters_apart([decompress_text(body) for *_, body in some])
        texts = zip((row for row, *_ in some), titles, bodies, strict=True)
        connection.executemany("INSERT INTO fulltext (rowid, title, body) VALUES (?, ?, ?)", texts)
    if rows:
        write_meta(connection, "fulltext_row", rows[-1][0])
    return len(rows) == TEXTS_PER_STEP


def _last_indexed(connection: sqlite3.Connection) -> int:
    return int(read_meta(connection, "fulltext_row") or 0)
