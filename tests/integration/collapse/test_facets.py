"""Facets of collapsed searches on a real server, against counting groups in Python."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.collapse import START, DedupSearch
from tests.collapsing import Corpus, ranked

QUERY = {"query": {"match": {"body": "bridge 桥梁 river"}}, "size": 3}
AGGS: dict[str, Any] = {
    "sites": {"terms": {"field": "site", "size": 50}},
    "few": {"terms": {"field": "site", "size": 4}},
    "rare": {"terms": {"field": "site", "size": 50, "order": {"_count": "asc"}}},
    "named": {"terms": {"field": "site", "size": 3, "order": {"_key": "asc"}}},
    "months": {
        "date_histogram": {"field": "day", "calendar_interval": "month"},
        "aggs": {"sites": {"terms": {"field": "site", "size": 50}}},
    },
    "lengths": {"range": {"field": "length", "ranges": [{"to": 10}, {"from": 10, "to": 20}, {"from": 20}]}},
    "chosen": {"filters": {"filters": {"short": {"range": {"length": {"lt": 8}}}, "all": {"match_all": {}}}}},
    "one": {"filter": {"term": {"site": "site1.example"}}},
}


@pytest.fixture(scope="module")
def found(client: Elasticsearch, corpus: Corpus) -> list[dict[str, Any]]:
    """What is stored of all documents that match."""
    return [
        corpus.documents[hit["_id"]].source | {"id": hit["_id"]}
        for hit in ranked(client, corpus.index, QUERY)
    ]


def groups_by(
    found: list[dict[str, Any]], corpus: Corpus, key: Callable[[dict[str, Any]], Any]
) -> dict[Any, int]:
    """Number of groups with a page of each key."""
    groups: dict[Any, set[str]] = defaultdict(set)
    for source in found:
        groups[key(source)].add(corpus.documents[source["id"]].group)
    return {name: len(members) for name, members in groups.items()}


def counts(facet: dict[str, Any], name: str = "key") -> dict[Any, int]:
    return {bucket[name]: bucket["doc_count"] for bucket in facet["buckets"]}


@pytest.mark.parametrize("mode", ["collapse", "group"])
def test_a_bucket_counts_each_group_once(
    client: Elasticsearch, corpus: Corpus, found: list[dict[str, Any]], mode: str
) -> None:
    facets = DedupSearch(client, corpus.index).search(QUERY | {"aggs": AGGS}, mode=mode).facets
    sites = groups_by(found, corpus, lambda source: source["site"])
    assert counts(facets["sites"]) == sites
    documents = {bucket["key"]: bucket["documents"] for bucket in facets["sites"]["buckets"]}
    assert documents == {name: sum(source["site"] == name for source in found) for name in documents}
    assert counts(facets["months"], "key_as_string") == {
        f"{month}-01T00:00:00.000Z": number
        for month, number in groups_by(found, corpus, lambda source: source["day"][:7]).items()
    }
    for bucket in facets["months"]["buckets"]:
        month = [source for source in found if source["day"][:7] == bucket["key_as_string"][:7]]
        assert counts(bucket["sites"]) == groups_by(month, corpus, lambda source: source["site"])
    lengths = groups_by(found, corpus, lambda source: min(source["length"] // 10, 2))
    assert [bucket["doc_count"] for bucket in facets["lengths"]["buckets"]] == [
        lengths.get(part, 0) for part in range(3)
    ]
    chosen = facets["chosen"]["buckets"]
    assert chosen["short"]["doc_count"] == groups_by(found, corpus, lambda each: each["length"] < 8)[True]
    assert chosen["all"]["doc_count"] == groups_by(found, corpus, lambda _: 1)[1]
    assert facets["one"]["doc_count"] == sites["site1.example"]


@pytest.mark.parametrize("mode", ["collapse", "group"])
def test_buckets_are_ordered_by_groups(
    client: Elasticsearch, corpus: Corpus, found: list[dict[str, Any]], mode: str
) -> None:
    facets = DedupSearch(client, corpus.index).search(QUERY | {"aggs": AGGS}, mode=mode).facets
    sites = groups_by(found, corpus, lambda source: source["site"])
    most = sorted(sites.values(), reverse=True)
    assert [bucket["doc_count"] for bucket in facets["sites"]["buckets"]] == most
    assert [bucket["doc_count"] for bucket in facets["rare"]["buckets"]] == most[::-1]
    assert [bucket["key"] for bucket in facets["named"]["buckets"]] == sorted(sites)[:3]
    assert counts(facets["few"]).items() <= sites.items()
    if all(page.marked for page in corpus.documents.values()):
        assert [bucket["doc_count"] for bucket in facets["few"]["buckets"]] == most[:4]


def test_canonical_counts_canonical_documents(
    client: Elasticsearch, corpus: Corpus, found: list[dict[str, Any]]
) -> None:
    facets = DedupSearch(client, corpus.index).search(QUERY | {"aggs": AGGS}).facets
    shown = [source for source in found if corpus.documents[source["id"]].canonical]
    assert counts(facets["sites"]) == groups_by(shown, corpus, lambda source: source["site"])


@pytest.mark.parametrize(
    ("mode", "cursor"),
    [("canonical", None), ("canonical", START), ("collapse", None), ("collapse", START), ("group", None)],
)
def test_a_global_aggregation_counts_each_group_of_the_index_once(
    client: Elasticsearch, corpus: Corpus, mode: str, cursor: str | None
) -> None:
    aggs = {"all": {"global": {}, "meta": {"of": "index"}, "aggs": {"sites": AGGS["sites"]}}}
    every = [page.source | {"id": name} for name, page in corpus.documents.items()]
    page = DedupSearch(client, corpus.index).search(QUERY | {"aggs": aggs}, mode=mode, cursor=cursor)
    found = page.facets["all"]
    assert found["doc_count"] == groups_by(every, corpus, lambda _: 1)[1]
    if mode == "canonical":
        every = [source for source in every if corpus.documents[source["id"]].canonical]
    assert counts(found["sites"]) == groups_by(every, corpus, lambda source: source["site"])
    assert (found["meta"], found.keys() - {"documents"}) == ({"of": "index"}, {"doc_count", "meta", "sites"})


def test_what_stays_about_documents_is_told(
    client: Elasticsearch, corpus: Corpus, found: list[dict[str, Any]]
) -> None:
    facets = {
        "long": {"avg": {"field": "length"}},
        "sites": {"terms": {"field": "site"}, "aggs": {"longest": {"max": {"field": "length"}}}},
    }
    page = DedupSearch(client, corpus.index).search(QUERY | {"aggs": facets}, mode="collapse")
    assert page.notes == ("about documents, not groups: long, sites>longest",)
    assert page.facets["long"]["value"] == pytest.approx(
        sum(source["length"] for source in found) / len(found)
    )
    for bucket in page.facets["sites"]["buckets"]:
        longest = max(source["length"] for source in found if source["site"] == bucket["key"])
        assert bucket["longest"] == {"value": longest}
