"""Changes of clusters, by the sequence numbers that the server gives documents.

A write of an assignment gives its document a higher number than all before it in its index of one shard, whoever writes. A removed
assignment leaves a document without cluster (``ClusterChanges.writes``). An index that takes the place of this one has another id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_dedup.errors import IndexError_, IndexUnavailable
from es_dedup.index.elastic.cluster_documents import assignments_in
from es_dedup.index.elastic.clusters import ClusterDocuments
from es_dedup.index.elastic.collection import Collection
from es_dedup.index.elastic.server import Unanswered, reads_answers
from es_dedup.model.cluster_changes import ClusterChange, Cursor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from elasticsearch import Elasticsearch


@reads_answers()
class ClusterFeed(ClusterDocuments):
    """The methods of ``Index`` that follow changes of clusters."""

    def changes(self, since: Cursor | None = None) -> Iterator[ClusterChange]:
        """See ``ClusterStore.changes``."""
        while True:
            index, last, newest = self._end()
            self.refresh_clusters()  # after the end is known: up to there searches see everything
            if since is None:
                since = Cursor(last.log, -1)
            elif since.log != last.log or since.place > newest:
                since = Cursor(last.log, -1)
                yield ClusterChange(str(since))
            try:
                for change in self._after(index, since, last):
                    since = Cursor.parse(change.cursor)
                    yield change
            except IndexError_:
                if self.changes_end().log == last.log:
                    raise
            else:
                return

    def changes_end(self) -> Cursor:
        """See ``ClusterStore.changes_end``."""
        return self._end()[1]

    def _end(self) -> tuple[str, Cursor, int]:
        """The real index, the place up to which every write is done on all copies, and the highest number given.

        Numbers are given before documents are written: beyond the checkpoint one may still be missing, and one may be given again
        when the server fails.
        """
        ((name, index),) = self._server.call(self._statistics).items()
        if len(index["shards"]) != 1:
            raise IndexUnavailable(
                self._server.name, f"{name} has several shards, so its changes have no one order"
            )
        (copies,) = index["shards"].values()
        (primary,) = (copy["seq_no"] for copy in copies if copy["routing"]["primary"])
        return name, Cursor(index["uuid"], primary["global_checkpoint"]), primary["max_seq_no"]

    def _statistics(self, client: Elasticsearch) -> dict[str, Any]:
        """Statistics of the shards of the index behind the alias, by its name."""
        found: dict[str, Any] = client.indices.stats(index=self._clusters.name, level="shards")["indices"]
        if not found:  # another index has taken its place since the name was resolved
            raise Unanswered("the index of clusters was being replaced")
        return found

    def _after(self, index: str, place: Cursor, last: Cursor) -> Iterator[ClusterChange]:
        """Changes after a place, up to another; a page that changes meanwhile comes with the next call, for its number is higher."""
        wanted = [
            {"range": {"_seq_no": {"gt": place.place, "lte": last.place}}},
            {"exists": {"field": "page_id"}},
        ]
        documents = Collection(self._server, index)
        for hits in documents.pages({"bool": {"filter": wanted}}, [{"_seq_no": "asc"}]):
            yield from (_change(Cursor(place.log, hit["sort"][0]), hit) for hit in hits)


def _change(place: Cursor, hit: Mapping[str, Any]) -> ClusterChange:
    page_id = hit["_source"]["page_id"]
    now = assignments_in([hit]).get(page_id)
    if now is None:
        return ClusterChange(str(place), page_id)
    return ClusterChange(str(place), page_id, now.cluster_id, now.canonical, now.relation, now.score)
