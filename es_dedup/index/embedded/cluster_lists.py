"""Lists of clusters, and counts of duplicates, by one statement each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.index.port import Index
from es_dedup.model.cluster_lists import ClusterOrder, ClusterSummary

if TYPE_CHECKING:
    from es_dedup.index.embedded.connection import Connection
    from es_dedup.model import Scope
    from es_dedup.model.cluster_lists import ClusterQuery, Place

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


class ClusterLists(Index):
    """The methods of ``Index`` that list and count clusters; for ``EmbeddedIndex``."""

    _connection: Connection

    def list_clusters(
        self, query: ClusterQuery, *, after: Place | None = None, limit: int = 50
    ) -> list[ClusterSummary]:
        """See ``ClusterStore.list_clusters``."""
        tests = scope_tests(query.scope)
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
        """See ``ClusterStore.cluster_sizes``."""
        sizes = "SELECT count(*) AS size FROM assignments GROUP BY cluster"
        with self._connection.reading() as connection:
            return Counter(dict(connection.execute(f"SELECT size, count(*) FROM ({sizes}) GROUP BY size")))

    def duplicate_counts(self) -> tuple[Counter[str], Counter[str]]:
        """See ``ClusterStore.duplicate_counts``."""
        sites: Counter[str] = Counter()
        months: Counter[str] = Counter()
        with self._connection.reading() as connection:
            for site, month, count in connection.execute(_DUPLICATES):
                sites[site] += count
                months[month] += count
        return sites, months


def scope_tests(scope: Scope) -> dict[str, str | int]:
    """Conditions on a page ``p`` that lies in the scope, with the value ``?1`` of each."""
    tests = {
        "p.site = ?1": scope.site,
        "p.published <> '' AND p.published >= ?1": scope.published_from,
        # A bound of less precision covers all that begins with it: '2024-05' reaches to the last of May.
        "p.published <> '' AND substr(p.published, 1, length(?1)) <= ?1": scope.published_to,
        "p.length >= ?1": scope.min_length,
        "p.length <= ?1": scope.max_length,
    }
    return {test: value for test, value in tests.items() if value is not None}
