"""Deep paging by cursor on a real server: to the end, without gaps and doubles, and what can go wrong."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.collapse import START, Bound, DedupSearch, Total
from es_dedup.errors import CursorLost, SearchRefused
from tests.collapsing import Corpus, create, fill, first_of_each, invented, ranked
from tests.servers import fresh_name, needs_elasticsearch

BODIES: dict[str, dict[str, Any]] = {
    "score": {"query": {"match": {"body": "bridge"}}, "sort": ["_score", {"n": "asc"}]},
    "date": {"query": {"match": {"body": "tea 风云"}}, "sort": [{"day": "desc"}, {"n": "desc"}]},
    "missing values": {"query": {"match": {"body": "tea"}}, "sort": [{"late": "asc"}, {"n": "desc"}]},
    "kNN": {"knn": {"field": "vector", "query_vector": [0.5] * 4, "k": 300, "num_candidates": 2000}},
}


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether something holds soon: the server lets go of a context after it has answered."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def contexts(client: Elasticsearch, index: str) -> int:
    """Points in time and scrolls that are open on `index`: other tests use the same server."""
    stats = client.indices.stats(index=index, metric="search")
    return int(stats["_all"]["total"]["search"]["open_contexts"])


@pytest.mark.parametrize("mode", ["canonical", "collapse", "off"])
@pytest.mark.parametrize("name", BODIES)
def test_all_pages_together_are_all_groups(
    client: Elasticsearch, corpus: Corpus, name: str, mode: str
) -> None:
    if name == "kNN":
        needs_elasticsearch("dense_vector")
    body = BODIES[name] | {"track_total_hits": True}
    found = ranked(client, corpus.index, body)
    if mode == "collapse":
        expected = first_of_each(found, lambda hit: corpus.documents[hit["_id"]].group)
    else:
        expected = [hit for hit in found if mode == "off" or corpus.documents[hit["_id"]].canonical]
    before = contexts(client, corpus.index)
    search = DedupSearch(client, corpus.index)
    pages = list(search.pages(body | {"size": 23}, mode=mode, group_total="exact"))
    shown = [group.hit["_id"] for page in pages for group in page.groups]
    wanted = [hit["_id"] for hit in expected]
    if name == "kNN" and mode == "canonical":  # k of the canonical documents, not those of k that are
        assert len(shown) == len(set(shown))
        assert set(shown) >= set(wanted)
        assert len(shown) == pages[0].total_groups.value  # type: ignore[union-attr]
    elif "sort" in body:
        assert shown == wanted
    else:  # equal scores are in no order
        assert sorted(shown) == sorted(wanted)
    assert [len(page.groups) for page in pages[:-1]] == [23] * (len(pages) - 1)
    assert 1 <= len(pages[-1].groups) <= 23
    assert eventually(lambda: contexts(client, corpus.index) <= before)
    if name != "kNN":
        for page in pages:
            assert page.total_documents == Total(len(found), Bound.EXACT)
            assert page.total_groups == Total(len(expected), Bound.EXACT)


def test_what_is_written_meanwhile_is_not_met(client: Elasticsearch) -> None:
    index = fresh_name()
    create(client, index)
    corpus = fill(client, index, invented(60, 2))
    try:
        search = DedupSearch(client, index)
        body = {"sort": [{"n": "asc"}], "size": 20}
        pages = search.pages(body, mode="collapse")
        first = next(pages)
        client.index(index=index, id="late", document={"n": 30, "body": "late"}, refresh=True)
        client.delete(index=index, id="p59", refresh=True)
        rest = list(pages)
        groups = [group for page in (first, *rest) for group in page.groups]
        assert {corpus.documents[group.hit["_id"]].group for group in groups} == {
            page.group for page in corpus.documents.values()
        }
    finally:
        client.indices.delete(index=index)


def test_facets_come_with_the_first_page(client: Elasticsearch, corpus: Corpus) -> None:
    search = DedupSearch(client, corpus.index)
    body = BODIES["date"] | {"aggs": {"sites": {"terms": {"field": "site", "size": 20}}}}
    for mode in ("collapse", "canonical"):
        first, second, *_ = search.pages(body, mode=mode)
        assert first.facets == search.search(body, mode=mode).facets
        assert second.facets == {}


def test_a_walk_that_is_given_up_leaves_nothing_open(client: Elasticsearch, corpus: Corpus) -> None:
    before = contexts(client, corpus.index)
    pages = DedupSearch(client, corpus.index).pages({"size": 5}, mode="collapse")
    next(pages)
    assert contexts(client, corpus.index) > before
    pages.close()  # type: ignore[attr-defined]
    assert eventually(lambda: contexts(client, corpus.index) <= before)
    with pytest.raises(SearchRefused):  # a point in time is open when the server finds the mistake
        next(DedupSearch(client, corpus.index).pages({"query": {"unheard": {}}}))
    assert eventually(lambda: contexts(client, corpus.index) <= before)


def test_a_cursor_that_is_gone_says_so(client: Elasticsearch, corpus: Corpus) -> None:
    search = DedupSearch(client, corpus.index)
    body = {"size": 5, "query": {"match": {"body": "tea"}}}
    cursor = search.search(body, cursor=START).cursor
    assert cursor is not None
    search.close(cursor)
    search.close(cursor)
    with pytest.raises(CursorLost, match="start again"):
        search.search(body, cursor=cursor)


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        ({"from": 3}, {}),
        ({"size": 0}, {}),
        ({"search_after": [1], "sort": ["n"]}, {}),
        ({"pit": {"id": "x"}}, {}),
        ({"collapse": {"field": "site"}}, {"mode": "off"}),
        ({}, {"mode": "group"}),
        ({}, {"nest_contained": True}),
    ],
)
def test_what_does_not_go_with_a_cursor_is_refused(
    client: Elasticsearch, corpus: Corpus, body: dict[str, Any], changes: dict[str, Any]
) -> None:
    before = contexts(client, corpus.index)
    with pytest.raises(SearchRefused):
        DedupSearch(client, corpus.index).search(body, cursor=START, **changes)
    assert eventually(lambda: contexts(client, corpus.index) <= before)
