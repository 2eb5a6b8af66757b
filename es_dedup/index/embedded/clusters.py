"""Verified edges, cluster assignments, and the statistics snapshot."""

from __future__ import annotations

import json
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.embedded import names
from es_dedup.index.embedded.rows import insert
from es_dedup.index.port import Assignment
from es_dedup.model import Edge, Relation

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

_EDGES: Final = """
    SELECT l.page_id, r.page_id, e.relation, e.score FROM edges AS e
    JOIN pages AS l ON l.doc = e.left JOIN pages AS r ON r.doc = e.right
    WHERE e.left IN (SELECT value FROM json_each(?1)) OR e.right IN (SELECT value FROM json_each(?1))"""
_ASSIGNMENTS: Final = """
    SELECT p.page_id, c.page_id, r.page_id, a.relation, a.score FROM assignments AS a
    JOIN pages AS p ON p.doc = a.doc JOIN pages AS c ON c.doc = a.cluster
    JOIN pages AS r ON r.doc = a.representative"""
_MEMBERS: Final = (
    f"{_ASSIGNMENTS} WHERE a.cluster IN (SELECT value FROM json_each(?)) ORDER BY c.page_id, p.page_id"
)
_WHERE_IT_DIFFERS: Final = """
    ON CONFLICT (doc) DO UPDATE SET cluster = excluded.cluster, representative = excluded.representative,
    relation = excluded.relation, score = excluded.score
    WHERE (cluster, representative, relation, score)
    <> (excluded.cluster, excluded.representative, excluded.relation, excluded.score)"""
_CLUSTER_IDS: Final = """
    SELECT page_id FROM pages AS p WHERE page_id > ?1
    AND (SELECT 1 FROM assignments WHERE cluster = p.doc LIMIT 1 OFFSET ?2) IS NOT NULL
    ORDER BY page_id LIMIT ?3"""


def put_edges(connection: sqlite3.Connection, edges: Iterable[Edge]) -> None:
    """Store edges, the lesser id on the left."""
    kept = [edge if edge.left <= edge.right else _turned(edge) for edge in edges]
    docs = names.give_numbers(connection, (page_id for edge in kept for page_id in (edge.left, edge.right)))
    rows = ((docs[edge.left], docs[edge.right], str(edge.relation), edge.score) for edge in kept)
    connection.executemany(
        "INSERT OR REPLACE INTO edges (left, right, relation, score) VALUES (?, ?, ?, ?)", rows
    )


def _turned(edge: Edge) -> Edge:
    return Edge(edge.right, edge.left, edge.relation.reversed, edge.score)


def drop_edges(connection: sqlite3.Connection, page_ids: Iterable[str]) -> None:
    """Remove the edges of these pages."""
    docs = [(doc,) for doc in names.docs_by_id(connection, page_ids).values()]
    connection.executemany("DELETE FROM edges WHERE left = ?", docs)
    connection.executemany("DELETE FROM edges WHERE right = ?", docs)


def replace_all(connection: sqlite3.Connection, edges: Iterable[Edge], kept: Sequence[Assignment]) -> None:
    """Replace all edges, and change those assignments that differ."""
    connection.execute("DELETE FROM edges")
    put_edges(connection, edges)
    rows = assign_many(connection, kept)
    stored = {doc for (doc,) in connection.execute("SELECT doc FROM assignments")}
    gone = stored.difference(map(itemgetter(0), rows))
    connection.executemany("DELETE FROM assignments WHERE doc = ?", ((doc,) for doc in gone))


def edges_of(connection: sqlite3.Connection, page_ids: Iterable[str]) -> list[Edge]:
    """Edges that touch any of the pages, by (left, right)."""
    docs = json.dumps(list(names.docs_by_id(connection, page_ids).values()))
    rows = sorted(connection.execute(_EDGES, (docs,)))
    return [Edge(left, right, Relation(relation), score) for left, right, relation, score in rows]


def assign_many(connection: sqlite3.Connection, kept: Sequence[Assignment]) -> list[tuple[Any, ...]]:
    """Store assignments, a page's earlier one is replaced where it differs; gives the rows."""
    docs = names.give_numbers(
        connection, (page_id for a in kept for page_id in (a.page_id, a.cluster_id, a.canonical))
    )
    rows = [(docs[a.page_id], docs[a.cluster_id], docs[a.canonical], str(a.relation), a.score) for a in kept]
    rows.sort(key=itemgetter(0))  # rows that follow each other are written in half the time
    insert(connection, "INSERT INTO assignments VALUES", "(?, ?, ?, ?, ?)", rows, _WHERE_IT_DIFFERS)
    return rows


def assignments(connection: sqlite3.Connection, page_ids: Iterable[str]) -> dict[str, Assignment]:
    """Assignments by page id."""
    rows = names.rows_by_id(connection, f"{_ASSIGNMENTS} WHERE p.page_id IN", page_ids)
    return {row[0]: _assignment(row) for row in rows}


def members(connection: sqlite3.Connection, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
    """Assignments by cluster id, clusters and members by id ascending."""
    docs = list(names.docs_by_id(connection, cluster_ids).values())
    found: dict[str, list[Assignment]] = {}
    for row in connection.execute(_MEMBERS, (json.dumps(docs),)):
        found.setdefault(row[1], []).append(_assignment(row))
    return found


def cluster_ids(connection: sqlite3.Connection, min_size: int, after: str, limit: int) -> list[str]:
    """At most ``limit`` ids above ``after`` of clusters with ``min_size`` pages or more, ascending."""
    rows = connection.execute(_CLUSTER_IDS, (after, max(min_size, 1) - 1, limit))
    return [cluster_id for (cluster_id,) in rows]


def _assignment(row: tuple[Any, ...]) -> Assignment:
    page_id, cluster_id, representative, relation, score = row
    return Assignment(page_id, cluster_id, representative, Relation(relation), score)


def load_statistics(connection: sqlite3.Connection) -> bytes | None:
    """The stored snapshot, or None."""
    found = connection.execute("SELECT snapshot FROM statistics").fetchone()
    return bytes(found[0]) if found else None


def save_statistics(connection: sqlite3.Connection, snapshot: bytes) -> None:
    """Replace the stored snapshot."""
    connection.execute("INSERT OR REPLACE INTO statistics VALUES (1, ?)", (snapshot,))
