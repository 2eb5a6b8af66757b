"""Pages, their features and their texts: writing, reading, removing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index import validation
from es_dedup.index.embedded import names, postings
from es_dedup.index.embedded.codec import (
    TERM_BYTES,
    pack_terms,
    signed_hashes,
    unpack_terms,
    unsigned_hash,
)
from es_dedup.index.embedded.rows import insert
from es_dedup.index.embedded.schema import NAMED, STORED
from es_dedup.index.port import WriteReport
from es_dedup.index.records import FeatureRecord
from es_dedup.index.texts import compress_text, decompress_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from es_dedup.index.records import RecordBatch

_WORDS: Final = "published, site, language, skipped, url, title"
_PUT_PAGE: Final = f"""
    INSERT OR REPLACE INTO pages (doc, page_id, state, length, content_hash, {_WORDS}) VALUES"""
_PAGE_VALUES: Final = f"(?, ?, {STORED}, ?, ?, ?, ?, ?, ?, ?, ?)"
_RECORD: Final = f"""
    SELECT p.page_id, p.length, p.content_hash, f.terms, f.payload, {_WORDS}
    FROM pages AS p JOIN features AS f ON f.doc = p.doc"""


def put_batch(connection: sqlite3.Connection, batch: RecordBatch) -> WriteReport:
    """Write a batch inside the caller's transaction; see ``FeatureIndex.put_many``."""
    failed = dict(validation.problems(batch))
    last = {page_id: place for place, page_id in enumerate(batch.ids) if place not in failed}
    places = list(last.values())
    known = names.docs_by_id(connection, last)
    if known:
        _remove_features(connection, sorted(known.values()))
    fresh = iter(range(names.next_doc(connection), names.next_doc(connection) + len(places)))
    docs = [known.get(page_id) or next(fresh) for page_id in last]
    _put_pages(connection, batch, places, docs)
    _put_features(connection, batch, places, docs)
    _put_texts(connection, batch, places, docs)
    return WriteReport(len(places), {batch.ids[place]: reason for place, reason in failed.items()})


def _put_pages(
    connection: sqlite3.Connection, batch: RecordBatch, places: list[int], docs: list[int]
) -> None:
    size = len(batch.ids)
    words = [
        column if len(column) else (default,) * size
        for column, default in zip(batch.words, validation.WORD_DEFAULTS, strict=True)
    ]
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
    postings.insert(connection, batch.terms[kept], term_docs[kept])


def _put_texts(
    connection: sqlite3.Connection, batch: RecordBatch, places: list[int], docs: list[int]
) -> None:
    if not len(batch.texts):
        return
    texts = ((doc, batch.texts[place]) for doc, place in zip(docs, places, strict=True))
    rows = ((doc, text if isinstance(text, bytes) else compress_text(text)) for doc, text in texts if text)
    insert(connection, "INSERT INTO texts (doc, body) VALUES", "(?, ?)", rows)


def _remove_features(connection: sqlite3.Connection, docs: list[int]) -> None:
    found = names.rows_by_number(connection, "SELECT doc, terms FROM features WHERE doc IN", docs)
    if found:
        terms = unpack_terms(b"".join(packed for _, packed in found))
        counts = [len(packed) // TERM_BYTES for _, packed in found]
        postings.remove(
            connection, terms, np.repeat(np.array([doc for doc, _ in found], dtype=np.int64), counts)
        )
    for table in ("features", "texts"):
        connection.executemany(f"DELETE FROM {table} WHERE doc = ?", ((doc,) for doc in docs))


def delete_many(connection: sqlite3.Connection, page_ids: Iterable[str]) -> int:
    """Remove pages with terms, texts, edges and assignments; returns how many were stored."""
    stored = names.docs_by_id(connection, page_ids, state=STORED)
    docs = sorted(stored.values())
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


def rename(connection: sqlite3.Connection, page_ids: Iterable[str]) -> None:
    """Give pages that are not stored a name that says nothing; their numbers stay taken."""
    connection.executemany(
        f"UPDATE pages SET page_id = 'forgotten-' || hex(randomblob(8)) WHERE page_id = ? AND state = {NAMED}",
        ((page_id,) for page_id in page_ids),
    )


def known(connection: sqlite3.Connection, page_id: str) -> bool:
    """Whether a page is stored, or named by an edge, a cluster or a row of a removed page."""
    return bool(names.docs_by_id(connection, [page_id]))


def get_many(connection: sqlite3.Connection, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
    """Stored records by id, without text."""
    select = f"{_RECORD} WHERE p.state = {STORED} AND p.page_id IN"
    return {row[0]: _record(row) for row in names.rows_by_id(connection, select, page_ids)}


def scan(connection: sqlite3.Connection, after: str, limit: int) -> list[FeatureRecord]:
    """At most ``limit`` records with ids above ``after``, ascending."""
    select = f"{_RECORD} WHERE p.state = {STORED} AND p.page_id > ? ORDER BY p.page_id LIMIT ?"
    return [_record(row) for row in connection.execute(select, (after, limit))]


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


def payloads(connection: sqlite3.Connection, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
    """Payloads and times of stored pages by id."""
    select = f"""SELECT p.page_id, f.payload, p.published FROM pages AS p JOIN features AS f ON f.doc = p.doc
        WHERE p.state = {STORED} AND p.page_id IN"""
    return {
        page_id: (payload, published)
        for page_id, payload, published in names.rows_by_id(connection, select, page_ids)
    }


def texts(connection: sqlite3.Connection, page_ids: Iterable[str]) -> dict[str, str]:
    """Kept texts by id."""
    select = "SELECT p.page_id, t.body FROM pages AS p JOIN texts AS t ON t.doc = p.doc WHERE p.page_id IN"
    return {
        page_id: decompress_text(body) for page_id, body in names.rows_by_id(connection, select, page_ids)
    }


def pages_with_hash(connection: sqlite3.Connection, hashes: Sequence[int]) -> dict[int, list[str]]:
    """Ids by content hash, ascending; hashes that no page has, and 0, are absent."""
    wanted = signed_hashes([content_hash for content_hash in hashes if content_hash])
    select = f"SELECT content_hash, page_id FROM pages WHERE state = {STORED} AND content_hash IN"
    found: dict[int, list[str]] = {}
    for stored, page_id in sorted(names.rows_by_number(connection, select, wanted)):
        found.setdefault(unsigned_hash(stored), []).append(page_id)
    return found


def pages_with_url(connection: sqlite3.Connection, urls: Iterable[str]) -> dict[str, list[str]]:
    """Ids of stored pages by URL, ascending; the table is read as a whole."""
    found: dict[str, list[str]] = {}
    select = f"SELECT url, page_id FROM pages WHERE state = {STORED} AND url IN"
    for url, page_id in sorted(names.rows_by_id(connection, select, urls)):
        found.setdefault(url, []).append(page_id)
    return found


def count(connection: sqlite3.Connection) -> int:
    """Number of stored pages."""
    (stored,) = connection.execute(f"SELECT count(*) FROM pages WHERE state = {STORED}").fetchone()
    return int(stored)
