"""Changes of clusters: one row for each page that was ever clustered, numbered anew whenever its assignment changes.

Triggers write the rows, so that no statement that changes assignments can leave one out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.index.embedded.schema import read_meta
from es_dedup.model import Relation
from es_dedup.model.cluster_changes import ClusterChange, Cursor

if TYPE_CHECKING:
    import sqlite3

ROWS: Final = 2000
_CHANGES: Final = """
    SELECT n.seq, p.page_id, c.page_id, r.page_id, a.relation, a.score FROM changes AS n
    JOIN pages AS p ON p.doc = n.doc LEFT JOIN assignments AS a ON a.doc = n.doc
    LEFT JOIN pages AS c ON c.doc = a.cluster LEFT JOIN pages AS r ON r.doc = a.representative
    WHERE n.seq > ? ORDER BY n.seq LIMIT ?"""


def end(connection: sqlite3.Connection) -> Cursor:
    """The place after the last change."""
    (last,) = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchone()
    return Cursor(str(read_meta(connection, "changes")), last)


def after(connection: sqlite3.Connection, place: Cursor) -> list[ClusterChange]:
    """The next changes, at most ``ROWS``."""
    rows = connection.execute(_CHANGES, (place.place, ROWS))
    return [
        ClusterChange(
            str(Cursor(place.log, seq)), page, cluster, canonical, relation and Relation(relation), score
        )
        for seq, page, cluster, canonical, relation, score in rows
    ]
