"""Collapsed searches on a real server: each page, total and facet against plain counting in Python."""

from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.collapse import Bound, DedupSearch, Total
from tests.collapsing import Corpus, first_of_each, ids, ranked

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
    "least score": {"query": {"match": {"body": "river"}}, "min_score": 0.4, "sort": TIED},
    "nothing": {"query": {"match": {"body": "unheard"}}, "sort": TIED},
}


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
    assert page.total_documents == Total(len(found), Bound.EXACT)
    assert page.total_groups == Total(len(best), Bound.EXACT)
    assert not page.problems
    estimated = search.search(body | {"size": 0}, mode="collapse", group_total="estimate")
    assert estimated.total_groups is not None
    assert estimated.total_groups.value == len(best)


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
    assert page.total_documents == Total(len(found), Bound.EXACT)
    assert page.total_groups == Total(len(shown), Bound.EXACT)
