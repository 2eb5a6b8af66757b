"""Collapsed searches on a real server: each page, total and facet against plain counting in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.collapse import DedupSearch, GroupPage
from tests.collapsing import Corpus, create, fill, first_of_each, invented, ranked
from tests.servers import client_of, fresh_name, url_of

TIED = [{"_score": "desc"}, {"n": "asc"}]
BODIES: dict[str, dict[str, Any]] = {
    "score": {"query": {"match": {"body": "bridge 桥梁"}}, "sort": TIED},
    "all": {"sort": [{"n": "desc"}]},
    "date": {"query": {"match": {"body": "茶 tea"}}, "sort": [{"day": "desc"}, {"n": "asc"}]},
    "filter": {
        "query": {
            "bool": {"must": {"match": {"body": "river"}}, "filter": {"term": {"site": "site3.example"}}}
        },
        "sort": TIED,
    },
    "post filter": {
        "query": {"match": {"body": "ferry"}},
        "post_filter": {"terms": {"site": ["site1.example", "site2.example"]}},
        "sort": TIED,
    },
    "nothing": {"query": {"match": {"body": "unheard"}}, "sort": TIED},
}


@pytest.fixture(scope="module")
def client() -> Iterator[Elasticsearch]:
    with client_of(url_of("es8")) as client:
        yield client


@pytest.fixture(scope="module", params=[0.0, 0.3], ids=["all marked", "some unmarked"])
def corpus(client: Elasticsearch, request: pytest.FixtureRequest) -> Iterator[Corpus]:
    index = fresh_name()
    create(client, index, shards=2)
    yield fill(client, index, invented(3000, 7, unmarked=request.param))
    client.indices.delete(index=index)


def ids(page: GroupPage) -> list[str]:
    return [group.hit["_id"] for group in page.groups]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("first", [0, 7, 40])
def test_collapse_shows_the_best_match_of_each_group(
    client: Elasticsearch, corpus: Corpus, name: str, first: int
) -> None:
    body = BODIES[name] | {"track_total_hits": True}
    found = ranked(client, corpus.index, body)
    best = first_of_each(found, lambda hit: corpus.documents[hit["_id"]].group)
    search = DedupSearch(client, corpus.index)
    page = search.search(body | {"from": first, "size": 12}, mode="collapse", group_total="exact")
    assert ids(page) == [hit["_id"] for hit in best[first : first + 12]]
    assert [group.hit["_score"] for group in page.groups] == [
        hit["_score"] for hit in best[first : first + 12]
    ]
    assert page.total_documents is not None
    assert (page.total_documents.value, page.total_documents.exact) == (len(found), True)
    assert page.total_groups is not None
    assert (page.total_groups.value, page.total_groups.exact) == (len(best), True)
    assert not page.problems


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("first", [0, 7])
def test_canonical_shows_canonical_pages_that_match(
    client: Elasticsearch, corpus: Corpus, name: str, first: int
) -> None:
    body = BODIES[name] | {"track_total_hits": True}
    found = ranked(client, corpus.index, body)
    shown = [hit for hit in found if corpus.documents[hit["_id"]].canonical]
    page = DedupSearch(client, corpus.index).search(body | {"from": first, "size": 12})
    assert ids(page) == [hit["_id"] for hit in shown[first : first + 12]]
    assert page.total_documents is not None
    assert page.total_groups is not None
    assert (page.total_documents.value, page.total_documents.exact) == (len(found), True)
    assert (page.total_groups.value, page.total_groups.exact) == (len(shown), True)
