"""What a collapsed search passes on and adds: contents, highlights, vectors, similar pages, expansion."""

import asyncio
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.collapse import START, AsyncDedupSearch, DedupSearch
from es_dedup.errors import IndexUnavailable, SearchRefused
from tests.collapsing import Corpus, first_of_each, ids, ranked
from tests.servers import async_client_of, fresh_name, needs_elasticsearch, url_of

QUERY: dict[str, Any] = {"query": {"match": {"body": "bridge 桥梁"}}, "sort": ["_score", {"n": "asc"}]}
VECTOR = [0.4, 0.6, 0.5, 0.5]
KNN = {"field": "vector", "query_vector": VECTOR, "k": 80, "num_candidates": 1500}
VECTORS: dict[str, dict[str, Any]] = {
    "knn": {"knn": KNN},
    "filtered knn": {"knn": [KNN | {"filter": {"term": {"site": "site2.example"}}}]},
    "hybrid": {"query": {"match": {"body": {"query": "ferry", "boost": 0.1}}}, "knn": KNN},
    "knn query": {"query": {"knn": KNN}},
    "retriever": {"retriever": {"knn": KNN}},
}
MODES = ["canonical", "collapse", "group", "off"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"_source": False},
        {"_source": ["site"]},
        {"_source": {"excludes": ["dedup", "vector"]}},
        {"highlight": {"fields": {"body": {}}}},
        {"fields": ["site", "dedup.cluster_id"], "_source": False},
        {"docvalue_fields": ["n", {"field": "dedup.cluster_size"}]},
        {"explain": True, "version": True, "seq_no_primary_term": True},
    ],
    ids=str,
)
def test_a_hit_is_as_without_collapsing(
    client: Elasticsearch, corpus: Corpus, mode: str, more: dict[str, Any]
) -> None:
    page = DedupSearch(client, corpus.index).search(QUERY | more | {"size": 30}, mode=mode)
    assert page.groups
    one = client.search(
        index=corpus.index, body=QUERY | more | {"size": 30, "post_filter": {"ids": {"values": ids(page)}}}
    )
    shown = [dict(group.hit) for group in page.groups]
    for hit in (*shown, *one["hits"]["hits"]):
        if "_explanation" in hit:  # its parts tell of our filter too
            hit["_explanation"] = hit["_explanation"]["value"]
    assert shown == one["hits"]["hits"]


@pytest.mark.parametrize("name", VECTORS)
def test_collapse_keeps_the_nearest_neighbours(client: Elasticsearch, corpus: Corpus, name: str) -> None:
    needs_elasticsearch("dense_vector")
    found = ranked(client, corpus.index, VECTORS[name])
    best = first_of_each(found, lambda hit: corpus.documents[hit["_id"]].group)
    page = DedupSearch(client, corpus.index).search(
        VECTORS[name] | {"size": 1000}, mode="collapse", group_total="exact"
    )
    assert sorted(round(group.hit["_score"], 5) for group in page.groups) == sorted(
        round(hit["_score"], 5) for hit in best
    )
    assert {corpus.documents[name_].group for name_ in ids(page)} == {
        corpus.documents[hit["_id"]].group for hit in best
    }
    assert page.total_groups is not None
    assert page.total_documents is not None
    assert (page.total_groups.value, page.total_documents.value) == (len(best), len(found))


@pytest.mark.parametrize("mode", MODES)
def test_similar_pages_are_counted(client: Elasticsearch, corpus: Corpus, mode: str) -> None:
    body = QUERY | {"size": 40, "post_filter": {"range": {"length": {"gte": 5}}}}
    for group in DedupSearch(client, corpus.index).search(body, mode=mode).groups:
        book = corpus.documents[group.hit["_id"]]
        assert group.cluster_id == (book.group if book.marked else None)
        assert group.similar_count == corpus.size(book.group) - 1


def test_a_cluster_is_expanded(client: Elasticsearch, corpus: Corpus) -> None:
    search = DedupSearch(client, corpus.index)
    group = max((page.group for page in corpus.documents.values()), key=corpus.size)
    members = {page.id for page in corpus.documents.values() if page.group == group}
    found = search.expand(group, {"size": 100, "_source": ["n"]})
    assert {hit["_id"] for hit in found.hits} == members
    assert corpus.documents[found.hits[0]["_id"]].canonical
    assert set(found.hits[0]["_source"]) == {"n"}
    assert (found.total.value, found.total.exact) == (len(members), True)
    assert [len(search.expand(group, {"from": 2, "size": 2}).hits), search.expand("none").hits] == [2, ()]
    some = search.expand(group, {"query": {"match": {"body": "bridge"}}, "size": 100})
    assert {hit["_id"] for hit in some.hits} == {
        name for name in members if "bridge" in corpus.documents[name].source["body"].split()
    }
    longest = search.expand(group, {"sort": [{"length": "desc"}, "n"]}).hits[0]
    assert longest["sort"][0] == max(corpus.documents[name].source["length"] for name in members)


def test_totals_are_counted_as_far_as_the_body_says(client: Elasticsearch, corpus: Corpus) -> None:
    search = DedupSearch(client, corpus.index)
    for mode in MODES:
        page = search.search({"track_total_hits": 50}, mode=mode)
        assert page.total_documents is not None
        assert (page.total_documents.value, page.total_documents.bound) == (50, "at least")
        assert search.search({"track_total_hits": False}, mode=mode).total_documents is None
        assert search.search({}, mode=mode, document_total=False).total_documents is None
    assert search.search({}, mode="collapse", group_total="none").total_groups is None


def test_the_async_search_gives_the_same(corpus: Corpus, client: Elasticsearch) -> None:
    sync = DedupSearch(client, corpus.index)
    body = QUERY | {"size": 60, "aggs": {"sites": {"terms": {"field": "site"}}}}
    cluster = next(page.group for page in corpus.documents.values() if page.marked)

    async def both() -> None:
        async with async_client_of(url_of("es8")) as other:
            search = AsyncDedupSearch(other, corpus.index)
            for mode in MODES:
                one, two = sync.search(body, mode=mode), await search.search(body, mode=mode)
                assert (one.groups, one.facets, one.total_groups) == (
                    two.groups,
                    two.facets,
                    two.total_groups,
                )
            pages = [page async for page in search.pages(body, mode="collapse")]
            assert [ids(page) for page in pages] == [ids(page) for page in sync.pages(body, mode="collapse")]
            assert await search.expand(cluster) == sync.expand(cluster)
            with pytest.raises(SearchRefused):
                await search.search({"query": {"unheard": {}}}, cursor=START)
            async for _ in search.pages({"size": 1}):
                break

    asyncio.run(both())


@pytest.mark.parametrize(
    ("body", "changes", "said"),
    [
        ({"collapse": {"field": "site"}}, {}, "mode 'off'"),
        ({"search_after": [3], "sort": ["n"]}, {"mode": "collapse"}, "cursor"),
        ({"from": -1}, {}, "whole number"),
        ({"size": "9"}, {}, "whole number"),
        ({"from": 10_000}, {"mode": "collapse"}, "cursor"),
        ({"from": 10_000}, {}, "cursor"),
        ({"query": {"unheard": {}}}, {}, "search body"),
        ({"query": {"unheard": {}}}, {"mode": "collapse"}, "search body"),
        ({}, {"mode": "best"}, "canonical, collapse, group, off"),
        ({}, {"window": 0}, "10000"),
    ],
)
def test_a_search_that_cannot_be_done_is_refused_with_advice(
    client: Elasticsearch, corpus: Corpus, body: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(SearchRefused, match=said):
        DedupSearch(client, corpus.index).search(body, **changes)


def test_a_missing_index_is_refused_and_a_missing_server_may_come_back(client: Elasticsearch) -> None:
    with pytest.raises(SearchRefused, match="name of the index"):
        DedupSearch(client, fresh_name()).search()
    with pytest.raises(SearchRefused, match="name of the index"):
        DedupSearch(client, fresh_name()).search(cursor=START)
    with Elasticsearch("http://127.0.0.1:9", max_retries=0) as nobody:
        with pytest.raises(IndexUnavailable) as raised:
            DedupSearch(nobody, "pages").search()
        assert raised.value.retryable
