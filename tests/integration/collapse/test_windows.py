"""Folding in a window on a real server: by cluster id, by stored features, under the page that contains a page."""

from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.collapse import Bound, DedupSearch, Total
from tests.collapsing import Corpus, first_of_each, ids, ranked

SORTED: dict[str, Any] = {"sort": [{"n": "asc"}]}


@pytest.mark.parametrize(("first", "size", "window"), [(0, 10, 60), (15, 10, 60), (50, 30, 5), (0, 10, 5000)])
def test_mode_group_groups_the_best_hits(
    client: Elasticsearch, corpus: Corpus, first: int, size: int, window: int
) -> None:
    body = {"query": {"match": {"body": "ferry 银行"}}, "sort": ["_score", {"n": "asc"}]}
    found = ranked(client, corpus.index, body)
    seen = found[: max(window, first + size)]
    best = first_of_each(seen, lambda hit: corpus.documents[hit["_id"]].group)
    page = DedupSearch(client, corpus.index).search(
        body | {"from": first, "size": size}, mode="group", window=window
    )
    assert ids(page) == [hit["_id"] for hit in best[first : first + size]]
    assert page.total_groups is not None
    assert (page.total_groups.value, page.total_groups.exact) == (len(best), len(seen) == len(found))
    for group in page.groups:
        book = corpus.documents[group.hit["_id"]].group
        others = [hit["_id"] for hit in seen if corpus.documents[hit["_id"]].group == book][1:]
        assert [hit["_id"] for hit in group.other_hits] == others
        assert group.similar_count == corpus.size(book) - 1
    assert page.notes == ()


@pytest.mark.parametrize("mode", ["canonical", "collapse", "group"])
def test_a_contained_page_lies_under_the_page_that_contains_it(
    client: Elasticsearch, index: str, mode: str
) -> None:
    pointers: dict[str, list[str]] = {
        "a": ["c"],  # ranks before its container
        "b": [],
        "c": ["d"],  # in a chain
        "d": [],
        "e": ["gone"],
        "f": ["g"],  # in a circle
        "g": ["f"],
        "h": [],
    }
    for number, (name, containers) in enumerate(pointers.items()):
        mark: dict[str, Any] = {
            "cluster_id": f"{index}/{name}",
            "canonical": True,
            "relation": "contained" if containers else "unique",
            "cluster_size": 1,
        }
        if containers:
            mark["contained_in"] = [f"{index}/{other}" for other in containers]
        client.index(index=index, id=name, document={"n": number, "body": "tea", "dedup": mark}, refresh=True)
    search = DedupSearch(client, index)
    page = search.search(SORTED, mode=mode, nest_contained=True)
    assert ids(page) == ["d", "b", "e", "f", "h"]
    assert [[inner.hit["_id"] for inner in group.contained] for group in page.groups] == [
        ["a", "c"],
        [],
        [],
        ["g"],
        [],
    ]
    assert page.total_groups == Total(5, Bound.EXACT)
    assert "fields" not in page.groups[0].hit
    second = search.search(SORTED | {"from": 2, "size": 2}, mode=mode, nest_contained=True)
    assert ids(second) == ["e", "f"]
    small = search.search(SORTED | {"size": 2}, mode=mode, nest_contained=True, window=4)
    assert ids(small) == ["d", "b"]
    assert small.total_groups is not None
    assert (small.total_groups.value, small.total_groups.exact) == (2, False)
    assert ids(search.search(SORTED, mode=mode)) == list("abcdefgh")


def test_a_container_is_known_by_its_cluster(client: Elasticsearch, index: str) -> None:
    marks: dict[str, dict[str, Any]] = {
        "member": {"cluster_id": "k", "canonical": False, "duplicate_of": f"{index}/whole"},
        "part": {"cluster_id": "p", "canonical": True, "contained_in": [f"{index}/whole"], "cluster_size": 1},
        "whole": {"cluster_id": "k", "canonical": True, "cluster_size": 2},
    }
    for number, (name, mark) in enumerate(marks.items()):
        client.index(index=index, id=name, document={"n": number, "body": name, "dedup": mark}, refresh=True)
    body = SORTED | {"query": {"terms": {"n": [0, 1]}}}  # the page that contains it does not match
    (group,) = DedupSearch(client, index).search(body, mode="collapse", nest_contained=True).groups
    assert group.hit["_id"] == "member"
    assert [inner.hit["_id"] for inner in group.contained] == ["part"]
