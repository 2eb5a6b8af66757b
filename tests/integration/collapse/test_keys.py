"""Every documented key of a search body, in every mode: supported, or refused with a clear error; none is dropped."""

from collections.abc import Callable
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.collapse import START, DedupSearch, Expansion, GroupPage
from es_dedup.errors import IndexUnavailable, SearchRefused
from es_dedup.index.opensearch import is_opensearch
from tests.servers import needs_elasticsearch

MODES = ["canonical", "collapse", "group", "off"]
QUERY: dict[str, Any] = {"match": {"body": {"query": "bridge", "_name": "words"}}}


def shows(name: str) -> Callable[[GroupPage], bool]:
    return lambda page: all(name in group.hit for group in page.groups)


def has(field: str) -> Callable[[GroupPage], bool]:
    return lambda page: all(field in group.hit["fields"] for group in page.groups)


# The key, and what a page of groups has by it.
SUPPORTED: dict[str, tuple[dict[str, Any], Callable[[GroupPage], bool]]] = {
    "query": ({}, shows("matched_queries")),
    "aggs": ({"aggs": {"s": {"terms": {"field": "site"}}}}, lambda page: bool(page.facets["s"]["buckets"])),
    "aggregations": ({"aggregations": {"s": {"max": {"field": "n"}}}}, lambda page: page.facets["s"]["value"] > 0),
    "suggest": (
        {"suggest": {"s": {"text": "bridg", "term": {"field": "body"}}}},
        lambda page: page.suggest["s"][0]["options"][0]["text"] == "bridge",
    ),
    "profile": ({"profile": True}, lambda page: bool(page.profile["shards"])),
    "explain": ({"explain": True}, shows("_explanation")),
    "version": ({"version": True}, shows("_version")),
    "seq_no_primary_term": ({"seq_no_primary_term": True}, shows("_seq_no")),
    "_source": ({"_source": ["n"]}, lambda page: all(set(group.hit["_source"]) == {"n"} for group in page.groups)),
    "fields": ({"fields": ["site"]}, has("site")),
    "docvalue_fields": ({"docvalue_fields": ["site"]}, has("site")),
    "stored_fields": ({"stored_fields": ["n"]}, lambda page: all("_source" not in group.hit for group in page.groups)),
    "highlight": ({"highlight": {"fields": {"body": {}}}}, shows("highlight")),
    "sort": ({"sort": [{"n": "desc"}]}, shows("sort")),
    "track_scores": ({"sort": ["n"], "track_scores": True}, lambda page: page.groups[0].hit["_score"] > 0),
    "track_total_hits": ({"track_total_hits": False}, lambda page: page.total_documents is None),
    "size": ({"size": 3}, lambda page: len(page.groups) == 3),
    "from": ({"from": 2}, lambda page: bool(page.groups)),
    "min_score": ({"min_score": 1000}, lambda page: not page.groups and page.total_documents.value == 0),  # type: ignore[union-attr]
    "post_filter": ({"post_filter": {"term": {"n": -1}}}, lambda page: not page.groups),
    "rescore": (
        {"rescore": {"window_size": 50, "query": {"rescore_query": {"constant_score": {"filter": {"match_all": {}}, "boost": 500}}}}},
        lambda page: page.groups[0].hit["_score"] > 500,
    ),
    "indices_boost": ({"indices_boost": [{"test-*": 1000}]}, lambda page: page.groups[0].hit["_score"] > 100),
    "runtime_mappings": ({"runtime_mappings": {"more": {"type": "long"}}, "fields": ["more"]}, lambda page: bool(page.groups)),
    "terminate_after": ({"terminate_after": 1}, lambda page: any("terminate_after" in each for each in page.problems)),
    "timeout": ({"timeout": "30s"}, lambda page: not page.problems),
    "stats": ({"stats": ["dedup"]}, lambda page: bool(page.groups)),
    "ext": ({"ext": {}}, lambda page: bool(page.groups)),
    "knn": ({"knn": {"field": "vector", "query_vector": [0, 0, 0, 1], "k": 5, "num_candidates": 50}}, lambda page: bool(page.groups)),
    "max_score of the answer": ({}, lambda page: (page.max_score or 0) >= page.groups[0].hit["_score"] > 0),
}  # fmt: skip
REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "collapse": ({"collapse": {"field": "site"}}, ["canonical", "collapse", "group"]),
    "search_after": ({"search_after": [1], "sort": ["n"]}, ["collapse", "group"]),
    "rescore": ({"rescore": {"query": {"rescore_query": {"match_all": {}}}}}, ["collapse"]),
    "slice": ({"slice": {"id": 0, "max": 2}}, MODES),
    "stored_fields": ({"stored_fields": "_none_"}, MODES),
    "sub_searches": ({"sub_searches": []}, MODES),
    "rank": ({"rank": {"rrf": {}}}, MODES),
    "scroll": ({"scroll": "1m"}, MODES),
    "an unknown key": ({"no_such_key": 1}, MODES),
}


@pytest.mark.parametrize(
    ("key", "mode"),
    [(key, mode) for key in SUPPORTED for mode in MODES if (key, mode) != ("rescore", "collapse")],
)
def test_a_key_is_supported(search: DedupSearch, key: str, mode: str) -> None:
    more, seen = SUPPORTED[key]
    if key in ("runtime_mappings", "knn"):
        needs_elasticsearch(key)
    page = search.search({"query": QUERY, "size": 200} | more, mode=mode)
    assert seen(page)
    shown = [group.cluster_id for group in page.groups if group.cluster_id is not None]
    assert mode == "off" or len(shown) == len(set(shown))  # a cluster lies on several shards


@pytest.mark.parametrize(
    ("key", "mode"), [(key, mode) for key, (_, modes) in REFUSED.items() for mode in modes]
)
def test_a_key_is_refused(search: DedupSearch, client: Elasticsearch, key: str, mode: str) -> None:
    # some modes send it, and the answer of OpenSearch has status 500
    unavailable = key == "slice" and is_opensearch(client)
    with pytest.raises((SearchRefused, IndexUnavailable) if unavailable else SearchRefused):
        search.search({"query": QUERY} | REFUSED[key][0], mode=mode)


@pytest.mark.parametrize("mode", ["canonical", "collapse", "off"])
def test_a_cursor_brings_suggestions_with_the_first_page(search: DedupSearch, mode: str) -> None:
    body = {"query": QUERY, "size": 5} | SUPPORTED["suggest"][0]
    first, second, *_ = search.pages(body, mode=mode)
    assert SUPPORTED["suggest"][1](first)
    assert second.suggest == {}
    with pytest.raises(SearchRefused, match="profile"):
        search.search(body | {"profile": True}, cursor=START, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_suggestions_alone_come_with_all_pages(search: DedupSearch, mode: str) -> None:
    """Elasticsearch answers a body that has nothing else with no hits."""
    size = {"size": 5_000}
    page, every = search.search(SUPPORTED["suggest"][0] | size, mode=mode), search.search(size, mode=mode)
    assert SUPPORTED["suggest"][1](page)
    assert (page.total_documents, page.total_groups) == (every.total_documents, every.total_groups)
    assert len(page.groups) == len(every.groups) > 0


@pytest.mark.parametrize("key", ["aggs", "aggregations", "suggest", "profile"])
def test_the_pages_of_a_cluster_refuse_what_they_would_drop(search: DedupSearch, key: str) -> None:
    with pytest.raises(SearchRefused, match=key):
        search.expand("c/p0", SUPPORTED[key][0])
    assert isinstance(search.expand("c/p0", {"size": 1}), Expansion)
