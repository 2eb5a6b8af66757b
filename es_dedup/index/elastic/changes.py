"""Changes of clusters, by the sequence numbers that the server gives documents.

A write of an assignment gives its document a higher number than all before it in its index of one shard, whoever writes. A removed
assignment leaves a document without cluster (``clusters.removals``). An index that takes the place of this one has another id.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from es_dedup.errors import IndexError_, IndexUnavailable
from es_dedup.index.elastic.clusters import assignments_in
from es_dedup.index.elastic.reading import WINDOW, whole
from es_dedup.index.elastic.server import Unanswered
from es_dedup.model.cluster_changes import ClusterChange, Cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from elasticsearch import Elasticsearch

    from es_dedup.index.elastic.server import Server


def changes(
    server: Server, alias: str, refresh: Callable[[], None], since: Cursor | None
) -> Iterator[ClusterChange]:
    """See ``ClusterStore.changes``."""
    while True:
        index, last, newest = _end(server, alias)
        refresh()  # after the end is known: up to there searches see everything
        if since is None:
            since = Cursor(last.log, -1)
        elif since.log != last.log or since.place > newest:
            since = Cursor(last.log, -1)
            yield ClusterChange(str(since))
        try:
            for change in _after(server, index, since, last):
                since = Cursor.parse(change.cursor)
                yield change
        except IndexError_:
            if end(server, alias).log == last.log:
                raise
        else:
            return


def end(server: Server, alias: str) -> Cursor:
    """See ``ClusterStore.changes_end``."""
    return _end(server, alias)[1]


def _end(server: Server, alias: str) -> tuple[str, Cursor, int]:
    """The real index, the place up to which every write is done on all copies, and the highest number given.

    Numbers are given before documents are written: beyond the checkpoint one may still be missing, and one may be given again
    when the server fails.
    """
    ((name, index),) = server.call(partial(_statistics, alias)).items()
    if len(index["shards"]) != 1:
        raise IndexUnavailable(server.name, f"{name} has several shards, so its changes have no one order")
    (copies,) = index["shards"].values()
    (primary,) = (copy["seq_no"] for copy in copies if copy["routing"]["primary"])
    return name, Cursor(index["uuid"], primary["global_checkpoint"]), primary["max_seq_no"]


def _statistics(alias: str, client: Elasticsearch) -> dict[str, Any]:
    """Statistics of the shards of the index behind an alias, by its name."""
    found: dict[str, Any] = client.indices.stats(index=alias, level="shards")["indices"]
    if not found:  # another index has taken its place since the name was resolved
        raise Unanswered("the index of clusters was being replaced")
    return found


def _after(server: Server, index: str, place: Cursor, last: Cursor) -> Iterator[ClusterChange]:
    """Changes after a place, up to another; a page that changes meanwhile comes with the next call, for its number is higher."""
    while place.place < last.place:
        inside = {"range": {"_seq_no": {"gt": place.place, "lte": last.place}}}
        body: dict[str, Any] = {
            "query": {"bool": {"filter": [inside, {"exists": {"field": "page_id"}}]}},
            "sort": [{"_seq_no": "asc"}],
            "size": WINDOW,
        }
        hits = whole(server, index, body)["hits"]["hits"]
        for hit in hits:
            place = Cursor(place.log, hit["sort"][0])
            yield _change(place, hit)
        if len(hits) < WINDOW:
            return


def _change(place: Cursor, hit: dict[str, Any]) -> ClusterChange:
    page_id = hit["_source"]["page_id"]
    now = assignments_in([hit]).get(page_id)
    if now is None:
        return ClusterChange(str(place), page_id)
    return ClusterChange(str(place), page_id, now.cluster_id, now.canonical, now.relation, now.score)
