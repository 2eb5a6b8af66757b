"""Pages, their features and their texts: writing, reading, removing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index.embedded import candidates, tables
from es_dedup.index.embedded.candidates import insert_postings, remove_postings
from es_dedup.index.embedded.tables import (
    NAMED,
    NOTE,
    STORED,
    TERM_BYTES,
    insert,
    pack_terms,
    read_meta,
    signed_hashes,
    unpack_terms,
    unsigned_hash,
)
from es_dedup.index.port import NO_NOTES, Index, WriteReport
from es_dedup.index.records import FeatureRecord, problems_of
from es_dedup.index.texts import compress_text, decompress_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_dedup.index.embedded.connection import Connection
    from es_dedup.index.records import RecordBatch
    from es_dedup.model import CandidateQuery, CandidateResult

_WORDS: Final = "published, site, language, skipped, url, title"
_PUT_PAGE: Final = f"""
    INSERT OR REPLACE INTO pages (doc, page_id, state, length, content_hash, {_WORDS}) VALUES"""
_PAGE_VALUES: Final = f"(?, ?, {STORED}, ?, ?, ?, ?, ?, ?, ?, ?)"
_RECORD: Final = f"""
    SELECT p.page_id, p.length, p.content_hash, f.terms, f.payload, {_WORDS}
    FROM pages AS p JOIN features AS f ON f.doc = p.doc"""


class PageTables(Index):
    """The methods of ``Index`` that read and write pages, their features and their texts; for ``EmbeddedIndex``."""

    _connection: Connection

    def put_batch(self, batch: RecordBatch, notes: Mapping[str, str | None] = NO_NOTES) -> WriteReport:
        """See ``Index.put_batch``: the notes are kept with the records, or neither is.

        Raises:
            IndexUnavailable: storage failed; nothing of the batch was kept.
            IndexLocked: another process writes; nothing of the batch was kept.
        """
        failed = problems_of(batch)
        last = {page_id: place for place, page_id in enumerate(batch.ids) if place not in failed}
        places = list(last.values())
        with self._connection.transaction() as connection:
            tables.set_notes(connection, notes)
            known = tables.docs_by_id(connection, last)
            if known:
                _remove_features(connection, sorted(known.values()))
            first = tables.next_doc(connection)
            fresh = iter(range(first, first + len(places)))
            docs = [known.get(page_id) or next(fresh) for page_id in last]
            _put_pages(connection, batch, places, docs)
            _put_features(connection, batch, places, docs)
            _put_texts(connection, batch, places, docs)
        return WriteReport(len(places), {batch.ids[place]: reason for place, reason in failed.items()})

    def get_many(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """See ``Index.get_many``."""
        select = f"{_RECORD} WHERE p.state = {STORED} AND p.page_id IN"
        with self._connection.reading() as connection:
            return {row[0]: _record(row) for row in tables.rows_by_id(connection, select, page_ids)}

    def payloads(self, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
        """See ``Index.payloads``."""
        select = f"""SELECT p.page_id, f.payload, p.published FROM pages AS p JOIN features AS f ON f.doc = p.doc
            WHERE p.state = {STORED} AND p.page_id IN"""
        with self._connection.reading() as connection:
            rows = tables.rows_by_id(connection, select, page_ids)
            return {page_id: (payload, published) for page_id, payload, published in rows}

    def texts(self, page_ids: Iterable[str]) -> dict[str, str]:
        """See ``Index.texts``."""
        select = (
            "SELECT p.page_id, t.body FROM pages AS p JOIN texts AS t ON t.doc = p.doc WHERE p.page_id IN"
        )
        with self._connection.reading() as connection:
            rows = tables.rows_by_id(connection, select, page_ids)
            return {page_id: decompress_text(body) for page_id, body in rows}

    def candidates_with_copies(
        self, candidate_queries: Sequence[CandidateQuery], hashes: Sequence[int], *, limit: int | None = None
    ) -> tuple[list[CandidateResult], dict[int, list[str]]]:
        """See ``Index.candidates_with_copies``."""
        wanted = signed_hashes([content_hash for content_hash in hashes if content_hash])
        select = f"SELECT content_hash, page_id FROM pages WHERE state = {STORED} AND content_hash IN"
        copies: dict[int, list[str]] = {}
        with self._connection.reading() as connection:
            for stored, page_id in sorted(tables.rows_by_number(connection, select, wanted)):
                copies.setdefault(unsigned_hash(stored), []).append(page_id)
            found = candidates.candidates_many(connection, candidate_queries)
        return found, {each: ids[:limit] for each, ids in copies.items()}

    def delete_many(self, page_ids: Iterable[str]) -> int:
        """See ``Index.delete_many``."""
        wanted = list(page_ids)
        with self._connection.transaction() as connection:
            docs = sorted(tables.docs_by_id(connection, wanted, state=STORED).values())
            _remove_features(connection, docs)
            for statement in (
                "DELETE FROM edges WHERE left = ?",
                "DELETE FROM edges WHERE right = ?",
                "DELETE FROM assignments WHERE doc = ?",
                f"""UPDATE pages SET state = {NAMED}, length = 0, content_hash = 0, published = '', site = '',
                    language = '', skipped = '', url = '', title = '' WHERE doc = ?""",
            ):
                connection.executemany(statement, ((doc,) for doc in docs))
        return len(docs)

    def pages_with_url(self, urls: Iterable[str]) -> dict[str, list[str]]:
        """See ``Index.pages_with_url``: the table is read as a whole."""
        found: dict[str, list[str]] = {}
        select = f"SELECT url, page_id FROM pages WHERE state = {STORED} AND url IN"
        with self._connection.reading() as connection:
            for url, page_id in sorted(tables.rows_by_id(connection, select, urls)):
                found.setdefault(url, []).append(page_id)
        return found

    def names_page(self, page_id: str) -> bool:
        """See ``Index.names_page``: as the name of a cluster or of a page that was removed."""
        with self._connection.reading() as connection:
            return bool(tables.docs_by_id(connection, [page_id]))

    def scan(self, *, after: str | None = None, batch: int = 1000) -> Iterator[list[FeatureRecord]]:
        """See ``Index.scan``."""
        select = f"{_RECORD} WHERE p.state = {STORED} AND p.page_id > ? ORDER BY p.page_id LIMIT ?"
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
            (stored,) = connection.execute(f"SELECT count(*) FROM pages WHERE state = {STORED}").fetchone()
            return int(stored)

    def notes(self, names: Iterable[str]) -> dict[str, str | None]:
        """See ``Index.notes``."""
        with self._connection.reading() as connection:
            found = {name: read_meta(connection, f"{NOTE}{name}") for name in names}
        return {name: None if value is None else str(value) for name, value in found.items()}

    def note_names(self) -> list[str]:
        """See ``Index.note_names``."""
        with self._connection.reading() as connection:
            rows = connection.execute("SELECT name FROM meta ORDER BY name").fetchall()
        return [name.removeprefix(NOTE) for (name,) in rows if name.startswith(NOTE)]

    def set_notes(self, notes: Mapping[str, str | None]) -> None:
        """See ``Index.set_notes``: all of them are kept, or none."""
        with self._connection.transaction() as connection:
            tables.set_notes(connection, notes)


def _put_pages(
    connection: sqlite3.Connection, batch: RecordBatch, places: list[int], docs: list[int]
) -> None:
    words = batch.words
    hashes = signed_hashes([batch.content_hashes[place] for place in places])
    rows = (
        (doc, batch.ids[place], batch.lengths[place], content_hash, *[column[place] for column in words])
        for doc, place, content_hash in zip(docs, places, hashes, strict=True)
    )
    insert(connection, _PUT_PAGE, _PAGE_VALUES, rows)


def _put_features(
    connection: sqlite3.Connection, batch: RecordBatch, places: list[int], docs: list[int]
) -> None:
    packed = pack_terms(batch.terms)
    bounds = (batch.term_offsets * TERM_BYTES).tolist()
    rows = (
        (doc, packed[bounds[place] : bounds[place + 1]], batch.payloads[place])
        for doc, place in zip(docs, places, strict=True)
    )
    insert(connection, "INSERT INTO features (doc, terms, payload) VALUES", "(?, ?, ?)", rows)
    owners = np.zeros(len(batch.ids), dtype=np.int64)
    owners[places] = docs
    term_docs = np.repeat(owners, np.diff(batch.term_offsets))
    kept = term_docs > 0  # records that failed, or were repeated later in the batch, have no document
    insert_postings(connection, batch.terms[kept], term_docs[kept])


def _put_texts(
    connection: sqlite3.Connection, batch: RecordBatch, places: list[int], docs: list[int]
) -> None:
    if not len(batch.texts):
        return
    texts = ((doc, batch.texts[place]) for doc, place in zip(docs, places, strict=True))
    rows = ((doc, text if isinstance(text, bytes) else compress_text(text)) for doc, text in texts if text)
    insert(connection, "INSERT INTO texts (doc, body) VALUES", "(?, ?)", rows)


def _remove_features(connection: sqlite3.Connection, docs: list[int]) -> None:
    found = tables.rows_by_number(connection, "SELECT doc, terms FROM features WHERE doc IN", docs)
    if found:
        terms = unpack_terms(b"".join(packed for _, packed in found))
        counts = [len(packed) // TERM_BYTES for _, packed in found]
        remove_postings(
            connection, terms, np.repeat(np.array([doc for doc, _ in found], dtype=np.int64), counts)
        )
    for table in ("features", "texts"):
        connection.executemany(f"DELETE FROM {table} WHERE doc = ?", ((doc,) for doc in docs))


def _record(row: tuple[Any, ...]) -> FeatureRecord:
    page_id, length, content_hash, terms, payload, published, site, language, skipped, url, title = row
    return FeatureRecord(
        page_id=page_id,
        length=length,
        content_hash=unsigned_hash(content_hash),
        terms=tuple(unpack_terms(terms).tolist()),
        payload=payload,
        url=url,
        site=site,
        title=title,
        published=published,
        language=language,
        skipped=skipped,
    )
