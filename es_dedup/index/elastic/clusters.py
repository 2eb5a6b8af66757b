"""Verified edges and cluster assignments: one document each, in one index that can be replaced in one step."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexError_, IndexUnavailable
from es_dedup.index.closing import on_error
from es_dedup.index.cluster_changes import Assignment, ClusterChanges, grouped
from es_dedup.index.elastic.collection import VALUES_AT_A_TIME, WINDOW, Collection, Write, any_of
from es_dedup.index.elastic.documents import (
    assignment_of,
    assignment_writes,
    assignments_in,
    edge_of,
    edge_writes,
    key_of,
    pair_key,
    storable,
)
from es_dedup.index.elastic.schema import CLUSTERS, delete_index
from es_dedup.index.elastic.server import Unanswered, reads_answers
from es_dedup.index.elastic.store import Store
from es_dedup.index.port import NO_NOTES, Notes
from es_dedup.model import Edge, Relation, Scope
from es_dedup.model.batches import chunked
from es_dedup.model.cluster_changes import ClusterChange, Cursor
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery, ClusterSummary, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from elasticsearch import Elasticsearch


BY_CLUSTER: Final = ({"cluster_id": "asc"}, {"page_id": "asc"})
BY_EDGE: Final = ({"edge": "asc"},)
BUCKETS: Final = 5_000  # clusters counted in one request
# edges or assignments of ``replace_all`` whose answers are looked at together
REPLACED_AT_A_TIME: Final = 5_000
MOST: Final = 20_000  # changes of a session that are kept
MOST_LISTED: Final = 30_000
"""Clusters of an order that are counted in one request; with their sub-aggregations fewer than ``search.max_buckets``."""
FIRST: Final = 1_000
"""Pages that are looked at first in the order of time."""
BY_PAGE: Final = ({"page_id": "asc"},)
BY_TIME: Final = ({"published": {"order": "desc", "missing": "_last"}}, *BY_PAGE)
LAST_CHARACTER: Final = "\U0010ffff"
_ASSIGNED: Final = {"exists": {"field": "cluster_id"}}
_ORDERS: Final = {
    ClusterOrder.ID: [{"_key": "asc"}],
    ClusterOrder.LARGEST: [{"_count": "desc"}, {"_key": "asc"}],
    ClusterOrder.CONFIDENCE: [{"confidence": "asc"}, {"_key": "asc"}],
}


@reads_answers("replace_all")
class ClusterDocuments(Store):
    """The methods of ``Index`` that read and write edges and assignments."""

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """See ``Index.edges_of``."""
        return self.edges_and_members(page_ids, ())[0]

    def edges_and_members(
        self, page_ids: Iterable[str], cluster_ids: Iterable[str]
    ) -> tuple[list[Edge], dict[str, list[Assignment]]]:
        """See ``Index.edges_and_members``."""
        changes = self._known_changes()
        self._catch_up(self._clusters, completed=self._lock.inside())
        pages, wanted = list(page_ids), list(cluster_ids)
        touching = [_touching(some) for some in chunked(storable(pages), VALUES_AT_A_TIME)]
        inside = [any_of("cluster_id", some) for some in chunked(storable(wanted), VALUES_AT_A_TIME)]
        asked = [*((query, BY_EDGE) for query in touching), *((query, BY_CLUSTER) for query in inside)]
        answers = self._clusters.all_hits(asked)
        edges = [edge_of(hit["_source"]) for hits in answers[: len(touching)] for hit in hits]
        found = [assignment_of(hit["_source"]) for hits in answers[len(touching) :] for hit in hits]
        return changes.edges_of(pages, edges), grouped(changes.members(wanted, found))

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """See ``Index.assignments``."""
        return assignments_in(self._clusters.read(map(key_of, storable(page_ids))))

    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        """See ``Index.members``."""
        return self.edges_and_members((), cluster_ids)[1]

    def replace_all(self, edges: Iterable[Edge], assignments: Iterable[Assignment]) -> None:
        """See ``Index.replace_all``."""
        self._must_write()
        fresh = Collection(self._server, self._schema.next_index(CLUSTERS), alias=False)
        with on_error(delete_index, self._server, fresh.name):
            for some in chunked(edges, REPLACED_AT_A_TIME):
                fresh.write(edge_writes(some, fresh))
            for each in chunked(assignments, REPLACED_AT_A_TIME):
                fresh.write(assignment_writes(each, fresh))
            fresh.refresh()
            self._lock.check()
            self._schema.swap(CLUSTERS, fresh.name)
        self._changed_outside = True

    def clusters(self, *, min_size: int = 1, after: str | None = None) -> Iterator[list[Assignment]]:
        """See ``Index.clusters``; small ones are not read when they are not wanted."""
        self._catch_up(self._clusters)
        if min_size > 1:
            for sizes in self._sizes(after):
                if large := [name for name, size in sizes.items() if size >= min_size]:
                    yield from self.members(large).values()
            return
        # Sort values beyond every page id, so that the whole cluster ``after`` is passed over.
        start = None if after is None else (after, "\U0010ffff" * 4)
        pages = self._clusters.pages({"exists": {"field": "cluster_id"}}, BY_CLUSTER, after=start)
        rows = (assignment_of(hit["_source"]) for hits in pages for hit in hits)
        for _, group in groupby(rows, key=lambda each: each.cluster_id):
            yield list(group)

    def cluster_sizes(self) -> Counter[int]:
        """See ``Index.cluster_sizes``."""
        self._catch_up(self._clusters)
        return Counter(size for sizes in self._sizes(None) for size in sizes.values())

    def _sizes(self, after: str | None) -> Iterator[dict[str, int]]:
        """Numbers of pages by cluster id, ids ascending, in parts."""
        last = after
        while True:
            composite: dict[str, Any] = {
                "size": BUCKETS,
                "sources": [{"id": {"terms": {"field": "cluster_id"}}}],
            }
            if last is not None:
                composite["after"] = {"id": last}
            body = {"size": 0, "aggs": {"clusters": {"composite": composite}}}
            buckets = self._clusters.answer(body)["aggregations"]["clusters"]["buckets"]
            yield {bucket["key"]["id"]: bucket["doc_count"] for bucket in buckets}
            if len(buckets) < BUCKETS:
                return
            last = buckets[-1]["key"]["id"]

    def change_clusters(self, changes: ClusterChanges, notes: Notes = NO_NOTES) -> None:
        """See ``Index.change_clusters``: one request. Searches within the session are completed by them, and need no refresh."""
        inside = self._lock.inside()
        try:
            writes = [*_writes(changes, self._clusters), *self._note_writes(notes)]
            self._clusters.write(writes, completed=inside)
            self._session_notes |= notes
        except BaseException:
            if inside:
                self._distrust()  # some of it may be stored
            with suppress(IndexError_):  # notes at the end say that all before them was done
                before = {name: self._session_notes.get(name) for name in notes}
                self._meta.write(self._note_writes(before))
            raise
        finally:
            if not inside:
                self._changed_outside = True
        if inside:
            self._session_changes.add(changes)
            if len(self._session_changes) > MOST:
                self._clusters.mark()

    def _known_changes(self) -> ClusterChanges:
        """What completes searches of this thread: the changes of its session, as long as no other thread changes clusters outside of it."""
        if not self._lock.inside():
            return ClusterChanges()
        if self._changed_outside:
            self._distrust()
        return self._session_changes

    def changes(self, since: Cursor | None = None) -> Iterator[ClusterChange]:
        """See ``Index.changes``."""
        while True:
            index, last, newest = self._end()
            self.refresh_clusters()  # after the end is known: up to there searches see everything
            if since is None:
                since = Cursor(last.log, -1)
            elif since.log != last.log or since.place > newest:
                since = Cursor(last.log, -1)
                yield ClusterChange(str(since))
            # A page that changes meanwhile comes with the next call, for its number is higher.
            numbers = {"range": {"_seq_no": {"gt": since.place, "lte": last.place}}}
            wanted = {"bool": {"filter": [numbers, {"exists": {"field": "page_id"}}]}}
            try:
                for hits in Collection(self._server, index).pages(wanted, [{"_seq_no": "asc"}]):
                    for hit in hits:
                        since = Cursor(since.log, hit["sort"][0])
                        yield _change(since, hit)
            except IndexError_:
                if self.changes_end().log == last.log:
                    raise
            else:
                return

    def changes_end(self) -> Cursor:
        """See ``Index.changes_end``."""
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

    def list_clusters(
        self, query: ClusterQuery, *, after: Place | None = None, limit: int = 50
    ) -> list[ClusterSummary]:
        """See ``Index.list_clusters``."""
        self._show_pages()
        self._catch_up(self._clusters)
        by_pages = query.order is ClusterOrder.NEWEST or query.scope != Scope()
        found = (self._of_pages if by_pages else self._ordered)(query, after, limit)
        found.sort(key=lambda each: each.id)
        found.sort(key=lambda each: query.place_of(each)[0], reverse=query.order.descending)
        return self._with_pages(found[:limit])

    def duplicate_counts(self) -> tuple[Counter[str], Counter[str]]:
        """See ``Index.duplicate_counts``."""
        self._show_pages()
        self._catch_up(self._clusters)
        sites: Counter[str] = Counter()
        months: Counter[str] = Counter()
        for hits in self._clusters.pages(_ASSIGNED, BY_PAGE, fields=("page_id", "representative")):
            read = (hit["_source"] for hit in hits)
            copies = [each["page_id"] for each in read if each["page_id"] != each["representative"]]
            for some in self._pages.pages(any_of("page_id", copies), BY_PAGE, fields=("site", "published")):
                sites.update(hit["_source"].get("site", "") for hit in some)
                months.update(hit["_source"].get("published", "")[:7] for hit in some)
        return sites, months

    def _ordered(self, query: ClusterQuery, after: Place | None, limit: int) -> list[ClusterSummary]:
        """Clusters that follow in an order of the index itself; of more and more until there are enough.

        Raises:
            ValueError: too many lie before.
        """
        inside: dict[str, Any] = _ASSIGNED
        if after is not None and query.order is ClusterOrder.ID:
            inside = {"bool": {"filter": [{"range": {"cluster_id": {"gt": after[1]}}}]}}
        size = min(4 * limit, MOST_LISTED)
        while True:
            buckets = self._buckets(inside, query, size, _ORDERS[query.order])
            found = [
                each for each in _summaries(buckets, query) if query.follows(query.place_of(each), after)
            ]
            if len(found) >= limit or len(buckets) < size:
                return found
            if size == MOST_LISTED:
                raise ValueError(
                    f"more than {MOST_LISTED:,} clusters lie before this place of the order: narrow the filters"
                )
            size = min(8 * size, MOST_LISTED)

    def _of_pages(self, query: ClusterQuery, after: Place | None, limit: int) -> list[ClusterSummary]:
        """Clusters that follow and have a page in the scope: all of them or, by time, those of the latest pages, until there are enough."""
        newest = query.order is ClusterOrder.NEWEST
        inside = {"bool": {"filter": [{"match_all": {}}, *_scope_filters(query.scope)]}}
        known: set[str] = set()
        found: list[ClusterSummary] = []
        last: list[Any] | None = None
        size = FIRST if newest else WINDOW
        while True:
            pages = self._pages.pages(inside, BY_TIME, after=last, size=size, fields=False)
            hits = next(pages, ())
            met = self._clusters_of({hit["sort"][1]: hit["sort"][0] or "" for hit in hits})
            fresh = {name: time if newest else "" for name, time in met.items() if name not in known}
            summaries = self._counted(fresh, query)
            found += (each for each in summaries if query.follows(query.place_of(each), after))
            known |= met.keys()
            if len(hits) < size:
                return found
            last, size = hits[-1]["sort"], WINDOW
            # those of the last time may be followed by others of that time with lesser ids
            if newest and sum(each.newest > (last[0] or "") for each in found) >= limit:
                return found

    def _clusters_of(self, times: Mapping[str, str]) -> dict[str, str]:
        """The clusters of some pages, each with the latest of their times."""
        found: dict[str, str] = {}
        fields = ("page_id", "cluster_id")
        for hits in self._clusters.pages(any_of("page_id", list(times)), BY_PAGE, fields=fields):
            for name, page in ((hit["_source"]["cluster_id"], hit["_source"]["page_id"]) for hit in hits):
                found[name] = max(found.get(name, ""), times[page])
        return found

    def _counted(self, ids: Mapping[str, str], query: ClusterQuery) -> Iterator[ClusterSummary]:
        """Those of some clusters that are wanted; ``ids``: the latest time of each."""
        for some in chunked(ids, WINDOW):
            for each in _summaries(self._buckets(any_of("cluster_id", some), query, len(some)), query):
                yield replace(each, newest=ids[each.id])

    def _buckets(
        self, inside: Mapping[str, Any], query: ClusterQuery, size: int, order: Any = None
    ) -> list[Mapping[str, Any]]:
        # The index has one shard, so small clusters can be left out there, before the first ones are taken.
        least = {"min_doc_count": query.min_size, "shard_min_doc_count": query.min_size}
        terms: dict[str, Any] = {"field": "cluster_id", "size": size, **least}
        if order:
            terms["order"] = order
        aggs: dict[str, Any] = {"confidence": {"min": {"field": "score"}}}
        if query.relation is not None:
            aggs["related"] = {"filter": {"term": {"relation": str(query.relation)}}}
        body = {"size": 0, "query": inside, "aggs": {"clusters": {"terms": terms, "aggs": aggs}}}
        found: list[Mapping[str, Any]] = self._clusters.answer(body)["aggregations"]["clusters"]["buckets"]
        return found

    def _with_pages(self, found: Sequence[ClusterSummary]) -> list[ClusterSummary]:
        """The summaries with canonical documents and weakest pages."""
        pages: dict[str, Mapping[str, Any]] = {}
        for some in chunked(found, VALUES_AT_A_TIME):
            ids = [each.id for each in some]
            hit = {"size": 2, "sort": [{"score": "asc"}, *BY_PAGE], "_source": ["page_id", "representative"]}
            aggs = {"weakest": {"top_hits": hit}}
            terms = {"field": "cluster_id", "size": len(ids)}
            grouping = {"clusters": {"terms": terms, "aggs": aggs}}
            body = {"size": 0, "query": any_of("cluster_id", ids), "aggs": grouping}
            for bucket in self._clusters.answer(body)["aggregations"]["clusters"]["buckets"]:
                read = [each["_source"] for each in bucket["weakest"]["hits"]["hits"]]
                others = [each for each in read if each["page_id"] != each["representative"]]
                pages[bucket["key"]] = (others or read)[0]
        return [
            replace(each, canonical=pages[each.id]["representative"], weakest=pages[each.id]["page_id"])
            for each in found
            if each.id in pages  # another process has just dissolved it
        ]


def _scope_filters(scope: Scope) -> Iterable[dict[str, Any]]:
    """Filters for the pages that lie in the scope."""
    if scope.site is not None:
        of_none = {"bool": {"must_not": {"exists": {"field": "site"}}}}
        yield {"term": {"site": scope.site}} if scope.site else of_none
    times: dict[str, str] = {}
    if scope.published_from is not None:
        times["gte"] = scope.published_from
    if scope.published_to is not None:
        # A bound of less precision covers all that begins with it: '2024-05' reaches to the last of May.
        times["lte"] = scope.published_to + LAST_CHARACTER
    if times:
        yield {"range": {"published": times}}


def _writes(changes: ClusterChanges, documents: Collection) -> Iterator[Write]:
    """What is to be sent; a page without assignment keeps a document without cluster, so that who follows changes sees it."""
    edges, pages = sorted(changes.edges.items()), sorted(changes.assigned.items())
    yield from edge_writes((edge for _, edge in edges if edge), documents)
    yield from (documents.delete(pair_key(*pair)) for pair, edge in edges if not edge)
    yield from assignment_writes((each for _, each in pages if each), documents)
    yield from (documents.put(key_of(page_id), {"page_id": page_id}) for page_id, each in pages if not each)


def _touching(page_ids: Sequence[str]) -> dict[str, Any]:
    either = [{"terms": {"left": page_ids}}, {"terms": {"right": page_ids}}]
    return {"bool": {"filter": [{"bool": {"should": either}}]}}


def _change(place: Cursor, hit: Mapping[str, Any]) -> ClusterChange:
    page_id = hit["_source"]["page_id"]
    now = assignments_in([hit]).get(page_id)
    if now is None:
        return ClusterChange(str(place), page_id)
    return ClusterChange(str(place), page_id, now.cluster_id, now.canonical, now.relation, now.score)


def _summaries(buckets: Sequence[Mapping[str, Any]], query: ClusterQuery) -> list[ClusterSummary]:
    """Buckets as summaries without pages, those without the relation left out; the canonical document is exact by itself."""
    least = 1 + (query.relation is Relation.EXACT)
    return [
        ClusterSummary(bucket["key"], "", bucket["doc_count"], "", bucket["confidence"]["value"], "")
        for bucket in buckets
        if query.relation is None or bucket["related"]["doc_count"] >= least
    ]
