"""Several indices in one search: some never attached, some that do not answer; and documents half marked."""

from collections.abc import Iterator
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.collapse import Bound, DedupSearch, GroupPage, Total, totals
from tests.collapsing import Corpus, Stored, create, fill, first_of_each, invented, ranked
from tests.servers import fresh_name

BODY: dict[str, Any] = {
    "query": {"match": {"body": "bridge"}},
    "sort": [{"n": "asc"}, {"site": "asc"}, {"_index": "asc"}],
    "track_total_hits": True,
    "aggs": {"sites": {"terms": {"field": "site", "size": 20}}},
}


@pytest.fixture
def name(client: Elasticsearch) -> Iterator[str]:
    name = fresh_name()
    yield name
    client.indices.delete(index=f"{name}-*")


def ids(page: GroupPage) -> list[tuple[str, str]]:
    return [(group.hit["_index"], group.hit["_id"]) for group in page.groups]


def group_in(books: dict[str, Corpus], hit: dict[str, Any]) -> str:
    page = books[hit["_index"]].documents[hit["_id"]]
    return page.group if page.marked else f"{hit['_index']}/{hit['_id']}"


@pytest.mark.parametrize("attached", [True, False], ids=["one attached", "none attached"])
def test_pages_of_an_index_that_was_never_attached_are_groups_of_their_own(
    client: Elasticsearch, name: str, attached: bool
) -> None:
    books = {}
    for number, marked in ((1, attached), (2, False)):
        index = f"{name}-{number}"
        create(client, index, attached=marked)
        pages = list(invented(300, number, unmarked=0.1 if marked else 1.0))
        if not marked:  # the very same ids as in the other index
            for each in pages:
                each.source.pop("dedup", None)
            pages = [Stored(each.id, each.source, each.id, canonical=True, marked=False) for each in pages]
        books[index] = fill(client, index, pages)
    found = ranked(client, f"{name}-*", BODY)
    best = first_of_each(found, lambda hit: group_in(books, hit))
    search = DedupSearch(client, f"{name}-*")
    for first in (0, 9):
        page = search.search(BODY | {"from": first, "size": 25}, mode="collapse", group_total="exact")
        assert ids(page) == [(hit["_index"], hit["_id"]) for hit in best[first : first + 25]]
        assert not page.problems
        scored = search.search(BODY | {"from": first, "size": 25, "sort": ["_score"]}, mode="collapse")
        assert (len(scored.groups), scored.problems) == (25, ())
        for members_of in ("all", "matching"):
            shown = BODY | {"from": first, "size": 25}
            full = search.search(shown, mode="collapse", members={"size": 99}, members_of=members_of)
            assert (ids(full), full.problems) == (ids(page), ())
            assert {each.members_total.bound for each in full.groups if each.members_total} <= {Bound.EXACT}
        assert page.total_documents == Total(len(found), Bound.EXACT)
        assert page.total_groups == Total(len(best), Bound.EXACT)
        sites = {bucket["key"]: bucket["doc_count"] for bucket in page.facets["sites"]["buckets"]}
        assert sites == {
            site: len({group_in(books, hit) for hit in found if hit["_source"]["site"] == site})
            for site in {hit["_source"]["site"] for hit in found}
        }
    walked = list(search.pages(BODY | {"size": 40}, mode="collapse", members={"size": 1}))
    assert [place for page in walked for place in ids(page)] == [(hit["_index"], hit["_id"]) for hit in best]
    assert not any(page.problems for page in walked)
    canonical = [
        (hit["_index"], hit["_id"]) for hit in found if books[hit["_index"]].documents[hit["_id"]].canonical
    ]
    assert ids(search.search(BODY | {"size": 500})) == canonical


@pytest.mark.parametrize("mode", ["canonical", "collapse", "group", "off"])
def test_a_part_that_does_not_answer_is_told_and_totals_are_bounds(
    client: Elasticsearch, name: str, mode: str
) -> None:
    create(client, f"{name}-1")
    whole = fill(client, f"{name}-1", invented(200, 1))
    # Sorting by a text field fails, so this index gives no hits.
    known = client.indices.get_mapping(index=f"{name}-1")[f"{name}-1"]["mappings"]["properties"]
    client.indices.create(index=f"{name}-2", mappings={"properties": known | {"n": {"type": "text"}}})
    fill(client, f"{name}-2", invented(50, 2))
    search = DedupSearch(client, f"{name}-*")
    page = search.search(BODY | {"size": 300}, mode=mode, group_total="exact", window=1000)
    assert any("shards did not answer" in problem for problem in page.problems)
    assert {index for index, _ in ids(page)} == {f"{name}-1"}
    for total in (page.total_documents, page.total_groups):
        assert total is not None
        assert total.bound == "at least"
    alone = DedupSearch(client, whole.index).search(BODY | {"size": 300}, mode=mode, window=1000)
    assert ids(page) == ids(alone)
    assert not alone.problems
    walked = (
        [] if mode == "group" else list(search.pages(BODY | {"size": 20}, mode=mode, group_total="exact"))
    )
    for each in walked:
        assert each.problems
        assert each.total_groups is not None
        assert each.total_groups.bound == "at least"


def test_a_search_that_is_cut_short_is_told(client: Elasticsearch, name: str) -> None:
    create(client, f"{name}-1")
    fill(client, f"{name}-1", invented(400, 1))
    page = DedupSearch(client, f"{name}-1").search({"terminate_after": 5, "track_total_hits": True})
    assert page.problems == ("the search was ended early by terminate_after",)
    assert page.total_groups is not None
    assert page.total_groups.bound == "at least"


def test_a_cluster_without_the_mark_canonical_is_not_hidden(client: Elasticsearch, name: str) -> None:
    """Half a ``dedup`` object hides nothing: only a page that is marked as not canonical is left out."""
    create(client, f"{name}-1")
    for page, mark in {
        "half": {"cluster_id": "x"},
        "empty": {},
        "hidden": {"cluster_id": "x", "canonical": False},
        "shown": {"cluster_id": "y", "canonical": True},
    }.items():
        document = {"n": 1, "body": "bridge", "site": page, "dedup": mark}
        client.index(index=f"{name}-1", id=page, document=document, refresh=True)
    search = DedupSearch(client, f"{name}-1")
    assert {page for _, page in ids(search.search({}))} == {"half", "empty", "shown"}
    grouped = search.search({}, mode="collapse", group_total="exact")
    assert len(grouped.groups) == 3
    assert grouped.total_groups == Total(3, Bound.EXACT)


@pytest.mark.parametrize("shards", [1, 2])
def test_very_many_groups_are_counted_in_parts(
    client: Elasticsearch, name: str, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    most = 150 if shards > 1 else 50
    create(client, f"{name}-1", shards=shards)
    corpus = fill(client, f"{name}-1", invented(1500, 8, unmarked=0.2))
    search = DedupSearch(client, f"{name}-1")
    monkeypatch.setattr(totals, "MOST_BUCKETS", most)
    monkeypatch.setattr(totals, "MOST_TAKEN", 50)
    for more in ({}, {"post_filter": {"range": {"length": {"gte": 10}}}}):
        body = {"query": {"match": {"body": "bridge ferry tea river"}}} | more
        groups = {corpus.documents[hit["_id"]].group for hit in ranked(client, corpus.index, body)}
        assert len(groups) > 150
        monkeypatch.setattr(totals, "MOST_PARTS", 90)
        total = search.search(body, mode="collapse", group_total="exact").total_groups
        assert total is not None
        assert (total.value, total.exact) == (len(groups), True)
        first = next(search.pages(body, mode="collapse", group_total="exact")).total_groups
        assert first == total
        monkeypatch.setattr(totals, "MOST_PARTS", 2)
        bound = search.search(body, mode="collapse", group_total="exact").total_groups
        assert bound is not None
        assert bound == total if bound.exact else bound.value < len(groups)
        assert more or not bound.exact
