"""Changes of clusters: one row for each page that was ever clustered, numbered anew whenever its assignment changes.

Triggers write the rows, so that no statement that changes assignments can leave one out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.index.embedded.schema import read_meta
from es_dedup.index.port import Index
from es_dedup.model import Relation
from es_dedup.model.cluster_changes import ClusterChange, Cursor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.index.embedded.connection import Connection

ROWS: Final = 2000
_CHANGES: Final = """
    SELECT n.seq, p.page_id, c.page_id, r.page_id, a.relation, a.score FROM changes AS n
    JOIN pages AS p ON p.doc = n.doc LEFT JOIN assignments AS a ON a.doc = n.doc
    LEFT JOIN pages AS c ON c.doc = a.cluster LEFT JOIN pages AS r ON r.doc = a.representative
    WHERE n.seq > ? ORDER BY n.seq LIMIT ?"""


class ClusterFeed(Index):
    """The methods of ``Index`` that follow changes of clusters; for ``EmbeddedIndex``."""

    _connection: Connection

    def changes(self, since: Cursor | None = None) -> Iterator[ClusterChange]:
        """See ``ClusterStore.changes``."""
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
                        relation and Relation(relation),
                        score,
                    )
                    for number, page, cluster, canonical, relation, score in rows
                ]
            if not found:
                return
            yield from found
            place = rows[-1][0]

    def changes_end(self) -> Cursor:
        """See ``ClusterStore.changes_end``."""
        with self._connection.reading() as connection:
            (last,) = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchone()
            return Cursor(str(read_meta(connection, "changes")), last)
