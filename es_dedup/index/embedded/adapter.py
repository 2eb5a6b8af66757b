"""``EmbeddedIndex``: pages, their features and texts, clusters and statistics in one SQLite file, behind the port."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index.embedded import candidates, fulltext, tables
from es_dedup.index.embedded.clusters import ClusterTables
from es_dedup.index.embedded.connection import MEMORY, Connection
from es_dedup.index.embedded.fulltext import TextSearch
from es_dedup.index.records import WORDS, FeatureRecord, RecordBatch
from es_dedup.index.texts import compress_text, decompress_text
from es_dedup.model.batches import by_key
from es_dedup.text.tokens import characters_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import Notes
    from es_dedup.model import CandidateQuery, CandidateResult


_WORDS: Final = ", ".join(WORDS)
_PUT_PAGE: Final = f"""
    INSERT OR REPLACE INTO pages (doc, page_id, state, length, content_hash, {_WORDS}) VALUES"""
_PAGE_VALUES: Final = f"(?, ?, {tables.STORED}, ?, ?, ?, ?, ?, ?, ?, ?)"
_RECORD: Final = f"""
    SELECT p.page_id, p.length, p.content_hash, f.terms, f.payload, {_WORDS}
    FROM pages AS p JOIN features AS f ON f.doc = p.doc"""


_TABLE_BYTES: Final = """
    SELECT iif(tbl_name LIKE 'fulltext%', 'fulltext', tbl_name), sum(pgsize)
    FROM dbstat JOIN sqlite_master USING (name) WHERE aggregate = TRUE GROUP BY 1"""


class EmbeddedIndex(TextSearch, ClusterTables):
    """The port ``Index`` over one file.

    One process writes at a time, any number read meanwhile. Threads may share one object: calls wait for each
    other. A call that writes is kept whole or not at all, and once it has returned it survives the death of
    the process; a power cut may take the last calls, back to the last checkpoint (``close`` makes one), but
    leaves a sound file.

    Use it in a ``with`` block, or call ``close``.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        features: Mapping[str, Any] | None,
        segment: Callable[[Sequence[str]], list[str]] | None = None,
        lock_seconds: float = 10.0,
        read_only: bool = False,
    ) -> None:
        """Open a file, or make it when it does not exist and its folder does.

        Args:
            path: the file, or ``:memory:`` for an index that lives as long as the object.
            features: the settings that shape features, JSON-ready by name; must equal those the file was made with. None: whatever
                these are.
            segment: makes words, separated by spaces, of a query. Without it each Chinese character counts as a word.
            lock_seconds: how long a write waits for another writer; 0 tries once.
            read_only: the file must exist and is never changed.

        Raises:
            NotAnIndex: a folder, another application's file, damaged, not readable, or missing while
                ``read_only``.
            SchemaMismatch: written in another format.
            SettingsMismatch: filled with other settings.
            IndexUnavailable: must be written and cannot be.
            IndexLocked: another process is making the same file.
        """
        self._connection = Connection(path, features=features, lock_seconds=lock_seconds, read_only=read_only)
        # In-memory indices store postings when candidates are first requested; a scan requests none.
        self._posted = 0 if self._connection.name == MEMORY else None
        self._segment = segment or characters_apart

    @property
    def features(self) -> Mapping[str, Any]:
        """See ``Index.features``."""
        return self._connection.features

    def close(self) -> None:
        """Let go of the file; may be called twice. Later calls raise ``IndexUnavailable``."""
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[bool]:
        """Keep other writers out over several calls; may be nested within one thread.

        Each call inside is still kept by itself: what it returned from stays when a later one fails.

        Raises:
            IndexLocked: another writer did not finish within ``lock_seconds``.
            IndexUnavailable: opened for reading only.
        """
        with self._connection.writing():
            yield False

    def put_distinct(self, batch: RecordBatch, notes: Notes) -> dict[str, str]:
        """See ``Index.put_distinct``: the notes are kept with the records, or neither is.

        Raises:
            IndexUnavailable: storage failed; nothing of the batch was kept.
            IndexLocked: another process writes; nothing of the batch was kept.
        """
        with self._connection.transaction() as connection:
            tables.set_notes(connection, notes)
            known = tables.docs_by_id(connection, batch.ids)
            if known:
                _remove_features(connection, sorted(known.values()))
            first = tables.next_doc(connection)
            fresh = iter(range(first, first + len(batch.ids)))
            docs = [known.get(page_id) or next(fresh) for page_id in batch.ids]
            _put_pages(connection, batch, docs)
            _put_features(connection, batch, docs, self._posted)
            _put_texts(connection, batch, docs)
        return {}

    def get_many(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """See ``Index.get_many``."""
        select = f"{_RECORD} WHERE p.state = {tables.STORED} AND p.page_id IN"
        with self._connection.reading() as connection:
            return {row[0]: _record(row) for row in tables.rows_in(connection, select, page_ids)}

    def payloads(self, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
        """See ``Index.payloads``."""
        select = f"""SELECT p.page_id, f.payload, p.published FROM pages AS p JOIN features AS f ON f.doc = p.doc
            WHERE p.state = {tables.STORED} AND p.page_id IN"""
        with self._connection.reading() as connection:
            rows = tables.rows_in(connection, select, page_ids)
            return {page_id: (payload, published) for page_id, payload, published in rows}

    def texts(self, page_ids: Iterable[str]) -> dict[str, str]:
        """See ``Index.texts``."""
        select = (
            "SELECT p.page_id, t.body FROM pages AS p JOIN texts AS t ON t.doc = p.doc WHERE p.page_id IN"
        )
        with self._connection.reading() as connection:
            rows = tables.rows_in(connection, select, page_ids)
            return {page_id: decompress_text(body) for page_id, body in rows}

    def candidates_with_copies(
        self, candidate_queries: Sequence[CandidateQuery], hashes: Sequence[int], *, limit: int | None = None
    ) -> tuple[list[CandidateResult], dict[int, list[str]]]:
        """See ``Index.candidates_with_copies``."""
        wanted = tables.signed_hashes([content_hash for content_hash in hashes if content_hash])
        select = f"SELECT content_hash, page_id FROM pages WHERE state = {tables.STORED} AND content_hash IN"
        with self._connection.reading() as connection:
            self._store_later_postings(connection)
            copies: dict[int, list[str]] = by_key(sorted(tables.rows_in(connection, select, wanted)))
            found = candidates.candidates_many(connection, candidate_queries)
        return found, {tables.unsigned_hash(stored): ids[:limit] for stored, ids in copies.items()}

    def delete_many(self, page_ids: Iterable[str]) -> int:
        """See ``Index.delete_many``."""
        wanted = list(page_ids)
        with self._connection.transaction() as connection:
            stored = len(tables.docs_by_id(connection, wanted, state=tables.STORED))
            docs = sorted(tables.docs_by_id(connection, wanted).values())
            _remove_features(connection, docs)
            for statement in (
                "DELETE FROM edges WHERE left = ?",
                "DELETE FROM edges WHERE right = ?",
                "DELETE FROM assignments WHERE doc = ?",
                f"""UPDATE pages SET state = {tables.NAMED}, length = 0, content_hash = 0, published = '', site = '',
                    language = '', skipped = '', url = '', title = '' WHERE doc = ?""",
            ):
                connection.executemany(statement, ((doc,) for doc in docs))
        return stored

    def pages_with_url(self, urls: Iterable[str]) -> dict[str, list[str]]:
        """See ``Index.pages_with_url``: the table is read as a whole."""
        select = f"SELECT url, page_id FROM pages WHERE state = {tables.STORED} AND url IN"
        with self._connection.reading() as connection:
            return by_key(sorted(tables.rows_in(connection, select, urls)))

    def names_page(self, page_id: str) -> bool:
        """See ``Index.names_page``: as the name of a cluster or of a page that was removed."""
        with self._connection.reading() as connection:
            return bool(tables.docs_by_id(connection, [page_id]))

    def scan(self, *, after: str | None = None, batch: int = 1000) -> Iterator[list[FeatureRecord]]:
        """See ``Index.scan``."""
        select = f"{_RECORD} WHERE p.state = {tables.STORED} AND p.page_id > ? ORDER BY p.page_id LIMIT ?"
        last = after or ""  # every id is above the empty string
        while True:
            with self._connection.reading() as connection:
                found = [_record(row) for row in connection.execute(select, (last, batch))]
            if not found:
                return
            yield found
            last = found[-1].page_id

    def count(self) -> int:
        """See ``Index.count``."""
        with self._connection.reading() as connection:
            (stored,) = connection.execute(
                f"SELECT count(*) FROM pages WHERE state = {tables.STORED}"
            ).fetchone()
            return int(stored)

    def notes(self, names: Iterable[str]) -> dict[str, str | None]:
        """See ``Index.notes``."""
        with self._connection.reading() as connection:
            found = {name: tables.read_meta(connection, f"{tables.NOTE}{name}") for name in names}
        return {name: None if value is None else str(value) for name, value in found.items()}

    def note_names(self) -> list[str]:
        """See ``Index.note_names``."""
        with self._connection.reading() as connection:
            rows = connection.execute("SELECT name FROM meta ORDER BY name").fetchall()
        return [name.removeprefix(tables.NOTE) for (name,) in rows if name.startswith(tables.NOTE)]

    def set_notes(self, notes: Notes) -> None:
        """See ``Index.set_notes``: all of them are kept, or none."""
        with self._connection.transaction() as connection:
            tables.set_notes(connection, notes)

    def pages_and_assignments(
        self, page_ids: Iterable[str], notes: Sequence[str] = ()
    ) -> tuple[dict[str, FeatureRecord], dict[str, Assignment], dict[str, str | None]]:
        """See ``Index.pages_and_assignments``: of one state of the file."""
        with self._connection.reading():
            return super().pages_and_assignments(page_ids, notes)

    def refresh(self) -> None:
        """See ``Index.refresh``: every reader sees what a call has returned from."""

    def copy_to(self, place: str | Path) -> AbstractContextManager[Path]:
        """A copy of the file as it is now, with all that was committed before; others may read and write meanwhile.

        Args:
            place: where the copy goes when the block ends without an error; in the block it is in another file, whose path is given.

        Raises:
            IndexUnavailable: it cannot be written, or is there.
            NotAnIndex: this file is damaged.
        """
        with self._connection.reading() as connection:
            self._store_later_postings(connection)
        return self._connection.copy_to(place)

    def _store_later_postings(self, connection: sqlite3.Connection) -> None:
        if self._posted is not None:
            self._posted = candidates.store_later_postings(connection, self._posted)

    def erase(self, page_ids: Iterable[str]) -> str:
        """See ``Index.erase``: the file is written anew.

        Pages get a name that says nothing; their numbers stay taken.
        """
        with self._connection.transaction() as connection:
            connection.executemany(
                f"""UPDATE pages SET page_id = 'forgotten-' || hex(randomblob(8))
                WHERE page_id = ? AND state = {tables.NAMED}""",
                ((page_id,) for page_id in page_ids),
            )
            fulltext.clear(connection)
        done = self._connection.rewrite()
        return "" if done else "another process reads the index; repeat the command when it has ended"

    def sizes(self) -> dict[str, int]:
        """Bytes per table with its indices; ``other`` is the rest of the file, and ``total`` is the sum.

        Reads the whole file; where SQLite was built without ``dbstat``, all of it is ``other``.
        """
        found: dict[str, int] = {}
        with self._connection.reading() as connection:
            with suppress(sqlite3.OperationalError):
                found.update(connection.execute(_TABLE_BYTES))
            (total,) = connection.execute(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ).fetchone()
        return found | {"other": total - sum(found.values()), "total": total}


def _put_pages(connection: sqlite3.Connection, batch: RecordBatch, docs: list[int]) -> None:
    hashes = tables.signed_hashes(batch.content_hashes)
    rows = zip(docs, batch.ids, batch.lengths, hashes, *batch.words, strict=True)
    tables.insert(connection, _PUT_PAGE, _PAGE_VALUES, rows)


def _put_features(
    connection: sqlite3.Connection, batch: RecordBatch, docs: list[int], posted: int | None
) -> None:
    """Features of pages, and their postings; those of documents numbered above ``posted`` are stored later."""
    packed = tables.pack_terms(batch.terms)
    bounds = pairwise((batch.term_offsets * tables.TERM_BYTES).tolist())
    terms = (packed[start:end] for start, end in bounds)
    rows = zip(docs, terms, batch.payloads, strict=True)
    tables.insert(connection, "INSERT INTO features (doc, terms, payload) VALUES", "(?, ?, ?)", rows)
    term_docs = np.repeat(np.array(docs, dtype=np.int64), np.diff(batch.term_offsets))
    kept = slice(None) if posted is None else term_docs <= posted
    candidates.insert_postings(connection, batch.terms[kept], term_docs[kept])


def _put_texts(connection: sqlite3.Connection, batch: RecordBatch, docs: list[int]) -> None:
    texts = zip(docs, batch.texts, strict=True) if len(batch.texts) else ()
    rows = ((doc, text if isinstance(text, bytes) else compress_text(text)) for doc, text in texts if text)
    tables.insert(connection, "INSERT INTO texts (doc, body) VALUES", "(?, ?)", rows)


def _remove_features(connection: sqlite3.Connection, docs: list[int]) -> None:
    found = tables.rows_in(connection, "SELECT doc, terms FROM features WHERE doc IN", docs)
    candidates.remove_postings(connection, *candidates.terms_by_doc(found))
    for table in ("features", "texts"):
        connection.executemany(f"DELETE FROM {table} WHERE doc = ?", ((doc,) for doc in docs))


def _record(row: tuple[Any, ...]) -> FeatureRecord:
    page_id, length, content_hash, packed, payload, *words = row
    terms = tuple(tables.unpack_terms(packed).tolist())
    named = dict(zip(WORDS, words, strict=True))
    return FeatureRecord(page_id, length, tables.unsigned_hash(content_hash), terms, payload, **named)
