"""The pure parts of collapsing: bodies, folding, containment, cursors, reading of answers."""

import asyncio
import base64
import copy
import json
import zlib
from typing import Any
from unittest.mock import Mock, patch

import pytest
from elastic_transport import ApiResponseMeta, BaseNode, ConnectionTimeout, HttpHeaders
from elastic_transport._node._base import NodeApiResponse
from elasticsearch import Elasticsearch
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.collapse import START, Bound, DedupSearch, Group, GroupPage, SearchOptions, Total, search_bodies
from es_dedup.collapse.cursor_paging import Cursor, digest_of, pack, unpack
from es_dedup.collapse.group_pages import nest_under_containers
from es_dedup.collapse.hits import cleaned, hits_in
from es_dedup.collapse.modes import group_hits
from es_dedup.collapse.operations import checked, not_mapped, problems_of
from es_dedup.collapse.search_request import request_of
from es_dedup.collapse.totals import by_document, count_groups, read_groups
from es_dedup.errors import CursorLost, IndexUnavailable, SearchRefused, UnreadableAnswer

OPTIONS = SearchOptions()
CONDITION = {"term": {"x": 1}}
FAILED = {"error": {"type": "a", "reason": "b"}}


def hit(name: str, cluster: str | None = None, **fields: Any) -> dict[str, Any]:
    found = {f"dedup.{field}": value for field, value in fields.items()}
    if cluster is not None:
        found["dedup.cluster_id"] = [cluster]
    return {"_index": "i", "_id": name, "fields": found}


FULL: dict[str, Any] = {
    "query": {"match": {"t": "x"}},
    "knn": [{"field": "v", "k": 3, "filter": {"term": {"y": 2}}}, {"field": "w", "k": 3}],
    "aggs": {"a": {"terms": {"field": "s"}, "aggs": {"b": {"range": {"field": "n", "ranges": []}}}}},
    "post_filter": {"term": {"z": 3}},
    "docvalue_fields": ["n"],
    "sort": ["n"],
    "from": 4,
    "size": 2,
}


def test_the_given_body_is_never_changed() -> None:
    kept = copy.deepcopy(FULL)
    request = request_of("i", FULL, SearchOptions(mode="collapse", nest_contained=True))
    for made in (
        search_bodies.filtered(FULL, CONDITION),
        search_bodies.narrowed(FULL, CONDITION),
        search_bodies.with_facets(FULL, count_groups(FULL["aggs"])),
        search_bodies.keys_only(FULL),
        request.fetched,
        request.paged(0, 9).body,
    ):
        assert made != FULL
    assert kept == FULL


def test_a_filter_reaches_the_query_and_each_knn() -> None:
    made = search_bodies.filtered(FULL, CONDITION)
    assert made["query"] == {"bool": {"must": [FULL["query"]], "filter": [CONDITION]}}
    assert [each["filter"] for each in made["knn"]] == [[{"term": {"y": 2}}, CONDITION], [CONDITION]]
    assert "query" not in search_bodies.filtered({"knn": {"field": "v"}}, CONDITION)
    assert search_bodies.filtered({}, CONDITION)["query"]["bool"]["must"] == [{"match_all": {}}]


@pytest.mark.parametrize("kind", ["standard", "knn"])
@pytest.mark.parametrize("before", [{}, {"filter": {"term": {"y": 2}}}, {"filter": [{"term": {"y": 2}}]}])
def test_a_filter_reaches_a_retriever(kind: str, before: dict[str, Any]) -> None:
    made = search_bodies.filtered({"retriever": {kind: before}}, CONDITION)
    expected = [{"term": {"y": 2}}, CONDITION] if before else [CONDITION]
    assert made == {"retriever": {kind: {"filter": expected}}}


def test_narrowing_leaves_neighbours_alone() -> None:
    made = search_bodies.narrowed(FULL, CONDITION)
    assert (made["knn"], made["query"]) == (FULL["knn"], FULL["query"])
    assert made["post_filter"] == {"bool": {"filter": [FULL["post_filter"], CONDITION]}}
    inside = {"query": {"bool": {"should": [{"knn": {"field": "v"}}]}}}
    assert search_bodies.narrowed(inside, CONDITION)["query"] == inside["query"]


names = st.sampled_from("abcdefgh")


@given(
    st.lists(st.tuples(names, st.one_of(st.none(), st.sampled_from("xyz"))), unique_by=lambda pair: pair[0])
)
def test_grouping_keeps_every_hit_once_and_joins_by_cluster(pages: list[tuple[str, str | None]]) -> None:
    groups = group_hits([hit(name, cluster) for name, cluster in pages])
    wanted: dict[str, list[str]] = {}
    for name, cluster in pages:
        wanted.setdefault(cluster or f"page {name}", []).append(name)
    assert [[one["_id"] for one in hits_in(group)] for group in groups] == list(wanted.values())


@given(st.dictionaries(names, st.frozensets(names, max_size=3)))
def test_containment_keeps_every_pile_once_and_ends(pointers: dict[str, frozenset[str]]) -> None:
    groups = [
        Group(hit(name, f"c-{name}", contained_in=[f"i/{other}" for other in sorted(others)]), f"c-{name}")
        for name, others in pointers.items()
    ]
    roots = nest_under_containers(groups)
    shown = [each.hit["_id"] for root in roots for each in (root, *root.contained)]
    assert sorted(shown) == sorted(pointers)
    for root in roots:
        for inner in root.contained:
            seen, todo = set(), [inner.hit["_id"]]
            while todo:
                name = todo.pop()
                seen.add(name)
                todo += [other for other in pointers[name] if other in pointers and other not in seen]
            assert root.hit["_id"] in seen
    free = [name for name, others in pointers.items() if not (others & pointers.keys()) - {name}]
    assert set(free) <= {root.hit["_id"] for root in roots}


values = st.one_of(st.none(), st.integers(), st.floats(allow_nan=False), st.text(), st.booleans())
totals = st.one_of(st.none(), st.builds(Total, st.integers(min_value=0), st.sampled_from(Bound)))


@given(st.builds(Cursor, st.text(), st.text(), st.lists(values).map(tuple), totals, totals))
def test_a_cursor_survives_its_journey(cursor: Cursor) -> None:
    assert unpack(pack(cursor)) == cursor


@given(st.one_of(st.text(), st.binary().map(lambda data: data.decode("latin-1"))))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(SearchRefused):
        unpack(text)


def test_a_cursor_with_a_wrong_total_is_refused() -> None:
    sound = '{"value": 1, "bound": "exact"}'
    wrong = ("[1]", "5", "{}", *(sound.replace("1", value) for value in ("Infinity", "1e400", '"x"', "{}")))
    for total in (sound, *wrong, sound.replace("exact", "some")):
        text = f'{{"pit": "pit", "search": "0123456789abcdef", "after": [], "documents": {total}, "groups": null}}'
        packed = base64.urlsafe_b64encode(zlib.compress(text.encode())).decode()
        if total == sound:
            assert unpack(packed).documents == Total(1)
        else:
            with pytest.raises(SearchRefused):
                unpack(packed)


def test_a_digest_tells_searches_apart() -> None:
    base = digest_of(request_of("i", FULL, OPTIONS))
    same = request_of("i", FULL | {"from": 0, "size": 9, "aggs": {}, "_source": False}, OPTIONS)
    assert digest_of(same) == base
    others = [
        request_of("j", FULL, OPTIONS),
        request_of("i", FULL, SearchOptions(mode="collapse")),
        request_of("i", FULL, SearchOptions(routing="r")),
        request_of("i", FULL | {"sort": ["m"]}, OPTIONS),
        request_of("i", FULL | {"query": {"match_all": {}}}, OPTIONS),
    ]
    assert len({base, *map(digest_of, others)}) == 1 + len(others)


def test_answers_are_looked_at() -> None:
    good = {"hits": {"hits": []}, "_shards": {"total": 2, "failed": 0}, "timed_out": False}
    assert checked(good) is good
    assert problems_of(good) == []
    assert problems_of(good | {"timed_out": True}) == ["the search ran out of time"]
    reason = {"type": "t", "reason": "r", "caused_by": {"type": "u", "reason": "s"}}
    broken = good | {"_shards": {"total": 2, "failed": 1, "failures": [{"reason": reason}]}}
    assert problems_of(broken) == ["1 of 2 shards did not answer (t: r; u: s)"]
    assert not not_mapped(broken)
    for status, kind in (
        (400, SearchRefused),
        (404, SearchRefused),
        (429, IndexUnavailable),
        (503, IndexUnavailable),
    ):
        with pytest.raises(kind):
            checked(FAILED | {"status": status})
    gone = {"error": {"root_cause": [{"type": "search_context_missing_exception"}]}, "status": 404}
    with pytest.raises(CursorLost):
        checked(gone)


def test_hits_are_cleaned_of_what_was_asked_by_us_only() -> None:
    found: dict[str, Any] = hit("a", "c", cluster_size=[2]) | {"sort": [1, 2]}
    found["fields"]["site"] = ["s"]
    given_ = {"fields": ["site"], "sort": [{"n": "asc"}]}
    assert cleaned(found, request_of("i", given_, OPTIONS)) == {
        "_index": "i",
        "_id": "a",
        "fields": {"site": ["s"]},
        "sort": [1],
    }
    asked = {"docvalue_fields": [{"field": "dedup.cluster_id"}]}
    assert set(cleaned(found, request_of("i", asked, OPTIONS))["fields"]) == {"site", "dedup.cluster_id"}


def test_facets_that_cannot_be_counted_by_group_stay() -> None:
    facets: dict[str, Any] = {
        "inside": {"nested": {"path": "p"}, "aggs": {"a": {"terms": {"field": "p.a"}}}},
        "sum": {"sum": {"field": "n"}},
        "sites": {
            "terms": {"field": "s", "order": {"sum": "desc"}},
            "aggs": {"sum": {"sum": {"field": "n"}}},
        },
    }
    made = count_groups(facets)
    assert (made["inside"], made["sum"]) == (facets["inside"], facets["sum"])
    assert made["sites"]["terms"] == facets["sites"]["terms"]
    assert list(by_document(facets)) == ["inside", "sum", "sites>sum"]
    answer = {"inside": {"doc_count": 4, "a": {"buckets": []}}, "sum": {"value": 3.0}}
    assert read_groups(facets, answer) == answer


@pytest.mark.parametrize("sort", [{"sort": [{"newest": {"order": "desc"}}]}, {"size": 2}])
def test_buckets_that_the_request_sorts_keep_their_order(sort: dict[str, Any]) -> None:
    inner = {"newest": {"max": {"field": "n"}}, "page": {"bucket_sort": sort}}
    facets = {"sites": {"terms": {"field": "site"}, "aggs": inner}}
    counts = [(1, 9), (5, 8), (3, 7)]
    buckets = [
        {
            "key": str(groups),
            "doc_count": 10,
            "newest": {"value": newest},
            "es_dedup_groups": {"value": groups},
        }
        | {"es_dedup_loose": {"doc_count": 0}}
        for groups, newest in counts
    ]
    read = read_groups(facets, {"sites": {"buckets": buckets}})["sites"]["buckets"]
    assert [bucket["doc_count"] for bucket in read] == [1, 5, 3]


def deep(levels: int) -> Any:
    """A query of so many levels."""
    query: Any = {"match_all": {}}
    for _ in range(levels // 2):
        query = {"constant_score": {"filter": query}}
    return query


@pytest.mark.parametrize(
    "body",
    [
        {"query": []}, {"query": None}, {"query": deep(300)}, {"aggs": [1]}, {"aggs": {"a": 3}}, {"aggs": {"a": {"terms": "x"}}},
        {"aggs": {"a": {"filter": {}, "aggs": {"b": []}}}}, {"aggregations": deep(3000)}, {"knn": 3}, {"knn": [[]]}, {"retriever": {}},
        {"retriever": {"a": {}, "b": {}}}, {"retriever": {"standard": []}}, {"sort": 5}, {"sort": [[]]}, {"fields": "title"}, {"fields": None},
        {"docvalue_fields": [{}]}, {"stored_fields": 7}, {"post_filter": "x"}, {"size": True}, {"size": "5"}, {"from": None}, {"from": -1},
    ],
)  # fmt: skip
def test_a_misshapen_body_is_refused(body: Any) -> None:
    for mode in ("canonical", "collapse", "group"):
        with pytest.raises(SearchRefused):
            request_of("i", body, SearchOptions(mode=mode))


def test_a_body_of_usual_depth_is_taken() -> None:
    assert request_of(
        "i",
        {"query": deep(150), "aggs": {"a": {"terms": {"field": "x"}, "aggs": None}}, "sort": None},
        OPTIONS,
    ).body


@pytest.mark.parametrize(
    "answer",
    [
        None,
        5,
        [],
        {},
        {"responses": None},
        {"responses": []},
        {"responses": [{}]},
        {"responses": [{"hits": []}]},
    ],
)
def test_an_answer_that_is_none_of_elasticsearch_is_an_error_of_ours(answer: Any) -> None:
    class Answers(BaseNode):
        def perform_request(self, *_: Any, **__: Any) -> NodeApiResponse:
            head = HttpHeaders({"content-type": "application/json", "x-elastic-product": "Elasticsearch"})
            return NodeApiResponse(
                ApiResponseMeta(200, "1.1", head, 0.0, self.config), json.dumps(answer).encode()
            )

        def close(self) -> None:
            """Nothing is open."""

    client = Elasticsearch("http://localhost:9200", node_class=Answers)
    for mode in ("canonical", "collapse", "group", "off"):
        for cursor in (None, "start"):
            with pytest.raises((UnreadableAnswer, SearchRefused)) as caught:
                DedupSearch(client, "i").search({}, mode=mode, cursor=cursor)
            assert caught.type is UnreadableAnswer or (mode, cursor) == ("group", "start")


@pytest.mark.parametrize("first", [KeyboardInterrupt, asyncio.CancelledError])
def test_what_interrupts_a_search_is_told_where_its_point_in_time_cannot_be_closed(
    first: type[BaseException],
) -> None:
    client = Mock(spec=Elasticsearch)
    client.open_point_in_time.return_value.body = {"id": "point"}
    client.msearch.side_effect = first
    client.close_point_in_time.side_effect = ConnectionTimeout("no answer")
    with pytest.raises(first):
        DedupSearch(client, "i").search(cursor=START)
    onward = pack(Cursor("point", "", ()))
    with patch.object(DedupSearch, "search", side_effect=[GroupPage((), cursor=onward), first]):
        pages = DedupSearch(client, "i").pages()
        next(pages)
        with pytest.raises(first):
            next(pages)
    assert client.close_point_in_time.call_count == 2
