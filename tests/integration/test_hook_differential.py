"""The hook accepts and refuses what the client's own bulk helpers do: the same actions go through both."""

from __future__ import annotations

import asyncio
import copy
import re
import uuid
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch.helpers import BULK_FLUSH, async_bulk, async_streaming_bulk, bulk, streaming_bulk
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from es_dedup.hook import (
    DedupHook,
    SourceFields,
    async_dedup_bulk,
    async_dedup_streaming_bulk,
    dedup_bulk,
    dedup_streaming_bulk,
)
from tests.servers import async_client_of, client_of, fresh_name, remove, url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from elasticsearch import Elasticsearch

VOLATILE = ("dedup", "_seq_no", "_version", "_shards", "_primary_term", "forced_refresh", "exception")
LONG = "x" * 500  # with the name of its index more than a page id may have


class Raising:
    """An input that fails after some actions."""

    def __init__(self, *actions: Any) -> None:
        self._actions = actions

    def __iter__(self) -> Iterator[Any]:
        yield from self._actions
        raise LookupError("the input is broken")


TABLE: dict[str, tuple[Any, dict[str, Any]]] = {
    "integer ids": ([{"_id": 7, "text": "a"}, {"_id": 0, "text": "b"}, {"_id": -1, "text": "c"}], {}),
    "one id in two types": ([{"_id": 7, "text": "a"}, {"_id": "7", "text": "b"}], {}),
    "other ids": (
        [
            {"_id": each, "text": "a"}
            for each in (1.5, 1e22, True, uuid.UUID(int=3), date(2020, 1, 1), Decimal("2.5"), "汉 / ?#", "nul\0")
        ],
        {},
    ),
    "an empty id": ([{"_id": "", "text": "a"}, {"_id": "b", "text": "b"}], {"raise_on_error": False}),
    "an empty id raises": ([{"_id": "a", "text": "a"}, {"_id": "", "text": "b"}], {}),
    "bytes as id": ([{"_id": "a", "text": "a"}, {"_id": b"x", "text": "a"}], {}),
    "a list as id": ([{"_id": ["x"], "text": "a"}], {}),
    "half a surrogate as id": ([{"_id": "\ud800", "text": "a"}], {}),
    "an id that is long with its index": ([{"_id": LONG, "text": "a"}, {"_id": "b", "text": "b"}], {}),
    "an id of too many bytes": ([{"_id": "汉" * 171, "text": "a"}, {"_id": "b", "text": "b"}], {}),
    "an id of too many bytes, told": (
        [{"_id": "汉" * 171, "text": "a"}, {"_id": "b", "text": "b"}],
        {"raise_on_exception": False, "raise_on_error": False},
    ),
    "an id of too many bytes, raised as errors": ([{"_id": "汉" * 171, "text": "a"}], {"raise_on_exception": False}),
    "a status to ignore": (
        [{"_id": "a", "text": "a"}, {"_op_type": "delete", "_id": "gone"}],
        {"ignore_status": [404]},
    ),
    "sources": (
        [
            {"_id": "a", "_source": {"text": "a"}},
            {"_id": "b", "_source": '{"text": "b", "n": 1.00000000000000000001}'},
            {"_id": "c", "_source": {}},
        ],
        {},
    ),
    "a source that is a list": ([{"_id": "a", "_source": [1]}, {"_id": "b", "text": "b"}], {"raise_on_error": False}),
    "no source": ([{"_id": "a", "_source": None}, {"_id": "b", "text": "b"}], {}),
    "a source of JSON in lines": ([{"_id": "a", "_source": '{"text":\n"a"}'}], {}),
    "JSON without id": (['{"text": "a"}', b'{"text": "b"}'], {}),
    "broken JSON": (['{"text": ', b"[1]", '{"text": "a"}'], {"raise_on_error": False}),
    "what JSON cannot hold": ([{"_id": "a", "text": "a"}, {"_id": "b", "text": {1, 2}}], {}),
    "an unknown operation": ([{"_op_type": "upsert", "_id": "a", "text": "a"}], {}),
    "a delete without id": ([{"_id": "a", "text": "a"}, {"_op_type": "delete"}], {}),
    "updates": (
        [
            {"_id": "a", "text": "a", "n": 1},
            {"_op_type": "update", "_id": "a", "doc": {"n": 2}},
            {"_op_type": "update", "_id": 5, "doc": {"n": 3}, "doc_as_upsert": True},
            {"_op_type": "update", "_id": "gone", "doc": {"n": 4}},
        ],
        {"raise_on_error": False},
    ),
    "create twice": (
        [{"_op_type": "create", "_id": 1, "text": "a"}, {"_op_type": "create", "_id": 1, "text": "b"}],
        {"raise_on_error": False},
    ),
    "an error in a chunk with one id twice": (
        [{"_id": 1, "text": "a"}, {"_op_type": "create", "_id": 1, "text": "b"}, {"_id": 1, "text": "c"}],
        {},
    ),
    "errors of the first of two chunks": (
        [{"_id": 1, "text": "a"}, {"_op_type": "delete", "_id": "gone"}, {"_id": 3, "text": "c"}],
        {"chunk_size": 2},
    ),
    "routing": ([{"_id": 1, "routing": 5, "text": "a"}, {"_id": 2, "_routing": "x y", "text": "b"}], {}),
    "routing of the call": ([{"_id": 1, "text": "a"}], {"routing": "z"}),
    "no such pipeline": ([{"_id": 1, "pipeline": "no such", "text": "a"}], {"raise_on_error": False}),
    "require_alias": ([{"_id": 1, "text": "a"}], {"require_alias": True, "raise_on_error": False}),
    "a condition": ([{"_id": 1, "text": "a", "if_seq_no": 9, "if_primary_term": 1}], {"raise_on_error": False}),
    "a pattern as index": ([{"_index": "no-such-*", "_id": 1, "text": "a"}], {"raise_on_error": False}),
    "a delete where there is no index": ([{"_op_type": "delete", "_id": 1}], {"raise_on_error": False}),
    "statistics only": ([{"_id": 1, "text": "a"}, {"_id": "", "text": "b"}], {"stats_only": True, "raise_on_error": False}),
    "a broken input": (Raising({"_id": 1, "text": "a"}, {"_id": 2, "text": "b"}, {"_id": 3, "text": "c"}), {"chunk_size": 2}),
    "no actions": ([], {}),
    "an action that is none": ([{"_id": 1, "text": "a"}, 5], {}),
    "a flush": ([{"_id": 1, "text": "a"}, BULK_FLUSH, {"_id": 2, "text": "b"}], {}),
    "an unknown option": ([{"_id": 1, "text": "a"}], {"no_such_option": 1}),
    "a refused field": ([{"_id": 1, "text": "a", "n": 1}, {"_id": 2, "text": "a", "n": "no number"}], {"raise_on_error": False}),
    "a field of its own": ([{"_id": 1, "text": "a", "dedup_of": {"dedup": 1}}], {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Elasticsearch, str, DedupHook]]:
    """Client, the name that all indices begin with, and one hook for all of them."""
    url, name = url_of("es8"), fresh_name()
    with client_of(url) as client, DedupHook.open(f"{url}/{name}", SourceFields("text")) as hook:
        yield client, name, hook
        client.indices.delete(index=f"{name}-*", ignore_unavailable=True)
    remove(f"{url}/{name}")


def plain(result: Any, index: str) -> Any:
    """A result without what differs between any two writes."""
    if isinstance(result, dict):
        kept = {
            key: plain(value, index)
            for key, value in result.items()
            if key not in VOLATILE and key != "index_uuid"
        }
        if len(str(kept.get("_id", ""))) in (20, 22):
            kept["_id"] = "given by the server, or by the hook"
        return kept
    if isinstance(result, list | tuple):
        return [plain(each, index) for each in result]
    if isinstance(
        result, str
    ):  # the hook's own write of the dedup field may have raised the version that a conflict names
        return re.sub(r"current version \[\d+\]", "current version [N]", result.replace(index, "INDEX"))
    return result


def documents(client: Elasticsearch, index: str) -> Any:
    """Sources of an index without the ``dedup`` field, by ``_id``; those whose ``_id`` was made up, by their content."""
    client.indices.refresh(index=index, ignore_unavailable=True)
    hits = client.search(index=index, size=1000, ignore_unavailable=True)["hits"]["hits"]
    found = []
    for hit in hits:
        source = {key: value for key, value in hit["_source"].items() if key != "dedup"}
        name = "" if len(hit["_id"]) in (20, 22) else hit["_id"]
        found.append((name, hit.get("_routing"), source))
    return sorted(found, key=str)


def outcome(call: Callable[[str], Any], client: Elasticsearch, index: str) -> Any:
    """What a call returns or raises, and what is then in the index."""
    try:
        result = plain(call(index), index)
    except Exception as error:  # noqa: BLE001 - compared with the other's
        errors = (
            plain(getattr(error, "errors", ()), index) if type(error).__name__ == "BulkIndexError" else ()
        )
        result = type(error).__name__, plain(str(error), index), errors
    return result, documents(client, index)


def compared(server: tuple[Elasticsearch, str, DedupHook], actions: Any, options: dict[str, Any]) -> None:
    client, name, hook = server
    mine, theirs = f"{name}-{fresh_name()}-m", f"{name}-{fresh_name()}-t"
    try:
        expected = outcome(
            lambda index: bulk(client, copy.deepcopy(actions), index=index, **options), client, theirs
        )
        ours = outcome(
            lambda index: tuple(
                dedup_bulk(
                    client,
                    copy.deepcopy(actions),
                    index=index,
                    hook=hook,
                    on_missing_content="warn",
                    **options,
                )
            ),
            client,
            mine,
        )
        assert ours == expected
    finally:
        client.indices.delete(index=[mine, theirs], ignore_unavailable=True)


@pytest.mark.parametrize("case", TABLE)
def test_a_table_of_actions(server: tuple[Elasticsearch, str, DedupHook], case: str) -> None:
    compared(server, *TABLE[case])


STREAMED = (
    "an empty id",
    "an empty id raises",
    "integer ids",
    "an id that is long with its index",
    "an id of too many bytes, told",
    "errors of the first of two chunks",
    "create twice",
    "a broken input",
    "an action that is none",
)


def until_it_fails(stream: Any) -> list[Any]:
    """Results and, at the end, what was raised."""
    found: list[Any] = []
    try:
        found.extend(stream)
    except Exception as error:  # noqa: BLE001 - compared with the other's
        found.append((type(error).__name__, str(error)))
    return found


@pytest.mark.parametrize("yield_ok", [True, False])
@pytest.mark.parametrize("case", STREAMED)
def test_streams(server: tuple[Elasticsearch, str, DedupHook], case: str, *, yield_ok: bool) -> None:
    client, name, hook = server
    actions, options = TABLE[case]
    mine, theirs = f"{name}-{fresh_name()}-m", f"{name}-{fresh_name()}-t"
    more = options | {"yield_ok": yield_ok}
    expected = until_it_fails(streaming_bulk(client, copy.deepcopy(actions), index=theirs, **more))
    ours = until_it_fails(dedup_streaming_bulk(client, copy.deepcopy(actions), index=mine, hook=hook, **more))
    assert plain(ours, mine) == plain(expected, theirs)
    assert documents(client, mine) == documents(client, theirs)


@pytest.mark.parametrize("case", STREAMED)
def test_asynchronous_helpers(server: tuple[Elasticsearch, str, DedupHook], case: str) -> None:
    client, name, hook = server
    actions, options = TABLE[case]
    names = [f"{name}-{fresh_name()}" for _ in range(4)]

    async def told(coming: Any) -> Any:
        try:
            return tuple(await coming)
        except Exception as error:  # noqa: BLE001 - compared with the other's
            return type(error).__name__, str(error)

    async def streamed(stream: Any) -> list[Any]:
        found: list[Any] = []
        try:
            async for each in stream:
                found.append(each)  # noqa: PERF401 - those before an error are compared too
        except Exception as error:  # noqa: BLE001 - compared with the other's
            found.append((type(error).__name__, str(error)))
        return found

    async def run() -> list[Any]:
        async with async_client_of(url_of("es8")) as own:
            given = [copy.deepcopy(actions) for _ in names]
            return [
                await told(async_bulk(own, given[0], index=names[0], **options)),
                await told(async_dedup_bulk(own, given[1], index=names[1], hook=hook, **options)),
                await streamed(async_streaming_bulk(own, given[2], index=names[2], **options)),
                await streamed(
                    async_dedup_streaming_bulk(own, given[3], index=names[3], hook=hook, **options)
                ),
            ]

    found = [plain(each, index) for each, index in zip(asyncio.run(run()), names, strict=True)]
    assert found[1] == found[0]
    assert found[3] == found[2]
    assert documents(client, names[1]) == documents(client, names[0])
    assert documents(client, names[3]) == documents(client, names[2])


ids = st.sampled_from([None, 0, 1, "1", "a", "", 2.5, True, LONG, "汉" * 171, "汉", b"x", "a\nb"])
bodies = st.sampled_from(
    [
        {"text": "one. two."},
        {"text": "汉字。"},
        {},
        {"text": None},
        {"n": "x"},
        {"dedup": 1},
        '{"text": "x"}',
        "{",
        [1],
    ]
)
actions_of = st.one_of(
    st.fixed_dictionaries(
        {"_source": bodies},
        optional={"_id": ids, "_op_type": st.sampled_from(["index", "create"]), "routing": st.sampled_from(["r", 3])},
    ),
    st.fixed_dictionaries({"_op_type": st.just("delete"), "_id": ids}),
    st.fixed_dictionaries({"_op_type": st.just("update"), "_id": ids, "doc": st.just({"text": "new"})}),
    st.sampled_from(['{"text": "raw"}', b'{"text": "raw"}', "{"]),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:none of .* has the content field")
@settings(
    max_examples=25,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
@given(
    st.lists(actions_of, max_size=6),
    st.sampled_from([1, 2, 500]),
    st.fixed_dictionaries({"raise_on_error": st.booleans(), "raise_on_exception": st.booleans()}),
)
def test_random_actions(
    server: tuple[Elasticsearch, str, DedupHook],
    actions: list[Any],
    chunk_size: int,
    options: dict[str, bool],
) -> None:
    compared(server, actions, options | {"chunk_size": chunk_size})


def test_an_id_that_is_too_long_for_the_index_behind_an_alias_is_reported(
    server: tuple[Elasticsearch, str, DedupHook],
) -> None:
    client, name, hook = server
    index, alias = f"{name}-{fresh_name()}", fresh_name()[:8]
    client.indices.create(index=index, aliases={alias: {}})
    long = "x" * (511 - len(alias))
    report = dedup_bulk(client, [{"_id": long, "text": "a"}], index=alias, hook=hook).report
    assert report.failed == {f"{index}/{long}": "index name and _id have more than 511 bytes together"}
    assert client.get(index=index, id=long)["_source"]["text"] == "a"
