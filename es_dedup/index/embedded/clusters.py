"""Verified edges, cluster assignments, and the statistics snapshot."""

from __future__ import annotations

import json
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.embedded import names
from es_dedup.index.embedded.rows import insert
from es_dedup.index.port import Assignment, Index
from es_dedup.model import Edge, Relation

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from es_dedup.index.embedded.connection import Connection

CLUSTERS_PER_QUERY: Final = 500
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


class ClusterTables(Index):
    """The methods of ``Index`` that read and write edges, assignments and the statistics' snapshot; for ``EmbeddedIndex``."""

    _connection: Connection

    def put_edges(self, edges: Iterable[Edge]) -> None:
        """See ``ClusterStore.put_edges``: the lesser id on the left."""
        kept = list(edges)  # before the transaction: an iterator may be slow, or read this index
        with self._connection.transaction() as connection:
            _put_edges(connection, kept)

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """See ``ClusterStore.edges_of``."""
        with self._connection.reading() as connection:
            docs = json.dumps(list(names.docs_by_id(connection, page_ids).values()))
            rows = sorted(connection.execute(_EDGES, (docs,)))
            return [Edge(left, right, Relation(relation), score) for left, right, relation, score in rows]

    def drop_edges(self, page_ids: Iterable[str]) -> None:
        """See ``ClusterStore.drop_edges``."""
        with self._connection.transaction() as connection:
            docs = [(doc,) for doc in names.docs_by_id(connection, page_ids).values()]
            connection.executemany("DELETE FROM edges WHERE left = ?", docs)
            connection.executemany("DELETE FROM edges WHERE right = ?", docs)

    def assign_many(self, assignments: Iterable[Assignment]) -> None:
        """See ``ClusterStore.assign_many``."""
        kept = list(assignments)
        with self._connection.transaction() as connection:
            _assign(connection, kept)

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """See ``ClusterStore.assignments``."""
        with self._connection.reading() as connection:
            rows = names.rows_by_id(connection, f"{_ASSIGNMENTS} WHERE p.page_id IN", page_ids)
            return {row[0]: _assignment(row) for row in rows}

    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        """See ``ClusterStore.members``: clusters by id ascending."""
        found: dict[str, list[Assignment]] = {}
        with self._connection.reading() as connection:
            docs = list(names.docs_by_id(connection, cluster_ids).values())
            for row in connection.execute(_MEMBERS, (json.dumps(docs),)):
                found.setdefault(row[1], []).append(_assignment(row))
        return found

    def clusters(self, *, min_size: int = 1, after: str | None = None) -> Iterator[list[Assignment]]:
        """See ``ClusterStore.clusters``."""
        last = after or ""
        while True:
            with self._connection.reading() as connection:
                rows = connection.execute(_CLUSTER_IDS, (last, max(min_size, 1) - 1, CLUSTERS_PER_QUERY))
                ids = [cluster_id for (cluster_id,) in rows]
                found = self.members(ids)
            if not ids:
                return
            yield from found.values()
            last = ids[-1]

    def replace_all(self, edges: Iterable[Edge], assignments: Iterable[Assignment]) -> None:
        """See ``ClusterStore.replace_all``: assignments that do not differ stay as they are."""
        with self._connection.transaction() as connection:
            connection.execute("DELETE FROM edges")
            _put_edges(connection, edges)
            rows = _assign(connection, list(assignments))
            stored = {doc for (doc,) in connection.execute("SELECT doc FROM assignments")}
            gone = stored.difference(map(itemgetter(0), rows))
            connection.executemany("DELETE FROM assignments WHERE doc = ?", ((doc,) for doc in gone))

    def load_statistics(self) -> bytes | None:
        """See ``StatisticsStore.load_statistics``."""
        with self._connection.reading() as connection:
            found = connection.execute("SELECT snapshot FROM statistics").fetchone()
            return bytes(found[0]) if found else None

    def save_statistics(self, snapshot: bytes) -> None:
        """See ``StatisticsStore.save_statistics``."""
        with self._connection.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO statistics VALUES (1, ?)", (snapshot,))


def _put_edges(connection: sqlite3.Connection, edges: Iterable[Edge]) -> None:
    kept = [edge if edge.left <= edge.right else _turned(edge) for edge in edges]
    docs = names.give_numbers(connection, (page_id for edge in kept for page_id in (edge.left, edge.right)))
    rows = ((docs[edge.left], docs[edge.right], str(edge.relation), edge.score) for edge in kept)
    connection.executemany(
        "INSERT OR REPLACE INTO edges (left, right, relation, score) VALUES (?, ?, ?, ?)", rows
    )


def _turned(edge: Edge) -> Edge:
    return Edge(edge.right, edge.left, edge.relation.reversed, edge.score)


def _assign(connection: sqlite3.Connection, kept: Sequence[Assignment]) -> list[tuple[Any, ...]]:
    """Store assignments, a page's earlier one is replaced where it differs; gives the rows."""
    docs = names.give_numbers(
        connection, (page_id for a in kept for page_id in (a.page_id, a.cluster_id, a.canonical))
    )
    rows = [(docs[a.page_id], docs[a.cluster_id], docs[a.canonical], str(a.relation), a.score) for a in kept]
    rows.sort(key=itemgetter(0))  # rows that follow each other are written in half the time
    insert(connection, "INSERT INTO assignments VALUES", "(?, ?, ?, ?, ?)", rows, _WHERE_IT_DIFFERS)
    return rows


def _assignment(row: tuple[Any, ...]) -> Assignment:
    page_id, cluster_id, representative, relation, score = row
    return Assignment(page_id, cluster_id, representative, Relation(relation), score)
