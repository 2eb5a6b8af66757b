"""Answers candidate queries: weighs shared terms per page, ranks and cuts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.index.candidate_terms import QueryTerms, TermPostings, ranked, shared_terms
from es_dedup.index.embedded import tables
from es_dedup.model.batches import chunked
from es_dedup.text.ragged import sorted_distinct

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.model import CandidateQuery, CandidateResult


QUERIES_PER_LOOKUP: Final = 256  # bounds memory; postings of a lookup are held at once
ROWS_PER_INSERT: Final = 128  # 2.4 million rows/s against 1.0 million one by one; more gains little
_INSERTS_PER_CALL: Final = 1024
_TERMS_PER_QUERY: Final = 8192
POSTED_PAGES: Final = 1 << 16  # whose postings are sorted together: 50 MB
_LATER: Final = "SELECT doc, terms FROM features WHERE doc > ? ORDER BY doc LIMIT ?"
_EMPTY: Final = np.empty(0, dtype=np.int64)
_INSERT: Final = "INSERT OR IGNORE INTO postings (term, doc) VALUES "
_INSERT_ONE: Final = _INSERT + "(?, ?)"
_INSERT_MANY: Final = _INSERT + ", ".join(["(?, ?)"] * ROWS_PER_INSERT)
# One row of two long strings is read five times faster than a row per posting; both hold them in the order of
# the join. The count up to the cap comes first, so that a term of half the index costs no more than ``cap``
# steps.
_FIND: Final = """
    SELECT group_concat(t.key, ' '), group_concat(p.doc, ' ')
    FROM json_each(?1) AS t CROSS JOIN postings AS p ON p.term = t.value
    WHERE (SELECT 1 FROM postings AS c WHERE c.term = t.value LIMIT 1 OFFSET ?2) IS NULL"""
_CAPPED: Final = """
    SELECT key FROM json_each(?1)
    WHERE (SELECT 1 FROM postings AS c WHERE c.term = value LIMIT 1 OFFSET ?2) IS NOT NULL"""


def candidates_many(
    connection: sqlite3.Connection, candidate_queries: Sequence[CandidateQuery]
) -> list[CandidateResult]:
    """One answer per candidate query, in order; see ``Index.candidates_many``."""
    parts = chunked(candidate_queries, QUERIES_PER_LOOKUP)
    return [answer for some in parts for answer in _answer(connection, some)]


def _answer(
    connection: sqlite3.Connection, candidate_queries: Sequence[CandidateQuery]
) -> list[CandidateResult]:
    terms = QueryTerms.of(candidate_queries)
    caps = np.zeros(len(terms.distinct), dtype=np.int64)
    np.maximum.at(caps, terms.places, terms.limits)
    found, counts = find_postings(connection, terms.distinct, caps)
    weights, left_out = terms.weighed(counts)
    heaviest = []
    for query, start, stop in zip(candidate_queries, terms.bounds, terms.bounds[1:], strict=False):
        one = np.zeros(stop - start, dtype=np.int64)  # query by query: their postings together may be many
        _, docs, sums = shared_terms(one, terms.places[start:stop], weights[start:stop], found)
        heaviest.append(_heaviest(docs, sums, query.limit + 2))  # one more, and the page that asks
    docs = sorted_distinct(np.concatenate([docs for docs, _ in heaviest]))
    page_ids = dict(tables.rows_in(connection, "SELECT doc, page_id FROM pages WHERE doc IN", docs.tolist()))
    answers = []
    for row, ((docs, sums), query) in enumerate(zip(heaviest, candidate_queries, strict=True)):
        pages = zip(sums.tolist(), (page_ids[doc] for doc in docs.tolist()), strict=True)
        answers.append(ranked(pages, query, terms.capped(row, left_out)))
    return answers


def _heaviest(
    docs: NDArray[np.int64], weights: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pages that weigh most; all that weigh as much as the last of these stay in, as ids decide between them."""
    if len(docs) <= most:
        return docs, weights
    kept = weights >= np.partition(weights, len(docs) - most)[len(docs) - most]
    return docs[kept], weights[kept]


def insert_postings(
    connection: sqlite3.Connection, terms: NDArray[np.uint64], docs: NDArray[np.int64]
) -> None:
    """Store that page ``docs[i]`` carries ``terms[i]``, in any order; pairs stored already are left."""
    order = np.argsort(terms)
    pairs = np.empty((len(terms), 2), dtype=np.int64)
    pairs[:, 0], pairs[:, 1] = terms[order], docs[order]
    whole = len(pairs) // ROWS_PER_INSERT * ROWS_PER_INSERT
    step = ROWS_PER_INSERT * _INSERTS_PER_CALL
    for start in range(0, whole, step):
        rows = pairs[start : min(whole, start + step)].reshape(-1, 2 * ROWS_PER_INSERT)
        connection.executemany(_INSERT_MANY, rows.tolist())
    connection.executemany(_INSERT_ONE, pairs[whole:].tolist())


def store_later_postings(connection: sqlite3.Connection, last: int) -> int:
    """Store the postings of all documents above ``last``, those of many pages sorted together; returns the number of the last one."""
    while rows := connection.execute(_LATER, (last, POSTED_PAGES)).fetchall():
        insert_postings(connection, *terms_by_doc(rows))
        last = rows[-1][0]
    return last


def terms_by_doc(rows: Sequence[tuple[int, bytes]]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The terms of some rows of ``features``, and the document that carries each."""
    terms = tables.unpack_terms(b"".join(packed for _, packed in rows))
    counts = [len(packed) // tables.TERM_BYTES for _, packed in rows]
    return terms, np.repeat(np.array([doc for doc, _ in rows], dtype=np.int64), counts)


def remove_postings(
    connection: sqlite3.Connection, terms: NDArray[np.uint64], docs: NDArray[np.int64]
) -> None:
    """Forget that page ``docs[i]`` carries ``terms[i]``."""
    order = np.argsort(terms)
    pairs = zip(terms[order].tolist(), docs[order].tolist(), strict=True)
    connection.executemany("DELETE FROM postings WHERE term = ? AND doc = ?", pairs)


def find_postings(
    connection: sqlite3.Connection, terms: NDArray[np.uint64], caps: NDArray[np.int64]
) -> tuple[TermPostings, NDArray[np.int64]]:
    """The postings of some terms, and how many pages carry each.

    Args:
        terms: each in [0, 2^48); fastest when ascending.
        caps: of a term that more pages carry, no posting is given, and one more than this as their number.
    """
    places, docs, over = [_EMPTY], [_EMPTY], np.zeros(len(terms), dtype=np.int64)
    for cap in set(caps.tolist()):
        for some in chunked(np.flatnonzero(caps == cap).tolist(), _TERMS_PER_QUERY):
            at = np.array(some)
            columns = connection.execute(_FIND, (json.dumps(terms[at].tolist()), cap)).fetchone()
            found, carriers = (np.fromstring(column or "", dtype=np.int64, sep=" ") for column in columns)
            places.append(at[found])
            docs.append(carriers)
            silent = np.delete(at, found)
            hot = connection.execute(_CAPPED, (json.dumps(terms[silent].tolist()), cap)).fetchall()
            over[silent[[key for (key,) in hot]]] = cap + 1
    postings = TermPostings.of(len(terms), np.concatenate(places), np.concatenate(docs))
    return postings, postings.counts + over
