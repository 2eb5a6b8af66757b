"""Heads by another sort and pages of groups in one call, against plain counting in Python."""

from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.collapse import Bound, DedupSearch, Group
from es_dedup.errors import SearchRefused
from tests.collapsing import Corpus, Stored, ranked

BODY: dict[str, Any] = {
    "query": {"match": {"body": "river ferry"}},
    "sort": [{"_score": "desc"}, {"n": "asc"}],
    "size": 15,
    "_source": ["n", "day"],
    "highlight": {"fields": {"body": {}}},
}
NEWEST: list[dict[str, str]] = [{"day": "desc"}, {"n": "asc"}]
MODES = ["canonical", "collapse", "group"]


def newest_first(pages: list[Stored]) -> list[str]:
    return [
        page.id for page in sorted(pages, key=lambda page: (_reversed(page.source["day"]), page.source["n"]))
    ]


def _reversed(day: str) -> list[int]:
    return [-int(part) for part in day.split("-")]


def pages_of(corpus: Corpus, group: Group, among: set[str] | None = None) -> list[Stored]:
    """All pages of a group, or those of some."""
    return [
        page
        for page in corpus.documents.values()
        if page.group == group.cluster_id and (among is None or page.id in among)
    ]


def matching(client: Elasticsearch, corpus: Corpus) -> set[str]:
    return {hit["_id"] for hit in ranked(client, corpus.index, {"query": BODY["query"]})}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("members_of", ["all", "matching"])
def test_the_head_is_the_first_by_the_sort_and_groups_keep_their_order(
    client: Elasticsearch, corpus: Corpus, search: DedupSearch, mode: str, members_of: str
) -> None:
    plain = search.search(BODY, mode=mode)
    page = search.search(BODY, mode=mode, head_sort=NEWEST, members_of=members_of)
    assert [group.cluster_id for group in page.groups] == [group.cluster_id for group in plain.groups]
    assert (page.total_groups, page.total_documents) == (plain.total_groups, plain.total_documents)
    among = matching(client, corpus) if members_of == "matching" else None
    moved = 0
    for before, group in zip(plain.groups, page.groups, strict=True):
        assert group.similar_count == before.similar_count
        if group.cluster_id is None:
            assert group == before
            continue
        assert group.hit["_id"] == newest_first(pages_of(corpus, group, among))[0]
        assert set(group.hit["_source"]) == {"n", "day"}
        assert isinstance(group.hit["_score"], float)
        moved += group.hit["_id"] != before.hit["_id"]
    assert moved


@pytest.mark.parametrize("mode", [*MODES, "off"])
def test_members_of_each_group(client: Elasticsearch, corpus: Corpus, search: DedupSearch, mode: str) -> None:
    page = search.search(BODY, mode=mode, members={"size": 2, "from": 1, "sort": NEWEST, "_source": False})
    assert any(group.members for group in page.groups)
    for group in page.groups:
        if group.cluster_id is None:
            assert (group.members, group.members_total) == ((), None)
            continue
        pages = newest_first(pages_of(corpus, group))
        assert [hit["_id"] for hit in group.members] == pages[1:3]
        assert group.members_total is not None
        assert (group.members_total.value, group.members_total.bound) == (len(pages), Bound.EXACT)
        assert all("_source" not in hit and "sort" in hit for hit in group.members)


def test_members_come_with_the_canonical_document_first(corpus: Corpus, search: DedupSearch) -> None:
    page = search.search(BODY, mode="collapse", members={})
    for group in page.groups:
        if group.cluster_id is not None:
            assert corpus.documents[group.members[0]["_id"]].canonical
            assert len(group.members) == min(3, corpus.size(group.cluster_id))
            assert "sort" not in group.members[0]


def test_head_and_members_take_one_request_more(client: Elasticsearch, corpus: Corpus) -> None:
    sent: list[str] = []
    counting = client.options()
    send = counting.transport.perform_request

    def perform_request(method: str, target: str, **more: Any) -> Any:
        sent.append(target)
        return send(method, target, **more)

    counting._transport.perform_request = perform_request  # type: ignore[method-assign]
    try:
        search = DedupSearch(counting, corpus.index)
        search.search(BODY)
        search.search(BODY, head_sort=NEWEST, members={"size": 5})
    finally:
        counting._transport.perform_request = send  # type: ignore[method-assign]
    assert len(sent) == 3


def test_with_cursors(corpus: Corpus, search: DedupSearch) -> None:
    body = {name: value for name, value in BODY.items() if name != "size"}
    plain = [
        group.cluster_id
        for page in search.pages(body | {"size": 40}, mode="collapse")
        for group in page.groups
    ]
    found = [
        group
        for page in search.pages(body | {"size": 40}, mode="collapse", head_sort=NEWEST, members={"size": 1})
        for group in page.groups
    ]
    assert [group.cluster_id for group in found] == plain
    for group in found:
        if group.cluster_id is not None:
            assert group.hit["_id"] == newest_first(pages_of(corpus, group))[0]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"head_sort": 3}, "head_sort is 3.: give a sort"),
        ({"head_sort": "day", "mode": "off"}, "choose another mode"),
        ({"members": {"size": 101}}, "give from and size of together at most 100"),
        ({"members": {"size": "many"}}, "give from and size of together"),
        ({"members": {"name": "mine"}}, "members has name.: leave that out"),
        ({"members": [3]}, "give an object with options of inner_hits"),
        ({"members": {}, "members_of": "some"}, "choose one of all, matching"),
        ({"members": {"unheard": 1}}, "check the search body"),
        ({"head_sort": [{"unheard": "asc"}]}, "check the search body"),
    ],
)
def test_what_cannot_be_asked_for(search: DedupSearch, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(SearchRefused, match=problem):
        search.search(BODY, **options)
