"""Verified edges, cluster assignments, and the statistics snapshot."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.cluster_changes import Assignment, ClusterChanges, turned
from es_dedup.index.embedded import tables
from es_dedup.index.embedded.tables import insert, read_meta
from es_dedup.index.port import NO_NOTES, Index, Notes
from es_dedup.model import Edge, Relation, Scope
from es_dedup.model.cluster_changes import ClusterChange, Cursor
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery, ClusterSummary, Place

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from es_dedup.index.embedded.connection import Connection


CLUSTERS_PER_QUERY: Final = 500
_RELATIONS: Final = {str(each): each for each in Relation}
_EDGES: Final = """
    SELECT l.page_id, r.page_id, e.relation, e.score FROM edges AS e
    JOIN pages AS l ON l.doc = e.left JOIN pages AS r ON r.doc = e.right
    WHERE e.left IN (SELECT value FROM json_each(?1)) OR e.right IN (SELECT value FROM json_each(?1))"""
_ASSIGNMENTS: Final = """
    SELECT p.page_id, c.page_id, r.page_id, a.relation, a.score FROM assignments AS a
    JOIN pages AS p ON p.doc = a.doc JOIN pages AS c ON c.doc = a.cluster
    JOIN pages AS r ON r.doc = a.representative"""
_MEMBERS: Final = f"{_ASSIGNMENTS} WHERE a.cluster IN ({{}}) ORDER BY c.page_id, p.page_id"
_WHERE_IT_DIFFERS: Final = """
    ON CONFLICT (doc) DO UPDATE SET cluster = excluded.cluster, representative = excluded.representative,
    relation = excluded.relation, score = excluded.score
    WHERE (cluster, representative, relation, score)
    <> (excluded.cluster, excluded.representative, excluded.relation, excluded.score)"""
_NEXT_CLUSTERS: Final = """
    SELECT doc FROM pages AS n WHERE page_id > ?1
    AND (SELECT 1 FROM assignments WHERE cluster = n.doc LIMIT 1 OFFSET ?2) IS NOT NULL
    ORDER BY page_id LIMIT ?3"""
_VALUES: Final = {
    ClusterOrder.ID: "id",
    ClusterOrder.LARGEST: "size",
    ClusterOrder.NEWEST: "newest",
    ClusterOrder.CONFIDENCE: "confidence",
}
# ``large`` reads nothing but the index of clusters; pages that are alone in theirs are left out before anything is joined.
_LISTED: Final = """
    WITH large AS MATERIALIZED (
        SELECT cluster, count(*) AS size FROM assignments GROUP BY cluster HAVING count(*) >= :least),
    listed AS (
        SELECT large.cluster, size, c.page_id AS id, a.representative, min(a.score) AS confidence,
            {newest} AS newest
        FROM large CROSS JOIN assignments AS a ON a.cluster = large.cluster {joined}
        CROSS JOIN pages AS c ON c.doc = large.cluster
        GROUP BY large.cluster
        HAVING newest IS NOT NULL AND (:relation IS NULL OR max(a.relation = :relation AND a.doc <> a.representative))
            AND (:after IS NULL OR {value} {sign} :after OR ({value} = :after AND id > :id))
        ORDER BY {value} {direction}, id LIMIT :limit)
    SELECT id, r.page_id, size, newest, confidence, (
        SELECT coalesce(min(CASE WHEN m.doc <> m.representative THEN page_id END), page_id)
        FROM assignments AS m JOIN pages USING (doc)
        WHERE m.cluster = listed.cluster AND m.score = listed.confidence)
    FROM listed JOIN pages AS r ON r.doc = listed.representative ORDER BY {value} {direction}, id"""
_DUPLICATES: Final = """
    SELECT p.site, substr(p.published, 1, 7), count(*) FROM assignments AS a JOIN pages AS p USING (doc)
    WHERE a.doc <> a.representative AND p.state = 1 GROUP BY 1, 2"""
ROWS: Final = 2000
_CHANGES: Final = """
    SELECT n.seq, p.page_id, c.page_id, r.page_id, a.relation, a.score FROM changes AS n
    JOIN pages AS p ON p.doc = n.doc LEFT JOIN assignments AS a ON a.doc = n.doc
    LEFT JOIN pages AS c ON c.doc = a.cluster LEFT JOIN pages AS r ON r.doc = a.representative
    WHERE n.seq > ? ORDER BY n.seq LIMIT ?"""


class ClusterTables(Index):
    """The methods of ``Index`` that read and write edges, assignments and the statistics' snapshot; for ``EmbeddedIndex``."""

    _connection: Connection

    def change_clusters(self, changes: ClusterChanges, notes: Notes = NO_NOTES) -> None:
        """See ``Index.change_clusters``: all of it is kept, or nothing."""
        with self._connection.transaction() as connection:
            ends = {page_id for pair, edge in changes.edges.items() if edge is None for page_id in pair}
            docs = tables.docs_by_id(connection, {*ends, *changes.assigned})
            gone = (tuple(map(docs.get, pair)) for pair, edge in changes.edges.items() if edge is None)
            connection.executemany("DELETE FROM edges WHERE left = ? AND right = ?", gone)
            _put_edges(connection, filter(None, changes.edges.values()))
            left = ((docs.get(page_id),) for page_id, each in changes.assigned.items() if each is None)
            connection.executemany("DELETE FROM assignments WHERE doc = ?", left)
            _assign(connection, list(filter(None, changes.assigned.values())))
            tables.set_notes(connection, notes)

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """See ``Index.edges_of``."""
        with self._connection.reading() as connection:
            docs = json.dumps(list(tables.docs_by_id(connection, page_ids).values()))
            rows = sorted(connection.execute(_EDGES, (docs,)))
            return [Edge(left, right, _RELATIONS[relation], score) for left, right, relation, score in rows]

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """See ``Index.assignments``."""
        with self._connection.reading() as connection:
            rows = tables.rows_in(connection, f"{_ASSIGNMENTS} WHERE p.page_id IN", page_ids)
            return {row[0]: _assignment(row) for row in rows}

    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        """See ``Index.members``: clusters by id ascending."""
        with self._connection.reading() as connection:
            docs = json.dumps(list(tables.docs_by_id(connection, cluster_ids).values()))
            return _groups(connection, "SELECT value FROM json_each(?)", docs)

    def clusters(self, *, min_size: int = 1, after: str | None = None) -> Iterator[list[Assignment]]:
        """See ``Index.clusters``."""
        last = after or ""
        while True:
            with self._connection.reading() as connection:
                found = _groups(connection, _NEXT_CLUSTERS, last, max(min_size, 1) - 1, CLUSTERS_PER_QUERY)
            if not found:
                return
            yield from found.values()
            last = next(reversed(found))

    def replace_all(self, edges: Iterable[Edge], assignments: Iterable[Assignment]) -> None:
        """See ``Index.replace_all``: assignments that do not differ stay as they are."""
        with self._connection.transaction() as connection:
            connection.execute("DELETE FROM edges")
            _put_edges(connection, edges)
            rows = _assign(connection, list(assignments))
            (count,) = connection.execute("SELECT count(*) FROM assignments").fetchone()
            if count > len(rows):
                stored = {doc for (doc,) in connection.execute("SELECT doc FROM assignments")}
                gone = stored.difference(map(itemgetter(0), rows))
                connection.executemany("DELETE FROM assignments WHERE doc = ?", ((doc,) for doc in gone))

    def load_statistics(self) -> bytes | None:
        """See ``Index.load_statistics``."""
        with self._connection.reading() as connection:
            found = connection.execute("SELECT snapshot FROM statistics").fetchone()
            return bytes(found[0]) if found else None

    def save_statistics(self, snapshot: bytes, notes: Notes = NO_NOTES) -> None:
        """See ``Index.save_statistics``."""
        with self._connection.transaction() as connection:
            tables.set_notes(connection, notes)
            connection.execute("INSERT OR REPLACE INTO statistics VALUES (1, ?)", (snapshot,))

    def list_clusters(
        self, query: ClusterQuery, *, after: Place | None = None, limit: int = 50
    ) -> list[ClusterSummary]:
        """See ``Index.list_clusters``."""
        tests = _scope_tests(query.scope)
        down = query.order.descending
        inside = " AND ".join(
            ("p.state = 1", *(test.replace("?1", f":scope{at}") for at, test in enumerate(tests)))
        )
        shown = "p.published" if query.order is ClusterOrder.NEWEST else "''"
        timed = bool(tests) or query.order is ClusterOrder.NEWEST
        statement = _LISTED.format(
            newest=f"max(CASE WHEN {inside} THEN {shown} END)" if timed else "''",
            joined="CROSS JOIN pages AS p ON p.doc = a.doc" if timed else "",
            value=_VALUES[query.order],
            sign="<" if down else ">",
            direction="DESC" if down else "ASC",
        )
        value, name = after or (None, None)
        given = {
            "least": query.min_size,
            "relation": None if query.relation is None else str(query.relation),
            "after": value,
            "id": name,
            "limit": limit,
            **{f"scope{at}": bound for at, bound in enumerate(tests.values())},
        }
        with self._connection.reading() as connection:
            return [ClusterSummary(*row) for row in connection.execute(statement, given)]

    def cluster_sizes(self) -> Counter[int]:
        """See ``Index.cluster_sizes``."""
        sizes = "SELECT count(*) AS size FROM assignments GROUP BY cluster"
        with self._connection.reading() as connection:
            return Counter(dict(connection.execute(f"SELECT size, count(*) FROM ({sizes}) GROUP BY size")))

    def duplicate_counts(self) -> tuple[Counter[str], Counter[str]]:
        """See ``Index.duplicate_counts``."""
        sites: Counter[str] = Counter()
        months: Counter[str] = Counter()
        with self._connection.reading() as connection:
            for site, month, count in connection.execute(_DUPLICATES):
                sites[site] += count
                months[month] += count
        return sites, months

    def changes(self, since: Cursor | None = None) -> Iterator[ClusterChange]:
        """See ``Index.changes``."""
        last = self.changes_end()
        if since is None:
            since = Cursor(last.log, 0)
        elif since.log != last.log or since.place > last.place:
            since = Cursor(last.log, 0)
            yield ClusterChange(str(since))
        place = since.place
        while place < last.place:
            with self._connection.reading() as connection:
                rows = connection.execute(_CHANGES, (place, ROWS)).fetchall()
                found = [
                    ClusterChange(
                        str(Cursor(last.log, number)),
                        page,
                        cluster,
                        canonical,
                        _RELATIONS.get(relation),
                        score,
                    )
                    for number, page, cluster, canonical, relation, score in rows
                ]
            if not found:
                return
            yield from found
            place = rows[-1][0]

    def changes_end(self) -> Cursor:
        """See ``Index.changes_end``."""
        with self._connection.reading() as connection:
            (last,) = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchone()
            return Cursor(str(read_meta(connection, "changes")), last)


def _put_edges(connection: sqlite3.Connection, edges: Iterable[Edge]) -> None:
    kept = list(map(turned, edges))
    docs = tables.give_numbers(connection, (page_id for edge in kept for page_id in (edge.left, edge.right)))
    rows = ((docs[edge.left], docs[edge.right], str(edge.relation), edge.score) for edge in kept)
    head = "INSERT OR REPLACE INTO edges (left, right, relation, score) VALUES"
    insert(connection, head, "(?, ?, ?, ?)", rows)


def _assign(connection: sqlite3.Connection, kept: Sequence[Assignment]) -> list[tuple[Any, ...]]:
    """Store assignments, a page's earlier one is replaced where it differs; gives the rows."""
    if not kept:
        return []
    *pages, relations, scores = zip(*kept, strict=True)
    docs = tables.give_numbers(connection, chain.from_iterable(pages))
    columns = (map(docs.__getitem__, each) for each in pages)
    # rows that follow each other are written in half the time
    rows = sorted(zip(*columns, map(str, relations), scores, strict=True), key=itemgetter(0))
    insert(connection, "INSERT INTO assignments VALUES", "(?, ?, ?, ?, ?)", rows, _WHERE_IT_DIFFERS)
    return rows


def _groups(connection: sqlite3.Connection, docs: str, *values: str | int) -> dict[str, list[Assignment]]:
    """Assignments of clusters by the cluster's id, ascending; ``docs`` selects the clusters' documents."""
    rows = connection.execute(_MEMBERS.format(docs), values)
    return {name: [*map(_assignment, some)] for name, some in groupby(rows, itemgetter(1))}


def _assignment(row: tuple[Any, ...]) -> Assignment:
    page_id, cluster_id, representative, relation, score = row
    return Assignment(page_id, cluster_id, representative, _RELATIONS[relation], score)


def _scope_tests(scope: Scope) -> dict[str, str | int]:
    """Conditions on a page ``p`` that lies in the scope, with the value ``?1`` of each."""
    tests = {
        "p.site = ?1": scope.site,
        "p.published <> '' AND p.published >= ?1": scope.published_from,
        # A bound of less precision covers all that begins with it: '2024-05' reaches to the last of May.
        "p.published <> '' AND substr(p.published, 1, length(?1)) <= ?1": scope.published_to,
    }
    return {test: value for test, value in tests.items() if value is not None}
