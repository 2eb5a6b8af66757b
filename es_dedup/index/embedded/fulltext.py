"""Full-text search: an index of the characters and words of texts, to which texts are added after the pages were stored.

Chinese is indexed character by character, and a word of a query is a phrase of characters: texts need no segmenter, which would take
twice as long, and a word is found wherever its characters stand. Writes of pages add nothing. A search of who may write the file adds
all new texts first; a reader adds a few, to a temporary table, and of many says how many are missing.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
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
    from collections.abc import Callable, Iterator, Sequence

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
_HITS: Final = f"""
    SELECT rowid AS row, bm25({{0}}, {TITLE_WEIGHT}, 1.0) AS score FROM {{0}} WHERE {{0}} MATCH ?1"""
_ALL_HITS: Final = f"""
    {_HITS.format("fulltext")} UNION ALL
    {_HITS.format("tail")} AND rowid > (SELECT value FROM meta WHERE name = 'fulltext_row')"""
_STORED: Final = "({hits}) AS h JOIN texts AS t ON t.row = h.row JOIN pages AS p ON p.doc = t.doc"
_RANKED: Final = f"""
    SELECT p.page_id, -h.score FROM {_STORED}
    ORDER BY h.score, p.page_id LIMIT ?2"""
_COUNTED: Final = f"SELECT count(*) FROM {_STORED}"


class TextSearch(Index):
    """The methods of ``Index`` that search texts; for ``EmbeddedIndex``.

    A connection sees the full-text index of the file, and a temporary table of its own.
    """

    _connection: Connection
    _segment: Callable[[Sequence[str]], list[str]]  # makes words, separated by spaces, of a query
    _tail = range(0)  # the temporary table has the texts after its start, up to its stop

    def search(self, query: str, *, limit: int = 10) -> list[tuple[str, float]]:
        """See ``Index.search``: new texts are added to the full-text index first; where the file cannot be written now, only a few."""
        with self._searching() as (connection, hits):
            sql = _RANKED.format(hits=hits)
            for match in self._matches(query) if limit > 0 else ():
                if rows := connection.execute(sql, (match, limit)).fetchall():
                    return rows
        return []

    def matches(self, query: str) -> int:
        """See ``Index.matches``."""
        with self._searching() as (connection, hits):
            sql = _COUNTED.format(hits=hits)
            counts = (int(connection.execute(sql, (match,)).fetchone()[0]) for match in self._matches(query))
            return next(filter(None, counts), 0)

    def unsearchable(self) -> int:
        """See ``Index.unsearchable``; what went needs no work."""
        with self._connection.reading() as connection:
            return int(connection.execute(_MISSING, (self._last(connection),)).fetchone()[0])

    def prepare_search(self, progress: Callable[[Progress], None] | None = None) -> None:
        """See ``Index.prepare_search``; nothing while another process writes."""
        if self._connection.read_only:
            self._add_texts(progress, aside=True)
        elif self.unsearchable():
            with suppress(IndexLocked), self._connection.writing(lock_seconds=0):
                self._add_texts(progress, aside=False)

    @contextmanager
    def _searching(self) -> Iterator[tuple[sqlite3.Connection, str]]:
        """A connection, and the statement that finds texts."""
        if not self._connection.read_only:
            self.prepare_search()
        if 0 < self.unsearchable() <= TEXTS_PER_STEP:
            self._add_texts(aside=True)
        with self._connection.reading() as connection:
            aside = self._last(connection) > _last_indexed(connection)
            yield connection, _ALL_HITS if aside else _HITS.format("fulltext")

    def _add_texts(self, progress: Callable[[Progress], None] | None = None, *, aside: bool) -> None:
        """Index the texts that searches miss, a batch at a time; ``aside`` writes to a temporary table and leaves the file as it is."""
        missing, done = self.unsearchable(), 0
        more = missing > 0
        while more:
            with self._connection.reading() if aside else self._connection.transaction() as connection:
                more = self._add_some(connection, aside=aside)
            done = min(done + TEXTS_PER_STEP, missing)
            if progress is not None:
                progress(Progress("search", done, missing))

    def _add_some(self, connection: sqlite3.Connection, *, aside: bool) -> bool:
        """Add some of the missing texts, in the caller's transaction; True when more are missing."""
        if aside:
            table, last = "temp.tail", self._last(connection)
            if last != self._tail.stop or not self._tail:  # the file's index was emptied or filled since
                connection.execute("DROP TABLE IF EXISTS temp.tail")
                connection.execute("CREATE VIRTUAL TABLE temp.tail USING fts5(title, body, content='')")
                self._tail = range(last, last)
        else:
            stored, alive = connection.execute(_ROWS).fetchone()
            if stored > max(MIN_GONE_ROWS, 2 * alive):
                clear(connection)
            table, last = "fulltext", _last_indexed(connection)
        rows = connection.execute(_NEW_TEXTS, (last, TEXTS_PER_STEP)).fetchall()
        for some in chunked(rows, NORMALISED_TEXTS):
            titles = characters_apart([title for _, title, _ in some])
            bodies = characters_apart([decompress_text(body) for *_, body in some])
            texts = zip((row for row, *_ in some), titles, bodies, strict=True)
            connection.executemany(f"INSERT INTO {table} (rowid, title, body) VALUES (?, ?, ?)", texts)
        if rows and aside:
            self._tail = range(self._tail.start, rows[-1][0])
        elif rows:
            write_meta(connection, "fulltext_row", rows[-1][0])
        return len(rows) == TEXTS_PER_STEP

    def _last(self, connection: sqlite3.Connection) -> int:
        """The last text that is found; all before it are, too."""
        indexed = _last_indexed(connection)
        return self._tail.stop if self._tail.start <= indexed <= self._tail.stop else indexed

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


def _last_indexed(connection: sqlite3.Connection) -> int:
    return int(read_meta(connection, "fulltext_row") or 0)
