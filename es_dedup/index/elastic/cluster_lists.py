"""Lists of clusters by aggregation; times and sites of pages are looked up in the index of features."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.elastic.candidates import scope_filters
from es_dedup.index.elastic.clusters import ClusterDocuments
from es_dedup.index.elastic.collection import VALUES_AT_A_TIME, WINDOW, any_of
from es_dedup.index.elastic.server import reads_answers
from es_dedup.model import Relation, Scope
from es_dedup.model.batches import chunked
from es_dedup.model.cluster_lists import ClusterOrder, ClusterSummary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from es_dedup.model.cluster_lists import ClusterQuery, Place

MOST: Final = 30_000
"""Clusters of an order that are counted in one request; with their sub-aggregations fewer than ``search.max_buckets``."""
FIRST: Final = 1_000
"""Pages that are looked at first in the order of time."""
BY_PAGE: Final = ({"page_id": "asc"},)
BY_TIME: Final = ({"published": {"order": "desc", "missing": "_last"}}, *BY_PAGE)
_ASSIGNED: Final = {"exists": {"field": "cluster_id"}}
_ORDERS: Final = {
    ClusterOrder.ID: [{"_key": "asc"}],
    ClusterOrder.LARGEST: [{"_count": "desc"}, {"_key": "asc"}],
    ClusterOrder.CONFIDENCE: [{"confidence": "asc"}, {"_key": "asc"}],
}


@reads_answers()
class ClusterLists(ClusterDocuments):
    """The methods of ``Index`` that list and count clusters."""

    def list_clusters(
        self, query: ClusterQuery, *, after: Place | None = None, limit: int = 50
    ) -> list[ClusterSummary]:
        """See ``Index.list_clusters``."""
        self._show_pages()
        self._catch_up(self._clusters)
        if query.order is ClusterOrder.NEWEST:
            found = self._newest(query, after, limit)
        elif query.scope != Scope():
            found = self._in_scope(query, after)
        else:
            found = self._ordered(query, after, limit)
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
        size = min(4 * limit, MOST)
        while True:
            buckets = self._buckets(inside, query, size, _ORDERS[query.order])
            found = [
                each for each in _summaries(buckets, query) if query.follows(query.place_of(each), after)
            ]
            if len(found) >= limit or len(buckets) < size:
                return found
            if size == MOST:
                raise ValueError(
                    f"more than {MOST:,} clusters lie before this place of the order: narrow the filters"
                )
            size = min(8 * size, MOST)

    def _in_scope(self, query: ClusterQuery, after: Place | None) -> list[ClusterSummary]:
        """All clusters that follow and have a page in the scope."""
        pages = self._pages.pages(_filter(query.scope), BY_PAGE, fields=False)
        ids = {name: "" for hits in pages for name in self._clusters_of({hit["sort"][0]: "" for hit in hits})}
        return [each for each in self._counted(ids, query) if query.follows(query.place_of(each), after)]

    def _newest(self, query: ClusterQuery, after: Place | None, limit: int) -> list[ClusterSummary]:
        """Clusters that follow by time, from the pages of the scope, the latest first, until there are enough."""
        known: set[str] = set()
        found: list[ClusterSummary] = []
        last: list[Any] | None = None
        size = FIRST
        while True:
            pages = self._pages.pages(_filter(query.scope), BY_TIME, after=last, size=size, fields=False)
            hits = next(pages, ())
            met = self._clusters_of({hit["sort"][1]: hit["sort"][0] or "" for hit in hits})
            summaries = self._counted({name: time for name, time in met.items() if name not in known}, query)
            found += (each for each in summaries if query.follows(query.place_of(each), after))
            known |= met.keys()
            if len(hits) < size:
                return found
            last, size = hits[-1]["sort"], WINDOW
            # those of the last time may be followed by others of that time with lesser ids
            if sum(each.newest > (last[0] or "") for each in found) >= limit:
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

    def _with_pages(self, found: Collection[ClusterSummary]) -> list[ClusterSummary]:
        """The summaries with canonical documents and weakest pages."""
        pages: dict[str, Mapping[str, Any]] = {}
        for some in chunked(found, VALUES_AT_A_TIME):
            ids = [each.id for each in some]
            hit = {"size": 2, "sort": [{"score": "asc"}, *BY_PAGE], "_source": ["page_id", "representative"]}
            aggs = {"weakest": {"top_hits": hit}}
            terms = {"field": "cluster_id", "size": len(ids)}
            body = {
                "size": 0,
                "query": any_of("cluster_id", ids),
                "aggs": {"clusters": {"terms": terms, "aggs": aggs}},
            }
            for bucket in self._clusters.answer(body)["aggregations"]["clusters"]["buckets"]:
                read = [each["_source"] for each in bucket["weakest"]["hits"]["hits"]]
                others = [each for each in read if each["page_id"] != each["representative"]]
                pages[bucket["key"]] = (others or read)[0]
        return [
            replace(each, canonical=pages[each.id]["representative"], weakest=pages[each.id]["page_id"])
            for each in found
            if each.id in pages  # another process has just dissolved it
        ]


def _filter(scope: Scope) -> dict[str, Any]:
    return {"bool": {"filter": [{"match_all": {}}, *scope_filters(scope)]}}


def _summaries(buckets: Collection[Mapping[str, Any]], query: ClusterQuery) -> list[ClusterSummary]:
    """Buckets as summaries without pages, those without the relation left out; the canonical document is exact by itself."""
    least = 1 + (query.relation is Relation.EXACT)
    return [
        ClusterSummary(bucket["key"], "", bucket["doc_count"], "", bucket["confidence"]["value"], "")
        for bucket in buckets
        if query.relation is None or bucket["related"]["doc_count"] >= least
    ]
