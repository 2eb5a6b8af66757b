"""Ingest pipelines behind the hook: what they do with documents of the client's helpers, they do with ours."""

from __future__ import annotations

import asyncio
import json
import re
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup import Settings
from es_dedup.errors import ContentMissing, PreflightFailed
from es_dedup.hook import (
    DedupHook,
    HookReport,
    SourceFields,
    async_dedup_bulk,
    dedup_bulk,
    dedup_parallel_bulk,
    dedup_streaming_bulk,
)
from es_dedup.maintenance.attach import attach
from es_dedup.maintenance.context import open_context
from tests.servers import async_client_of, client_of, fresh_name, remove, url_of, url_with_processors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FOX: Final = "The quick brown fox jumps over the lazy dog. It was seen near the river at noon."
MAPPING: Final = Path(__file__).parents[2] / "mappings" / "v2" / "host.json"
OWL: Final = "An owl sat on the old church tower. Nobody in the village had ever noticed it before."

PROCESSORS: Final[dict[str, list[dict[str, Any]]]] = {
    "drop": [{"drop": {"if": "ctx.how == 'odd'"}}],
    "fail": [{"fail": {"message": "not {{{_id}}}", "if": "ctx.how == 'odd'"}}],
    "set": [{"set": {"field": "site", "value": "{{{how}}}.example"}}],
    "rename": [{"rename": {"field": "how", "target_field": "kind"}}],
    "remove": [{"remove": {"field": ["how"]}}],
    "fingerprint": [{"fingerprint": {"fields": ["text"], "target_field": "digest"}}],
    "html_strip": [{"html_strip": {"field": "text"}}],
    "script": [{"script": {"source": "ctx.how = ctx.how + '!'", "if": "ctx.how == 'odd' || ctx.n == null"}}],
    "date_index_name": [
        {"date_index_name": {"field": "at", "index_name_prefix": "INDEX-", "date_rounding": "M"}}
    ],
    "reroute": [{"reroute": {"destination": "INDEX-elsewhere", "if": "ctx.how == 'odd'"}}],
    "pipeline": [{"pipeline": {"name": "no such", "ignore_missing_pipeline": True}}],
}
"""One pipeline a processor; ``INDEX`` stands for the name of the index."""


@contextmanager
def pipeline_of(client: Elasticsearch, index: str, processors: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A pipeline, and at the end neither it nor the indices that it wrote to are left."""
    name = f"{index}-pipeline"
    text = Elasticsearch("http://127.0.0.1:1").transport.serializers.get_serializer("application/json")
    body = text.loads(text.dumps(list(processors)).replace(b"INDEX", index.encode()))
    client.ingest.put_pipeline(id=name, processors=body)
    try:
        yield name
    finally:
        client.indices.delete(index=f"{index}*", ignore_unavailable=True)
        client.ingest.delete_pipeline(id=name)


def stories() -> list[dict[str, Any]]:
    """Two stories with a copy each."""
    texts = {"a": FOX, "b": OWL, "c": FOX, "d": OWL}
    return [
        {"_id": name, "how": "odd" if name in "ad" else "even", "at": f"2026-0{at + 1}-15", "text": text}
        for at, (name, text) in enumerate(texts.items())
    ]


def statuses(errors: Any) -> list[tuple[str, int]]:
    """The ``_id`` and status of each failed action."""
    return [(said["_id"], said["status"]) for error in errors for said in error.values()]


def found_in(client: Elasticsearch, index: str) -> dict[tuple[str, str], dict[str, Any]]:
    """All documents of indices whose names begin so: what is behind that name and ``_id``, with their sources."""
    client.indices.refresh(index=f"{index}*")
    hits = client.search(index=f"{index}*", size=1000)["hits"]["hits"]
    return {(hit["_index"].removeprefix(index), hit["_id"]): hit["_source"] for hit in hits}


@pytest.fixture(scope="module", params=["es8", "es9"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Elasticsearch, str]]:
    """A client, and the address of the server."""
    url = url_with_processors(request.param)
    with client_of(url) as client:
        yield client, url


@pytest.mark.parametrize("processor", PROCESSORS)
def test_each_processor_does_the_same_behind_the_hook(
    server: tuple[Elasticsearch, str], processor: str
) -> None:
    client, url = server
    theirs, ours = fresh_name(), fresh_name()
    processors = PROCESSORS[processor]
    with (
        pipeline_of(client, theirs, processors) as plain,
        pipeline_of(client, ours, processors) as hooked,
        DedupHook.open(f"{url}/{ours}-features", SourceFields("text")) as hook,
    ):
        try:
            expected = bulk(client, stories(), index=theirs, pipeline=plain, raise_on_error=False)
            result = dedup_bulk(
                client, stories(), index=ours, pipeline=hooked, raise_on_error=False, hook=hook
            )
            assert (result[0], statuses(result[1])) == (expected[0], statuses(expected[1]))
            found = found_in(client, ours)
            marks = {place: source.pop("dedup") for place, source in found.items()}
            assert found == found_in(client, theirs)
            for place, mark in marks.items():
                kept = {other for other, source in found.items() if source["text"] == found[place]["text"]}
                assert mark["canonical"] == (mark["relation"] == "unique")
                assert mark.get("cluster_size") == (len(kept) if mark["canonical"] else None)
                assert mark["cluster_id"] in {f"{ours}{name}/{_id}" for name, _id in kept}
        finally:
            remove(f"{url}/{ours}-features")


ELSEWHERE: Final = [
    {"drop": {"if": "ctx.how == 'drop'"}},
    {"fail": {"message": "refused", "if": "ctx.how == 'fail'"}},
    {"script": {"source": "ctx._id = ctx.as", "if": "ctx.as != null"}},
    {"set": {"field": "_index", "value": "INDEX-{{{to}}}", "if": "ctx.to != null"}},
]
"""A pipeline that puts a document where its fields ``as`` and ``to`` say."""

TEXTS: Final = {
    "fox": FOX,
    "owl": OWL,
    "sea": "The sea was calm. Two boats went out before dawn, and one came back.",
}


def story(name: str, text: str, **more: str) -> dict[str, Any]:
    """An action: ``as``, ``to`` and ``how`` tell the pipeline what to do."""
    return {"_id": name, "text": TEXTS[text], **more}


MOVES: Final = {
    "two with one new id": [story("a", "fox", **{"as": "x"}), story("b", "owl"), story("c", "fox", **{"as": "x"})],
    "ids swapped": [story("a", "fox", **{"as": "b"}), story("b", "owl", **{"as": "a"}), story("c", "fox")],
    "ids rotated": [
        story("a", "fox", **{"as": "b"}),
        story("b", "owl", **{"as": "c"}),
        story("c", "fox", **{"as": "a"}),
        story("d", "owl"),
    ],
    "the id of a later one": [story("a", "fox", **{"as": "b"}), story("b", "owl"), story("c", "fox")],
    "the id of an earlier one": [story("a", "fox"), story("b", "owl", **{"as": "a"}), story("c", "fox")],
    "the id of one that fails": [story("a", "fox", how="fail"), story("b", "owl", **{"as": "a"}), story("c", "fox")],
    "the id of one that is dropped": [story("a", "fox", how="drop"), story("b", "fox", **{"as": "a"}), story("c", "fox")],
    "the id of a stored one": [story("b", "fox", **{"as": "stored"}), story("c", "owl"), story("d", "fox")],
    "to other indices": [
        story("a", "fox", to="moved"), story("b", "fox", to="moved", **{"as": "a"}), story("c", "fox", to="else"),
    ],
    "away and back": [story("a", "fox", **{"as": "x"}), story("x", "owl"), story("a", "sea", **{"as": "y"}), story("y", "fox")],
    "dropped, moved, renamed": [
        story("stay", "fox"), story("drop", "fox", how="drop"), story("move", "fox", to="moved"), story("name", "fox", **{"as": "new"}),
    ],
}  # fmt: skip
"""Batches of which a pipeline puts documents elsewhere."""


def by_streaming(client: Elasticsearch, actions: Any, **options: Any) -> Any:
    results = list(dedup_streaming_bulk(client, actions, **options))
    return sum(ok for ok, _ in results), [item for ok, item in results if not ok]


def by_parallel(client: Elasticsearch, actions: Any, **options: Any) -> Any:
    results = list(dedup_parallel_bulk(client, actions, thread_count=2, **options))
    return sum(ok for ok, _ in results), [item for ok, item in results if not ok]


def by_async(client: Elasticsearch, actions: Any, **options: Any) -> Any:
    async def run() -> Any:
        async with async_client_of(str(next(iter(client.transport.node_pool.all())).base_url)) as own:
            return await async_dedup_bulk(own, actions, **options)

    return asyncio.run(run())


HELPERS: Final[dict[str, Any]] = {
    "bulk": dedup_bulk,
    "streaming": by_streaming,
    "parallel": by_parallel,
    "async": by_async,
}


def check_dedup_fields(index: str, documents: Mapping[tuple[str, str], Mapping[str, Any]], case: str) -> None:
    """Documents are in a cluster if their texts are equal, and each cluster has one canonical document that is there."""
    for place, source in documents.items():
        dedup = source["dedup"]
        same = {other: each for other, each in documents.items() if each["text"] == source["text"]}
        assert {each["dedup"]["cluster_id"] for each in same.values()} == {dedup["cluster_id"]}, (case, place)
        canonical = [other for other, each in same.items() if each["dedup"]["canonical"]]
        assert len(canonical) == 1, (case, place)
        assert dedup.get("cluster_size") == (len(same) if dedup["canonical"] else None), (case, place)
        assert dedup["relation"] == ("unique" if [place] == canonical else "exact"), (case, place)
        if [place] != canonical:
            assert dedup["duplicate_of"] in {f"{index}{name}/{_id}" for name, _id in same}, (case, place)


def check_moves(
    server: tuple[Elasticsearch, str],
    batches: Mapping[str, list[dict[str, Any]]],
    helper: str,
    **options: Any,
) -> None:
    """Write batches by the client's helper and by ours: documents and results are the same, and the ``dedup`` fields are right."""
    client, url = server
    theirs, ours, report = fresh_name(), fresh_name(), HookReport()
    options = {"raise_on_error": False, **options}
    with (
        pipeline_of(client, theirs, ELSEWHERE) as plain,
        pipeline_of(client, ours, ELSEWHERE) as hooked,
        DedupHook.open(f"{url}/{ours}-features", SourceFields("text")) as hook,
    ):
        try:
            mapping = json.loads(MAPPING.read_text())["template"]["mappings"]
            for name in ("moved", "else"):
                client.indices.create(index=f"{ours}-{name}", mappings=mapping)
            for case, actions in batches.items():
                given = {"index": ours, "pipeline": hooked, "hook": hook, "report": report}
                expected = bulk(client, actions, **options | {"index": theirs, "pipeline": plain})
                result = HELPERS[helper](client, actions, **options, **given)
                assert (result[0], statuses(result[1])) == (expected[0], statuses(expected[1])), case
                found = found_in(client, ours)
                check_dedup_fields(ours, found, case)
                plain_sources = {at: without_dedup(each) for at, each in found.items()}
                if helper != "parallel":  # which of two chunks comes last in one place is not known
                    assert plain_sources == found_in(client, theirs), case
                hook._index.refresh()
                stored = {record.page_id for some in hook._index.scan() for record in some}
                assert stored == {f"{ours}{name}/{_id}" for name, _id in found}, case
            assert sum(map(len, batches.values())) == report.pages
            assert all("has a wrong mapping" in reason for reason in report.not_repaired.values())
            assert {name.partition("/")[0].removeprefix(ours) for name in report.not_repaired} <= {
                "-moved",
                "-else",
            }
        finally:
            remove(f"{url}/{ours}-features")


def without_dedup(source: Mapping[str, Any]) -> dict[str, Any]:
    """A document as it was given."""
    return {name: value for name, value in source.items() if name != "dedup"}


BEFORE: Final = {"before": [story("stored", "sea"), story("z", "sea")]}


def test_documents_that_a_pipeline_puts_elsewhere(server: tuple[Elasticsearch, str]) -> None:
    check_moves(server, BEFORE | MOVES, "bulk")


def test_an_index_with_a_wrong_mapping_that_a_pipeline_writes_to_is_named(
    server: tuple[Elasticsearch, str],
) -> None:
    client, url = server
    name = fresh_name()
    with (
        pipeline_of(client, name, ELSEWHERE) as pipeline,
        DedupHook.open(f"{url}/{name}-features", SourceFields("text")) as hook,
    ):
        try:
            client.index(index=f"{name}-moved", document={"dedup": {"cluster_id": "by dynamic mapping"}})
            actions = [story("a", "fox"), *(story(each, "fox", to="moved") for each in "bcdefghi")]
            for _ in range(2):
                report = dedup_bulk(client, actions, index=name, pipeline=pipeline, hook=hook).report
                assert {*report.not_repaired} == {f"{name}-moved/{each}" for each in "bcdefghi"}
                assert all("has a wrong mapping" in reason for reason in report.not_repaired.values())
        finally:
            remove(f"{url}/{name}-features")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("helper", "chunk_size"),
    [("bulk", 1), ("bulk", 2), ("streaming", 2), ("async", 2), ("parallel", 1), ("parallel", 500)],
)
def test_documents_that_a_pipeline_puts_elsewhere_by_each_helper(
    server: tuple[Elasticsearch, str], helper: str, chunk_size: int
) -> None:
    actions = [action for actions in MOVES.values() for action in actions]
    check_moves(server, BEFORE | {"all": actions}, helper, chunk_size=chunk_size)


@pytest.mark.parametrize("chunk_size", [1, 500])
@pytest.mark.parametrize("count", [12, 150])
@pytest.mark.parametrize("helper", HELPERS)
def test_a_wrong_content_field_is_refused_before_anything_is_written(
    content_hook: tuple[Elasticsearch, str, DedupHook], helper: str, count: int, chunk_size: int
) -> None:
    client, index, hook = content_hook
    actions = [{"_id": str(at), "body": FOX, "title": "fox"} for at in range(count)]
    given = {"index": index, "hook": hook, "chunk_size": chunk_size}
    with pytest.raises(ContentMissing, match=rf"none of {min(count, 100)} .* 'bdoy'.* body, title\."):
        HELPERS[helper](client, actions, **given)
    assert not client.indices.exists(index=index)


def test_documents_without_text_are_counted(content_hook: tuple[Elasticsearch, str, DedupHook]) -> None:
    client, index, hook = content_hook
    with pytest.warns(UserWarning, match="none of 2 documents has the content field"):
        dedup_bulk(client, [{"_id": "a"}, {"_id": "b"}], index=index, hook=hook, on_missing_content="warn")
    actions: list[dict[str, Any]] = [
        {"_op_type": "update", "_id": "a", "doc": {"n": 1}},
        {"_op_type": "delete", "_id": "b"},
        {"_id": "c"},
        {"_id": "d", "bdoy": " "},
        {"_id": "e", "bdoy": FOX},
    ]
    report = dedup_bulk(client, actions, index=index, hook=hook).report
    assert (report.pages, report.without_text) == (5, 2)
    report = dedup_bulk(client, actions[:1], index=index, hook=hook).report
    assert (report.pages, report.without_text) == (1, 0)


@pytest.fixture(scope="module")
def content_hook() -> Iterator[tuple[Elasticsearch, str, DedupHook]]:
    """A hook with a wrong content field."""
    url, index = url_of("es8"), fresh_name()
    with client_of(url) as client, DedupHook.open(f"{url}/{index}-features", SourceFields("bdoy")) as hook:
        yield client, index, hook
        client.indices.delete(index=index, ignore_unavailable=True)
    remove(f"{url}/{index}-features")


EFFECTS: Final[dict[str, tuple[list[dict[str, Any]], str]]] = {
    "a keep list": ([{"remove": {"keep": ["text", "title"]}}], "removes the field dedup"),
    "the content renamed": ([{"rename": {"field": "text", "target_field": "body"}}], "renames the content field 'text' to 'body'"),
    "the content changed": ([{"script": {"source": "ctx.text = ctx.text + '!'"}}], "changes the content field 'text'"),
    "moved": ([{"set": {"field": "_index", "value": "INDEX-moved"}}], "moves documents to .*-moved"),
    "a new id": ([{"set": {"field": "_id", "value": "x{{{_id}}}"}}], "gives documents another _id"),
    "refused": ([{"fail": {"message": "none today"}}], "refuses a sample document: none today"),
    "dropped": ([{"drop": {}}], "drops a sample document"),
    "nothing": ([{"set": {"field": "seen", "value": True}}], ""),
}  # fmt: skip


NOT_TRIED: Final = {
    ("a keep list", "default_pipeline"),  # each time
    ("moved", "final_pipeline"),  # the server refuses it
}


@pytest.mark.parametrize(
    ("case", "setting"),
    [
        ("a keep list", "default_pipeline"),
        *(
            pytest.param(case, setting, marks=pytest.mark.slow)
            for case in EFFECTS
            for setting in ("default_pipeline", "final_pipeline")
            if (case, setting) not in NOT_TRIED
        ),
    ],
)
def test_what_a_pipeline_of_the_index_does_is_told_before_anything_is_written(
    server: tuple[Elasticsearch, str], case: str, setting: str
) -> None:
    client, url = server
    index, (processors, said) = fresh_name(), EFFECTS[case]
    fields = SourceFields("text")
    with pipeline_of(client, index, processors) as pipeline:
        client.indices.create(index=index, settings={f"index.{setting}": pipeline})
        try:
            with open_context(f"{url}/{index}-features", Settings()) as context:
                if said.startswith(("removes", "renames")):
                    with pytest.raises(PreflightFailed, match=said):
                        attach(context, index, fields)
                warned = attach(context, index, fields, force=True).warnings
                assert any(re.search(said or "pipeline ", warning) for warning in warned) == bool(said)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                DedupHook.open(f"{url}/{index}-features", fields).close()
            assert [bool(re.search(said, str(each.message))) for each in caught] == [True] * bool(said)
        finally:
            remove(f"{url}/{index}-features")


@pytest.mark.parametrize("how", ["default", pytest.param("named in the call", marks=pytest.mark.slow)])
def test_documents_whose_content_is_renamed_stay_in_their_clusters(
    server: tuple[Elasticsearch, str], how: str
) -> None:
    client, url = server
    index = fresh_name()
    renamed = [{"rename": {"field": "text", "target_field": "body", "ignore_missing": True}}]
    with pipeline_of(client, index, renamed) as pipeline:
        client.indices.create(
            index=index, settings={"index.default_pipeline": pipeline} if how == "default" else {}
        )
        with DedupHook.open(f"{url}/{index}-features", SourceFields("text")) as hook:
            try:
                options: dict[str, Any] = {} if how == "default" else {"pipeline": pipeline}
                with pytest.warns(UserWarning, match=r"content field 'text'.* name that field as content"):
                    report = dedup_bulk(client, stories(), index=index, hook=hook, **options).report
                assert "content field 'text'" in report.pipelines[index]
                before = found_in(client, index)
                assert sorted(each["dedup"].get("cluster_size", 0) for each in before.values()) == [
                    0,
                    0,
                    2,
                    2,
                ]
                updates = [{"_op_type": "update", "_id": name, "doc": {"n": 1}} for name in "abcd"]
                report = dedup_bulk(client, updates, index=index, hook=hook).report
                assert (report.without_text, report.pipelines) == (0, {})
                after = found_in(client, index)
                assert after == {place: source | {"n": 1} for place, source in before.items()}
            finally:
                remove(f"{url}/{index}-features")
